import { afterEach, describe, expect, it } from "vitest";
import { JELLYFIN_USER_ID, JellyfinSite, type JellyfinSiteOptions, jellyfinId } from "../../../lab/sites/jellyfin.ts";
import jellyfin from "../../../plugins/jellyfin/plugin.ts";
import type { PluginLink } from "../../../src/bridge/plugin-messages.ts";
import type { SourceAnswer } from "../../../src/plugin-api/plugin.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const open: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function startSite(options: JellyfinSiteOptions = {}): Promise<JellyfinSite> {
  const site = await JellyfinSite.start(options);
  open.push(site);
  return site;
}

type Entry = Record<string, string>;

function entryOf(site: JellyfinSite, name = "home"): Entry {
  return { name, url: site.url, username: site.username, password: site.password };
}

async function startBench(servers: readonly Entry[], more: Record<string, string> = {}): Promise<PluginBench> {
  const bench = await PluginBench.start(jellyfin, { options: { servers: [...servers], ...more } });
  open.push(bench);
  return bench;
}

/** A server called home with a node at it. */
async function atHome(options: JellyfinSiteOptions = {}): Promise<{ site: JellyfinSite; bench: PluginBench }> {
  const site = await startSite(options);
  return { site, bench: await startBench([entryOf(site)]) };
}

async function encodedSong(bench: PluginBench): Promise<string> {
  const [track] = await bench.loadTracks("jellyfin", song(1));
  return track?.encoded ?? "";
}

function song(number: number): string {
  return `jellyfin:home:${jellyfinId(number)}`;
}

function playlistIn(answer: SourceAnswer | undefined): Extract<SourceAnswer, { readonly kind: "playlist" }> {
  if (answer?.kind !== "playlist") throw new Error(`expected a playlist, got ${answer?.kind}`);
  return answer;
}

function linkIn(link: PluginLink): Extract<PluginLink, { readonly kind: "link" }> {
  if (link.kind !== "link") throw new Error(`expected a link, got a ${link.kind}`);
  return link;
}

describe("a track", () => {
  it("a track's identifier contains its server's name and its id, and no address", async () => {
    const { site, bench } = await atHome();
    const [track] = await bench.loadTracks("jellyfin", song(1));
    expect(track?.info).toMatchObject({
      identifier: song(1),
      title: "First Light",
      author: "Mira Vale, Oto Brandt",
      length: 10_000,
      isStream: false,
      isSeekable: true,
      uri: null,
      artworkUrl: null,
      sourceName: "jellyfin",
    });
    expect(track?.pluginInfo).toEqual({
      albumName: "Harbour",
      albumIdentifier: `jellyfin:home:album:${jellyfinId(11)}`,
      artistIdentifier: `jellyfin:home:artist:${jellyfinId(21)}`,
    });
    const everything = JSON.stringify(track) + Buffer.from(track?.encoded ?? "", "base64").toString("latin1");
    for (const secret of [site.host, site.username, site.password]) expect(everything).not.toContain(secret);
  });

  it.each([
    ["its file", [{ RunTimeTicks: 90_000_000 }], 9000],
    ["the first file that has one", [{}, { RunTimeTicks: 0 }, { RunTimeTicks: 80_000_000 }], 8000],
  ])("a track without a length has that of %s", async (_whose, MediaSources, length) => {
    const { site, bench } = await atHome({ items: [{ Id: jellyfinId(1), Type: "Audio", Name: "A", MediaSources }] });
    const [track] = await bench.loadTracks("jellyfin", song(1));
    expect(track?.info).toMatchObject({ title: "A", length });
    expect(site.requests("/Items").at(-1)?.query.get("fields")).toBe("MediaSources");
    await bench.resolve("jellyfin", track?.encoded ?? "");
    expect(site.requests("/Items").at(-1)?.query.get("fields")).toBe("Etag");
  });

  it.each([
    ["a search", "jfsearch:A"],
    ["a playlist", `jellyfin:home:playlist:${jellyfinId(31)}`],
  ])("%s has the lengths of files, too", async (_, identifier) => {
    const file = { Type: "Audio", Name: "A", MediaSources: [{ RunTimeTicks: 90_000_000 }] };
    const playlist = { Id: jellyfinId(31), Type: "Playlist", Name: "Evening" };
    const items = [playlist, { ...file, Id: jellyfinId(1) }];
    const { site, bench } = await atHome({ items, playlists: { [jellyfinId(31)]: [jellyfinId(1)] } });
    const [track] = await bench.loadTracks("jellyfin", identifier);
    expect(track?.info.length).toBe(9000);
    const [without, withFiles] = site.requests("/Items").slice(-2);
    expect(without?.query.has("fields")).toBe(false);
    expect(Object.fromEntries(withFiles?.query ?? [])).toEqual({
      ...Object.fromEntries(without?.query ?? []),
      fields: "MediaSources",
    });
  });

  it.each([
    ["a search", "jfsearch:light"],
    ["an album", `jellyfin:home:album:${jellyfinId(11)}`],
  ])("%s whose songs have lengths is not asked for files", async (_, identifier) => {
    const { site, bench } = await atHome();
    expect(await bench.loadTracks("jellyfin", identifier)).not.toEqual([]);
    expect(site.requests("/Items").filter(({ query }) => query.has("fields"))).toEqual([]);
  });

  it.each([[[]], [{}], ["x"], [null], [[{ RunTimeTicks: "9" }]]])(
    "a track without a length and with files of %j has none",
    async (MediaSources) => {
      const { bench } = await atHome({ items: [{ Id: jellyfinId(1), Type: "Audio", Name: "A", MediaSources }] });
      const [track] = await bench.loadTracks("jellyfin", song(1));
      expect(track?.info.length).toBeGreaterThan(100_000_000);
    },
  );

  it("a track without artists has its album's artist", async () => {
    const { bench } = await atHome();
    const [track] = await bench.loadTracks("jellyfin", song(3));
    expect(track?.info).toMatchObject({ title: "Third Rail", author: "Oto Brandt" });
  });

  it.each([
    [jellyfinId(77), 1],
    ["77", 0],
    ["../../Users", 0],
    [`${jellyfinId(1)},${jellyfinId(2)}`, 0],
  ])(
    "a track that the server does not have is an empty result, and only ids are requested: %s",
    async (id, requestCount) => {
      const { site, bench } = await atHome();
      expect(await bench.load("jellyfin", `jellyfin:home:${id}`)).toEqual({ kind: "empty" });
      expect(site.requests("/Items")).toHaveLength(requestCount);
    },
  );

  it("a track that is a video is reported not to be a song", async () => {
    const { bench } = await atHome();
    const trouble = await troubleWith(bench.load("jellyfin", song(41)));
    expect(trouble.message).toBe('the server "home" has something else than a song of that id');
  });
});

