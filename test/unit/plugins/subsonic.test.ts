import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import {
  type SubsonicLibrary,
  SubsonicSite,
  type SubsonicSiteOptions,
  subsonicError,
} from "../../../lab/sites/subsonic.ts";
import subsonic from "../../../plugins/subsonic/plugin.ts";
import type { SourceAnswer } from "../../../src/plugin-api/plugin.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const open: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function startSite(options: SubsonicSiteOptions = {}): Promise<SubsonicSite> {
  const site = await SubsonicSite.start(options);
  open.push(site);
  return site;
}

function entryOf(site: SubsonicSite, name = "home"): Record<string, string> {
  return { name, url: site.url, username: site.username, password: site.password };
}

async function startBench(
  servers: readonly Record<string, string>[],
  more: Record<string, string> = {},
): Promise<PluginBench> {
  const bench = await PluginBench.start(subsonic, { options: { servers: [...servers], ...more } });
  open.push(bench);
  return bench;
}

/** A server called home with a node at it. */
async function atHome(library: Partial<SubsonicLibrary> = {}): Promise<{ site: SubsonicSite; bench: PluginBench }> {
  const site = await startSite({ library });
  return { site, bench: await startBench([entryOf(site)]) };
}

function playlistIn(answer: SourceAnswer | undefined): Extract<SourceAnswer, { readonly kind: "playlist" }> {
  if (answer?.kind !== "playlist") throw new Error(`expected a playlist, got ${answer?.kind}`);
  return answer;
}

describe("a track", () => {
  it("a track's identifier contains its server's name and its id, and no address", async () => {
    const { site, bench } = await atHome();
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    expect(track?.info).toMatchObject({
      identifier: "subsonic:home:s1",
      title: "First Light",
      author: "Mira Vale & Co",
      length: 10_000,
      isStream: false,
      isSeekable: true,
      isrc: "XX0000000001",
      uri: null,
      artworkUrl: null,
      sourceName: "subsonic",
    });
    expect(track?.pluginInfo).toEqual({
      albumName: "Harbour",
      albumIdentifier: "subsonic:home:album:a1",
      artistIdentifier: "subsonic:home:artist:r1",
    });
    const everything = JSON.stringify(track) + Buffer.from(track?.encoded ?? "", "base64").toString("latin1");
    for (const secret of [site.host, site.username, site.password]) expect(everything).not.toContain(secret);
  });

  it("a track's id may contain colons", async () => {
    const { bench } = await atHome({ songs: [{ id: "tr:7:x", title: "Odd", duration: 1 }] });
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:tr:7:x");
    expect(track?.info).toMatchObject({ identifier: "subsonic:home:tr:7:x", title: "Odd", author: "Unknown artist" });
  });

  it("a track that the server does not have is an empty result", async () => {
    const { bench } = await atHome();
    expect(await bench.load("subsonic", "subsonic:home:s99")).toEqual({ kind: "empty" });
  });

  it("a track that is a folder or a video is reported not to be a song", async () => {
    const { bench } = await atHome({ songs: [{ id: "d1", title: "Folder", isDir: true }] });
    const trouble = await troubleWith(bench.load("subsonic", "subsonic:home:d1"));
    expect(trouble).toMatchObject({
      code: "site-unavailable",
      message: expect.stringContaining("something else than a song"),
    });
  });

  it("a track of an unknown or removed server is reported without naming other servers", async () => {
    const { bench } = await atHome();
    const trouble = await troubleWith(bench.load("subsonic", "subsonic:cellar:s1"));
    expect(trouble.code).toBe("site-unavailable");
    expect(trouble.message).toBe('plugins.subsonic.servers has no server "cellar"');
  });
});

it.each([
  "subsonic:",
  "subsonic:home",
  "subsonic:home:",
  "subsonic::s1",
  "subsonic:ho me:s1",
  "subsonics:home:s1",
  "jellyfin:home:s1",
])("the identifier %s is not Subsonic's", async (identifier) => {
  const { site, bench } = await atHome();
  expect(await bench.load("subsonic", identifier)).toBeUndefined();
  expect(site.requests()).toEqual([]);
});

