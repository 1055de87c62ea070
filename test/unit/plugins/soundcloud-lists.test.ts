import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { troubleWith } from "../../support/plugin-bench.ts";
import {
  SOUNDCLOUD_API as API,
  SOUNDCLOUD_PAGE as PAGE,
  SoundCloudTestEnvironment,
} from "../../support/soundcloud-test-environment.ts";

let env: SoundCloudTestEnvironment;

beforeEach(async () => {
  env = await SoundCloudTestEnvironment.start();
});

afterEach(() => env.close());

describe("a set", () => {
  test("a set is a playlist in its own order, and tracks with only an id are loaded fifty at a time", async () => {
    const bench = await env.bench();
    const expected = Array.from({ length: 120 }, (_, index) => `Song ${219 - index}`);
    expect(await env.titles(bench, `${PAGE}/sets/mix`)).toEqual(expected);
    const counts = env.site.server.requestsTo(API, "/tracks").map(({ query }) => query.get("ids")?.split(",").length);
    expect(counts).toEqual([50, 50, 15]);
  });

  test("a set has the playlist data that clients show", async () => {
    const answer = await (await env.bench()).load("soundcloud", `${PAGE}/sets/mix`);
    const pluginInfo = { type: "playlist", url: `${PAGE}/sets/mix`, author: "The Stand-ins", totalTracks: 120 };
    expect(answer).toMatchObject({ kind: "playlist", name: "Set 901", selectedTrack: -1, pluginInfo });
  });

  test("a set with a secret returns the tracks that only the secret opens", async () => {
    const found = await env.titles(await env.bench(), `${PAGE}/sets/hidden/s-Se3cretSet`);
    expect(found).toEqual(["Song 11", "Song 12", "Song 13", "Song 100", "Song 101", "Song 17", "Song 102"]);
  });

  test.each(["https://api.soundcloud.com/playlists/901", "soundcloud:playlists:901"])(
    "a set is found as %s",
    async (link) => {
      expect(await env.titles(await env.bench(), link)).toHaveLength(120);
    },
  );

  test("a set of SoundCloud itself is loaded like others", async () => {
    const address = "https://soundcloud.com/discover/sets/weekly::somebody";
    env.site.addSet(address, 903, [11, 12], { kind: "system-playlist", id: "soundcloud:system-playlists:weekly" });
    expect(await env.titles(await env.bench(), address)).toEqual(["Song 11", "Song 12"]);
  });

  test("a set leaves out tracks that are removed, blocked or invalid", async () => {
    env.site.addSet(`${PAGE}/sets/holes`, 904, [11, 14, 12], {
      tracks: [env.site.tracks.get(11), null, { id: 14 }, { id: 4242 }, "no", { id: -1 }, { id: 12 }],
    });
    expect(await env.titles(await env.bench(), `${PAGE}/sets/holes`)).toEqual(["Song 11", "Song 12"]);
  });

  test("a set of 5,000 tracks is cut at the limit, and complete with a higher one", async () => {
    const ids = Array.from({ length: 5000 }, (_, index) => 10_000 + index);
    for (const id of ids) env.site.addTrack(id, `many-${id}`);
    env.site.addSet(`${PAGE}/sets/many`, 905, ids);
    const answer = await (await env.bench()).load("soundcloud", `${PAGE}/sets/many`);
    expect(answer).toMatchObject({ pluginInfo: { totalTracks: 5000 } });
    expect(answer?.kind === "playlist" && answer.tracks.length).toBe(1000);
    expect(env.asked("/tracks")).toBe(20);
    const all = await env.titles(await env.bench({ setTracksMax: "5000" }), `${PAGE}/sets/many`);
    expect(all).toHaveLength(5000);
    expect(all.at(-1)).toBe("Song 14999");
  });

  test("a set whose part fails to load fails as a whole, and requests no more", async () => {
    const ids = Array.from({ length: 2000 }, (_, index) => 10_000 + index);
    env.site.addSet(`${PAGE}/sets/many`, 905, ids);
    env.site.server.fail({ at: /\/tracks/, outcome: { status: 400 }, times: 1 });
    const bench = await env.bench({ setTracksMax: "2000" });
    expect((await troubleWith(bench.load("soundcloud", `${PAGE}/sets/many`))).code).toBe("site-unavailable");
    // Time for anything that would continue.
    for (let round = 0; round < 20; round++) await bench.load("soundcloud", `scsearch:song ${round}`);
    expect(env.asked("/tracks")).toBeLessThanOrEqual(8);
  });

  test("a missing set is an empty result", async () => {
    expect(await (await env.bench()).load("soundcloud", `${PAGE}/sets/gone`)).toEqual({ kind: "empty" });
  });

  test("a set without a list of tracks is reported as a change of the site", async () => {
    env.site.addSet(`${PAGE}/sets/odd`, 906, [], { tracks: { first: 1 } });
    const trouble = await troubleWith((await env.bench()).load("soundcloud", `${PAGE}/sets/odd`));
    expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("list of tracks") });
  });
});

