// A bot requests fades and lets one song follow the other: the listener receives the fade-in of the first, both at once
// during the crossfade, without a gap or a click, every packet in its position, and between the fades the files' own
// packets. The bot receives ends and starts in the documented order. In virtual time, and once in real time.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findClicks, findGaps } from "../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../lab/listen/received.ts";
import { oggFile } from "../../../lab/media-files/counted-song.ts";
import type { MediaServerOptions } from "../../../lab/media-server/media-server.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetText, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { levelsOf, opusSong, type ToneSong, WINDOW_MS } from "../../support/tone-player.ts";
import { unlessStarved } from "../../support/unless-starved.ts";
import { VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const FRAME_MS = 20;
const SONG_FRAMES = 200;
/** Length of the fixture songs: 2.5 s. */
const FIXTURE_FRAMES = 125;
const FADE_MS = 1000;
const FADE_FRAMES = FADE_MS / FRAME_MS;
const FADE_WINDOWS = FADE_MS / WINDOW_MS;
/** Windows of 40 ms, and the client takes a moment to start its next track. */
const LEVEL_ERROR_MAX = 0.15;
const TONEARM = {
  fadeIn: { duration: FADE_MS, curve: "linear" },
  fadeOut: { duration: FADE_MS },
  crossfade: { duration: FADE_MS, curve: "sine" },
};

let virtual: VirtualTestEnvironment;
let media: MediaServerOptions;
let low: ToneSong;
let high: ToneSong;
let own: ReadonlySet<string>;

beforeAll(async () => {
  [low, high] = await Promise.all([opusSong(425, SONG_FRAMES), opusSong(1925, SONG_FRAMES)]);
  own = new Set([low, high].flatMap(({ packets }) => packets.map(({ data }) => packetText(data))));
  const inFile = ({ packets }: ToneSong) => oggFile(packets.map(({ data }) => data));
  const files = Object.fromEntries(
    ["song.m4a", "song.flac", "song.mp3", "song.ogg", "chord.mp3"].map((name) => [
      name,
      readFileSync(new URL(name, SONGS)),
    ]),
  );
  media = { files: { ...files, "low.ogg": inFile(low), "high.ogg": inFile(high) } };
  virtual = await VirtualTestEnvironment.start({ media });
});

afterAll(() => virtual.close());

/** The first track ends; the client starts the next one at once. */
async function playNextOnEnd(call: MusicCall): Promise<void> {
  await call.ended();
  await call.play("high.ogg");
}

async function replaceAfter(call: MusicCall, frames: number): Promise<void> {
  await call.receiveMore(frames);
  await call.play("high.ogg");
}

function lastEnd(call: MusicCall): Promise<unknown> {
  const isLast = () => call.bot.events("TrackEndEvent", call.guildId).length === 2;
  return call.bot.until(isLast, "the end of both tracks");
}

/** Both tones are present around the position where they are equally loud. */
function expectCrossing(received: Float32Array): void {
  const [down, up] = [levelsOf(received, low.hz), levelsOf(received, high.hz)];
  const middle = up.findIndex((level, window) => window > FADE_WINDOWS && level > down[window]!);
  const reach = Math.floor(FADE_WINDOWS / 2) - 2;
  for (let window = -reach; window <= reach; window++) {
    const share = 0.5 + window / FADE_WINDOWS;
    expect(Math.abs(up[middle + window]! - Math.sin((share * Math.PI) / 2))).toBeLessThan(LEVEL_ERROR_MAX);
    expect(Math.abs(down[middle + window]! - Math.cos((share * Math.PI) / 2))).toBeLessThan(LEVEL_ERROR_MAX);
  }
}

const FOLLOWING: readonly (readonly [string, (call: MusicCall) => Promise<void>, number, string])[] = [
  ["at the natural end of the first", playNextOnEnd, 2 * SONG_FRAMES - FADE_FRAMES, "finished"],
  ["when the first is replaced", (call) => replaceAfter(call, 100), 100 + SONG_FRAMES, "replaced"],
];

async function expectBothAtOnce(
  follow: (call: MusicCall) => Promise<void>,
  { expectedFrames, reason }: { readonly expectedFrames: number; readonly reason: string },
): Promise<void> {
  const { env } = virtual;
  const call = await MusicCall.join(env, { daveVersion: 1 });
  await call.update({ filters: { pluginFilters: { tonearm: TONEARM } } });
  await call.play("low.ogg");
  await follow(call);
  await lastEnd(call);
  const { receiver } = call.session;
  await call.untilSilent();

  const ends = call.bot.events("TrackEndEvent", call.guildId);
  expect(ends.map((end) => end.reason)).toEqual([reason, "finished"]);
  expect(call.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent", "TrackStartEvent", "TrackEndEvent"]);
  const frames = call.audio.map(({ opus }) => opus);
  expect(Math.abs(frames.length - expectedFrames)).toBeLessThanOrEqual(15);
  // All silence is at the end, and RTP time has run on without a hole.
  expect(call.channel.listener.received.slice(0, -5).filter(({ isSilence }) => isSilence)).toEqual([]);
  expect(receiver).toMatchObject({ lostPackets: 0, skippedFrames: 0 });
  expect(env.discord.violations).toEqual([]);

  const { left } = await decodeReceived(frames);
  expect(findClicks(left)).toEqual([]);
  expect(findGaps(left.subarray(4800, -4800))).toEqual([]);
  const fadeInLevels = levelsOf(left, low.hz);
  for (let window = 0; window < FADE_WINDOWS; window++) {
    expect(Math.abs(fadeInLevels[window]! - (window + 0.5) / FADE_WINDOWS)).toBeLessThan(0.05);
  }
  expectCrossing(left);

  // Between the fades come the files' own packets, bit for bit and in order.
  const packetTexts = frames.map((opus) => packetText(opus));
  const passed = packetTexts
    .map((text, frameIndex) => (own.has(text) ? frameIndex : -1))
    .filter((frameIndex) => frameIndex >= 0);
  expect(passed.length).toBeGreaterThan(60);
  expect(passed[0]).toBeGreaterThan(FADE_FRAMES - 2);
  expect(passed[0]).toBeLessThan(FADE_FRAMES + 8);
  const first = passed[0]!;
  expect(packetTexts.slice(first, first + 20)).toEqual(
    low.packets.slice(first, first + 20).map(({ data }) => packetText(data)),
  );
  await call.leave();
}

async function expectNoSeam(env: TestEnvironment, first: string, second: string): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const tonearm = { crossfade: TONEARM.crossfade, loudness: {}, reverb: {} };
  await call.update({ filters: { pluginFilters: { tonearm } } });
  await call.play(first);
  await call.ended();
  await call.play(second);
  await lastEnd(call);
  await call.untilSilent();
  const { left } = await decodeReceived(call.audio.map(({ opus }) => opus));
  const audio = left.subarray(4800, -4800);
  expect([findClicks(audio), findGaps(audio)]).toEqual([[], []]);
  expect(call.channel.listener.received.slice(0, -5).filter(({ isSilence }) => isSilence)).toEqual([]);
  expect(Math.abs(call.audio.length - (2 * FIXTURE_FRAMES - FADE_FRAMES))).toBeLessThanOrEqual(15);
  await call.leave();
}

describe("two songs", () => {
  test.each(FOLLOWING)("two songs are audible at once %s", (_when, follow, expectedFrames, reason) =>
    virtual.run(() => expectBothAtOnce(follow, { expectedFrames, reason })),
  );

  test.each([
    ["song.flac", "song.mp3"],
    ["song.mp3", "song.ogg"],
    ["song.ogg", "song.flac"],
  ])("songs of other codecs, with other filters, follow each other without a seam: %s and %s", (first, second) =>
    virtual.run(() => expectNoSeam(virtual.env, first, second)),
  );
});

// AAC is decoded on separate threads, which run only in real time.
test("AAC and FLAC fade without a seam in real time", { tags: ["real-time"] }, async () => {
  const env = await startTestEnvironment({ media });
  await unlessStarved(env, () => expectNoSeam(env, "song.m4a", "song.flac"));
  await env.close();
});
