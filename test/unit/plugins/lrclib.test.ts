import { afterEach, describe, expect, test } from "vitest";
import { LrclibSite, lrclibEntry } from "../../../lab/sites/lrclib.ts";
import lrclib from "../../../plugins/lrclib/plugin.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import type { SourceTrack } from "../../../src/plugin-api/plugin.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const TRACK: SourceTrack = { identifier: "1", title: "First Light", author: "Mira Vale", lengthMs: 201_400 };
const SONG = { title: "First Light", author: "Mira Vale", length: 201_400 };
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function stand(options: PlainTree = {}, clock?: FakeClock): Promise<{ site: LrclibSite; bench: PluginBench }> {
  const site = await LrclibSite.start();
  closing.push(() => site.close());
  const bench = await PluginBench.start(lrclib, { options, hosts: site.hosts, ...(clock && { clock }) });
  closing.push(() => bench.close());
  return { site, bench };
}

function askedFor(site: LrclibSite): readonly string[] {
  return site.requests().map(({ path }) => path.slice("/api/".length));
}

describe("asking", () => {
  test("the exact entry is asked for first, and is enough", async () => {
    const { site, bench } = await stand();
    expect(await bench.lyrics(TRACK)).toEqual({
      sourceName: "lrclib",
      provider: "LRCLIB",
      text: "First line of the made-up song\n\nThird line",
      lines: [
        { timestamp: 1200, duration: 2800, line: "First line of the made-up song" },
        { timestamp: 4000, duration: 2500, line: "" },
        { timestamp: 6500, duration: null, line: "Third line" },
      ],
    });
    expect(askedFor(site)).toEqual(["get"]);
    const [asked] = site.requests("get");
    expect(Object.fromEntries(asked?.query ?? [])).toEqual({
      track_name: "First Light",
      artist_name: "Mira Vale",
      duration: "201",
    });
    expect(asked?.headers["user-agent"]).toBe("Tonearm/test");
  });

  test("an entry of another length is searched for, and only its text is taken where its times cannot fit", async () => {
    const { site, bench } = await stand();
    expect(await bench.lyrics({ ...TRACK, lengthMs: 205_000 })).toMatchObject({
      text: expect.stringContaining("First line"),
      lines: null,
    });
    expect(askedFor(site)).toEqual(["get", "search"]);
  });

  test("of several entries the one with times and the nearest length is taken", async () => {
    const { site, bench } = await stand();
    const song = { trackName: "Third Rail", artistName: "Oto Brandt" };
    site.entries.push(
      lrclibEntry(10, { ...song, duration: 181, syncedLyrics: null, plainLyrics: "without times" }),
      lrclibEntry(11, { ...song, duration: 186, syncedLyrics: "[00:01.00] too long" }),
      lrclibEntry(12, { ...song, duration: 182.4, syncedLyrics: "[00:01.00] fits" }),
      lrclibEntry(13, { ...song, artistName: "Somebody Else", duration: 181, syncedLyrics: "[00:01.00] a cover" }),
    );
    // the exact entry is of another kind of entry here.
    site.fail("get", { status: 404, json: {} });
    const found = await bench.lyrics({ identifier: "1", title: "Third Rail", author: "Oto Brandt", lengthMs: 181_000 });
    expect(found?.lines).toMatchObject([{ line: "fits" }]);
  });

  test.each([
    ["First Light (Official Video)", "Mira Vale", "First Light", "Mira Vale"],
    ["Mira Vale - First Light [Lyrics] (HD)", "MiraValeVEVO", "First Light", "Mira Vale"],
    ["Mira Vale - First Light | Official Audio", "Some Channel", "First Light", "Mira Vale"],
    ["First Light (feat. Oto Brandt)", "Mira Vale - Topic", "First Light", "Mira Vale"],
    ["First Light ft. Oto Brandt", "Mira Vale, Oto Brandt", "First Light", "Mira Vale, Oto Brandt"],
    ["Mira Vale - First Light", "Mira Vale, Oto Brandt", "First Light", "Mira Vale"],
    ["See Me", "Tyler, The Creator - Topic", "See Me", "Tyler, The Creator"],
    ["Tyler, The Creator - See Me", "Tyler, The Creator", "See Me", "Tyler, The Creator"],
    ["Autumn", "Earth, Wind & Fire feat. Mira Vale", "Autumn", "Earth, Wind & Fire"],
    ["First Light - 2011 Remaster", "Mira Vale", "First Light", "Mira Vale"],
    ["The Light and the Sea (Live)", "The Vales", "The Light and the Sea (Live)", "The Vales"],
    ["Video", "Mira Vale", "Video", "Mira Vale"],
  ])("the title %j of %j is asked for as %j of %j", async (title, author, trackName, artistName) => {
    const { site, bench } = await stand();
    await bench.lyrics({ identifier: "1", title, author, lengthMs: 201_000 });
    expect(site.requests("get")[0]?.query.get("track_name")).toBe(trackName);
    expect(site.requests("get")[0]?.query.get("artist_name")).toBe(artistName);
  });

  test("an artist with a comma is found under the whole name, and a list of artists under the first one", async () => {
    const { site, bench } = await stand();
    site.entries.push(lrclibEntry(20, { trackName: "See Me", artistName: "Tyler, The Creator", duration: 180 }));
    const seeMe = { identifier: "1", title: "See Me", author: "Tyler, The Creator" };
    expect(await bench.lyrics({ ...seeMe, lengthMs: 180_000 })).toBeDefined();
    expect(askedFor(site)).toEqual(["get"]);
    expect(await bench.lyrics({ ...seeMe, lengthMs: 184_000 })).toBeDefined(); // only the search finds it
    expect(site.requests("search")[0]?.query.get("artist_name")).toBe("Tyler");
    expect(await bench.lyrics({ ...TRACK, author: "Mira Vale, Oto Brandt" })).toBeDefined();
    expect(site.requests("search")).toHaveLength(1);
  });

  test("where the exact entry has no times, another one's are taken, if there are any", async () => {
    const { site, bench } = await stand();
    const plain = { syncedLyrics: null, plainLyrics: "without times" };
    site.entries[0] = lrclibEntry(1, { ...site.entries[0], ...plain });
    site.entries.push(lrclibEntry(21, { trackName: "First Light", duration: 200, syncedLyrics: "[00:01.00] timed" }));
    expect((await bench.lyrics(TRACK))?.lines).toMatchObject([{ line: "timed" }]);
    site.entries[2] = lrclibEntry(22, { trackName: "First Light", duration: 200, ...plain, plainLyrics: "another" });
    expect(await bench.lyrics({ ...TRACK, lengthMs: 200_000 })).toMatchObject({ text: "without times", lines: null });
  });

  test("an exact entry without times is enough for ten minutes where the search fails", async () => {
    const clock = new FakeClock();
    const { site, bench } = await stand({}, clock);
    site.entries[0] = lrclibEntry(1, { ...site.entries[0], syncedLyrics: null, plainLyrics: "without times" });
    const restore = site.fail("search", { status: 503 });
    for (let count = 0; count < 2; count++) expect(await bench.lyrics(TRACK)).toMatchObject({ text: "without times" });
    expect(askedFor(site)).toEqual(["get", "search"]);
    restore();
    site.entries.push(lrclibEntry(23, { trackName: "First Light", duration: 201 }));
    clock.advance(11 * 60_000);
    expect((await bench.lyrics(TRACK))?.lines).toHaveLength(3);
  });

  test("an instrumental has no lyrics, and is not searched for", async () => {
    const { site, bench } = await stand();
    const track = { identifier: "1", title: "Low Tide", author: "Mira Vale", lengthMs: 120_000 };
    expect(await bench.lyrics(track)).toBeUndefined();
    expect(askedFor(site)).toEqual(["get"]);
  });

  test("nothing is asked for a local file or spoken text", async () => {
    const { site, bench } = await stand();
    for (const uri of ["/music/First Light.mp3", "music/a.mp3", "C:\\a.mp3", "file:///a.mp3", "ftts://First%20Light"]) {
      expect(await bench.lyrics(buildTrack({ ...SONG, uri }).encoded)).toBeUndefined();
    }
    for (const identifier of ["speak:First Light", "tts://First%20Light?language=en", "ftts://First%20Light"]) {
      const uri = "https://translate.google.com/?text=First%20Light";
      expect(await bench.lyrics(buildTrack({ ...SONG, identifier, uri }).encoded)).toBeUndefined();
    }
    expect(site.requests()).toEqual([]);
    for (const uri of ["https://songs.example/1", null]) {
      expect(await bench.lyrics(buildTrack({ ...SONG, uri }).encoded)).toBeDefined();
    }
  });

  test("nothing is asked for a stream or a track without an artist", async () => {
    const { site, bench } = await stand();
    expect(await bench.lyrics({ ...TRACK, lengthMs: undefined, isStream: true })).toBeUndefined();
    for (const author of ["", "Unknown artist"]) expect(await bench.lyrics({ ...TRACK, author })).toBeUndefined();
    expect(await bench.lyrics({ ...TRACK, title: "Unknown title" })).toBeUndefined();
    expect(site.requests()).toEqual([]);
  });

  test("what is found is cached, and that nothing is found for an hour", async () => {
    const clock = new FakeClock();
    const { site, bench } = await stand({}, clock);
    for (let count = 0; count < 3; count++) await bench.lyrics(TRACK);
    expect(askedFor(site)).toEqual(["get"]);
    const missing = { ...TRACK, title: "Not There" };
    for (let count = 0; count < 3; count++) expect(await bench.lyrics(missing)).toBeUndefined();
    expect(askedFor(site)).toEqual(["get", "get", "search"]);
    clock.advance(61 * 60_000);
    await bench.lyrics(missing);
    expect(askedFor(site)).toHaveLength(5);
  });

  test("another server is asked where one is set, with the operator's contact", async () => {
    const site = await LrclibSite.start();
    closing.push(() => site.close());
    const bench = await PluginBench.start(lrclib, {
      options: { server: site.url, contact: "https://bot.example/" },
      settings: { allow: [] },
    });
    closing.push(() => bench.close());
    expect(await bench.lyrics(TRACK)).toBeDefined();
    expect(site.requests()[0]?.headers["user-agent"]).toBe("Tonearm/test (https://bot.example/)");
  });
});

