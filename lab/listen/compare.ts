// Measures how close a recording is to its original: finds the delay between them (to a fraction of a sample), fits the
// level, and reports the residual.

import { fourierTransform } from "./fourier.ts";

interface Alignment {
  /** How much later the audio is in `received` than in `reference`, in samples, with fractions. */
  readonly delaySamples: number;
  /** 1: the same but for level; 0: nothing in common. */
  readonly correlation: number;
}

interface CompareOptions {
  /** Largest delay to search for, in either direction. Default 48000. */
  readonly delaySamplesMax?: number;
}

/** Finds where `received` fits `reference` best. Undefined when either is silent. */
export function align(
  reference: Float32Array,
  received: Float32Array,
  options: CompareOptions = {},
): Alignment | undefined {
  const delayMax = Math.min(options.delaySamplesMax ?? 48_000, reference.length + received.length - 1);
  const products = crossCorrelate(reference, received);
  const at = (delay: number) => products[(delay + products.length) % products.length]!;
  let best = 0;
  for (let distance = 0; distance <= delayMax; distance++) {
    // From the middle outwards, so that of equal fits (periodic audio) the nearest wins.
    for (const delay of [distance, -distance]) {
      if (at(delay) > at(best) * (1 + 1e-9)) best = delay;
    }
  }
  const norm = Math.sqrt(energy(reference) * energy(received));
  if (norm === 0 || at(best) <= 0) return undefined;
  // A parabola through the three highest points gives the fraction.
  const [before, peak, after] = [at(best - 1), at(best), at(best + 1)];
  const curve = before - 2 * peak + after;
  const fraction = curve < 0 ? (0.5 * (before - after)) / curve : 0;
  return { delaySamples: best + fraction, correlation: Math.min(1, peak / norm) };
}

interface Fit {
  readonly delaySamples: number;
  readonly signalToNoiseDb: number;
}

/**
 * Signal-to-noise of `received` against `reference` in dB after alignment and level fit, over the part both cover.
 * -Infinity when they have nothing in common; about 140 is the most this can measure.
 */
export function signalToNoiseDb(reference: Float32Array, received: Float32Array, options: CompareOptions = {}): number {
  return bestFit(reference, received, options)?.signalToNoiseDb ?? Number.NEGATIVE_INFINITY;
}

/**
 * The delay (as in `Alignment`, but to a thousandth of a sample) at which least is left over, and how little that is.
 */
export function bestFit(
  reference: Float32Array,
  received: Float32Array,
  options: CompareOptions = {},
): Fit | undefined {
  const alignment = align(reference, received, options);
  if (alignment === undefined) return undefined;
  const whole = Math.round(alignment.delaySamples);
  let best = { delaySamples: whole, signalToNoiseDb: ratioAtDelayDb(reference, received, whole) };
  // The parabola is not exact: try nearby fractions and keep the best.
  let centre = alignment.delaySamples;
  for (let step = 0.1; step > 0.0005; step /= 3) {
    const from = centre;
    for (let delay = from - 4 * step; delay <= from + 4 * step; delay += step) {
      const ratio = ratioAtDelayDb(reference, received, delay);
      if (ratio <= best.signalToNoiseDb) continue;
      best = { delaySamples: delay, signalToNoiseDb: ratio };
      centre = delay;
    }
  }
  return best.signalToNoiseDb === Number.NEGATIVE_INFINITY ? undefined : best;
}

/** `samples` as they are `delaySamples` (with fractions) later, `length` of them; silence where there is nothing. */
export function shiftBy(samples: Float32Array, delaySamples: number, length: number): Float32Array {
  const whole = Math.floor(delaySamples);
  const taps = fractionTaps(delaySamples - whole);
  return Float32Array.from({ length }, (_, position) => {
    let value = 0;
    for (let tap = 0; tap < taps.length; tap++)
      value += taps[tap]! * (samples[position - whole + tap - SHIFT_TAPS] ?? 0);
    return value;
  });
}

/** Effective level in dB relative to a full-scale square wave (a full-scale sine is -3.01). */
export function levelDb(samples: Float32Array): number {
  return 10 * Math.log10(energy(samples) / samples.length);
}

/** Taps on each side when audio is shifted by a fraction of a sample. */
const SHIFT_TAPS = 24;
/** At most this many samples, from the middle, are compared: enough for any judgement. */
const COMPARED_SAMPLES_MAX = 24_000;

function ratioAtDelayDb(reference: Float32Array, received: Float32Array, delay: number): number {
  const whole = Math.floor(delay);
  const taps = fractionTaps(delay - whole);
  let start = Math.max(whole + SHIFT_TAPS, 0);
  let end = Math.min(received.length, reference.length + whole - SHIFT_TAPS);
  if (end - start < 480) return Number.NEGATIVE_INFINITY;
  const surplus = Math.max(0, end - start - COMPARED_SAMPLES_MAX);
  start += Math.floor(surplus / 2);
  end -= Math.ceil(surplus / 2);
  let [rr, rh, hh] = [0, 0, 0];
  for (let position = start; position < end; position++) {
    let value = 0;
    for (let tap = 0; tap < taps.length; tap++) value += taps[tap]! * reference[position - whole + tap - SHIFT_TAPS]!;
    const other = received[position]!;
    rr += value * value;
    rh += value * other;
    hh += other * other;
  }
  if (rr === 0 || hh === 0 || rh <= 0) return Number.NEGATIVE_INFINITY;
  const signal = (rh * rh) / rr;
  return 10 * Math.log10(signal / Math.max(hh - signal, signal * 1e-14));
}

/** A windowed sinc that delays by `fraction` (0 to 1) of a sample. */
function fractionTaps(fraction: number): Float64Array {
  if (fraction === 0) return Float64Array.from({ length: 2 * SHIFT_TAPS }, (_, tap) => (tap === SHIFT_TAPS ? 1 : 0));
  return Float64Array.from({ length: 2 * SHIFT_TAPS }, (_, tap) => {
    const time = tap - SHIFT_TAPS + fraction;
    const window = Math.cos((Math.PI * time) / (2 * SHIFT_TAPS + 2)) ** 2;
    return (window * Math.sin(Math.PI * time)) / (Math.PI * time || 1) + (time === 0 ? 1 : 0);
  });
}

/** Element d (or length + d for negative d) is the sum of reference[n] * received[n + d]. */
function crossCorrelate(reference: Float32Array, received: Float32Array): Float64Array {
  const length = 2 ** Math.ceil(Math.log2(reference.length + received.length));
  const real = new Float64Array(length);
  const imaginary = new Float64Array(length);
  // Both in one transform: reference in the real part, received in the imaginary one.
  real.set(reference);
  imaginary.set(received);
  fourierTransform(real, imaginary);
  const productReal = new Float64Array(length);
  const productImaginary = new Float64Array(length);
  for (let index = 0; index < length; index++) {
    const mirror = (length - index) % length;
    const a = [(real[index]! + real[mirror]!) / 2, (imaginary[index]! - imaginary[mirror]!) / 2] as const;
    const b = [(imaginary[index]! + imaginary[mirror]!) / 2, (real[mirror]! - real[index]!) / 2] as const;
    productReal[index] = a[0] * b[0] + a[1] * b[1];
    productImaginary[index] = a[0] * b[1] - a[1] * b[0];
  }
  fourierTransform(productReal, productImaginary, { isInverse: true });
  return productReal.map((value) => value / length);
}

function energy(samples: Float32Array): number {
  let sum = 0;
  for (const value of samples) sum += value * value;
  return sum;
}
