import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeTrack, httpTrack } from "../../../lab/conformance/workbench/encoded-track.ts";
import { countedSong } from "../../../lab/media-files/counted-song.ts";
import { FakeYtDlp } from "../../../lab/sites/fake-yt-dlp.ts";
import { claimsOf, YTDLP_MANIFEST } from "../../../plugins/ytdlp/manifest.ts";
import plugin from "../../../plugins/ytdlp/plugin.ts";
import { readSites } from "../../../plugins/ytdlp/sites.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { isClaimed } from "../../../src/plugin-host/manage/claims.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench, troubleWith } from "../../support/plugin-bench.ts";

const SOURCE = "ytdlp";
const PAGE = "https://vimeo.com/1001";
const LIST = "https://vimeo.com/page-of-three";
/** When the version of the stand-in is a few days old. */
const NOW_MS = Date.UTC(2026, 10, 1);
const VIDEO = { _type: "video", id: "1001", title: "Song", duration: 60, webpage_url: PAGE };
const FORMAT = { format_id: "http-opus", url: "https://media.example.org/song.ogg", protocol: "https", acodec: "opus" };

let fake: FakeYtDlp;
let clock: FakeClock;
const benches: PluginBench[] = [];
async function start(options: Record<string, PlainTree> = {}, ticking: Clock = clock): Promise<PluginBench> {
  const bench = await PluginBench.start(plugin, { options: { path: fake.path, ...options }, clock: ticking });
  benches.push(bench);
  return bench;
}
beforeEach(async () => {
  fake = await FakeYtDlp.start();
  clock = new FakeClock({ epochMs: NOW_MS });
});
afterEach(async () => {
  for (const bench of benches.splice(0)) bench.close();
  await fake.close();
});

async function trackOf(bench: PluginBench, identifier = PAGE) {
  const [track] = await bench.loadTracks(SOURCE, identifier);
  if (track === undefined) throw new Error(`${identifier} has no track`);
  return track;
}

test("a song of the test site leads to its bytes, and to a new link after a refusal", async () => {
  const bench = await start();
  const bytes = countedSong({ seconds: 1 });
  fake.addSong(PAGE, { title: "Counted", bytes, mimeType: "audio/ogg" });
  const { encoded } = await trackOf(bench);
  const first = await bench.resolve(SOURCE, encoded);
  if (first.kind !== "link") throw new Error("expected a link");
  expect(Buffer.from(await (await fetch(first.url)).arrayBuffer()).equals(bytes)).toBe(true);
  fake.site.expireLinks();
  expect((await fetch(first.url)).status).toBe(403);
  const next = await bench.resolve(SOURCE, encoded, { reason: "refused", status: 403, variant: first.variant });
  if (next.kind !== "link") throw new Error("expected a link");
  expect((await fetch(next.url)).status).toBe(200);
  expect(next.variant).toBe(first.variant);
});

test("a loaded link plays without a second run, and a refused or expired one is requested again", async () => {
  const bench = await start();
  fake.answer(PAGE, { json: { ...VIDEO, ...FORMAT } });
  const { encoded } = await trackOf(bench);
  expect(await bench.resolve(SOURCE, encoded)).toMatchObject({ url: FORMAT.url, variant: "http-opus" });
  expect(fake.calls).toHaveLength(1);
  for (const reason of ["refused", "expiring"] as const) {
    await bench.resolve(SOURCE, encoded, { reason, variant: "http-opus" });
    expect(fake.calls.at(-1)?.args.find((argument) => argument.startsWith("--format="))).toMatch(
      /^--format=http-opus\//,
    );
  }
  expect(fake.calls).toHaveLength(3);
});

