import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BandcampSite } from "../../../lab/sites/bandcamp.ts";
import { wallError } from "../../../plugins/bandcamp/bot-wall.ts";
import bandcamp from "../../../plugins/bandcamp/plugin.ts";
import { readSearchAnswer } from "../../../plugins/bandcamp/search-api.ts";
import type { PluginAnswer } from "../../../src/bridge/plugin-messages.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type BenchOptions, PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const FIXTURES = new URL("../../fixtures/sites/", import.meta.url);
const RECORDED = readFileSync(new URL("bandcamp-search-api.json", FIXTURES), "utf8");
const CHALLENGE = readFileSync(new URL("bandcamp-client-challenge.html", FIXTURES), "utf8");

const API = "/api/bcsearch_public_api/1/autocomplete_elastic";
const HALL = "https://stand-in.bandcamp.com/track/hall";
const ARTIST = "https://stand-in.bandcamp.com/";
const BROKEN_API = { at: /autocomplete_elastic/, outcome: { status: 500 } };
/** So that only the plugin's own limits end a request. */
const PATIENT = {
  http: { userAgent: "Tonearm/test", proxyUrl: undefined, connectTimeoutMs: 10_000, socketTimeoutMs: 10_000 },
};
const DISCOGRAPHY = { kind: "playlist", name: "Discography of Stand In & Friends" };

let stand: BandcampSite;
let bench: PluginBench;

beforeEach(async () => {
  stand = await BandcampSite.start();
  bench = await start();
});

afterEach(async () => {
  bench.close();
  await stand.close();
});

function start(options: BenchOptions = {}): Promise<PluginBench> {
  return PluginBench.start(bandcamp, { hosts: stand.hosts, ...options });
}

/** Backends that were used, with their counts. */
async function used(): Promise<string[]> {
  const lines = () =>
    bench.backends.flatMap(({ name, succeeded, failed }) => {
      return succeeded + failed === 0 ? [] : [`${name}: ${succeeded} of ${succeeded + failed}`];
    });
  await expect.poll(() => lines().length).toBeGreaterThan(0);
  return lines();
}

