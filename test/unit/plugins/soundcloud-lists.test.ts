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

describe("a search of several kinds", () => {
  const AUTHOR = { author: "The Stand-ins", totalTracks: null };

  test("each wanted kind is one request, and entries lead to what their page loads", async () => {
    env.site.addSet(`${PAGE}/sets/album`, 906, [11, 12], {
      is_album: true,
      title: "The album",
      artwork_url: "https://i1.sndcdn.com/a-large.jpg",
    });
    const bench = await env.bench();
    const artworkUrl = "https://i1.sndcdn.com/a-original.jpg";
    const album = { ...AUTHOR, type: "album", url: `${PAGE}/sets/album`, artworkUrl, totalTracks: 2 };
    expect(await bench.search("scsearch:the")).toMatchObject({
      albums: [{ name: "The album", pluginInfo: album }],
      artists: [
        {
          name: "Tracks by The Stand-ins",
          pluginInfo: {
            ...AUTHOR,
            type: "artist",
            url: PAGE,
            artworkUrl: "https://i1.sndcdn.com/avatars-000-original.jpg",
          },
        },
      ],
      playlists: [],
      texts: [],
    });
    expect(await env.titles(bench, album.url)).toEqual(["Song 11", "Song 12"]);
    const set = { ...AUTHOR, type: "playlist", url: `${PAGE}/sets/mix`, artworkUrl: null, totalTracks: 120 };
    const { playlists, albums, tracks } = await bench.search("scsearch:set 901", ["playlist"]);
    expect([playlists, albums, tracks.count]).toEqual([[{ name: "Set 901", pluginInfo: set }], [], 0]);
    expect((await bench.search("scsearch:song", ["track"])).tracks.count).toBe(9);
    const asked = env.site.server.requestsTo(API).map(({ path, query }) => [path, query.get("limit")]);
    const searches = asked.filter(([path]) => path?.startsWith("/search"));
    expect(
      searches
        .slice(0, 4)
        .map(([path]) => path?.slice("/search/".length))
        .sort(),
    ).toEqual(["albums", "playlists_without_albums", "tracks", "users"]);
    expect(searches.slice(4)).toEqual([
      ["/search/playlists_without_albums", "10"],
      ["/search/tracks", "10"],
    ]);
  });

  test("nothing is asked where searches are off, without words, or for texts alone", async () => {
    const off = await env.bench({ searchEnabled: "false" });
    const on = await env.bench();
    for (const found of [
      await off.search("scsearch:the"),
      await on.search("scsearch: "),
      await on.search("scsearch:the", ["text"]),
    ]) {
      expect(found).toMatchObject({ albums: [], artists: [], playlists: [], texts: [] });
    }
    expect(env.asked("/search")).toBe(0);
  });

  test("what fails is left out while another kind is found, and is the error where none is", async () => {
    env.site.server.fail({ at: /search\/(users|albums|playlists)/, outcome: { status: 403, text: "no" } });
    const bench = await env.bench();
    const pages = (): number => env.site.server.requestsTo("soundcloud.com", "/").length;
    for (let count = 0; count < 3; count++) {
      const found = await bench.search("scsearch:song");
      expect(found).toMatchObject({ albums: [], artists: [], playlists: [], tracks: { count: 9 } });
    }
    // One for the first client id, and one for another.
    expect(pages()).toBe(2);
    expect((await troubleWith(bench.search("scsearch:song", ["album", "artist"]))).message).toContain("HTTP 403");
  });

  test("entries of another form are left out", async () => {
    const collection = [null, 7, { title: "No page" }, { kind: "track", title: "x", permalink_url: PAGE }, { id: 3 }];
    env.site.server.fail({ at: /search/, outcome: { json: { collection } } });
    const found = await (await env.bench()).search("scsearch:x");
    expect(found).toMatchObject({ albums: [], artists: [], playlists: [] });
  });
});