describe("a search", () => {
  it("a search queries all servers and joins their answers in order", async () => {
    const [first, second] = [
      await startSite(),
      await startSite({ library: { songs: [{ id: "x1", title: "Wave", duration: 3 }] } }),
    ];
    const bench = await startBench([entryOf(second, "attic"), entryOf(first, "home")]);
    const tracks = await bench.loadTracks("subsonic", "subsearch: wave ");
    expect(tracks.map(({ info }) => info.identifier)).toEqual(["subsonic:attic:x1", "subsonic:home:s2"]);
    expect(first.requests("search3")[0]?.query.get("query")).toBe("wave");
  });

  it("a search continues without a server that fails", async () => {
    const [home, attic] = [await startSite(), await startSite()];
    attic.fail("search3", { status: 500 });
    const bench = await startBench([entryOf(attic, "attic"), entryOf(home)]);
    const tracks = await bench.loadTracks("subsonic", "subsearch:light");
    expect(tracks.map(({ info }) => info.identifier)).toEqual(["subsonic:home:s1"]);
    expect(bench.lines.map(({ message }) => message)).toContain("search incomplete: one of the servers failed");
  });

  it("a search fails when all servers do, with the first one's message", async () => {
    const [home, attic] = [await startSite(), await startSite({ password: "another one" })];
    home.fail("search3", { status: 503 });
    const bench = await startBench([entryOf(home), { ...entryOf(attic, "attic"), password: "wrong" }]);
    const trouble = await troubleWith(bench.load("subsonic", "subsearch:light"));
    expect(trouble).toMatchObject({
      code: "site-busy",
      message: 'subsonic: the server "home" is busy or has failed (HTTP 503)',
    });
  });

  it("a search without results is empty, and one without words sends no request", async () => {
    const { site, bench } = await atHome();
    expect(await bench.load("subsonic", "subsearch:nothing like it")).toEqual({ kind: "empty" });
    expect(await bench.load("subsonic", "subsearch:  ")).toEqual({ kind: "empty" });
    expect(site.requests()).toHaveLength(1);
  });

  it("a search requests the configured number of tracks, and returns no more", async () => {
    const songs = Array.from({ length: 9 }, (_, index) => ({ id: `m${index}`, title: "Many", duration: 1 }));
    const site = await startSite({ library: { songs } });
    const bench = await startBench([entryOf(site)], { searchLimit: "5" });
    site.fail("search3", (request) => {
      expect(request.query.get("songCount")).toBe("5");
      return { json: { "subsonic-response": { status: "ok", searchResult3: { song: songs } } } };
    });
    expect(await bench.loadTracks("subsonic", "subsearch:many")).toHaveLength(5);
  });

  it("a search leaves out invalid entries", async () => {
    const { site, bench } = await atHome();
    const song = [null, 7, { title: "no id" }, { id: "v", isVideo: true }, { id: 12, title: "Twelve", duration: "x" }];
    site.fail("search3", { json: { "subsonic-response": { status: "ok", searchResult3: { song } } } });
    const tracks = await bench.loadTracks("subsonic", "subsearch:odd");
    expect(tracks.map(({ info }) => [info.identifier, info.title])).toEqual([["subsonic:home:12", "Twelve"]]);
  });
});

