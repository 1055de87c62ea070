// Every kind of media file, whole and damaged in many ways, through a whole node: whatever is not heard for at least
// half of the length that the client was given shows as an early end in the log and the metrics, and whatever is not
// heard at all as an exception (docs/internals/incidents.md). In virtual time, and AAC, which is decoded on separate
// threads, in real time.

import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeReceived } from "../../../lab/listen/received.ts";
import { changePages } from "../../../lab/media-files/ogg-pages.ts";
import { plainPlan } from "../../../lab/media-server/answer-plan.ts";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { WORKER_REPORT_INTERVAL_MS } from "../../../src/bridge/worker-report.ts";
import { pause } from "../../../src/lib/pause.ts";
import { createLogger } from "../../../src/log/log.ts";
import { readMediaFixture } from "../../support/media-fixture.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";
import { narrating, type VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const FIXTURES = new URL("../../fixtures/demux", import.meta.url);
/** Refused at load. */
const REFUSED = ["ac3.mpegts", "speex.ogg", "theora.ogg", "video-only.webm"];
const FILES = readdirSync(FIXTURES).filter((file) => !REFUSED.includes(file));
const AAC = FILES.filter((file) => file.startsWith("aac") || file === "video.mp4");
/** One of each container and codec: damaged in every way. The others in two. */
const EACH_KIND = [
  ...["cbr.mp3", "mp3.mka", "mp3.mp4", "mp3.mpegts", "small.flac", "flac.mka", "flac.mp4", "flac.oga", "alac.m4a"],
  ...["opus.ogg", "opus.webm", "opus.mp4", "vorbis.ogg", "vorbis.webm", "pcm_s16le.wav"],
];
/** Passed through: its packets are audio whatever is in them. */
const OPUS = ["chained.ogg", "live.webm", "loudness.opus", "opus.mp4", "opus.ogg", "opus.webm", "video.webm"];
/** Zeros are silence in these, which is audio. */
const PCM = FILES.filter((file) => file.startsWith("pcm") || file.endsWith(".wav"));

const FRAME_MS = 20;
const FRAME_SAMPLES = 48 * FRAME_MS;
/** Effective value of a frame that is heard: the fixtures are louder, and an encoder's silence is below. */
const AUDIBLE = 10 ** (-70 / 20);
/** Less is not missed. */
const MISSING_MS_MIN = 100;
/** Around half of the length either judgement is right: encoders and resamplers make frames more or less. */
const HALF = { surely: 0.45, perhaps: 0.55 };

type Damage = (file: Uint8Array) => Uint8Array;

/** From this share of the audio on, each byte by its place. */
function from(share: number, byteAt: (at: number, byte: number) => number): Damage {
  return (file) => {
    const [start, end] = audioIn(file);
    const first = start + (end - start) * share;
    return file.map((byte, at) => (at < first || at >= end ? byte : byteAt(at, byte)));
  };
}

/** MP4 may have its tables behind the audio; in other files the head is small. */
function audioIn(file: Uint8Array): readonly [from: number, to: number] {
  const view = Buffer.from(file.buffer, file.byteOffset, file.length);
  const at = view.indexOf("mdat");
  return at < 0 || view.indexOf("moof") >= 0 ? [0, file.length] : [at + 4, at - 4 + view.readUInt32BE(at - 4)];
}

function noise(): () => number {
  const random = seededRandom(3);
  return () => Math.floor(random() * 256);
}

const DAMAGE: Readonly<Record<string, Damage>> = {
  whole: (file) => file,
  "cut at 30 %": (file) => file.subarray(0, file.length * 0.3),
  "noise from 20 % on": from(0.2, noise()),
  "zeros from 25 % on": from(0.25, () => 0),
  "every fifth run of 200 bytes wrong": from(0.1, (at, byte) => (Math.floor(at / 200) % 5 === 0 ? byte ^ 0xff : byte)),
  "packets of zeros": zeroPackets,
  "wrong sample sizes": (file) => changeTable(file, "stsz", 12, (index) => (index % 4 === 0 ? undefined : 3)),
  "no sample times": (file) => changeTable(file, "stts", 12, () => 0),
};
/** After these less than half is left. */
const HEAVY = ["cut at 30 %", "noise from 20 % on", "zeros from 25 % on"];

/** Audio pages of Ogg with right checksums, other files behind their heads. */
function zeroPackets(file: Uint8Array): Uint8Array {
  if (Buffer.from(file.subarray(0, 4)).toString() !== "OggS") return from(0.1, () => 0)(file);
  return changePages(file, (page, index) => (index < 4 ? page : page.fill(0, 27 + (page[26] ?? 0))));
}

/** Numbers of an MP4 table from an offset of its contents on; undefined: stays. Other files stay as they are. */
function changeTable(
  file: Uint8Array,
  name: string,
  offset: number,
  change: (index: number) => number | undefined,
): Uint8Array {
  const changed = Buffer.from(file);
  const at = changed.indexOf(name);
  if (at < 0) return file;
  const end = at - 4 + changed.readUInt32BE(at - 4);
  for (let index = 0; at + 4 + offset + 4 * index + 4 <= end; index++) {
    const value = change(index);
    if (value !== undefined) changed.writeUInt32BE(value, at + 4 + offset + 4 * index);
  }
  return changed;
}

interface EarlyLine {
  readonly reason: unknown;
}

const lines: EarlyLine[] = [];
const logger = createLogger((_level, message, fields) => {
  if (message === "track ended before half of it was played") lines.push({ reason: fields.reason });
});
const CONFIG = { METRICS_PROMETHEUS_ENABLED: "true" };

interface Outcome {
  /** As the client was given it; undefined: a stream. */
  readonly lengthMs: number | undefined;
  readonly heardMs: number;
  readonly end: unknown;
  readonly hasException: boolean;
}

/** Loads one file and plays what the server then has in its place; undefined when it does not load. */
async function play(
  upstream: UpstreamTestEnvironment,
  { path, loaded, played }: { path: string; loaded: Uint8Array; played: Uint8Array },
): Promise<Outcome | undefined> {
  upstream.answer(path, () => plainPlan(loaded, undefined));
  const { body } = await upstream.bot.load(upstream.url(path));
  if (body.loadType !== "track") return undefined;
  const { encoded, info } = body.data as { encoded: string; info: { length: number; isStream: boolean } };
  upstream.answer(path, () => plainPlan(played, undefined));
  const guild = await upstream.enterGuild();
  await guild.play(encoded);
  const end = await guild.ended(120_000);
  await guild.untilSilent();
  const outcome = {
    lengthMs: info.isStream ? undefined : info.length,
    heardMs: await heardMs(guild.audio, path),
    end,
    hasException: guild.eventTypes.includes("TrackExceptionEvent"),
  };
  await upstream.bot.destroy(guild.guildId);
  return outcome;
}

async function heardMs(frames: readonly { readonly opus: Uint8Array }[], path: string): Promise<number> {
  if (OPUS.some((file) => path.startsWith(file))) return frames.length * FRAME_MS;
  const { left, right } = await decodeReceived(frames.map(({ opus }) => opus));
  let audible = 0;
  for (let at = 0; at < left.length; at += FRAME_SAMPLES) {
    let energy = 0;
    for (let index = at; index < Math.min(left.length, at + FRAME_SAMPLES); index++) {
      energy += left[index]! ** 2 + right[index]! ** 2;
    }
    if (Math.sqrt(energy / (2 * FRAME_SAMPLES)) > AUDIBLE) audible += 1;
  }
  return audible * FRAME_MS;
}

interface Variant {
  readonly path: string;
  readonly loaded: Uint8Array;
  readonly played: Uint8Array;
}

/** The file with each damage since it was loaded, and where `isLoadedDamaged` also from the beginning. */
function variantsOf(file: string, damages: readonly string[], isLoadedDamaged: boolean): Variant[] {
  const whole = readMediaFixture(file);
  return damages.flatMap((name): Variant[] => {
    const damaged = DAMAGE[name]?.(whole) ?? whole;
    const isSilence = PCM.includes(file) && name.includes("zeros");
    if (isSilence || (damaged === whole && name !== "whole")) return [];
    const path = `${file}?${encodeURIComponent(name)}`;
    const later = { path, loaded: whole, played: damaged };
    return isLoadedDamaged && damaged !== whole
      ? [later, { path: `${path}&loaded`, loaded: damaged, played: damaged }]
      : [later];
  });
}

/** Plays the variants at once; those that load. */
async function playAll(upstream: UpstreamTestEnvironment, variants: readonly Variant[]): Promise<Outcome[]> {
  lines.length = 0;
  const outcomes = await Promise.all(variants.map((variant) => play(upstream, variant)));
  return outcomes.filter((outcome) => outcome !== undefined);
}

const isInaudible = ({ heardMs }: Outcome) => heardMs === 0;

/** Audible, and less than this share of it. */
function isShort({ heardMs, lengthMs = 0 }: Outcome, share: number): boolean {
  return heardMs > 0 && heardMs < lengthMs * share && lengthMs - heardMs >= MISSING_MS_MIN;
}

async function expectNoSilentSuccess(file: string): Promise<void> {
  const isOfEachKind = EACH_KIND.includes(file);
  const damages = isOfEachKind ? Object.keys(DAMAGE) : ["whole", "cut at 30 %"];
  const outcomes = await playAll(upstream, variantsOf(file, damages, isOfEachKind));
  const described = outcomes.map((outcome) => JSON.stringify(outcome)).join("\n");
  expect(outcomes.length).toBeGreaterThan(1);
  for (const outcome of outcomes.filter(isInaudible)) {
    expect(outcome).toMatchObject({ end: "loadFailed", hasException: true });
  }
  lineCount += lines.length;
  // Where nothing was audible, the exception may have come when it was opened.
  const expected = outcomes.filter((outcome) => isShort(outcome, HALF.surely)).length;
  const allowed = outcomes.filter((outcome) => isShort(outcome, HALF.perhaps) || isInaudible(outcome)).length;
  expect(lines.length, described).toBeGreaterThanOrEqual(expected);
  expect(lines.length, described).toBeLessThanOrEqual(allowed);
}

async function earlyEnds(): Promise<number> {
  const { body } = await upstream.bot.request<string>("GET", "/metrics");
  const counts = body.matchAll(/^tonearm_tracks_ended_early_total\{reason="\w+"\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

let upstream: UpstreamTestEnvironment;
let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);
/** Of all files. */
let lineCount = 0;

beforeAll(async () => {
  ({ upstream, virtual } = await UpstreamTestEnvironment.startVirtual({ logger, config: CONFIG }));
});
afterAll(() => virtual.close());

test.each(FILES.filter((file) => !AAC.includes(file)))(
  "no damage makes %s end in silence as if it had been played",
  narrated(expectNoSilentSuccess),
);

test(
  "each early end that is logged is counted",
  narrated(async () => {
    expect(lineCount).toBeGreaterThan(FILES.length / 2);
    await pause(virtual.clock, 2 * WORKER_REPORT_INTERVAL_MS);
    expect(await earlyEnds()).toBe(lineCount);
  }),
);

test("no damage makes AAC end in silence as if it had been played", { tags: ["real-time"] }, async () => {
  const realTime = await UpstreamTestEnvironment.start({ logger, config: CONFIG });
  const variants = AAC.flatMap((file) => variantsOf(file, HEAVY, false));
  const outcomes = await playAll(realTime, variants);
  expect(outcomes).toHaveLength(variants.length);
  const failures = outcomes.filter(({ end, hasException }) => end === "loadFailed" && hasException);
  for (const outcome of outcomes.filter(isInaudible)) expect(failures).toContain(outcome);
  expect(lines.length + failures.length).toBeGreaterThanOrEqual(variants.length);
  await realTime.close();
});
