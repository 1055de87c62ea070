// A loud and a quiet song, with tags and without: with loudness normalization on, the listener receives all of them at
// the same level, with a tag from the start; without it each is as it is in its file, unchanged. In virtual time.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findClicks } from "../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../lab/listen/received.ts";
import { ascii, concat, le } from "../../../lab/media-files/bytes.ts";
import { oggPage } from "../../../lab/media-files/containers.ts";
import { OpusFrameEncoder } from "../../../src/media/encode/opus-encoder.ts";
import { loudnessOf } from "../../support/loudness-of.ts";
import { opusHeaders } from "../../support/media-builders.ts";
import { MusicCall } from "../../support/music-call.ts";
import { truePeak } from "../../support/true-peak.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const FRAME_SAMPLES = 960;
const SONG_FRAMES = 400;
const LOUD_LUFS = -7;
const QUIET_LUFS = -24;
const TARGET_LUFS = -16;
const CEILING_DBTP = -2;
const LOUDNESS = { pluginFilters: { tonearm: { loudness: { target: TARGET_LUFS, peak: CEILING_DBTP } } } };

let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);

beforeAll(async () => {
  const files: Record<string, Uint8Array> = {};
  for (const [name, lufs] of [
    ["loud", LOUD_LUFS],
    ["quiet", QUIET_LUFS],
  ] as const) {
    const packets = await encodeSong(lufs);
    files[`${name}.opus`] = oggOpus(packets, undefined);
    files[`${name}-tagged.opus`] = oggOpus(packets, lufs);
  }
  virtual = await VirtualTestEnvironment.start({ media: { files } });
});

afterAll(() => virtual.close());

interface ReceivedAudio {
  readonly frameCount: number;
  /** Loudness of the first second and of the last three. */
  readonly startLufs: number;
  readonly endLufs: number;
  readonly peakDbtp: number;
  readonly clicks: readonly number[];
  readonly positionMs: number;
}

/** Plays a song to its end and records it; checks the position half way. */
async function listen(file: string, options: object): Promise<ReceivedAudio> {
  const call = await MusicCall.join(virtual.env, { daveVersion: 0 });
  await call.play(file, options);
  await call.receiveMore(SONG_FRAMES / 2);
  const halfWay = { frames: call.audio.length, ...(await call.player()).state };
  await call.ended();
  const { left, right } = await decodeReceived(call.audio.map(({ opus }) => opus));
  await call.leave();
  const part = (from: number, to: number) =>
    loudnessOf(
      left.slice(from * FRAME_SAMPLES, to * FRAME_SAMPLES),
      right.slice(from * FRAME_SAMPLES, to * FRAME_SAMPLES),
    );
  const count = call.audio.length;
  return {
    frameCount: count,
    startLufs: part(1, 51),
    endLufs: part(count - 155, count - 5),
    peakDbtp: 20 * Math.log10(truePeak(left.subarray(0, 100 * FRAME_SAMPLES))),
    clicks: findClicks(left.subarray(2 * FRAME_SAMPLES, -5 * FRAME_SAMPLES)),
    positionMs: halfWay.position - halfWay.frames * 20,
  };
}

describe("a loud and a quiet song", () => {
  test.each(["loud", "quiet"])(
    "%s, without a tag: goes to the target while it plays",
    narrated(async (name) => {
      const received = await listen(`${name}.opus`, { filters: LOUDNESS });
      expect(Math.abs(received.endLufs - TARGET_LUFS)).toBeLessThan(1);
      expect(received.clicks).toEqual([]);
      expect(Math.abs(received.positionMs)).toBeLessThan(120);
      expect(Math.abs(received.frameCount - SONG_FRAMES)).toBeLessThanOrEqual(2);
    }),
  );

  test.each(["loud", "quiet"])(
    "%s, with a tag: is at the target from the start",
    narrated(async (name) => {
      const received = await listen(`${name}-tagged.opus`, { filters: LOUDNESS });
      expect(Math.abs(received.startLufs - TARGET_LUFS)).toBeLessThan(1);
      expect(Math.abs(received.endLufs - TARGET_LUFS)).toBeLessThan(1);
      // The encoder's part: it gives peaks back within a decibel.
      expect(received.peakDbtp).toBeLessThan(CEILING_DBTP + 1);
      expect(received.clicks).toEqual([]);
      expect(Math.abs(received.positionMs)).toBeLessThan(120);
      expect(Math.abs(received.frameCount - SONG_FRAMES)).toBeLessThanOrEqual(2);
    }),
  );

  test.each([
    ["loud", LOUD_LUFS],
    ["quiet", QUIET_LUFS],
  ])(
    "%s, with loudness off: is as it is",
    narrated(async (name, lufs) => {
      const received = await listen(`${name}-tagged.opus`, {});
      expect(Math.abs(received.endLufs - lufs)).toBeLessThan(0.5);
    }),
  );
});

/** A chord and a beat, at the given loudness. */
async function encodeSong(lufs: number): Promise<Uint8Array[]> {
  const raw = Float32Array.from({ length: SONG_FRAMES * FRAME_SAMPLES }, (_, sample) => {
    const seconds = sample / 48_000;
    const chord = [220, 277.2, 329.6].reduce((sum, hz) => sum + Math.sin(2 * Math.PI * hz * seconds), 0);
    return 0.1 * chord + 0.3 * Math.exp(-((seconds * 2) % 1) * 12) * Math.sin(2 * Math.PI * 110 * seconds);
  });
  const gain = 10 ** ((lufs - loudnessOf(raw)) / 20);
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 160_000 });
  const packets = Array.from({ length: SONG_FRAMES }, (_, frame) => {
    const audio = raw.slice(frame * FRAME_SAMPLES, (frame + 1) * FRAME_SAMPLES).map((value) => gain * value);
    return Uint8Array.from(encoder.encode(audio, audio));
  });
  encoder.close();
  return packets;
}

function oggOpus(packets: readonly Uint8Array[], lufs: number | undefined): Uint8Array {
  const [head] = opusHeaders();
  const comment = lufs === undefined ? undefined : ascii(`R128_TRACK_GAIN=${Math.round((-23 - lufs) * 256)}`);
  const comments = comment === undefined ? le(0, 4) : concat(le(1, 4), le(comment.length, 4), comment);
  const pages = [head, concat(ascii("OpusTags"), le(0, 4), comments)].map((packet, sequence) =>
    oggPage({ serial: 1, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
  );
  for (let start = 0; start < packets.length; start += 25) {
    const end = Math.min(start + 25, packets.length);
    const flags = end === packets.length ? 4 : 0;
    const [sequence, granule] = [pages.length, end * FRAME_SAMPLES];
    pages.push(oggPage({ serial: 1, sequence, granule, flags, packets: packets.slice(start, end) }));
  }
  return concat(...pages);
}
