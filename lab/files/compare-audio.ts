// How much of a reference is heard in a recording, moment by moment: where each moment is found again, so that audio
// that is missing in the middle shows as a shift and damage costs only the moments that it covers. Pure.

import { Fourier } from "../listen/fourier.ts";
import type { StereoAudio } from "../listen/received.ts";

const SAMPLES_PER_MS = 48;
const MOMENT_SAMPLES = 100 * SAMPLES_PER_MS;
/** A shorter rest at the end is not judged. */
const MOMENT_SAMPLES_MIN = 20 * SAMPLES_PER_MS;
/** Moments below this part of the loudest one's effective value, or below this value, are not judged. */
const QUIET_SHARE = 10 ** (-50 / 20);
const QUIET_VALUE = 10 ** (-84 / 20);
/** Similarity of a moment that is heard: noise loses the most in an Opus encoder. */
const ALIKE = 0.7;
/** A moment that is less alike than this where it is expected is searched for nearby. */
const SURE = 0.9;
/** How much better another place must be. */
const BETTER = 0.05;
/** Delays that differ by less belong together. */
const SEAM = 2 * SAMPLES_PER_MS;
const NEAR_MS = 60;
const FAR_MS = 1500;
const FAR_SAMPLES = FAR_MS * SAMPLES_PER_MS;
/** Searches that far, of one recording: each takes some 20 ms. */
const FAR_SEARCHES_MAX = 200;
/** Searches are coarse first: one of this many samples. */
const STEP = 6;
/** Beside the coarse place, and for fractions of a period at other rates. */
const FINE_SAMPLES = STEP;

export interface AudioComparison {
  /** How much of the reference that is not quiet is heard, 0 to 1; undefined: all of it is quiet. */
  readonly heardShare: number | undefined;
  /** How much later the first moment is in the recording. */
  readonly delayMs: number;
  /** Largest difference between the delays of two moments: audio is missing, or inserted, between them. */
  readonly shiftMs: number;
  /** Level of what is heard less that of the reference. */
  readonly levelDb: number;
  /** Reference less recording, from beginning to end, silence at the end left out where both are longer without it. */
  readonly missingMs: number;
  /** Effective level of the recording is that of silence. */
  readonly isSilent: boolean;
}

export function compareAudio(reference: StereoAudio, received: StereoAudio): AudioComparison {
  const finder = new Finder(reference, received);
  const moments = momentsOf(reference);
  const tally = { referenceEnergy: 0, receivedEnergy: 0 };
  const places: Moment[] = [];
  const delays: number[] = [];
  let delay = 0;
  for (const moment of moments) {
    const found = finder.find(moment, delay);
    if (found.alike < ALIKE) continue;
    delay = found.delay;
    delays.push(delay);
    const place = { at: moment.at + delay, length: moment.length };
    places.push(place);
    tally.referenceEnergy += energy(reference, moment);
    tally.receivedEnergy += energy(received, place);
  }
  const judgedSamples = moments.reduce((sum, { length }) => sum + length, 0);
  return {
    heardShare: moments.length === 0 ? undefined : coveredSamples(places) / judgedSamples,
    delayMs: (delays[0] ?? 0) / SAMPLES_PER_MS,
    shiftMs: spread(delays) / SAMPLES_PER_MS,
    levelDb: delays.length === 0 ? 0 : 10 * Math.log10(tally.receivedEnergy / tally.referenceEnergy),
    missingMs: missingMs(reference, received),
    isSilent: momentsOf(received).length === 0,
  };
}

/**
 * How far from `expectedMs` of the reference a piece of a recording is from, in ms; undefined: not within 1.5 s of it,
 * or nothing is audible to tell by.
 */
export function placeOf(
  reference: StereoAudio,
  piece: StereoAudio,
  expectedMs: number,
): { readonly offMs: number } | "quiet" | undefined {
  const whole = { at: 0, length: piece.left.length };
  const at = Math.round(expectedMs * SAMPLES_PER_MS);
  if (momentsOf(piece).length === 0) {
    const [left, right] = [reference.left, reference.right].map((samples) => samples.subarray(at, at + FAR_SAMPLES));
    return momentsOf({ left: left!, right: right! }).length === 0 ? "quiet" : undefined;
  }
  const finder = new Finder(piece, reference);
  const found = finder.find(whole, at);
  return found.alike < ALIKE ? undefined : { offMs: found.delay / SAMPLES_PER_MS - expectedMs };
}

