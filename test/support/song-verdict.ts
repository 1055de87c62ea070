// Judges a received song: its alignment with the reference, the residual after subtracting the reference, moment by
// moment, and the differences of level and pitch.

import { bestFit, levelDb, shiftBy } from "../../lab/listen/compare.ts";
import { findClicks, findGaps } from "../../lab/listen/faults.ts";
import type { StereoAudio } from "../../lab/listen/received.ts";

const SAMPLES_PER_MS = 48;
/** Length of the moments that are judged one by one. */
const MOMENT_SAMPLES = 10 * SAMPLES_PER_MS;
/** Left out at both ends, where codecs fade in and out. */
const EDGE_SAMPLES = 40 * SAMPLES_PER_MS;
/** Length at the beginning and at the end that is compared to see whether the audio runs at another speed. */
const PITCH_SAMPLES = 500 * SAMPLES_PER_MS;
/** So much at the end is certainly behind a seam. */
const TAIL_SAMPLES = 500 * SAMPLES_PER_MS;
/** How far from its expected position the audio is searched for. */
const DELAY_SAMPLES_MAX = 200 * SAMPLES_PER_MS;

export interface SongVerdict {
  /** How much later the song is in the recording than in the reference; negative: its beginning is missing. */
  readonly delayMs: number;
  /** Length of the recording less that of the reference. */
  readonly surplusMs: number;
  /** Signal to noise of the worse side, over the whole song but its edges. */
  readonly signalToNoiseDb: number;
  /** Signal to noise within the worst 10 ms, against the level of the whole. A click or a gap shows here. */
  readonly worstMomentDb: number;
  readonly worstMomentMs: number;
  /** Level of the recording less that of the reference. */
  readonly levelDb: number;
  readonly pitchCents: number;
  readonly gapCount: number;
  readonly clickCount: number;
}

/** Throws when they have nothing in common. */
export function judgeSong(reference: StereoAudio, received: StereoAudio): SongVerdict {
  const middle = Math.max(0, Math.floor(reference.left.length / 2) - 30_000);
  const fit = fitAt(reference.left, received.left, { from: middle, length: 60_000 });
  const sides = [
    compareSides(reference.left, received.left, fit.delaySamples),
    compareSides(reference.right, received.right, fit.delaySamples),
  ] as const;
  const worse = sides[0].worstMomentDb < sides[1].worstMomentDb ? sides[0] : sides[1];
  const inside = received.left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES);
  return {
    delayMs: fit.delaySamples / SAMPLES_PER_MS,
    surplusMs: (received.left.length - reference.left.length) / SAMPLES_PER_MS,
    signalToNoiseDb: Math.min(sides[0].signalToNoiseDb, sides[1].signalToNoiseDb),
    worstMomentDb: worse.worstMomentDb,
    worstMomentMs: worse.worstMomentMs,
    levelDb: Math.abs(sides[0].levelDb) > Math.abs(sides[1].levelDb) ? sides[0].levelDb : sides[1].levelDb,
    pitchCents: pitchCents(reference.left, received.left),
    gapCount: findGaps(inside).length,
    clickCount: findClicks(inside).length,
  };
}

export interface Landing {
  /** Song time of the first audio of the new position. */
  readonly songMs: number;
  /** Signal to noise of the last half second of the recording. */
  readonly signalToNoiseDb: number;
}

/**
 * The song position that the end of `received` was played from, followed back to the seam at which it begins. The seam
 * must be at least half a second before the end, and the position within `withinMs` behind the target. Throws
 * otherwise.
 */
export function findLanding(
  reference: Float32Array,
  received: Float32Array,
  { targetMs, withinMs }: { readonly targetMs: number; readonly withinMs: number },
): Landing {
  const tailFrom = received.length - TAIL_SAMPLES;
  const from = Math.max(0, Math.round(targetMs * SAMPLES_PER_MS) - DELAY_SAMPLES_MAX);
  const to = Math.round((targetMs + withinMs) * SAMPLES_PER_MS);
  const fit = bestFit(received.subarray(tailFrom), reference.subarray(from, to), { delaySamplesMax: to - from });
  if (fit === undefined || fit.signalToNoiseDb < 10) {
    throw new Error(`nothing like it between ${targetMs} and ${targetMs + withinMs} ms of the song`);
  }
  // Received sample `at` is reference sample `at + offset`, back to where the two have nothing in common any more.
  const offset = Math.round(from + fit.delaySamples) - tailFrom;
  let at = tailFrom;
  while (at >= MOMENT_SAMPLES && isAlike(received, reference, at - MOMENT_SAMPLES, offset)) at -= MOMENT_SAMPLES;
  return { songMs: (at + offset) / SAMPLES_PER_MS, signalToNoiseDb: fit.signalToNoiseDb };
}

function isAlike(received: Float32Array, reference: Float32Array, at: number, offset: number): boolean {
  const [a, b] = [
    received.subarray(at, at + MOMENT_SAMPLES),
    reference.subarray(at + offset, at + offset + MOMENT_SAMPLES),
  ];
  return at + offset >= 0 && dot(a, b) > 0.8 * Math.sqrt(dot(a, a) * dot(b, b));
}

function fitAt(reference: Float32Array, received: Float32Array, range: { from: number; length: number }) {
  const from = Math.max(0, range.from - DELAY_SAMPLES_MAX);
  const piece = received.subarray(from, range.from + range.length + DELAY_SAMPLES_MAX);
  const fit = bestFit(reference.subarray(range.from, range.from + range.length), piece, {
    delaySamplesMax: 2 * DELAY_SAMPLES_MAX,
  });
  if (fit === undefined) throw new Error("the recording has nothing in common with the reference");
  return { ...fit, delaySamples: fit.delaySamples + from - range.from };
}

function compareSides(reference: Float32Array, received: Float32Array, delaySamples: number) {
  const shifted = shiftBy(reference, delaySamples, received.length);
  const from = Math.max(0, Math.ceil(delaySamples)) + EDGE_SAMPLES;
  const to = Math.min(received.length, reference.length + Math.floor(delaySamples)) - EDGE_SAMPLES;
  const [own, other] = [shifted.subarray(from, to), received.subarray(from, to)];
  const gain = dot(own, other) / dot(own, own);
  const residue = other.map((value, index) => value - gain * own[index]!);
  const audioDb = levelDb(other);
  let worst = { worstMomentDb: Number.POSITIVE_INFINITY, worstMomentMs: 0 };
  for (let at = 0; at + MOMENT_SAMPLES <= residue.length; at += MOMENT_SAMPLES) {
    const momentDb = audioDb - levelDb(residue.subarray(at, at + MOMENT_SAMPLES));
    if (momentDb < worst.worstMomentDb) {
      worst = { worstMomentDb: momentDb, worstMomentMs: (from + at) / SAMPLES_PER_MS };
    }
  }
  return { ...worst, signalToNoiseDb: audioDb - levelDb(residue), levelDb: audioDb - levelDb(own) };
}

/** From how far the end is shifted against the beginning. */
function pitchCents(reference: Float32Array, received: Float32Array): number {
  const early = EDGE_SAMPLES;
  const late = reference.length - EDGE_SAMPLES - PITCH_SAMPLES;
  const [first, last] = [early, late].map((from) => {
    const range = { from, length: PITCH_SAMPLES };
    return fitAt(reference, received, range).delaySamples;
  });
  return 1200 * Math.log2((late - early) / (late - early + last! - first!));
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!;
  return sum;
}