describe("trouble", () => {
  test("a server that does not answer is given up after 4 s, and not asked for the next song", async () => {
    const clock = new FakeClock();
    const { site, bench } = await stand({}, clock);
    site.fail(".*", "hang");
    const trouble = troubleWith(bench.lyrics(TRACK));
    await expect.poll(() => site.requests().length).toBe(1);
    clock.advance(4000);
    expect(await trouble).toMatchObject({ code: "site-busy" });
    expect(await troubleWith(bench.lyrics({ ...TRACK, title: "Another" }))).toMatchObject({ code: "site-busy" });
    expect(site.requests()).toHaveLength(1);
  });

  test("a search that is down leaves the exact entry alone", async () => {
    const { site, bench } = await stand();
    site.fail("search", "cut");
    expect(await troubleWith(bench.lyrics({ ...TRACK, title: "Not There" }))).toMatchObject({ code: "site-busy" });
    expect(await bench.lyrics(TRACK)).toBeDefined();
  });

  test.each([
    ["a page", { text: "<html>Busy</html>" }, "site-changed"],
    ["another form", { json: [] }, "site-changed"],
    ["429", { status: 429 }, "site-busy"],
    ["a huge body", { text: "x".repeat(3 * 1024 * 1024) }, "site-changed"],
  ])("an answer with %s is an error, and is not cached", async (_what, outcome, code) => {
    const { site, bench } = await stand();
    const restore = site.fail("get", outcome);
    expect(await troubleWith(bench.lyrics(TRACK))).toMatchObject({ code });
    restore();
    if (code === "site-changed") expect(await bench.lyrics(TRACK)).toBeDefined();
  });

  test.each([400, 401, 403])("a server that answers %d to everything is left alone, with a warning", async (status) => {
    const { site, bench } = await stand({}, new FakeClock());
    site.fail(".*", { status });
    for (let count = 0; count < 10; count++) {
      const trouble = await troubleWith(bench.lyrics({ ...TRACK, title: `Song ${count}` }));
      expect(trouble).toMatchObject({ code: count < 5 ? "site-changed" : "site-busy" });
    }
    expect(site.requests()).toHaveLength(10);
    expect(bench.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { message: expect.stringContaining("circuit breaker opened for lrclib/") },
      { message: expect.stringContaining("circuit breaker opened for lrclib/") },
    ]);
  });

  test("a server that refuses to look up exact entries is searched, and that nothing is found is soon forgotten", async () => {
    const clock = new FakeClock();
    const { site, bench } = await stand({}, clock);
    const restore = site.fail("get", { status: 400 });
    for (let count = 0; count < 10; count++) {
      const trackName = `Song ${count}`;
      site.entries.push(lrclibEntry(40 + count, { trackName, artistName: "Mira Vale", duration: 201 }));
      expect(await bench.lyrics({ ...TRACK, title: trackName })).toBeDefined();
    }
    expect(site.requests("get")).toHaveLength(5);
    expect(await bench.lyrics({ ...TRACK, title: "Not There" })).toBeUndefined();
    restore();
    site.entries.push(lrclibEntry(30, { trackName: "Not There", artistName: "Mira Vale", duration: 201 }));
    clock.advance(11 * 60_000);
    expect(await bench.lyrics({ ...TRACK, title: "Not There" })).toBeDefined();
  });

  test("lyrics whose times cannot be read are a text", async () => {
    const { site, bench } = await stand();
    site.entries[0] = lrclibEntry(1, { ...site.entries[0], syncedLyrics: "[aa:bb] no\n[[[" });
    expect(await bench.lyrics(TRACK)).toMatchObject({ lines: null, text: expect.stringContaining("First line") });
    site.entries[0] = lrclibEntry(1, { ...site.entries[0], syncedLyrics: 7, plainLyrics: {} });
    expect(await bench.lyrics({ ...TRACK, lengthMs: 200_000 })).toBeUndefined();
  });
});