describe("lists", () => {
  it("an album has its songs", async () => {
    const { bench } = await atHome();
    const album = playlistIn(await bench.load("subsonic", "subsonic:home:album:a1"));
    expect(album.name).toBe("Harbour");
    expect(album.tracks.map(({ identifier }) => identifier)).toEqual(["subsonic:home:s1", "subsonic:home:s2"]);
    const info = { type: "album", identifier: "subsonic:home:album:a1", author: "Mira Vale", totalTracks: 2 };
    expect(album.pluginInfo).toEqual(info);
  });

  it("a playlist has its songs in its order, without invalid entries", async () => {
    const { site, bench } = await atHome();
    const found = playlistIn(await bench.load("subsonic", "subsonic:home:playlist:p1"));
    expect(found.tracks.map(({ title }) => title)).toEqual(["Third Rail", "First Light"]);
    const entry = [{ id: "s1", title: "One" }, {}, { id: "s2", title: "Two" }];
    site.fail("getPlaylist", {
      json: { "subsonic-response": { status: "ok", playlist: { id: "p2", name: "Gaps", entry } } },
    });
    const gaps = playlistIn(await bench.load("subsonic", "subsonic:home:playlist:p2"));
    expect(gaps.tracks.map(({ title }) => title)).toEqual(["One", "Two"]);
  });

  it("a playlist of 5,000 songs is loaded completely, with one request", async () => {
    const songs = Array.from({ length: 5000 }, (_, index) => ({
      id: `n${index}`,
      title: `N ${index}`,
      path: "x".repeat(2000),
    }));
    const { site, bench } = await atHome({ songs, playlists: { all: songs.map(({ id }) => id) } });
    site.fail("getPlaylist", {
      json: { "subsonic-response": { status: "ok", playlist: { id: "all", entry: songs } } },
    });
    const found = playlistIn(await bench.load("subsonic", "subsonic:home:playlist:all"));
    expect(found.tracks).toHaveLength(5000);
    expect(found.tracks.at(-1)?.identifier).toBe("subsonic:home:n4999");
    expect(site.requests()).toHaveLength(1);
  });

  it("an artist has the most played songs, else those of the albums", async () => {
    const { site, bench } = await atHome();
    const top = playlistIn(await bench.load("subsonic", "subsonic:home:artist:r1"));
    expect(top).toMatchObject({ name: "Mira Vale", pluginInfo: { type: "artist" } });
    expect(top.tracks.map(({ title }) => title)).toEqual(["Second Wave"]);
    site.fail("getTopSongs", { status: 501 });
    const albums = playlistIn(await bench.load("subsonic", "subsonic:home:artist:r2"));
    expect(albums.tracks.map(({ title }) => title)).toEqual(["Third Rail"]);
  });

  it("a list that the server does not have is empty", async () => {
    const { bench } = await atHome();
    for (const kind of ["album", "playlist", "artist"]) {
      expect(await bench.load("subsonic", `subsonic:home:${kind}:none`)).toEqual({ kind: "empty" });
    }
  });
});

describe("the audio", () => {
  it("the audio is the original file, with a login made for this link", async () => {
    const { site, bench } = await atHome();
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    const link = await bench.resolve("subsonic", track!.encoded); // it was loaded
    if (link.kind !== "link") throw new Error("expected a link");
    const url = new URL(link.url);
    expect(url.searchParams.get("format")).toBe("raw");
    expect(link.url).not.toContain(encodeURIComponent(site.password));
    expect(link).toMatchObject({ headers: {}, variant: "home s1 55000" });
    const answer = await fetch(url, { headers: { range: "bytes=0-3" } });
    expect([answer.status, await answer.text()]).toEqual([206, "OggS"]);
  });

  it("the audio link is renewed when it was refused, with another salt and the same variant", async () => {
    const { site, bench } = await atHome();
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    const first = await bench.resolve("subsonic", track!.encoded); // it was loaded
    const again = await bench.resolve("subsonic", track!.encoded, { reason: "refused", status: 403 }); // the same
    if (first.kind !== "link" || again.kind !== "link") throw new Error("expected links");
    expect(again.url).not.toBe(first.url);
    expect(again.variant).toBe(first.variant);
    expect(site.requests("getSong")).toHaveLength(3);
  });

  it("the audio is transcoded as the operator has set, and then has no variant name", async () => {
    const site = await startSite();
    const bench = await startBench([entryOf(site)], { transcodeTo: "opus" });
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    const link = await bench.resolve("subsonic", track!.encoded); // it was loaded
    if (link.kind !== "link") throw new Error("expected a link");
    expect(new URL(link.url).searchParams.get("format")).toBe("opus");
    expect(link.variant).toBeUndefined();
  });

  it("the audio of a removed song fails before streaming starts", async () => {
    const { site, bench } = await atHome();
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    site.fail("getSong", subsonicError(70));
    const trouble = await troubleWith(bench.resolve("subsonic", track!.encoded)); // it was loaded
    expect(trouble).toMatchObject({ code: "site-unavailable", message: 'the server "home" has nothing of that id' });
  });
});