it.each(["jellyfin:", "jellyfin:home", "jellyfin:home:", "jellyfin:ho me:1", "subsonic:home:s1", "jf:home:1"])(
  "the identifier %s is not Jellyfin's",
  async (identifier) => {
    const { site, bench } = await atHome();
    expect(await bench.load("jellyfin", identifier)).toBeUndefined();
    expect(site.requests()).toEqual([]);
  },
);

describe("a search", () => {
  it("a search queries all servers and joins their answers in order", async () => {
    const [home, attic] = [await startSite(), await startSite({ apiKey: "another key" })];
    const bench = await startBench([{ name: "attic", url: attic.url, apiKey: attic.apiKey }, entryOf(home)]);
    const tracks = await bench.loadTracks("jellyfin", "jfsearch: wave");
    expect(tracks.map(({ info }) => info.identifier)).toEqual([`jellyfin:attic:${jellyfinId(2)}`, song(2)]);
    const asked = home.requests("/Items")[0]?.query;
    expect(Object.fromEntries(asked ?? [])).toEqual({
      searchTerm: "wave",
      includeItemTypes: "Audio",
      recursive: "true",
      limit: "20",
      userId: JELLYFIN_USER_ID,
    });
    expect(attic.requests("/Items")[0]?.query.has("userId")).toBe(false);
  });

  it("a search continues without a server that fails", async () => {
    const [home, attic] = [await startSite(), await startSite()];
    attic.fail("/Items", { text: "<html>" });
    const bench = await startBench([entryOf(attic, "attic"), entryOf(home)]);
    const tracks = await bench.loadTracks("jellyfin", "jfsearch:light");
    expect(tracks.map(({ info }) => info.identifier)).toEqual([song(1)]);
  });

  it("a search leaves out invalid entries", async () => {
    const { site, bench } = await atHome();
    const items = [null, { Id: "../x" }, { Id: jellyfinId(5), Type: "MusicVideo" }, { Id: jellyfinId(6), Name: "Six" }];
    site.fail("/Items", { json: { Items: items } });
    const tracks = await bench.loadTracks("jellyfin", "jfsearch:odd");
    expect(tracks.map(({ info }) => info.title)).toEqual(["Six"]);
  });
});