describe("a search", () => {
  test("a search asks the API, and finds tracks with all that it says of them", async () => {
    const found = await bench.loadTracks("bandcamp", "bcsearch: hall & way ");
    expect(stand.site.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([`POST ${API}`]);
    expect(JSON.parse(stand.site.requests[0]?.body ?? "")).toEqual({
      search_text: "hall & way",
      search_filter: "t",
      full_page: false,
      fan_id: null,
    });
    expect(found).toMatchObject([
      {
        info: {
          identifier: HALL,
          uri: HALL,
          title: "Hall & Way",
          author: "Stand In",
          isStream: false,
          artworkUrl: "https://f4.bcbits.com/img/a0000012345_1.png",
        },
        pluginInfo: { albumName: "Rooms" },
      },
      {
        info: {
          identifier: "https://music.stand-in.example/track/garden",
          title: "Garden",
          author: "Own Domain",
          artworkUrl: "https://f4.bcbits.com/img/a0000012345_7.jpg",
        },
        pluginInfo: {},
      },
    ]);
  });

  test("a search reads the page with the cookie where the API fails, which shows in the backends", async () => {
    stand.site.fail(BROKEN_API);
    const found = await bench.loadTracks("bandcamp", "bcsearch: hall & way");
    const [, request] = stand.site.requests;
    expect(request).toMatchObject({ host: "bandcamp.com", path: "/search", headers: { cookie: "identity" } });
    expect(request?.query.toString()).toBe("q=hall+%26+way&item_type=t");
    expect(found.map(({ info }) => info)).toMatchObject([
      {
        identifier: HALL,
        uri: HALL,
        title: "Hall & Way",
        author: "Stand In, again",
        isStream: false,
        artworkUrl: "https://f4.bcbits.com/img/a0000012345_7.jpg",
      },
      { identifier: "https://music.stand-in.example/track/garden", title: "Garden", author: "Own Domain" },
    ]);
    await expect.poll(used).toEqual(["search API: 0 of 1", "search page: 1 of 1"]);
  });

  test.each([
    ["the bot wall", { text: CHALLENGE }, "works: Bandcamp takes this node for a bot"],
    ["404", { status: 404 }, "404"],
    ["another form", { json: { auto: {} } }, "auto.results"],
    ["no connection", "cut" as const, "cannot be reached"],
  ])("a search whose API answers with %s reads the page", async (_, outcome, reason) => {
    stand.site.fail({ ...BROKEN_API, outcome });
    expect(await bench.loadTracks("bandcamp", "bcsearch:hall")).toHaveLength(2);
    stand.site.fail({ at: /\/search$/, outcome: { text: CHALLENGE } });
    const trouble = await troubleWith(bench.load("bandcamp", "bcsearch:garden"));
    expect(trouble.message).toContain(reason);
    expect(trouble.message).toMatch(/search page works: .*it answered HTTP 200 and its page "Client Challenge"; try/);
  });

  test("an API that does not answer leaves time for the page", async () => {
    const clock = new FakeClock();
    bench = await start({ clock, settings: PATIENT });
    stand.site.fail({ ...BROKEN_API, outcome: "hang" });
    stand.site.fail({ at: /\/search$/, outcome: { text: CHALLENGE } });
    const trouble = troubleWith(bench.load("bandcamp", "bcsearch:hall"));
    await expect.poll(() => stand.site.requests.length).toBe(1);
    clock.advance(5000);
    expect((await trouble).message).toMatch(/no whole answer within 5000 ms.*; Bandcamp takes this node for a bot/);
  });

  test("walled pages stop neither the search nor tracks", async () => {
    stand.site.fail({ at: /bandcamp\.com\/(search|music)$/, outcome: { text: CHALLENGE } });
    for (let count = 0; count < 6; count++) {
      // The API's own failures are fewer in a row than would open its breaker.
      if (count === 3) expect(await bench.loadTracks("bandcamp", "bcsearch:hall")).toHaveLength(2);
      stand.site.fail({ ...BROKEN_API, times: 1 });
      await troubleWith(bench.load("bandcamp", `bcsearch:${count}`));
      await troubleWith(bench.load("bandcamp", `${ARTIST}?${count}`));
    }
    // The sixth of each is refused by the breaker; artists' pages are requested with the cookie, too.
    expect(stand.site.requestsTo("bandcamp.com", "/search")).toHaveLength(5);
    expect(stand.site.requestsTo("stand-in.bandcamp.com", "/music")).toHaveLength(10);
    expect(await bench.loadTracks("bandcamp", "bcsearch:garden")).toHaveLength(2);
    expect(await bench.loadTracks("bandcamp", HALL)).toHaveLength(1);
  });

  test.each([`"_fs-ch-x`, "<title>Client Challenge</title>"])(
    "a song of the name %s does not look like the wall",
    async (name) => {
      const results = [{ type: "t", name, item_url_path: HALL }];
      stand.site.fail({ ...BROKEN_API, outcome: { json: { auto: { results } } } });
      expect(await bench.loadTracks("bandcamp", "bcsearch:hall")).toMatchObject([{ info: { title: name } }]);
      expect(stand.site.requests).toHaveLength(1);
    },
  );

  test("an API that finds nothing is believed", async () => {
    expect(await bench.load("bandcamp", "bcsearch:nothing")).toEqual({ kind: "empty" });
    expect(stand.site.requests).toHaveLength(1);
  });
});

describe("an artist behind the bot wall", () => {
  beforeEach(() => {
    stand.areArtistsWalled = true;
  });

  test("an artist's page is requested again with the cookie, which its releases do not need", async () => {
    expect(await bench.load("bandcamp", ARTIST)).toMatchObject(DISCOGRAPHY);
    const cookies = stand.site.requests.map(({ path, headers }) => [path, headers.cookie]);
    expect(cookies.slice(0, 2)).toEqual([
      ["/music", undefined],
      ["/music", "identity"],
    ]);
    expect(cookies.slice(2).map(([, cookie]) => cookie)).toEqual([undefined, undefined, undefined]);
    expect(await used()).toEqual(
      expect.arrayContaining(["artist pages: 0 of 1", "artist pages with a cookie: 1 of 1"]),
    );
  });

  test("after five hits of the wall only the cookie is used, until the pause is over", async () => {
    for (let count = 0; count < 6; count++) {
      expect(await bench.load("bandcamp", `${ARTIST}?${count}`)).toMatchObject(DISCOGRAPHY);
    }
    const plain = stand.site.requestsTo("stand-in.bandcamp.com", "/music").filter(({ headers }) => !headers.cookie);
    expect(plain).toHaveLength(5);
  });

  test("where the cookie does not help either, the bridge is asked", async () => {
    const asked: string[] = [];
    const elsewhere = (identifier: string): PluginAnswer => {
      asked.push(identifier);
      return { kind: "empty" };
    };
    bench = await start({ elsewhere });
    stand.site.fail({ at: /\/music$/, outcome: { text: CHALLENGE } });
    const trouble = await troubleWith(bench.load("bandcamp", ARTIST));
    expect(trouble).toMatchObject({ code: "site-unreachable" });
    expect(trouble.message).toMatch(/takes this node for a bot.*set up the yt-dlp bridge \(plugin ytdlp\)/);
    expect(asked).toEqual(["ytdl:https://stand-in.bandcamp.com/music"]);
  });

  test("after a page that does not answer, the bridge is asked without trying the cookie", async () => {
    const clock = new FakeClock();
    bench = await start({ clock, settings: PATIENT });
    stand.site.fail({ at: /\/music$/, outcome: "hang" });
    const trouble = troubleWith(bench.load("bandcamp", ARTIST));
    await expect.poll(() => stand.site.requests.length).toBe(1);
    clock.advance(10_000);
    expect((await trouble).message).toContain("set up the yt-dlp bridge");
    expect(stand.site.requests).toHaveLength(1);
  });

  test("a page that has changed is not requested again with the cookie", async () => {
    stand.site.fail({ at: /\/music$/, outcome: { text: "<html>something new</html>" } });
    expect(await troubleWith(bench.load("bandcamp", ARTIST))).toMatchObject({ code: "site-changed" });
    expect(stand.site.requestsTo("stand-in.bandcamp.com", "/music")).toHaveLength(1);
  });

  test("the cookie is neither sent to an artist's own domain nor tried for it", async () => {
    const location = "https://music.stand-in.example/music";
    stand.site.fail({ at: /^stand-in\.bandcamp\.com\/music$/, outcome: { status: 302, headers: { location } } });
    stand.site.fail({ at: /^music\.stand-in\.example/, outcome: { text: CHALLENGE } });
    await troubleWith(bench.load("bandcamp", ARTIST));
    const there = stand.site.requestsTo("music.stand-in.example", "/music");
    expect(there.map(({ headers }) => headers.cookie)).toEqual([undefined]);
    expect(stand.site.requestsTo("stand-in.bandcamp.com", "/music")).toHaveLength(1);
  });
});

describe("the bot wall", () => {
  const answerOf = (text: string, status = 200) => ({
    status,
    text,
    bytes: Buffer.from(text),
    headers: {},
    url: ARTIST,
  });

  test.each([
    CHALLENGE,
    '<html><title lang="en" data-x>\n Client Challenge</title>',
    "<!-- x --><html><script src=/_fs-ch-1T1w/script.js></script>",
    "<html><script>load(`https://x.example/a_fs-ch-b`)</script>",
    "<html><noscript><p>Please turn it on</p></noscript><div id=root></div>",
    "\uFEFF <p>JavaScript is disabled in your browser.</p>",
    "<p>JavaScript is required</p>",
  ])("%s is recognised", (text) => {
    expect(wallError(answerOf(text))).toMatchObject({ name: "SourceError", kind: "unreachable" });
  });

  test.each([
    ["a release", '<title>Client Challenge | Band</title><noscript></noscript><script data-tralbum="{}"></script>'],
    ["an artist", "<html><noscript></noscript><ol id=music-grid></ol>"],
    ["a search result", "<noscript></noscript><li class='searchresult'>_fs-ch-"],
    ["a page of Bandcamp", "<meta content=Bandcamp property=og:site_name><noscript></noscript>"],
    ["a page without scripts", "<html>something new</html>"],
    ["a large page", `<noscript></noscript>${" ".repeat(70_000)}`],
    ["JSON", JSON.stringify({ html: "<noscript>_fs-ch-</noscript><title>Client Challenge</title>" })],
    ["an error page", "<html><noscript></noscript>", 404],
  ])("%s is not the wall", (_, text, status?: number) => {
    expect(wallError(answerOf(text, status))).toBeUndefined();
  });
});

describe("an answer of the search API", () => {
  const answerOf = (...results: unknown[]): string => JSON.stringify({ auto: { results } });
  const entry = { type: "t", name: "Song", item_url_path: "https://band.bandcamp.com/track/song" };

  test("a recorded answer becomes its track", () => {
    expect(readSearchAnswer(RECORDED)).toEqual([
      {
        identifier: "https://band.bandcamp.com/track/song",
        uri: "https://band.bandcamp.com/track/song",
        title: "Song",
        author: "Band",
        isStream: false,
        artworkUrl: "https://f4.bcbits.com/img/a0000000123_1.png",
        pluginInfo: { albumName: "Album" },
      },
    ]);
  });

  test.each([
    ["another type", { ...entry, type: "a" }],
    ["no name", { ...entry, name: " " }],
    ["no address", { ...entry, item_url_path: null }],
    ["an album's address", { ...entry, item_url_path: "https://band.bandcamp.com/album/song" }],
    ["an address of the local network", { ...entry, item_url_path: "http://10.0.0.1/track/song" }],
    ["a name without a dot", { ...entry, item_url_path: "http://localhost/track/song" }],
    ["an IPv6 address", { ...entry, item_url_path: "http://[::1]/track/song" }],
    ["a port", { ...entry, item_url_path: "https://band.bandcamp.com:8443/track/song" }],
    ["credentials", { ...entry, item_url_path: "https://user:pass@band.bandcamp.com/track/song" }],
    ["a script", { ...entry, item_url_path: "javascript:/track/song" }],
    ["no object", "track"],
  ])("an entry with %s is left out", (_, wrong) => {
    expect(readSearchAnswer(answerOf(wrong, entry)).map(({ title }) => title)).toEqual(["Song"]);
    expect(readSearchAnswer(answerOf(wrong))).toEqual([]);
  });

  test("an entry may have a path in place of an address, and lack everything that is not needed", () => {
    const bare = { name: "Song", item_url_root: "https://band.example", item_url_path: "/track/song" };
    expect(readSearchAnswer(answerOf(bare))).toEqual([
      expect.objectContaining({ uri: "https://band.example/track/song", artworkUrl: null, pluginInfo: {} }),
    ]);
    const odd = { ...entry, item_url_root: 7, art_id: "x", img: "javascript:alert(1)", band_name: {} };
    expect(readSearchAnswer(answerOf(odd))).toMatchObject([{ artworkUrl: null, author: undefined }]);
  });

  test("an answer with many entries becomes 50 tracks, also when others come first", () => {
    const albums = Array.from({ length: 100 }, () => ({ ...entry, type: "a" }));
    const tracks = Array.from({ length: 200 }, () => entry);
    expect(readSearchAnswer(answerOf(...albums, ...tracks))).toHaveLength(50);
  });

  test.each(["", "<html>", "null", "[]", "{}", '{"auto":null}', '{"auto":{"results":{}}}'])(
    "an answer of another form (%s) is a change of the site",
    (text) => {
      expect(() => readSearchAnswer(text)).toThrow(expect.objectContaining({ kind: "changed" }));
    },
  );
});