/** Without those that no neighbour confirms: one moment at a seam may be like another place. */
function spread(delays: readonly number[]): number {
  const isNear = (delay: number, other: number | undefined) => other !== undefined && Math.abs(delay - other) <= SEAM;
  const confirmed = delays.filter((delay, at) => isNear(delay, delays[at - 1]) || isNear(delay, delays[at + 1]));
  const counted = confirmed.length === 0 ? delays : confirmed;
  return counted.length === 0 ? 0 : Math.max(...counted) - Math.min(...counted);
}

/** A tone is like itself: no part of the recording counts for two moments. */
function coveredSamples(places: readonly Moment[]): number {
  let [sum, until] = [0, Number.NEGATIVE_INFINITY];
  for (const { at, length } of places.toSorted((a, b) => a.at - b.at)) {
    sum += Math.max(0, at + length - Math.max(at, until));
    until = Math.max(until, at + length);
  }
  return sum;
}

/** A part of a recording, in samples. */
interface Moment {
  readonly at: number;
  readonly length: number;
}

/** The moments that are loud enough to be recognised. */
function momentsOf(audio: StereoAudio): Moment[] {
  const all: (Moment & { value: number })[] = [];
  for (let at = 0; at < audio.left.length; at += MOMENT_SAMPLES) {
    const moment = { at, length: Math.min(MOMENT_SAMPLES, audio.left.length - at) };
    if (moment.length < MOMENT_SAMPLES_MIN) continue;
    all.push({ ...moment, value: Math.sqrt(energy(audio, moment) / (2 * moment.length)) });
  }
  const loudest = all.reduce((max, { value }) => Math.max(max, value), 0);
  return all.filter(({ value }) => value > Math.max(QUIET_VALUE, loudest * QUIET_SHARE));
}

/** Finds moments of `reference` in `received`. */
class Finder {
  readonly #reference: StereoAudio;
  readonly #received: StereoAudio;
  #coarse: { readonly reference: StereoAudio; readonly received: StereoAudio } | undefined;
  #farSearches = 0;

  constructor(reference: StereoAudio, received: StereoAudio) {
    this.#reference = reference;
    this.#received = received;
  }

  /** The best place for the moment, nearest to the expected delay if several fit. */
  find(moment: Moment, expected: number): Place {
    const here = this.#fine(moment, expected);
    if (here.alike >= SURE) return here;
    let best = here;
    for (const rangeMs of [NEAR_MS, FAR_MS]) {
      if (best.alike >= ALIKE && rangeMs === FAR_MS) break;
      if (rangeMs === FAR_MS && ++this.#farSearches > FAR_SEARCHES_MAX) break;
      const there = this.#fine(moment, this.#coarsePlace(moment, expected, rangeMs * SAMPLES_PER_MS));
      if (there.alike > best.alike + BETTER) best = there;
    }
    return best;
  }

  #fine(moment: Moment, centre: number): Place {
    let best = { delay: centre, alike: -1 };
    for (let distance = 0; distance <= FINE_SAMPLES; distance++) {
      for (const delay of distance === 0 ? [centre] : [centre - distance, centre + distance]) {
        const alike = likeness(this.#reference, this.#received, { ...moment, delay });
        if (alike > best.alike + 1e-6) best = { delay, alike };
      }
    }
    return best;
  }

  /** To STEP samples, within `range` of the expected delay; nearest to it if several fit. */
  #coarsePlace({ at, length }: Moment, expected: number, range: number): number {
    this.#coarse ??= { reference: thin(this.#reference), received: thin(this.#received) };
    const { reference, received } = this.#coarse;
    const [from, size] = [Math.round(at / STEP), Math.floor(length / STEP)];
    const [centre, reach] = [Math.round(expected / STEP), Math.ceil(range / STEP)];
    const fits = slidingLikeness(
      partOf(reference, from, size),
      partOf(received, from + centre - reach, size + 2 * reach),
    );
    let best = { delay: centre, alike: -1 };
    for (let distance = 0; distance <= reach; distance++) {
      for (const delay of distance === 0 ? [0] : [-distance, distance]) {
        const alike = fits[reach + delay]!;
        if (alike > best.alike + 1e-3) best = { delay: centre + delay, alike };
      }
    }
    return best.delay * STEP;
  }
}

interface Place {
  readonly delay: number;
  /** 1: equal except for level; 0: nothing in common. */
  readonly alike: number;
}