describe("lists", () => {
  it("an album has its songs in their order", async () => {
    const { site, bench } = await atHome();
    const album = playlistIn(await bench.load("jellyfin", `jellyfin:home:album:${jellyfinId(11)}`));
    expect(album.name).toBe("Harbour");
    expect(album.tracks.map(({ title }) => title)).toEqual(["First Light", "Second Wave"]);
    expect(album.pluginInfo).toMatchObject({ type: "album", author: "Mira Vale", totalTracks: 2 });
    expect(site.requests("/Items").at(-1)?.query.get("sortBy")).toBe("ParentIndexNumber,IndexNumber,SortName");
  });

  it("a playlist has its songs in its own order", async () => {
    const { site, bench } = await atHome();
    const found = playlistIn(await bench.load("jellyfin", `jellyfin:home:playlist:${jellyfinId(31)}`));
    expect(found.tracks.map(({ title }) => title)).toEqual(["Third Rail", "First Light"]);
    expect(site.requests("/Items").at(-1)?.query.has("sortBy")).toBe(false);
  });

  it("an artist has the songs that are played most", async () => {
    const { bench } = await atHome();
    const found = playlistIn(await bench.load("jellyfin", `jellyfin:home:artist:${jellyfinId(21)}`));
    expect(found).toMatchObject({ name: "Mira Vale", pluginInfo: { type: "artist" } });
    expect(found.tracks.map(({ title }) => title)).toEqual(["First Light"]);
  });

  it("a list that the server does not have is empty, and nothing else is listed instead", async () => {
    const { site, bench } = await atHome();
    expect(await bench.load("jellyfin", `jellyfin:home:album:${jellyfinId(99)}`)).toEqual({ kind: "empty" });
    const trouble = await troubleWith(bench.load("jellyfin", `jellyfin:home:album:${jellyfinId(31)}`));
    expect(trouble.message).toBe('the server "home" has something else than that album');
    expect(site.requests("/Items").some(({ query }) => query.has("parentId"))).toBe(false);
  });

  it("a playlist of 5,000 songs comes in pages of 500", async () => {
    const songs = Array.from({ length: 5000 }, (_, index) => ({
      Id: jellyfinId(5000 + index),
      Type: "Audio",
      Name: "N",
      RunTimeTicks: 10_000_000,
    }));
    const items = [...songs, { Id: jellyfinId(31), Type: "Playlist", Name: "All" }];
    const { site, bench } = await atHome({ items, playlists: { [jellyfinId(31)]: songs.map(({ Id }) => Id) } });
    const found = playlistIn(await bench.load("jellyfin", `jellyfin:home:playlist:${jellyfinId(31)}`));
    expect(new Set(found.tracks.map(({ identifier }) => identifier)).size).toBe(5000);
    expect(site.requests("/Items")).toHaveLength(11);
  });

  it.each([
    ["that is always the same", () => 0, 2],
    ["that never ends", (start: number) => start, 20],
  ])("a page %s ends the list", async (_what, firstOf, pages) => {
    const { site, bench } = await atHome();
    site.fail("/Items", ({ query }) => {
      if (query.has("ids")) return { json: { Items: [{ Id: query.get("ids"), Type: "Playlist", Name: "Loop" }] } };
      const first = 1000 + firstOf(Number(query.get("startIndex")));
      const song = { Type: "Audio", RunTimeTicks: 10_000_000 };
      const Items = Array.from({ length: 500 }, (_, index) => ({ ...song, Id: jellyfinId(first + index) }));
      return { json: { Items, TotalRecordCount: 1_000_000 } };
    });
    const found = playlistIn(await bench.load("jellyfin", `jellyfin:home:playlist:${jellyfinId(31)}`));
    expect(site.requests("/Items")).toHaveLength(1 + pages);
    expect(found.tracks).toHaveLength(pages === 2 ? 500 : 10_000);
  });
});

