import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  listTranscodings,
  SOUNDCLOUD_CLIENT_ID,
  SOUNDCLOUD_SECRET,
  SOUNDCLOUD_TRANSCODINGS,
  type SoundCloudSite,
} from "../../../lab/sites/soundcloud.ts";
import { SOUNDCLOUD_MANIFEST } from "../../../plugins/soundcloud/manifest.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { isClaimed } from "../../../src/plugin-host/manage/claims.ts";
import { type PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import {
  SOUNDCLOUD_API as API,
  SOUNDCLOUD_PAGE as PAGE,
  SoundCloudTestEnvironment,
} from "../../support/soundcloud-test-environment.ts";

let env: SoundCloudTestEnvironment;
let site: SoundCloudSite;

beforeEach(async () => {
  env = await SoundCloudTestEnvironment.start();
  site = env.site;
});

afterEach(() => env.close());

const start = (options?: PlainTree): Promise<PluginBench> => env.bench(options);
const titles = (bench: PluginBench, identifier: string): Promise<string[]> => env.titles(bench, identifier);

describe("a track's page", () => {
  test("a track's page is a track with all of the site's data and Lavalink's identifier", async () => {
    const bench = await start();
    const [track] = await bench.loadTracks("soundcloud", `${PAGE}/song`);
    expect(track?.info).toEqual({
      identifier: `O:https://${API}/media/soundcloud:tracks:11/opus_0_0/stream/hls`,
      isSeekable: true,
      isStream: false,
      length: 30_000,
      position: 0,
      sourceName: "soundcloud",
      title: "Song 11",
      author: "The Stand-ins",
      uri: `${PAGE}/song`,
      isrc: "XX0000000011",
      artworkUrl: "https://i1.sndcdn.com/artworks-11-original.jpg",
    });
    expect(track?.pluginInfo).toEqual({});
  });

  test("a missing track is reported in Lavalink's words", async () => {
    const trouble = await troubleWith((await start()).load("soundcloud", `${PAGE}/gone`));
    expect(trouble).toMatchObject({ code: "site-unavailable", message: "This track is not available" });
  });

  test("a blocked track is refused with a reason", async () => {
    const trouble = await troubleWith((await start()).load("soundcloud", `${PAGE}/blocked`));
    expect(trouble.message).toContain("region");
  });

  test("a secret track has the secret in its address, but not in its identifier", async () => {
    const [track] = await (await start()).loadTracks("soundcloud", `${PAGE}/hidden/${SOUNDCLOUD_SECRET}`);
    expect(track?.info.uri).toBe(`${PAGE}/hidden/${SOUNDCLOUD_SECRET}`);
    expect(track?.info.identifier).not.toContain(SOUNDCLOUD_SECRET);
  });

  test("a track without artwork shows the user's picture", async () => {
    site.addTrack(30, "bare", { artwork_url: null });
    const [track] = await (await start()).loadTracks("soundcloud", `${PAGE}/bare`);
    expect(track?.info.artworkUrl).toBe("https://i1.sndcdn.com/avatars-000-original.jpg");
  });

  test.each([
    ["only-mp3", `U:https://${API}/media/soundcloud:tracks:12/mp3_1_0/stream/hls`],
    ["only-aac", "13"],
  ])("the track %s has the identifier %s", async (slug, identifier) => {
    const [track] = await (await start()).loadTracks("soundcloud", `${PAGE}/${slug}`);
    expect(track?.info.identifier).toBe(identifier);
  });
});

describe("other forms of a track's identifier", () => {
  test.each([
    ["soundcloud.com/stand-ins/song", "Song 11"],
    ["http://www.soundcloud.com/stand-ins/song/", "Song 11"],
    ["https://m.soundcloud.com/stand-ins/song?in=somebody/sets/x#t=1:00", "Song 11"],
    ["https://api.soundcloud.com/tracks/11", "Song 11"],
    ["https://api-v2.soundcloud.com/tracks/soundcloud%3Atracks%3A11", "Song 11"],
    ["soundcloud:tracks:11", "Song 11"],
    ["https://w.soundcloud.com/player/?visual=true&url=https%3A%2F%2Fapi.soundcloud.com%2Ftracks%2F12", "Song 12"],
    [`https://api.soundcloud.com/tracks/17?secret_token=${SOUNDCLOUD_SECRET}`, "Song 17"],
    [`https://w.soundcloud.com/player/?url=${PAGE}/hidden&secret_token=${SOUNDCLOUD_SECRET}`, "Song 17"],
    ["https://on.soundcloud.com/AbC", "Song 11"],
    ["soundcloud.app.goo.gl/old", "Song 12"],
  ])("a track is found by %s", async (identifier, title) => {
    expect(await titles(await start(), identifier)).toEqual([title]);
  });

  test.each([
    "https://soundcloud.com/",
    "https://soundcloud.com/discover",
    "https://soundcloud.com/you/likes",
    "https://soundcloud.com/search/sounds?q=x",
    "https://soundcloud.com/stand-ins/albums",
    "https://soundcloud.com/stand-ins/song/recommended",
    "https://soundcloud.com.example.org/stand-ins/song",
    "https://w.soundcloud.com/player/?url=https%3A%2F%2Fexample.org%2Fsong.mp3",
    "https://soundcloud.com:8443/stand-ins/song",
    "scsearch[1]:song",
    "11",
  ])("the identifier %s is not SoundCloud's", async (identifier) => {
    expect(await (await start()).load("soundcloud", identifier)).toBeUndefined();
    expect(site.server.requests).toEqual([]);
  });

  test("an unknown id is reported in Lavalink's words", async () => {
    const trouble = await troubleWith((await start()).load("soundcloud", "soundcloud:tracks:999"));
    expect(trouble.message).toBe("This track is not available");
  });

  test("a short link's target is requested, and the page there is not fetched", async () => {
    await titles(await start(), "https://on.soundcloud.com/AbC");
    expect(site.server.requestsTo("on.soundcloud.com").map(({ method }) => method)).toEqual(["HEAD"]);
    expect(site.server.requestsTo("soundcloud.com").map(({ path }) => path)).toEqual(["/"]);
  });

  test("a short link to another site is an empty result", async () => {
    site.shortLinks.set("on.soundcloud.com/away", "https://example.org/song.mp3");
    expect(await (await start()).load("soundcloud", "https://on.soundcloud.com/away")).toEqual({ kind: "empty" });
  });

  test("an unknown short link is an empty result", async () => {
    expect(await (await start()).load("soundcloud", "https://on.soundcloud.com/nobody")).toEqual({ kind: "empty" });
  });

  test("short links in circles are given up", async () => {
    site.shortLinks.set("on.soundcloud.com/one", "https://on.soundcloud.com/two");
    site.shortLinks.set("on.soundcloud.com/two", "https://on.soundcloud.com/one");
    const trouble = await troubleWith((await start()).load("soundcloud", "https://on.soundcloud.com/one"));
    expect(trouble.code).toBe("site-changed");
    expect(site.server.requests).toHaveLength(3);
  });
});

test.each([
  `${PAGE}/song`,
  "soundcloud.com/stand-ins/sets/mix",
  "https://on.soundcloud.com/AbC",
  "soundcloud.app.goo.gl/old",
  "https://w.soundcloud.com/player/?url=x",
  "https://api.soundcloud.com/tracks/11",
  "soundcloud:tracks:11",
  "soundcloud:playlists:901",
  "scsearch:song",
  "scsearch[0,5]:song",
])("the manifest claims %s, so that the main thread passes it on", (identifier) => {
  expect(isClaimed(identifier, SOUNDCLOUD_MANIFEST.sources[0])).toBe(true);
});

describe("a search", () => {
  test("a search finds ten tracks", async () => {
    expect(await (await start()).load("soundcloud", "scsearch: song ")).toMatchObject({ kind: "search" });
    const [request] = site.server.requestsTo(API, "/search/tracks");
    expect(Object.fromEntries(request?.query ?? [])).toMatchObject({ q: "song", offset: "0", limit: "10" });
  });

  test("a search returns the requested window, of 200 tracks at most", async () => {
    const bench = await start();
    expect(await titles(bench, "scsearch[2,3]:song 10")).toEqual(["Song 102", "Song 103", "Song 104"]);
    await bench.load("soundcloud", "scsearch[0,999]:song");
    expect(site.server.requestsTo(API, "/search/tracks").at(-1)?.query.get("limit")).toBe("200");
  });

  test("a search leaves out blocked tracks, and entries that are not tracks", async () => {
    const collection = [null, 7, { id: 5 }, site.tracks.get(14), site.tracks.get(11), { title: "no id" }];
    site.server.fail({ at: /search/, outcome: { json: { collection } } });
    expect(await titles(await start(), "scsearch:anything")).toEqual(["Song 11"]);
  });

  test("a search without words, or for no tracks, is empty without a request", async () => {
    const bench = await start();
    expect(await bench.load("soundcloud", "scsearch:  ")).toEqual({ kind: "empty" });
    expect(await bench.load("soundcloud", "scsearch[0,0]:song")).toEqual({ kind: "empty" });
    expect(site.server.requests).toEqual([]);
  });

  test("a search without results is empty", async () => {
    expect(await (await start()).load("soundcloud", "scsearch:nowhere to be found")).toEqual({ kind: "empty" });
  });

  test("a search is declined when it is switched off", async () => {
    const bench = await start({ searchEnabled: "false" });
    expect(await bench.load("soundcloud", "scsearch:song")).toBeUndefined();
  });
});

describe("previews", () => {
  test("previews are found and played by default, and marked", async () => {
    const bench = await start();
    const [track] = await bench.loadTracks("soundcloud", `${PAGE}/preview`);
    expect(track).toMatchObject({ info: { length: 210_000 }, pluginInfo: { isPreview: true } });
    const link = await bench.resolve("soundcloud", track?.encoded ?? "");
    expect(link).toMatchObject({ kind: "link", variant: "mp3_1_0 progressive preview", isPreview: true });
  });

  test("previews are left out of lists and refused if the operator has disabled them", async () => {
    const encoded = (await (await start()).loadTracks("soundcloud", `${PAGE}/preview`))[0]?.encoded ?? "";
    const bench = await start({ filterOutPreviewTracks: "true" });
    expect(await titles(bench, `${PAGE}/likes`)).toEqual(["Song 11", "Song 12"]);
    for (const work of [bench.load("soundcloud", `${PAGE}/preview`), bench.resolve("soundcloud", encoded)]) {
      expect(await troubleWith(work)).toMatchObject({
        code: "site-unavailable",
        message: expect.stringContaining("only a preview"),
      });
    }
  });

  test("previews for a subscriber's account count as complete tracks if there is a complete variant", async () => {
    const transcodings = listTranscodings(31, [SOUNDCLOUD_TRANSCODINGS.opusHls]);
    site.addTrack(31, "paid", { monetization_model: "SUB_HIGH_TIER", media: { transcodings } });
    const options = { filterOutPreviewTracks: "true" };
    expect(await titles(await start({ ...options, oauthToken: "2-1-token" }), `${PAGE}/paid`)).toEqual(["Song 31"]);
    await troubleWith((await start(options)).load("soundcloud", `${PAGE}/paid`));
  });
});

test("the operator's token and the client id are sent to the API and no other host", async () => {
  const bench = await start({ oauthToken: "2-1-token" });
  const [track] = await bench.loadTracks("soundcloud", `${PAGE}/song`);
  const link = await bench.resolve("soundcloud", track?.encoded ?? "");
  await bench.load("soundcloud", "https://on.soundcloud.com/AbC");
  for (const { host, headers, query } of site.server.requests) {
    expect(headers.authorization).toBe(host === API ? "OAuth 2-1-token" : undefined);
    expect(query.get("client_id")).toBe(host === API ? SOUNDCLOUD_CLIENT_ID : null);
  }
  expect(JSON.stringify(link)).not.toContain(SOUNDCLOUD_CLIENT_ID);
});