/** Cosine between both sides of a moment and the same length of the recording `delay` samples later. */
function likeness(
  reference: StereoAudio,
  received: StereoAudio,
  { at, length, delay }: Moment & { readonly delay: number },
): number {
  // Audio that a recording has not is silence; a moment that mostly lies outside is not in it.
  const from = Math.max(0, -(at + delay));
  const to = Math.min(length, received.left.length - at - delay);
  if (to - from < length / 2) return 0;
  let [both, own, other] = [0, 0, 0];
  for (const side of ["left", "right"] as const) {
    const [a, b] = [reference[side], received[side]];
    for (let index = from; index < to; index++) {
      const [x, y] = [a[at + index]!, b[at + index + delay]!];
      both += x * y;
      own += x * x;
      other += y * y;
    }
  }
  return own === 0 || other === 0 ? 0 : both / Math.sqrt(own * other);
}

/** How alike `part` is to each stretch of its length in `range`, by the stretch's start: by Fourier transforms. */
function slidingLikeness(part: StereoAudio, range: StereoAudio): Float64Array {
  const [size, count] = [part.left.length, range.left.length - part.left.length + 1];
  const fourier = new Fourier(2 ** Math.ceil(Math.log2(range.left.length + size)));
  // Both sides in one transform, as real and imaginary part: the real part of the product is the sum of both.
  const spectrum = ({ left, right }: StereoAudio) => {
    const [real, imaginary] = [new Float64Array(fourier.length), new Float64Array(fourier.length)];
    real.set(left);
    imaginary.set(right);
    fourier.transform(real, imaginary);
    return { real, imaginary };
  };
  const [own, other] = [spectrum(part), spectrum(range)];
  const [real, imaginary] = [new Float64Array(fourier.length), new Float64Array(fourier.length)];
  for (let index = 0; index < fourier.length; index++) {
    const [a, b, c, d] = [own.real[index]!, own.imaginary[index]!, other.real[index]!, other.imaginary[index]!];
    real[index] = a * c + b * d;
    imaginary[index] = a * d - b * c;
  }
  fourier.transform(real, imaginary, { isInverse: true });
  const ownEnergy = energy(part, { at: 0, length: size });
  let otherEnergy = energy(range, { at: 0, length: size });
  return Float64Array.from({ length: count }, (_, start) => {
    if (start > 0) otherEnergy += power(range, start + size - 1) - power(range, start - 1);
    const product = ownEnergy * otherEnergy;
    return product > 1e-18 ? real[start]! / fourier.length / Math.sqrt(product) : 0;
  });
}

function power({ left, right }: StereoAudio, at: number): number {
  return left[at]! * left[at]! + right[at]! * right[at]!;
}

/** Silence where there is none. */
function partOf({ left, right }: StereoAudio, at: number, length: number): StereoAudio {
  const part = (samples: Float32Array) => Float32Array.from({ length }, (_, index) => samples[at + index] ?? 0);
  return { left: part(left), right: part(right) };
}

/** Means of STEP samples. */
function thin({ left, right }: StereoAudio): StereoAudio {
  const thinned = (samples: Float32Array) =>
    Float32Array.from({ length: Math.floor(samples.length / STEP) }, (_, index) => {
      let sum = 0;
      for (let offset = 0; offset < STEP; offset++) sum += samples[index * STEP + offset]!;
      return sum / STEP;
    });
  return { left: thinned(left), right: thinned(right) };
}

function energy({ left, right }: StereoAudio, { at, length }: Moment): number {
  let sum = 0;
  for (const samples of [left, right]) {
    for (let index = Math.max(0, at); index < Math.min(samples.length, at + length); index++) {
      sum += samples[index]! * samples[index]!;
    }
  }
  return sum;
}

/** Decoders pad the end with silence, some more than others: the smaller of both differences counts. */
function missingMs(reference: StereoAudio, received: StereoAudio): number {
  const whole = reference.left.length - received.left.length;
  const audible = audibleEnd(reference) - audibleEnd(received);
  return (Math.abs(audible) < Math.abs(whole) ? audible : whole) / SAMPLES_PER_MS;
}

function audibleEnd({ left, right }: StereoAudio): number {
  let peak = 0;
  for (let index = 0; index < left.length; index++)
    peak = Math.max(peak, Math.abs(left[index]!), Math.abs(right[index]!));
  const quiet = Math.max(QUIET_VALUE, peak * QUIET_SHARE * 10);
  for (let index = left.length - 1; index >= 0; index--) {
    if (Math.abs(left[index]!) > quiet || Math.abs(right[index]!) > quiet) return index + 1;
  }
  return 0;
}
