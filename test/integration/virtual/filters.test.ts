// Each filter is set, changed and removed while music plays, passed through or transcoded: the effect is audible at
// once, without a click or a gap, the position stays correct, and Opus returns to the file's own packets. In virtual
// time, and once of each kind in real time.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findClicks, findGaps } from "../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../lab/listen/received.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, packetText, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { unlessStarved } from "../../support/unless-starved.ts";
import { VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

/** 100 ms. */
const FRAMES_UNTIL_AUDIBLE_MAX = 5;
const FRAME_MS = 20;
/** Codecs fade in and out at the ends of a song. */
const EDGE_SAMPLES = 4800;
/** The second half of a song of 6 s is enough. */
const START_MS = 3000;
const SONG_FRAMES = 150;

const tonearm = (filters: object) => ({ pluginFilters: { tonearm: filters } });
const bands = (gain: number) => Array.from({ length: 15 }, (_, band) => ({ band, gain: band < 6 ? gain : -0.1 }));

/** Each filter as it is set first, and as it is changed to. */
const FILTERS: readonly (readonly [string, object, object])[] = [
  ["volume", { volume: 0.5 }, { volume: 0.25 }],
  ["equalizer", { equalizer: bands(0.2) }, { equalizer: bands(-0.2) }],
  ["karaoke", { karaoke: {} }, { karaoke: { level: 0.5 } }],
  ["timescale", { timescale: { speed: 1.25, pitch: 1.25 } }, { timescale: { speed: 0.8, pitch: 0.9 } }],
  ["tremolo", { tremolo: { frequency: 4, depth: 0.6 } }, { tremolo: { frequency: 7, depth: 0.3 } }],
  ["vibrato", { vibrato: { frequency: 5, depth: 0.8 } }, { vibrato: { frequency: 9, depth: 0.3 } }],
  [
    "distortion",
    { distortion: { sinScale: 2, cosScale: 0, tanScale: 0, tanOffset: 1 } },
    { distortion: { sinScale: 1, cosScale: 0, tanScale: 0, tanOffset: 1 } },
  ],
  ["rotation", { rotation: { rotationHz: 0.5 } }, { rotation: { rotationHz: -1 } }],
  ["channelMix", { channelMix: { leftToRight: 0.5, rightToLeft: 0.5 } }, { channelMix: { rightToRight: 0.2 } }],
  ["lowPass", { lowPass: {} }, { lowPass: { smoothing: 5 } }],
  ["highPass", tonearm({ highPass: { frequency: 1000 } }), tonearm({ highPass: { frequency: 200 } })],
  ["compressor", tonearm({ compressor: { threshold: -40 } }), tonearm({ compressor: { gain: 6 } })],
  ["chorus", tonearm({ chorus: {} }), tonearm({ chorus: { delay: 8, depth: 1 } })],
  ["flanger", tonearm({ flanger: {} }), tonearm({ flanger: { delay: 10, feedback: 0.7 } })],
  ["phaser", tonearm({ phaser: {} }), tonearm({ phaser: { depth: 1, frequency: 2, feedback: 0.6 } })],
  ["echo", tonearm({ echo: { delay: 10, mix: 0.5 } }), tonearm({ echo: { delay: 250, decay: 0.7 } })],
  ["reverb", tonearm({ reverb: {} }), tonearm({ reverb: { roomSize: 1, mix: 0.6 } })],
  ["loudness", tonearm({ loudness: { target: -24 } }), tonearm({ loudness: { target: -30, peak: -9 } })],
];

let virtual: VirtualTestEnvironment;
let filePackets: ReadonlySet<string>;
/** The song without filters: encoders of the same input give the same packets. */
let transcoded: readonly string[];
beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: SONGS.pathname } });
  filePackets = new Set(await packetsOf("chord.webm"));
  transcoded = await virtual.run(() => receiveTranscoded(virtual.env));
});
afterAll(() => virtual.close());

/** Changes filters; returns the number of frames received before the answer. */
async function change(call: MusicCall, filters: object): Promise<number> {
  await call.update({ filters });
  return call.audio.length;
}

async function expectFlawless(call: MusicCall): Promise<void> {
  const { left, right } = await decodeReceived(call.audio.map(({ opus }) => opus));
  for (const side of [left, right]) {
    const audio = side.subarray(EDGE_SAMPLES, -EDGE_SAMPLES);
    expect(findClicks(audio)).toEqual([]);
  }
  // Rotation: one side alone may be silent.
  const both = left.map((value, sample) => Math.abs(value) + Math.abs(right[sample]!));
  expect(findGaps(both.subarray(EDGE_SAMPLES, -EDGE_SAMPLES))).toEqual([]);
  const { receiver } = call.session;
  expect(receiver.lostPackets).toBe(0);
}

