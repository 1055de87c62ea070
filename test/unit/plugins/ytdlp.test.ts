import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeYtDlp } from "../../../lab/sites/fake-yt-dlp.ts";
import plugin from "../../../plugins/ytdlp/plugin.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "ytdlp";
const PAGE = "https://vimeo.com/1001";
const VIDEO = {
  _type: "video",
  id: "1001",
  title: "A made-up song",
  uploader: "Somebody",
  duration: 61.5,
  webpage_url: PAGE,
  thumbnails: [{ url: "https://i.example.org/small.jpg" }, { url: "https://i.example.org/large.jpg" }],
  extractor: "vimeo",
  format_id: "hls-audio",
  url: "https://media.example.org/song.m3u8",
  protocol: "m3u8_native",
};

let fake: FakeYtDlp;
let bench: PluginBench;
async function start(options: Record<string, PlainTree> = {}): Promise<void> {
  bench = await PluginBench.start(plugin, { options: { path: fake.path, ...options } });
}
beforeEach(async () => {
  fake = await FakeYtDlp.start();
});
afterEach(async () => {
  bench?.close();
  await fake.close();
});

async function trackOf(identifier: string) {
  const [track] = await bench.loadTracks(SOURCE, identifier);
  if (track === undefined) throw new Error(`${identifier} has no track`);
  return track;
}

test("a link of a site becomes a track, and yt-dlp gets separate arguments", async () => {
  await start();
  fake.answer(PAGE, { json: VIDEO });
  const { info } = await trackOf(PAGE);
  expect(info).toMatchObject({
    identifier: "1001",
    title: "A made-up song",
    author: "Somebody",
    length: 61_500,
    isStream: false,
    isSeekable: true,
    uri: PAGE,
    artworkUrl: "https://i.example.org/large.jpg",
    sourceName: "ytdlp",
  });
  expect(fake.calls.map(({ args }) => args)).toEqual([
    [
      ...["--ignore-config", "--no-exec", "-J", "-q", "--no-warnings", "--playlist-end", "1000"],
      ...["--flat-playlist", "--socket-timeout", "10", expect.stringMatching(/^--format=bestaudio\[acodec=opus\]/)],
      ...["--", PAGE],
    ],
  ]);
});

test("links without a scheme and of subdomains are accepted, those of other sites are not", async () => {
  await start({ sites: ["vimeo.com", "*.example.org"] });
  for (const link of [PAGE, "https://player.vimeo.com/video/1", "https://www.example.org/a"])
    fake.answer(link, { json: VIDEO });
  expect(await bench.load(SOURCE, "vimeo.com/1001")).toMatchObject({ kind: "track" });
  expect(await bench.load(SOURCE, "https://player.vimeo.com/video/1")).toMatchObject({ kind: "track" });
  expect(await bench.load(SOURCE, "https://www.example.org/a")).toMatchObject({ kind: "track" });
  const count = fake.calls.length;
  for (const link of ["https://notvimeo.com/1", "https://user:pass@vimeo.com/1", "words", "-x", "ftp://vimeo.com/1"]) {
    expect(await bench.load(SOURCE, link)).toBeUndefined();
  }
  expect(fake.calls).toHaveLength(count);
});

test("the prefix accepts any public link, but only pages of listed sites may use the generic extractor", async () => {
  await start();
  const other = "https://videos.example.org/1";
  fake.answer(other, { json: { ...VIDEO, webpage_url: other } });
  fake.answer(PAGE, { json: VIDEO });
  expect(await bench.load(SOURCE, `ytdl:${other}`)).toMatchObject({ kind: "track", track: { uri: other } });
  await bench.load(SOURCE, `ytdl:${PAGE}`);
  expect(fake.calls.map(({ args }) => args.includes("--use-extractors=default,-generic"))).toEqual([true, false]);
});

test("the prefix accepts public links and searches, and yt-dlp is not run for anything else", async () => {
  await start({ sites: ["vimeo.com", "*"] });
  const queries = [
    ...[
      "--exec=id",
      "-J",
      "file:///etc/passwd",
      "words",
      "",
      "http://127.0.0.1/",
      "http://[::1]/",
      "http://localhost:8/",
    ],
    ...["http://0x7f.1/", "http://redis/", "http://db.internal/", "https://user:pass@vimeo.com/1", "javascript:1"],
    ...["ytsearch5:", "ytsearchall:words", "http://router.lan/", "http://2130706433/", "http://localhost./"],
  ];
  for (const query of queries) {
    const { code, message } = await troubleWith(bench.load(SOURCE, `ytdl:${query}`));
    expect([query, code]).toEqual([query, "site-unavailable"]);
    expect(message).toContain("an http or https link of a public site");
  }
  expect(fake.calls).toEqual([]);
});