describe("the login", () => {
  it("the login is a salted hash, with a new salt for each request", async () => {
    const { site, bench } = await atHome();
    await bench.load("subsonic", "subsonic:home:s1");
    await bench.load("subsonic", "subsonic:home:s2");
    const salts = site.requests().map(({ query }) => query.get("s") ?? "");
    expect(new Set(salts).size).toBe(2);
    expect(Math.min(...salts.map((salt) => salt.length))).toBeGreaterThanOrEqual(6);
    expect(site.requests().some(({ query }) => query.has("p") || query.has("apiKey"))).toBe(false);
  });

  it("the login is only a key if one is set", async () => {
    const site = await startSite();
    const bench = await startBench([{ name: "home", url: site.url, apiKey: site.apiKey }]);
    expect(await bench.loadTracks("subsonic", "subsonic:home:s1")).toHaveLength(1);
    expect([...(site.requests()[0]?.query.keys() ?? [])].sort()).toEqual(["apiKey", "c", "f", "id", "v"]);
  });

  it.each([
    ["password", { password: "wrong" }, 'the server "home" refused user name or password'],
    ["user", { username: "eve" }, 'the server "home" refused user name or password'],
  ])("a login with a wrong %s is reported as refused", async (_what, wrong, message) => {
    const site = await startSite();
    const bench = await startBench([{ ...entryOf(site), ...wrong }]);
    const trouble = await troubleWith(bench.load("subsonic", "subsonic:home:s1"));
    expect(trouble).toMatchObject({ code: "site-unavailable", message });
  });
});

describe("misbehaving servers", () => {
  const outcomes = [
    ["a page", { text: "<html>login</html>" }, "site-changed", /answered a page where JSON was expected/],
    ["XML", { text: "<subsonic-response/>" }, "site-changed", /a page where JSON/],
    ["other JSON", { json: { hello: 1 } }, "site-changed", /not of the Subsonic API/],
    ["no song", { json: { "subsonic-response": { status: "ok" } } }, "site-changed", /no song where one was expected/],
    ["no such path", { status: 404 }, "site-changed", /no such interface/],
    ["refused by a proxy", { status: 401 }, "site-unavailable", /refused the node's login/],
    ["refused with 403", { status: 403 }, "site-unavailable", /refused the node's login/],
    ["too many requests", { status: 429, headers: { "retry-after": "7" } }, "site-busy", /HTTP 429/],
    ["an unknown code", subsonicError(0), "site-changed", /the error 0/],
    ["its own error with status 400", { status: 400, json: failed(50) }, "site-unavailable", /does not allow/],
    ["a cut connection", "cut", "site-unreachable", /cannot be reached/],
  ] as const;

  it.each(outcomes)(
    "an answer of %s is reported without the server's address",
    async (_what, outcome, code, message) => {
      const { site, bench } = await atHome();
      site.fail("getSong", outcome);
      const trouble = await troubleWith(bench.load("subsonic", "subsonic:home:s1"));
      expect(trouble.code).toBe(code);
      expect(trouble.message).toMatch(message);
      const reported = JSON.stringify([trouble, bench.lines.filter(({ level }) => level !== "debug")]);
      for (const secret of [site.host, "made-up words", site.username, site.password])
        expect(reported).not.toContain(secret);
    },
  );

  it("a server that redirects in circles is reported", async () => {
    const { site, bench } = await atHome();
    site.fail("getSong", { status: 302, headers: { location: `${site.url}/rest/getSong.view?f=json` } });
    const trouble = await troubleWith(bench.load("subsonic", "subsonic:home:s1"));
    expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("led in circles") });
    expect(site.requests("getSong")).toHaveLength(6);
  });

  it("a server that answers 50 MB is reported", async () => {
    const { site, bench } = await atHome();
    // Packed: a slow machine would not read it in the time that a server has.
    const bytes = gzipSync(new Uint8Array(50 * 1024 * 1024).fill(0x20));
    site.fail("getPlaylist", { headers: { "content-encoding": "gzip" }, bytes });
    const trouble = await troubleWith(bench.load("subsonic", "subsonic:home:playlist:p1"));
    expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("too much") });
  });

  it("a failing server opens its circuit breaker with the fifth failure, while the others are asked", async () => {
    const [home, attic] = [await startSite(), await startSite()];
    attic.fail("search3", { status: 500 });
    const bench = await startBench([entryOf(attic, "attic"), entryOf(home)]);
    for (const words of ["f", "i", "r", "s", "t", "l"]) {
      expect((await bench.loadTracks("subsonic", `subsearch:${words}`)).length).toBeGreaterThan(0);
    }
    expect(attic.requests("search3")).toHaveLength(5);
    expect(home.requests("search3")).toHaveLength(6);
  });
});

