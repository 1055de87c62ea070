// The cost of encoders: CPU per frame of the same music, warm, in short alternating rounds, so that other load affects
// all; and the cost of the first two seconds in a fresh process compared with later. Lab only.

import { execFileSync } from "node:child_process";
import { quantile } from "../../lab/report/statistics.ts";
import { FRAME_SAMPLES, SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import type { Stereo } from "./ear-model.ts";
import { type EncoderKind, encoderKindOf, type JudgedEncoder } from "./encoders.ts";

const FRAMES_PER_SECOND = SAMPLE_RATE_HZ / FRAME_SAMPLES;
/** V8 has compiled an encoder well after some 1,500 frames. */
const WARM_UP_FRAMES = 2500;
/** A round takes some milliseconds. */
const ROUND_FRAMES = 20;
const FIRST_FRAMES = 2 * FRAMES_PER_SECOND;
const FRESH_PROCESS_TIMEOUT_MS = 60_000;

/** The cost of one encoder, compared with the first of the list. */
export interface Cost {
  readonly name: string;
  readonly microsecondsBest: number;
  readonly microsecondsMedian: number;
  /** Round by round, both with the same frames: the median, and the range of the middle 80 %. */
  readonly ratioMedian: number;
  readonly ratioLow: number;
  readonly ratioHigh: number;
}

/** CPU of a frame, each encoder compared with the first. `music` is repeated. */
export async function measureCost(
  kinds: readonly EncoderKind[],
  { music, bitrateBps, rounds }: { readonly music: Stereo; readonly bitrateBps: number; readonly rounds: number },
): Promise<Cost[]> {
  const frames = framesOf(music);
  const encoders = await Promise.all(kinds.map((kind) => kind.create({ bitrateBps })));
  for (const encoder of encoders) encodeFrames(encoder, frames, 0, WARM_UP_FRAMES);
  const times = kinds.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (let positionIndex = 0; positionIndex < encoders.length; positionIndex++) {
      // Each encoder is first in one of the orders.
      const index = (positionIndex + round) % encoders.length;
      const before = process.cpuUsage();
      encodeFrames(encoders[index]!, frames, round * ROUND_FRAMES, ROUND_FRAMES);
      const { user, system } = process.cpuUsage(before);
      times[index]!.push((user + system) / ROUND_FRAMES);
    }
  }
  for (const encoder of encoders) encoder.close();
  return kinds.map(({ name }, index) => {
    const own = times[index]!;
    const ratios = own.map((time, round) => time / Math.max(times[0]![round]!, 1e-3));
    return {
      name,
      microsecondsBest: quantile(own, 0),
      microsecondsMedian: quantile(own, 0.5),
      ratioMedian: quantile(ratios, 0.5),
      ratioLow: quantile(ratios, 0.1),
      ratioHigh: quantile(ratios, 0.9),
    };
  });
}

/** The cost of an encoder in a fresh process. */
export interface FirstFrames {
  /** Until the encoder was ready: reading, compiling, creating it. */
  readonly createMs: number;
  /** Median of the frames of the first two seconds. */
  readonly firstMicroseconds: number;
  /** Median of the frames of two warm seconds. */
  readonly laterMicroseconds: number;
  /** The longest of the first. */
  readonly longestMicroseconds: number;
}

/** Measured in this process, which should be a fresh one. Wall time: the audio thread waits for these frames. */
export async function measureFirstFrames(name: string): Promise<FirstFrames> {
  const frames = framesOf(madeMusic());
  const startedMs = performance.now();
  const encoder = await encoderKindOf(name).create({ bitrateBps: 128_000 });
  const createMs = performance.now() - startedMs;
  const first = timesOf(encoder, frames);
  encodeFrames(encoder, frames, 0, WARM_UP_FRAMES);
  const later = timesOf(encoder, frames);
  encoder.close();
  return {
    createMs,
    firstMicroseconds: quantile(first, 0.5),
    laterMicroseconds: quantile(later, 0.5),
    longestMicroseconds: quantile(first, 1),
  };
}

/** The median of some fresh processes, each running `program` with `--first-frames NAME` and printing its figures. */
export function measureFreshProcesses(program: string, name: string, rounds: number): FirstFrames {
  const results = Array.from({ length: rounds }, () => {
    const text = execFileSync(process.execPath, [program, "--first-frames", name], {
      encoding: "utf8",
      timeout: FRESH_PROCESS_TIMEOUT_MS,
    });
    return JSON.parse(text) as FirstFrames; // printed by `measureFirstFrames` there
  });
  const middle = (member: keyof FirstFrames): number =>
    quantile(
      results.map((result) => result[member]),
      0.5,
    );
  return {
    createMs: middle("createMs"),
    firstMicroseconds: middle("firstMicroseconds"),
    laterMicroseconds: middle("laterMicroseconds"),
    longestMicroseconds: middle("longestMicroseconds"),
  };
}

function timesOf(encoder: JudgedEncoder, frames: readonly Stereo[]): number[] {
  return Array.from({ length: FIRST_FRAMES }, (_, index) => {
    const startedMs = performance.now();
    encodeFrames(encoder, frames, index, 1);
    return 1000 * (performance.now() - startedMs);
  });
}

function encodeFrames(encoder: JudgedEncoder, frames: readonly Stereo[], from: number, count: number): void {
  for (let index = from; index < from + count; index++) {
    const [left, right] = frames[index % frames.length]!;
    encoder.encode(left, right);
  }
}

function framesOf([left, right]: Stereo): Stereo[] {
  return Array.from({ length: Math.floor(left.length / FRAME_SAMPLES) }, (_, frame) => {
    const [from, to] = [frame * FRAME_SAMPLES, (frame + 1) * FRAME_SAMPLES];
    return [left.subarray(from, to), right.subarray(from, to)] as const;
  });
}

/** Two seconds of changing chords, with beats: music that a fresh process can make by itself. */
function madeMusic(): Stereo {
  const channel = (detune: number): Float32Array =>
    Float32Array.from({ length: 2 * SAMPLE_RATE_HZ }, (_, at) => {
      const chord = 1 + Math.floor(at / 12_000) * 0.12;
      const beat = Math.exp(-(at % 12_000) / 1500) * Math.sin(at * at * 1e-3);
      const tones = [0.021, 0.031, 0.052, 0.13].map((pitch) => Math.sin(at * pitch * chord * detune));
      return 0.1 * tones.reduce((sum, tone) => sum + tone, 0) + 0.2 * beat;
    });
  return [channel(1), channel(1.003)];
}