test("a link that begins with a dash or contains shell characters is one argument after the options", async () => {
  await start();
  await troubleWith(bench.load(SOURCE, `ytdl:https://vimeo.com/--exec=a b?"'$(id)\n;--proxy`));
  expect(fake.calls[0]?.args.slice(-2)).toEqual(["--", "https://vimeo.com/--exec=a%20b?%22%27$(id);--proxy"]);
});

test("a search has the requested or configured number of tracks, and never more than 100", async () => {
  await start({ searchLimit: "3" });
  const entries = Array.from({ length: 300 }, (_, index) => ({
    _type: "url",
    id: `v${index}`,
    url: `https://videos.example.org/${index}`,
    title: `Song ${index}`,
    duration: 60,
    ie_key: "Youtube",
    channel: "Somebody",
  }));
  for (const count of [3, 5, 100]) {
    fake.answer(`ytsearch${count}:two words`, { json: { _type: "playlist", id: "two words", entries } });
  }
  expect(await bench.load(SOURCE, "ytdl:ytsearch:two words")).toMatchObject({ kind: "search", tracks: { length: 3 } });
  expect(await bench.load(SOURCE, "ytdl:YTSearch5: two\nwords")).toMatchObject({
    kind: "search",
    tracks: { length: 5 },
  });
  expect(await bench.load(SOURCE, "ytdl:ytsearch999:two words")).toMatchObject({
    kind: "search",
    tracks: { length: 100 },
  });
  fake.answer("ytsearch3:nothing", { json: { _type: "playlist", entries: [] } });
  expect(await bench.load(SOURCE, "ytdl:ytsearch:nothing")).toEqual({ kind: "empty" });
});

test("a playlist has its name and its tracks up to the limit, without those that cannot be played", async () => {
  await start({ playlistLoadLimit: "500" });
  const page = "https://www.nicovideo.jp/playlist/1";
  const good = Array.from({ length: 5000 }, (_, index) => ({
    _type: "url",
    id: `sm${index}`,
    url: `https://www.nicovideo.jp/watch/sm${index}`,
    title: `Song ${index}`,
  }));
  const bad = [
    null,
    7,
    "text",
    { title: "no link" },
    { ...good[0], title: "[Private video]" },
    { ...good[0], url: "x:y" },
  ];
  const json = { _type: "playlist", title: "My list", webpage_url: page, uploader: "Her", playlist_count: 5000 };
  // yt-dlp reports unavailable entries as errors, and prints the others.
  fake.answer(page, {
    json: { ...json, entries: [...bad, ...good] },
    stderr: "ERROR: [x] 1: Private video\n",
    exitCode: 1,
  });
  const answer = await bench.load(SOURCE, page);
  expect(answer).toMatchObject({
    kind: "playlist",
    name: "My list",
    selectedTrack: -1,
    pluginInfo: { type: "playlist", url: page, author: "Her", totalTracks: 5000 },
  });
  const tracks = await bench.loadTracks(SOURCE, page);
  expect(tracks.length).toBeGreaterThan(490);
  expect(tracks.length).toBeLessThanOrEqual(500);
  expect(tracks[0]?.info).toMatchObject({ identifier: "sm0", title: "Song 0", isStream: false });
});

test("a link to one song of a list selects that song, and of an endless mix only a few are requested", async () => {
  await start({ mixPlaylistLoadLimit: "12" });
  const page = "https://www.youtube.com/watch?v=b&list=RDb";
  const entries = ["a", "b"].map((id) => ({
    _type: "url",
    id,
    title: id,
    url: `https://www.youtube.com/watch?v=${id}`,
  }));
  fake.answer(page, { json: { _type: "playlist", title: "Mix", entries } });
  expect(await bench.load(SOURCE, `ytdl:${page}`)).toMatchObject({ kind: "playlist", selectedTrack: 1 });
  expect(fake.calls[0]?.args).toEqual(expect.arrayContaining(["--playlist-end", "12"]));
});

test("nested lists are flattened, as deep as channels are", async () => {
  await start();
  const song = (id: string) => ({ _type: "url", id, title: id, url: `https://vimeo.com/${id}` });
  const deep = { _type: "playlist", entries: [song("3"), { _type: "playlist", entries: [{ entries: [song("4")] }] }] };
  fake.answer(PAGE, { json: { _type: "playlist", title: "Channel", entries: [song("1"), song("2"), deep] } });
  const tracks = await bench.loadTracks(SOURCE, PAGE);
  expect(tracks.map(({ info }) => info.identifier)).toEqual(["1", "2", "3"]);
});

test("a live stream has no length, and one that has not started is not a track", async () => {
  await start();
  fake.answer(PAGE, { json: { ...VIDEO, is_live: true, duration: 7 } });
  expect((await trackOf(PAGE)).info).toMatchObject({ isStream: true, isSeekable: false });
  fake.answer("https://vimeo.com/2", { json: { ...VIDEO, live_status: "is_upcoming" } });
  expect(await troubleWith(bench.load(SOURCE, "https://vimeo.com/2"))).toMatchObject({ code: "site-unavailable" });
});