describe("the audio", () => {
  it("the audio is the original file, with the login in a header and not in the address", async () => {
    const { site, bench } = await atHome();
    const link = linkIn(await bench.resolve("jellyfin", await encodedSong(bench)));
    expect(link.url).toBe(`${site.url}/Audio/${jellyfinId(1)}/stream?static=true`);
    expect(link.variant).toBe(`home ${jellyfinId(1)} e1`);
    expect(link.headers.authorization).toMatch(/^MediaBrowser Token="token1/);
    const answer = await fetch(link.url, { headers: { ...link.headers, range: "bytes=0-3" } });
    expect([answer.status, await answer.text()]).toEqual([206, "OggS"]);
    expect((await fetch(link.url)).status).toBe(401);
  });

  it("the audio has another login once the session has ended, and the same variant", async () => {
    const { site, bench } = await atHome();
    const encoded = await encodedSong(bench);
    const first = linkIn(await bench.resolve("jellyfin", encoded));
    site.endSessions();
    const again = linkIn(await bench.resolve("jellyfin", encoded, { reason: "refused", status: 401 }));
    expect(again.headers.authorization).not.toBe(first.headers.authorization);
    expect([again.url, again.variant]).toEqual([first.url, first.variant]);
    expect((await fetch(again.url, { headers: again.headers })).status).toBe(200);
  });

  it("the audio link is requested again when it was refused, though nothing has changed", async () => {
    const { site, bench } = await atHome();
    const encoded = await encodedSong(bench);
    await bench.resolve("jellyfin", encoded);
    const count = site.requests("/Items").length;
    await bench.resolve("jellyfin", encoded, { reason: "refused", status: 403 });
    expect(site.requests("/Items")).toHaveLength(count + 1);
  });

  it.each([
    ["mp3", "mp3"],
    ["opus", "ogg"],
  ])("the audio is transcoded as the operator has set: %s", async (transcodeTo, transcodingContainer) => {
    const site = await startSite();
    const bench = await startBench([{ name: "home", url: site.url, apiKey: site.apiKey }], { transcodeTo });
    const link = linkIn(await bench.resolve("jellyfin", await encodedSong(bench)));
    const url = new URL(link.url);
    expect(url.pathname).toMatch(/\/universal$/);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ audioCodec: transcodeTo, transcodingContainer });
    expect(link.url).not.toContain(site.apiKey);
    expect(link.variant).toBeUndefined();
    expect((await fetch(url, { headers: link.headers })).status).toBe(200);
  });

  it("the audio of a removed song fails before streaming starts", async () => {
    const { site, bench } = await atHome();
    const encoded = await encodedSong(bench);
    site.fail("/Items", { json: { Items: [] } });
    const trouble = await troubleWith(bench.resolve("jellyfin", encoded));
    expect(trouble).toMatchObject({ code: "site-unavailable", message: 'the server "home" has nothing of that id' });
  });
});

describe("the login", () => {
  it("the login is made once for many requests", async () => {
    const { site, bench } = await atHome();
    await Promise.all([1, 2, 3].map((number) => bench.load("jellyfin", song(number))));
    expect(site.loginCount).toBe(1);
  });

  it("the login is repeated when the session has ended, once for concurrent requests", async () => {
    const { site, bench } = await atHome();
    await bench.load("jellyfin", song(1));
    site.endSessions();
    const answers = await Promise.all(
      [1, 2, 3].map((number) => bench.loadTracks("jellyfin", `jfsearch:${"fst"[number - 1]}`)),
    );
    expect(answers.every((tracks) => tracks.length > 0)).toBe(true);
    expect(site.loginCount).toBe(2);
  });

  it("the login is given up when a fresh session is refused, too", async () => {
    const { site, bench } = await atHome();
    site.fail("/Items", { status: 401 });
    const trouble = await troubleWith(bench.load("jellyfin", song(1)));
    expect(trouble).toMatchObject({
      code: "site-unavailable",
      message: expect.stringContaining("refused the node's login"),
    });
    expect([site.loginCount, site.requests("/Items").length]).toEqual([2, 2]);
  });

  it("a login with a wrong password is not repeated with each request, since that locks users out", async () => {
    const site = await startSite();
    const clock = new FakeClock();
    const bench = await PluginBench.start(jellyfin, {
      options: { servers: [{ ...entryOf(site), password: "wrong one" }] },
      clock,
    });
    open.push(bench);
    for (const number of [1, 2, 3]) {
      const trouble = await troubleWith(bench.load("jellyfin", song(number)));
      expect(trouble.message).toBe('the server "home" refused user name or password');
    }
    expect(site.loginCount).toBe(1);
    clock.advance(5 * 60_000);
    await troubleWith(bench.load("jellyfin", song(4)));
    expect(site.loginCount).toBe(2);
  });

  it("an API key needs no session", async () => {
    const site = await startSite();
    const bench = await startBench([{ name: "home", url: site.url, apiKey: site.apiKey }]);
    expect(await bench.loadTracks("jellyfin", song(1))).toHaveLength(1);
    expect(site.loginCount).toBe(0);
    site.fail("/Items", { status: 401 });
    expect((await troubleWith(bench.load("jellyfin", song(2)))).code).toBe("site-unavailable");
    expect(site.requests("/Items")).toHaveLength(2);
  });

  it("the login names a device, the same after each start, or the operator's", async () => {
    const site = await startSite();
    const deviceOf = async (more: Record<string, string>): Promise<string | undefined> => {
      await (await startBench([entryOf(site)], more)).load("jellyfin", song(1));
      return /DeviceId="([^"]+)"/.exec(site.requests("/Items").at(-1)?.headers.authorization ?? "")?.[1];
    };
    const first = await deviceOf({});
    expect(first).toMatch(/^tonearm-[0-9a-f]{16}$/);
    expect(await deviceOf({})).toBe(first);
    expect(await deviceOf({ deviceId: 'my "node"' })).toBe("my%20%22node%22");
  });
});