test("an ambiguous format name is not requested", async () => {
  const bench = await start();
  fake.answer(PAGE, { json: { ...VIDEO, ...FORMAT } });
  const { encoded } = await trackOf(bench);
  for (const variant of ["a+b", "all[x]", "-x", "a/b", "(a)", ""]) {
    await bench.resolve(SOURCE, encoded, { reason: "refused", variant });
    expect(fake.calls.at(-1)?.args.find((argument) => argument.startsWith("--format="))).toMatch(
      /^--format=bestaudio\[/,
    );
  }
});

test("a cached link that expires soon is not used", async () => {
  const bench = await start();
  fake.answer(PAGE, { json: { ...VIDEO, ...FORMAT, url: `${FORMAT.url}?expires=${NOW_MS / 1000 + 100}` } });
  const { encoded } = await trackOf(bench);
  await bench.resolve(SOURCE, encoded);
  expect(fake.calls).toHaveLength(2);
});

test("of several videos of one page the right one is played", async () => {
  const bench = await start();
  const entries = ["a", "b", "c"].map((id) => ({
    ...VIDEO,
    ...FORMAT,
    id,
    title: id,
    webpage_url: LIST,
    url: `${FORMAT.url}?${id}`,
  }));
  fake.answer(LIST, { json: { _type: "playlist", title: "Three", entries } });
  const [, second] = await bench.loadTracks(SOURCE, LIST);
  expect(await bench.resolve(SOURCE, second?.encoded ?? "")).toMatchObject({ url: `${FORMAT.url}?b` });
  fake.answer(LIST, { json: { _type: "playlist", title: "Three", entries: [entries[0], entries[2]] } });
  const trouble = await troubleWith(bench.resolve(SOURCE, second?.encoded ?? "", { reason: "refused" }));
  expect(trouble.message).toBe("this track is no longer on its page");
});

test("a page that only redirects is followed once", async () => {
  const bench = await start();
  fake.answer(PAGE, { json: { ...VIDEO, ...FORMAT } });
  const { encoded } = await trackOf(bench);
  const short = (url: string) => ({ _type: "playlist", entries: [{ _type: "url", id: "1001", url }] });
  fake.answer(PAGE, { json: short("https://vimeo.com/real") });
  fake.answer("https://vimeo.com/real", { json: { ...VIDEO, ...FORMAT } });
  expect(await bench.resolve(SOURCE, encoded, { reason: "refused" })).toMatchObject({ url: FORMAT.url });
  fake.answer("https://vimeo.com/real", { json: short(PAGE) });
  const count = fake.calls.length;
  expect(await troubleWith(bench.resolve(SOURCE, encoded, { reason: "refused" }))).toMatchObject({
    code: "site-unavailable",
  });
  fake.answer(PAGE, { json: short("http://127.0.0.1/") });
  expect(await troubleWith(bench.resolve(SOURCE, encoded, { reason: "refused" }))).toMatchObject({
    code: "site-unavailable",
  });
  expect(fake.calls).toHaveLength(count + 3);
});

test("a missing program is reported by its name only, and its circuit breaker opens for a minute", async () => {
  const bench = await start({ path: join(fake.path, "none", "yt-dlp") });
  await expect
    .poll(() => bench.lines.map(({ message }) => message))
    .toContainEqual(expect.stringContaining("cannot be used"));
  for (let count = 0; count < 3; count++) {
    const trouble = await troubleWith(bench.load(SOURCE, PAGE));
    expect(trouble.message).toMatch(/yt-dlp cannot be run: /);
    expect(trouble.message).not.toContain(fake.path);
  }
  clock.advance(1000);
  expect(bench.backends).toMatchObject([{ name: "yt-dlp", failed: 1, state: "open" }]);
  clock.advance(60_000);
  await troubleWith(bench.load(SOURCE, PAGE));
  clock.advance(1000);
  expect(bench.backends).toMatchObject([{ name: "yt-dlp", failed: 2 }]);
});

test("a program that is removed later does not count as a failure of the site", async () => {
  const bench = await start();
  fake.answer(PAGE, { json: VIDEO });
  await bench.load(SOURCE, PAGE);
  fake.remove();
  for (let count = 0; count < 9; count++) await troubleWith(bench.load(SOURCE, `https://vimeo.com/${count}`));
  clock.advance(1000);
  expect(bench.backends.find(({ name }) => name === "vimeo.com")).toMatchObject({ failed: 1, state: "closed" });
  expect(bench.backends.find(({ name }) => name === "yt-dlp")).toMatchObject({ state: "open" });
});

test.each([
  ["2026.10.26", 0],
  ["2026.09.04", 0],
  ["2026.09.01", 1],
  ["2025.01.01.232811", 1],
  ["stable@2026.01.01", 1],
  ["of-my-own", 0],
])("the version %s causes %i warnings of its age, however often it is checked", async (version, count) => {
  fake.answerVersion({ stdout: `${version}\n` });
  clock = new FakeClock({ epochMs: NOW_MS });
  const bench = await start();
  fake.answer(PAGE, { json: VIDEO });
  await bench.load(SOURCE, PAGE);
  clock.advance(25 * 60 * 60_000);
  await bench.load(SOURCE, PAGE);
  expect(fake.versionCalls).toHaveLength(2);
  expect(bench.lines.filter(({ message }) => /older than 60 days/.test(message))).toHaveLength(count);
});

test("a program set as yt-dlp that reports no version is not run for anything else", async () => {
  fake.answerVersion({ stdout: "hello\nworld", exitCode: 1 });
  const bench = await start();
  expect((await troubleWith(bench.load(SOURCE, PAGE))).message).toContain("reports no version");
  expect(fake.calls).toEqual([]);
});

test("the circuit breaker of a site that keeps failing opens, those of other and unlisted sites stay closed", async () => {
  const bench = await start({}, systemClock);
  const failing = { stdout: "null\n", stderr: "ERROR: [x] 1: Unable to extract it\n", exitCode: 1 };
  const other = (index: number) => `https://videos.example.org/${index}`;
  for (let index = 0; index < 6; index++) {
    fake.answer(`https://vimeo.com/${index}`, failing);
    fake.answer(other(index), failing);
    await troubleWith(bench.load(SOURCE, `https://vimeo.com/${index}`));
    await troubleWith(bench.load(SOURCE, `ytdl:${other(index)}`));
  }
  expect(fake.calls).toHaveLength(11);
  expect((await troubleWith(bench.load(SOURCE, PAGE))).message).toMatch(/the circuit breaker for vimeo.com is open/);
  fake.answer("https://nico.ms/sm9", { json: { ...VIDEO, webpage_url: "https://www.nicovideo.jp/watch/sm9" } });
  expect(await bench.load(SOURCE, "https://nico.ms/sm9")).toMatchObject({ kind: "track" });
});

test("too many requests to a site open its circuit breaker at once", async () => {
  const bench = await start();
  fake.answer(PAGE, { stdout: "null\n", stderr: "ERROR: [vimeo] 1: HTTP Error 429: Too Many Requests\n", exitCode: 1 });
  await troubleWith(bench.load(SOURCE, PAGE));
  expect(await troubleWith(bench.load(SOURCE, "https://vimeo.com/2"))).toMatchObject({ code: "site-busy" });
  expect(fake.calls).toHaveLength(1);
});

test("the plugin without a path is off, and reports it", async () => {
  await expect(PluginBench.start(plugin, { options: {} })).rejects.toThrow(/plugins\.ytdlp\.path/);
});

test("an entry of the sites that is not a host is left out", async () => {
  const sites = ["vimeo.com", "https://www.example.org/videos", "no host!", "[::1]", ""];
  const bench = await start({ sites });
  expect(bench.manifest.sources.map(({ name, hosts }) => [name, hosts])).toEqual([
    ["vimeo", ["vimeo.com", "*.vimeo.com"]],
    ["ytdlp", ["example.org", "*.example.org"]],
  ]);
  expect(readSites(sites).wrong).toEqual(["no host!", "[::1]", ""]);
  const many = Array.from({ length: 100 }, (_, index) => `site${index}.example.org`);
  expect(readSites(many)).toMatchObject({ names: { length: 60 }, wrong: { length: 40 } });
});

test("the sources and their claims follow from the options alone on the main thread", async () => {
  for (const sites of [["example.org", "10.0.0.5"], ["nico.ms", "vimeo.com"], ["*"]]) {
    const bench = await start({ sites });
    const found = bench.manifest.sources.map(({ name, hosts, prefixes }) => ({ name, hosts, prefixes }));
    expect(found).toEqual(claimsOf({ sites }));
    bench.close();
  }
  expect(YTDLP_MANIFEST.sources).toEqual(claimsOf({}));
});

test.each([
  ["vimeo", "vimeo.com/1"],
  ["vimeo", "https://player.vimeo.com/video/1"],
  ["niconico", "https://nico.ms/sm9"],
  ["niconico", "https://www.nicovideo.jp/watch/sm9"],
  ["mixcloud", "https://www.mixcloud.com/a/b/"],
  ["tiktok", "https://www.tiktok.com/@a/video/1"],
  ["reddit", "https://v.redd.it/abc"],
  ["ytdlp", "https://odysee.com/@a/b"],
  ["ytdlp", "ytdl:https://vimeo.com/1"],
  [undefined, "https://other.example.org/"],
])("%s is the first source that is asked for %s", (name, link) => {
  expect(claimsOf({}).find((claims) => isClaimed(link, claims))?.name).toBe(name);
});

test("the last source claims every link if the sites contain a star", () => {
  expect(isClaimed("https://other.example.org/", claimsOf({ sites: ["*"] }).at(-1) ?? {})).toBe(true);
});

test.each([
  ["vimeo", "1001", null, PAGE],
  ["vimeo", "1001", "https://vimeo.com/1001?h=0a1b2c", "https://vimeo.com/1001?h=0a1b2c"],
  ["niconico", "sm9", null, "https://www.nicovideo.jp/watch/sm9"],
])("a track encoded by Lavalink is played: %s %s with the address %s", async (sourceName, identifier, uri, page) => {
  const bench = await start();
  fake.answer(page, { json: { ...VIDEO, ...FORMAT } });
  const encoded = encodeTrack(httpTrack(identifier, { sourceName, uri, details: [] }), uri === null ? 1 : 3);
  expect(await bench.resolve(sourceName, encoded)).toMatchObject({ kind: "link", url: FORMAT.url });
});

test("every public link is accepted with a star, and one into a private network only if it is listed", async () => {
  const bench = await start({ sites: ["*", "10.0.0.5"] });
  for (const page of ["https://videos.example.org/1", "http://10.0.0.5/1"])
    fake.answer(page, { json: { ...VIDEO, webpage_url: page } });
  expect(await bench.load(SOURCE, "https://videos.example.org/1")).toMatchObject({ kind: "track" });
  expect(await bench.load(SOURCE, "http://10.0.0.5/1")).toMatchObject({ kind: "track" });
  expect(await bench.load(SOURCE, "http://10.0.0.6/1")).toBeUndefined();
  expect(fake.calls.some(({ args }) => args.join().includes("-generic"))).toBe(false);
});