describe("a user", () => {
  test.each([
    [PAGE, "Tracks by The Stand-ins", ["Song 11", "Song 12"]],
    [`${PAGE}/tracks`, "Tracks by The Stand-ins", ["Song 11", "Song 12"]],
    [`${PAGE}/likes?ref=x`, "Liked by The Stand-ins", ["Song 11", "Song 15", "Song 12"]],
    [`${PAGE}/reposts`, "Reposted by The Stand-ins", ["Song 13"]],
    ["https://api.soundcloud.com/users/1", "Tracks by The Stand-ins", ["Song 11", "Song 12"]],
  ])("the user link %s is the playlist %s", async (link, name, titles) => {
    const bench = await env.bench();
    expect(await bench.load("soundcloud", link)).toMatchObject({ kind: "playlist", name });
    expect(await env.titles(bench, link)).toEqual(titles);
  });

  test("a user's likes are read page by page, up to the limit", async () => {
    const likes = Array.from({ length: 700 }, (_, index) => ({
      track: env.site.addTrack(20_000 + index, `l${index}`),
    }));
    env.site.lists.set("/users/1/likes", likes);
    expect(await env.titles(await env.bench(), `${PAGE}/likes`)).toHaveLength(200);
    expect(env.asked("/users/1/likes")).toBe(1);
    expect(await env.titles(await env.bench({ listEntriesMax: "500" }), `${PAGE}/likes`)).toHaveLength(500);
    expect(await env.titles(await env.bench({ listEntriesMax: "9999" }), `${PAGE}/likes`)).toHaveLength(700);
    expect(env.asked("/users/1/likes")).toBe(1 + 3 + 4);
  });

  test("a user's list that goes in circles is read once", async () => {
    const next = `https://${API}/users/1/likes?offset=again`;
    const collection = [{ track: env.site.tracks.get(11) }];
    env.site.server.fail({ at: /likes/, outcome: { json: { collection, next_href: next } } });
    const found = await env.titles(await env.bench({ listEntriesMax: "10000" }), `${PAGE}/likes`);
    expect(found).toEqual(["Song 11", "Song 11"]);
    expect(env.asked("/users/1/likes")).toBe(2);
  });

  test("a user's list that continues at another host is not followed there", async () => {
    const outcome = { json: { collection: [], next_href: "https://example.org/users/1/likes" } };
    env.site.server.fail({ at: /likes/, outcome });
    const trouble = await troubleWith(
      (await env.bench({ listEntriesMax: "1000" })).load("soundcloud", `${PAGE}/likes`),
    );
    expect(trouble.code).toBe("site-changed");
  });

  test("a missing user is an empty result", async () => {
    expect(await (await env.bench()).load("soundcloud", "https://soundcloud.com/nobody/likes")).toEqual({
      kind: "empty",
    });
  });
});