it("a server that refused a login for a while works again afterwards", async () => {
  const { site, bench } = await atHome();
  site.fail("getSong", { status: 401 }, 1);
  await troubleWith(bench.load("subsonic", "subsonic:home:s1"));
  expect(await bench.loadTracks("subsonic", "subsonic:home:s1")).toHaveLength(1);
});

describe("options", () => {
  const url = "http://127.0.0.1:9";
  const good = { name: "home", url, username: "ada", password: "secret-word" };
  it.each([
    ["no server", [], "plugins.subsonic.servers names no server"],
    ["a name with a colon", [{ ...good, name: "ho:me" }], "servers[0].name: expected"],
    ["a name that is taken", [good, good], "servers[1].name: another server is called home"],
    ["no login", [{ name: "home", url }], "servers[0]: expected either username and password, or apiKey"],
    ["half a login", [{ name: "home", url, username: "ada" }], "servers[0]: expected either"],
    ["two logins", [{ ...good, apiKey: "k" }], "servers[0]: expected either"],
    ["no address", [{ name: "home", apiKey: "k" }], "servers[0].url: must be set"],
    [
      "an address with a password",
      [{ ...good, url: "http://a:secret-word@127.0.0.1" }],
      "servers[0].url: expected the address",
    ],
  ])("options with %s are refused", async (_what, servers, problem) => {
    const starting = PluginBench.start(subsonic, { options: { servers } });
    await expect(starting).rejects.toThrow(problem);
    await expect(starting).rejects.not.toThrow("secret-word");
  });

  it("the plugin reports the hosts and ports of the operator's servers", async () => {
    const servers = [good, { ...good, name: "attic", url: "https://music.example/base" }];
    expect((await startBench(servers)).manifest.ownServers).toEqual(["127.0.0.1:9", "music.example:443"]);
  });
});

function failed(code: number): unknown {
  const outcome = subsonicError(code);
  return typeof outcome === "object" ? outcome.json : undefined;
}

describe("lyrics", () => {
  it("the lyrics of a song are those with times, shown earlier by their offset", async () => {
    const { bench } = await atHome();
    const [track] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    expect(await bench.lyrics(track?.encoded ?? "")).toEqual({
      sourceName: "subsonic",
      provider: "home",
      text: "Second line\nFirst line",
      lines: [
        { timestamp: 1000, duration: 5000, line: "First line" },
        { timestamp: 6000, duration: null, line: "Second line" },
      ],
    });
  });

  it("a server that knows no lyrics or not the method has none, and its breaker stays closed", async () => {
    const { site, bench } = await atHome();
    const [song] = await bench.loadTracks("subsonic", "subsonic:home:s2");
    expect(await bench.lyrics(song?.encoded ?? "")).toBeUndefined();
    for (const outcome of [{ status: 404, text: "not found" }, { status: 501 }, subsonicError(0), subsonicError(70)]) {
      const restore = site.fail("getLyricsBySongId", outcome);
      for (let count = 0; count < 3; count++) expect(await bench.lyrics(song?.encoded ?? "")).toBeUndefined();
      restore();
    }
    expect(await bench.loadTracks("subsonic", "subsonic:home:s3")).toHaveLength(1);
  });

  it("a refused login is an error", async () => {
    const { site, bench } = await atHome();
    const [song] = await bench.loadTracks("subsonic", "subsonic:home:s1");
    site.fail("getLyricsBySongId", subsonicError(40));
    expect(await troubleWith(bench.lyrics(song?.encoded ?? ""))).toMatchObject({ code: "site-unavailable" });
  });
});
