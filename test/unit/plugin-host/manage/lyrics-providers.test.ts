import { afterEach, expect, test } from "vitest";
import type { FoundLyrics } from "../../../../src/bridge/plugin-extensions.ts";
import type { PluginManifest } from "../../../../src/bridge/plugin-messages.ts";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { TrackLoader } from "../../../../src/control/sources/track-loader.ts";
import { NodeError } from "../../../../src/errors.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { LyricsProviders } from "../../../../src/plugin-host/manage/lyrics-providers.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { manifestOf } from "../../../support/fake-plugin-threads.ts";
import { settle } from "../../../support/fake-workers.ts";
import { PluginThreadsBench } from "../../../support/plugin-threads-bench.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OWNER = ["address test"];
const SIGNAL = new AbortController().signal;
const TRACK = buildTrack({ sourceName: "home" });
const LYRICS: FoundLyrics = { sourceName: "a", provider: null, text: "words", lines: null };
const ONLY_SONGS = allowedSources({ name: "bot", limits: { ...UNLIMITED, sources: new Set(["songs"]) } });

const HOME = manifestOf("home", { lyricsProviders: [{ name: "home", sources: ["home"] }] });
const FIRST = manifestOf("first", { lyricsProviders: [{ name: "first" }] });
const SECOND = manifestOf("second", { lyricsProviders: [{ name: "seCond-One" }] });

let bench: PluginThreadsBench;
afterEach(() => bench.plugins.close());

let clock: FakeClock;
let loader: TrackLoader;
let lines: string[];

function create(manifests: readonly PluginManifest[], order: readonly string[] = []): LyricsProviders {
  clock = new FakeClock();
  bench = new PluginThreadsBench(clock, manifests);
  loader = new TrackLoader({ listSources: () => [], clock });
  lines = [];
  const logger = createLogger((level, message, fields) => {
    lines.push(`${level} ${message}: ${fields?.reason}`);
  });
  return new LyricsProviders({ plugins: () => bench.plugins.working, loader, order, clock, logger });
}

function find(providers: LyricsProviders, more: Partial<Parameters<LyricsProviders["find"]>[1]> = {}) {
  return providers.find(TRACK, { isSourceSkipped: false, owner: OWNER, allowed: undefined, signal: SIGNAL, ...more });
}

/** The names of the plugins that were asked, each of which has none. */
async function askedBy(found: Promise<FoundLyrics | undefined>): Promise<string[]> {
  const asked: string[] = [];
  for (let count = 0; count < 4; count++) {
    await settle();
    for (const thread of bench.threads.started) {
      const { module } = thread.start.settings;
      if (asked.includes(module) || thread.all("lyrics").length === 0) continue;
      asked.push(module);
      await thread.reply({ kind: "lyrics", lyrics: undefined });
    }
  }
  expect(await found).toBeUndefined();
  return asked;
}

test("the track's own source is asked first, then the other providers in their order", async () => {
  expect(await askedBy(find(create([FIRST, SECOND, HOME])))).toEqual(["home", "first", "second"]);
  await bench.plugins.close();
  expect(await askedBy(find(create([FIRST, SECOND, HOME], ["second-one", "home"])))).toEqual([
    "home",
    "second",
    "first",
  ]);
});

test("the track's own source is not asked where the client skips it, nor for a client that may not use it", async () => {
  expect(await askedBy(find(create([HOME, FIRST]), { isSourceSkipped: true }))).toEqual(["first"]);
  await bench.plugins.close();
  expect(await askedBy(find(create([HOME, FIRST]), { allowed: ONLY_SONGS }))).toEqual(["first"]);
});

test("the first lyrics are the answer, and nobody else is asked", async () => {
  const found = find(create([HOME, FIRST]));
  await settle();
  expect(bench.threadOf("home").all("lyrics")).toMatchObject([{ index: 0, encoded: TRACK.encoded, owner: OWNER }]);
  await bench.threadOf("home").reply({ kind: "lyrics", lyrics: LYRICS });
  expect(await found).toEqual(LYRICS);
  expect(bench.threads.started).toHaveLength(1);
});

test("a provider that fails is passed over", async () => {
  const found = find(create([HOME, FIRST]));
  await settle();
  await bench.threadOf("home").replyError(new Error("down"));
  await bench.threadOf("first").reply({ kind: "lyrics", lyrics: LYRICS });
  expect(await found).toEqual(LYRICS);
});

test("where all that are asked fail, the last error is the answer, and each is told once a minute", async () => {
  const providers = create([HOME, FIRST]);
  for (let count = 0; count < 2; count++) {
    const found = find(providers);
    await settle();
    await bench.threadOf("home").replyError(new NodeError("site-busy", "home is down"));
    await bench.threadOf("first").replyError(new NodeError("site-busy", "first is down"));
    await expect(found).rejects.toMatchObject({ code: "site-busy", message: "first is down" });
  }
  expect(lines).toEqual(["warn lyrics: home failed: home is down", "warn lyrics: first failed: first is down"]);
});

test("where one of them has none, there are none, and so where one refuses the track", async () => {
  const refusal = new NodeError("site-unavailable", "not in your country");
  for (const reply of [undefined, refusal]) {
    const found = find(create([HOME, FIRST]));
    await settle();
    const home = bench.threadOf("home");
    await (reply === undefined ? home.reply({ kind: "lyrics", lyrics: undefined }) : home.replyError(reply));
    await bench.threadOf("first").replyError(new NodeError("site-busy", "down"));
    expect(await found).toBeUndefined();
    expect(lines.filter((line) => line.startsWith("warn"))).toEqual(["warn lyrics: first failed: down"]);
    await bench.plugins.close();
  }
});

test("many searches for lyrics leave permits of their account for words to search for", async () => {
  const providers = create([FIRST]);
  for (let index = 0; index < 300; index++) find(providers).catch(() => undefined);
  for (let index = 0; index < 15; index++) {
    await settle();
    clock.advance(100);
  }
  expect(bench.threadOf("first").all("lyrics")).toHaveLength(256);
  let isFound = false;
  void loader.share(async () => (isFound = true), { owner: OWNER, signal: SIGNAL });
  await settle();
  expect(isFound).toBe(true);
});

test("a provider for other sources only is not asked", async () => {
  const other = manifestOf("other", { lyricsProviders: [{ name: "other", sources: ["other"] }] });
  const providers = create([other]);
  expect(providers.isAvailable).toBe(true);
  expect(await find(providers)).toBeUndefined();
  expect(bench.threads.started).toEqual([]);
  await bench.plugins.close();
  expect(create([manifestOf("x")]).isAvailable).toBe(false);
});