describe("misbehaving servers", () => {
  const outcomes = [
    ["a page", { text: "<html>welcome</html>" }, "site-changed", /answered a page where JSON was expected/],
    ["other JSON", { json: { hello: 1 } }, "site-changed", /answered no list/],
    ["no such path", { status: 404 }, "site-changed", /no such interface/],
    ["forbidden", { status: 403 }, "site-unavailable", /refused the node's login/],
    ["too many requests", { status: 429, headers: { "retry-after": "7" } }, "site-busy", /HTTP 429/],
    ["a failure", { status: 500 }, "site-busy", /HTTP 500/],
    ["a cut connection", "cut", "site-unreachable", /cannot be reached/],
    ["20 MB", { bytes: new Uint8Array(20 * 1024 * 1024) }, "site-changed", /too much/],
  ] as const;

  it.each(outcomes)(
    "an answer of %s is reported without the server's address",
    async (_what, outcome, code, message) => {
      const { site, bench } = await atHome();
      site.fail("/Items", outcome);
      const trouble = await troubleWith(bench.load("jellyfin", song(1)));
      expect(trouble.code).toBe(code);
      expect(trouble.message).toMatch(message);
      const reported = JSON.stringify([trouble, bench.lines.filter(({ level }) => level !== "debug")]);
      for (const secret of [site.host, "token1", site.username, site.password]) expect(reported).not.toContain(secret);
    },
  );

  it("an invalid answer to a login is reported", async () => {
    const { site, bench } = await atHome();
    site.fail("/Users/AuthenticateByName", { json: { AccessToken: "t" } });
    const trouble = await troubleWith(bench.load("jellyfin", song(1)));
    expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("answered no session") });
  });

  it("a server that redirects in circles is reported", async () => {
    const { site, bench } = await atHome();
    site.fail("/Items", { status: 302, headers: { location: `${site.url}/Items` } });
    const trouble = await troubleWith(bench.load("jellyfin", song(1)));
    expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("led in circles") });
    expect(site.requests("/Items")).toHaveLength(6);
  });

  it("a server that redirects to another host gets no login sent there", async () => {
    const { site, bench } = await atHome();
    const elsewhere = await startSite();
    site.fail("/Items", { status: 302, headers: { location: `${elsewhere.url}/Items` } });
    await troubleWith(bench.load("jellyfin", song(1)));
    expect(elsewhere.requests().map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });
});

it("options without a server, or with incomplete credentials, are refused", async () => {
  const startWith = (servers: readonly Entry[]) => PluginBench.start(jellyfin, { options: { servers: [...servers] } });
  await expect(startWith([])).rejects.toThrow("plugins.jellyfin.servers names no server");
  const half = { name: "home", url: "http://127.0.0.1:9", password: "secret-word" };
  await expect(startWith([half])).rejects.toThrow("plugins.jellyfin.servers[0]: expected either username and password");
  await expect(startWith([half])).rejects.not.toThrow("secret-word");
});

it("the plugin reports the hosts and ports of the operator's servers", async () => {
  const bench = await startBench([{ name: "home", url: "http://[fd00::7]:8096/jellyfin/", apiKey: "k" }]);
  expect(bench.manifest.ownServers).toEqual(["fd00::7:8096"]);
});

describe("lyrics", () => {
  it("the lyrics of a song are in milliseconds, and a song without any has none", async () => {
    const { bench } = await atHome();
    expect(await bench.lyrics(await encodedSong(bench))).toEqual({
      sourceName: "jellyfin",
      provider: "home",
      text: "First line\nwithout a time\nSecond line",
      lines: [
        { timestamp: 1500, duration: 0, line: "First line" },
        { timestamp: 1500, duration: 5000, line: "without a time" },
        { timestamp: 6500, duration: null, line: "Second line" },
      ],
    });
    const [other] = await bench.loadTracks("jellyfin", song(2));
    for (let count = 0; count < 6; count++) expect(await bench.lyrics(other?.encoded ?? "")).toBeUndefined();
    expect(await bench.loadTracks("jellyfin", song(3))).toHaveLength(1);
  });
});