async function passedThrough(env: TestEnvironment, first: object, second: object): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.play("chord.webm", { position: START_MS });
  await call.receiveMore(20);
  const setAt = await change(call, first);
  await call.receiveMore(20);
  await change(call, second);
  await call.receiveMore(20);
  const clearedAt = await change(call, {});
  await call.ended();

  const isOwn = call.audio.map(({ opus }) => filePackets.has(packetText(opus)));
  const firstChanged = isOwn.indexOf(false);
  expect(firstChanged).toBeGreaterThan(10);
  expect(firstChanged - setAt).toBeLessThanOrEqual(FRAMES_UNTIL_AUDIBLE_MAX);
  expect(isOwn.lastIndexOf(false) - clearedAt).toBeLessThanOrEqual(2 * FRAMES_UNTIL_AUDIBLE_MAX);
  await expectFlawless(call);
  await call.leave();
}

async function decodedAndEncoded(env: TestEnvironment, first: object): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.play("chord.mp3", { position: START_MS });
  await call.receiveMore(20);
  const setAt = await change(call, first);
  await call.receiveMore(20);
  const from = { frames: call.audio.length, ...(await call.player()).state };
  await call.receiveMore(20);
  const to = { frames: call.audio.length, ...(await call.player()).state };
  await change(call, {});
  await call.ended();

  const rate = "timescale" in first ? 1.25 : 1;
  expect(to.position - from.position).toBeGreaterThan((to.frames - from.frames) * FRAME_MS * rate - 120);
  expect(to.position - from.position).toBeLessThan((to.frames - from.frames) * FRAME_MS * rate + 120);
  const packets = call.audio.map(({ opus }) => packetText(opus));
  const firstChanged = packets.findIndex((packet, index) => packet !== transcoded[index]);
  expect(firstChanged).toBeGreaterThan(10);
  expect(firstChanged - setAt).toBeLessThanOrEqual(FRAMES_UNTIL_AUDIBLE_MAX);
  if (rate === 1) expect(Math.abs(packets.length - SONG_FRAMES)).toBeLessThanOrEqual(2);
  await expectFlawless(call);
  await call.leave();
}

async function ringing(env: TestEnvironment): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const rings = (delay: number, roomSize: number) =>
    tonearm({ echo: { delay, decay: 0.6, mix: 0.5 }, reverb: { roomSize, mix: 0.4 }, flanger: { delay: delay / 50 } });
  await call.play("chord.webm", { filters: rings(100, 0.5) });
  for (const [positionMs, filters] of [
    [3000, rings(130, 0.5)],
    [1010, rings(130, 1)],
    [4020, rings(70, 0)],
  ] as const) {
    await call.receiveMore(12);
    await call.update({ position: positionMs });
    await call.receiveMore(12);
    await call.update({ filters });
  }
  await call.ended();
  await expectFlawless(call);
  await call.leave();
}

async function receiveTranscoded(env: TestEnvironment): Promise<readonly string[]> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.play("chord.mp3", { position: START_MS });
  await call.ended();
  const packets = call.audio.map(({ opus }) => packetText(opus));
  await call.leave();
  return packets;
}

describe.each(FILTERS)("%s", (_name, first, second) => {
  test("a filter on passed-through audio is audible within 100 ms, and removed within 200 ms", () =>
    virtual.run(() => passedThrough(virtual.env, first, second)));

  test("a filter on transcoded audio is audible within 100 ms, and the position is the song's", () =>
    virtual.run(() => decodedAndEncoded(virtual.env, first)));
});

test("the tail of a filter continues over seeks and changes, without a click", () =>
  virtual.run(() => ringing(virtual.env)));

describe.concurrent("in real time", { tags: ["real-time"] }, () => {
  const [_name, first, second] = FILTERS[0]!; // there are some
  let env: TestEnvironment;
  beforeAll(async () => {
    env = await startTestEnvironment({ media: { root: SONGS.pathname } });
  });
  afterAll(() => env.close());

  test("a filter on passed-through audio is audible and removed in time", () =>
    unlessStarved(env, () => passedThrough(env, first, second)));
  test("a filter on transcoded audio is audible in time", () =>
    unlessStarved(env, () => decodedAndEncoded(env, first)));
  test("the tail of a filter continues over seeks", () => unlessStarved(env, () => ringing(env)));
});