test("missing members and members of another type are harmless", async () => {
  await start();
  const odd = {
    id: 7,
    title: null,
    uploader: {},
    duration: "long",
    thumbnails: "none",
    isrc: 5,
    webpage_url: "x:y",
    formats: 1,
  };
  fake.answer("https://vimeo.com/some-good-song", { json: odd });
  const { info } = await trackOf("https://vimeo.com/some-good-song");
  expect(info).toMatchObject({
    identifier: "7",
    title: "some good song",
    author: "Unknown artist",
    artworkUrl: null,
    isrc: null,
  });
  expect(info.uri).toBe("https://vimeo.com/some-good-song");
});

test("a link without an extractor is declined, but reported with the prefix", async () => {
  await start();
  expect(await bench.load(SOURCE, PAGE)).toBeUndefined();
  expect(await troubleWith(bench.load(SOURCE, `ytdl:${PAGE}`))).toMatchObject({
    message: expect.stringContaining("knows no site"),
  });
  fake.answer("https://x.example.org/", {
    stdout: "null\n",
    exitCode: 1,
    stderr: "ERROR: No suitable extractor found for URL x\n",
  });
  const trouble = await troubleWith(bench.load(SOURCE, "ytdl:https://x.example.org/"));
  expect(trouble.message).toContain("knows no site for this link");
});

test("a missing item is an empty result", async () => {
  await start();
  fake.answer(PAGE, {
    stdout: "null\n",
    exitCode: 1,
    stderr: "ERROR: [vimeo] 1: Unable to download: HTTP Error 404: Not Found\n",
  });
  expect(await bench.load(SOURCE, PAGE)).toEqual({ kind: "empty" });
});

test("arguments that yt-dlp rejects are reported as such", async () => {
  await start({ customLoadArgs: ["--no-such-thing"] });
  fake.answer(PAGE, { json: VIDEO });
  const { code, message } = await troubleWith(bench.load(SOURCE, PAGE));
  expect(code).toBe("site-changed");
  expect(message).toMatch(/no such option: --no-such-thing.*customLoadArgs/);
});

test("the operator's arguments replace the defaults, but never end the options", async () => {
  await start({
    customLoadArgs: ["--", "--proxy", "http://proxy.example"],
    customPlaybackArgs: ["--socket-timeout", "3"],
  });
  fake.answer(PAGE, { json: VIDEO });
  const { encoded } = await trackOf(PAGE);
  await bench.resolve(SOURCE, encoded, { reason: "refused" });
  const [load = [], playback = []] = fake.calls.map(({ args }) => args);
  const fixed = ["--ignore-config", "--no-exec", "-J", "-q", "--no-warnings", "--playlist-end", "1000"];
  expect(load).toEqual([...fixed, "--proxy", "http://proxy.example", "--", PAGE]);
  expect(playback).toEqual([...fixed, "--socket-timeout", "3", "--", PAGE]);
});

test.each([
  ["text instead of JSON", { stdout: "<html>" }, /no JSON object/],
  ["a list instead of an object", { stdout: "[1]" }, /no JSON object/],
  ["nothing at all", { stdout: "" }, /no JSON object/],
  ["an object that is nothing", { json: {} }, /neither a video nor a list/],
  ["50 MB", { hugeBytes: 50_000_000 }, /wrote more than 16777216 bytes/],
])("an output of %s is reported as a change", async (_, answer, message) => {
  await start();
  fake.answer(PAGE, answer);
  const trouble = await troubleWith(bench.load(SOURCE, PAGE));
  expect(trouble.code).toBe("site-changed");
  expect(trouble.message).toMatch(message);
});

test("other lines around the object are harmless", async () => {
  await start();
  fake.answer(PAGE, { stdout: `[debug] hello\n${JSON.stringify(VIDEO)}\n` });
  expect((await trackOf(PAGE)).info.title).toBe("A made-up song");
});

test("a crash is reported, without any text of the program", async () => {
  await start();
  fake.answer(PAGE, { killsItself: true });
  expect(await troubleWith(bench.load(SOURCE, PAGE))).toMatchObject({ code: "site-unreachable" });
});

test("a run that takes too long is ended and reported", async () => {
  await start({ timeoutMs: "1000" });
  fake.answer(PAGE, { hangs: true });
  const trouble = await troubleWith(bench.load(SOURCE, PAGE));
  expect(trouble.code).toBe("site-unreachable");
  expect(trouble.message).toMatch(/yt-dlp did not finish within 1000 ms/);
});

test("a process that yt-dlp leaves behind does not delay its answer", async () => {
  await start();
  fake.answer(PAGE, { json: VIDEO, leavesChild: true });
  expect((await trackOf(PAGE)).info.title).toBe("A made-up song");
});
