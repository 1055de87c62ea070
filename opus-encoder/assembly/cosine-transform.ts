// The lapped transform (MDCT, RFC 6716 section 4.3.7): a frame of one channel, with its overlap with the frame before,
// to 960 samples of spectrum, as one long block or eight short ones (whose samples are then interleaved). The work is a
// quarter-length complex Fourier transform between two rotations. AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { SHORT_SAMPLES } from "./format.ts";
import { transform60, transform120 } from "./fourier.ts";
import {
  CHANNEL_BYTES,
  FOLDED,
  LANE_TURNS,
  LONG_TURNS,
  SHORT_BYTES,
  SHORT_TURNS,
  SIGNAL,
  SIGNAL_BYTES,
  SPARE,
  STEP_BYTES,
  STEPS,
  WINDOW,
} from "./memory-map.ts";

const SAMPLE: usize = 2 * VECTOR_BYTES;
/** Size of the windowed slopes in one half of a fold. */
const EDGE_BYTES: usize = 4 * 60;
const LONG_SCALE: f32 = 1.0 / 480.0;
const SHORT_SCALE: f32 = 1.0 / 60.0;

/** Transforms SIGNAL to `spectra`, each channel as one long block or as short ones. */
export function toSpectra(channels: i32, spectra: usize, asShort: bool): void {
  for (let channel = 0; channel < channels; channel++) {
    const signal = SIGNAL + usize(channel) * SIGNAL_BYTES;
    const spectrum = spectra + usize(channel) * CHANNEL_BYTES;
    if (asShort) transformShort(signal, spectrum);
    else transformLong(signal, spectrum);
  }
}

/** Transforms 1080 samples at `signal`. */
function transformLong(signal: usize, spectrum: usize): void {
  fold(signal, FOLDED, 960);
  turnLongInput();
  transform120();
  joinLanes();
  writeLongSpectrum(spectrum);
}

/** Transforms one channel as eight short blocks. */
function transformShort(signal: usize, spectrum: usize): void {
  for (let block: usize = 0; block < 8; block++) {
    fold(signal + block * SHORT_BYTES, FOLDED + block * SHORT_BYTES, 120);
  }
  for (let half: usize = 0; half < 2; half++) {
    turnShortInput(FOLDED + half * 4 * SHORT_BYTES);
    transform60();
    writeShortSpectrum(spectrum + half * VECTOR_BYTES);
  }
}

function reversed(lanes: v128): v128 {
  return f32x4.shuffle(lanes, lanes, 3, 2, 1, 0);
}

/** `length` + 120 samples to `length`: the slopes of the window are laid over what they mirror. */
function fold(signal: usize, to: usize, length: usize): void {
  const middle = signal + EDGE_BYTES;
  for (let at: usize = 0; at < EDGE_BYTES; at += VECTOR_BYTES) {
    const mirror = EDGE_BYTES - VECTOR_BYTES - at;
    const rising = f32x4.mul(v128.load(middle + at), v128.load(WINDOW + EDGE_BYTES + at));
    v128.store(to + at, f32x4.sub(rising, reversed(f32x4.mul(v128.load(signal + mirror), v128.load(WINDOW + mirror)))));
  }
  const end: usize = to + 4 * length - EDGE_BYTES;
  let from = middle + EDGE_BYTES;
  for (let at = to + EDGE_BYTES; at < end; at += VECTOR_BYTES) {
    v128.store(at, v128.load(from));
    from += VECTOR_BYTES;
  }
  const last = from + 2 * EDGE_BYTES - VECTOR_BYTES;
  for (let at: usize = 0; at < EDGE_BYTES; at += VECTOR_BYTES) {
    const falling = reversed(v128.load(WINDOW + 2 * EDGE_BYTES - VECTOR_BYTES - at));
    const near = f32x4.mul(v128.load(from + at), falling);
    v128.store(end + at, f32x4.add(near, f32x4.mul(reversed(v128.load(last - at)), v128.load(WINDOW + at))));
  }
}

/** Sample n of the complex series is n / 4 in lane n % 4: from both ends of the folded frame, rotated. */
function turnLongInput(): void {
  const scale = f32x4.splat(LONG_SCALE);
  let to = STEPS;
  let front = FOLDED;
  let back: usize = FOLDED + 4 * 952;
  let turn = LONG_TURNS;
  const end = STEPS + STEP_BYTES;
  do {
    const f0 = v128.load(front);
    const f1 = v128.load(front, VECTOR_BYTES);
    const b0 = v128.load(back);
    const b1 = v128.load(back, VECTOR_BYTES);
    const imaginary = f32x4.shuffle(f0, f1, 0, 2, 4, 6);
    const real = f32x4.shuffle(b0, b1, 7, 5, 3, 1);
    const cosine = f32x4.mul(v128.load(turn), scale);
    const sine = f32x4.mul(v128.load(turn, 4 * 480), scale);
    v128.store(to, f32x4.add(f32x4.mul(real, cosine), f32x4.mul(imaginary, sine)));
    v128.store(to, f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine)), VECTOR_BYTES);
    front += SAMPLE;
    back -= SAMPLE;
    turn += VECTOR_BYTES;
    to += SAMPLE;
  } while (to < end);
}

/**
 * The last step of the long transform, across the lanes. Leaves 480 real parts in the second half of STEPS, 480
 * imaginary ones in SPARE.
 */
function joinLanes(): void {
  const reals = STEPS + STEP_BYTES;
  for (let step: usize = 0; step < SHORT_SAMPLES; step += 4) {
    const x = STEPS + step * SAMPLE;
    const t = LANE_TURNS + step * SAMPLE;
    const ar = turnedReal(x, t);
    const br = turnedReal(x + SAMPLE, t + SAMPLE);
    const cr = turnedReal(x + 2 * SAMPLE, t + 2 * SAMPLE);
    const dr = turnedReal(x + 3 * SAMPLE, t + 3 * SAMPLE);
    const ai = turnedImaginary(x, t);
    const bi = turnedImaginary(x + SAMPLE, t + SAMPLE);
    const ci = turnedImaginary(x + 2 * SAMPLE, t + 2 * SAMPLE);
    const di = turnedImaginary(x + 3 * SAMPLE, t + 3 * SAMPLE);
    // From steps of all lanes to lanes of all steps.
    const abr = f32x4.shuffle(ar, br, 0, 4, 1, 5);
    const cdr = f32x4.shuffle(cr, dr, 0, 4, 1, 5);
    const abr2 = f32x4.shuffle(ar, br, 2, 6, 3, 7);
    const cdr2 = f32x4.shuffle(cr, dr, 2, 6, 3, 7);
    const abi = f32x4.shuffle(ai, bi, 0, 4, 1, 5);
    const cdi = f32x4.shuffle(ci, di, 0, 4, 1, 5);
    const abi2 = f32x4.shuffle(ai, bi, 2, 6, 3, 7);
    const cdi2 = f32x4.shuffle(ci, di, 2, 6, 3, 7);
    const r0 = f32x4.shuffle(abr, cdr, 0, 1, 4, 5);
    const r1 = f32x4.shuffle(abr, cdr, 2, 3, 6, 7);
    const r2 = f32x4.shuffle(abr2, cdr2, 0, 1, 4, 5);
    const r3 = f32x4.shuffle(abr2, cdr2, 2, 3, 6, 7);
    const i0 = f32x4.shuffle(abi, cdi, 0, 1, 4, 5);
    const i1 = f32x4.shuffle(abi, cdi, 2, 3, 6, 7);
    const i2 = f32x4.shuffle(abi2, cdi2, 0, 1, 4, 5);
    const i3 = f32x4.shuffle(abi2, cdi2, 2, 3, 6, 7);
    const pr = f32x4.add(r0, r2);
    const pi = f32x4.add(i0, i2);
    const mr = f32x4.sub(r0, r2);
    const mi = f32x4.sub(i0, i2);
    const qr = f32x4.add(r1, r3);
    const qi = f32x4.add(i1, i3);
    const nr = f32x4.sub(r1, r3);
    const ni = f32x4.sub(i1, i3);
    const real = reals + 4 * step;
    const imaginary = SPARE + 4 * step;
    v128.store(real, f32x4.add(pr, qr));
    v128.store(real, f32x4.add(mr, ni), 4 * 120);
    v128.store(real, f32x4.sub(pr, qr), 4 * 240);
    v128.store(real, f32x4.sub(mr, ni), 4 * 360);
    v128.store(imaginary, f32x4.add(pi, qi));
    v128.store(imaginary, f32x4.sub(mi, nr), 4 * 120);
    v128.store(imaginary, f32x4.sub(pi, qi), 4 * 240);
    v128.store(imaginary, f32x4.add(mi, nr), 4 * 360);
  }
}

function turnedReal(sample: usize, turn: usize): v128 {
  const real = f32x4.mul(v128.load(sample), v128.load(turn));
  return f32x4.add(real, f32x4.mul(v128.load(sample, VECTOR_BYTES), v128.load(turn, VECTOR_BYTES)));
}

function turnedImaginary(sample: usize, turn: usize): v128 {
  const imaginary = f32x4.mul(v128.load(sample, VECTOR_BYTES), v128.load(turn));
  return f32x4.sub(imaginary, f32x4.mul(v128.load(sample), v128.load(turn, VECTOR_BYTES)));
}

/** Even samples come from the front of the transformed series, odd ones from its back. */
function writeLongSpectrum(spectrum: usize): void {
  const reals = STEPS + STEP_BYTES;
  let back: usize = 4 * 476;
  for (let front: usize = 0; front < 4 * 480; front += VECTOR_BYTES) {
    const even = f32x4.neg(
      f32x4.add(
        f32x4.mul(v128.load(SPARE + front), v128.load(LONG_TURNS + front, 4 * 480)),
        f32x4.mul(v128.load(reals + front), v128.load(LONG_TURNS + front)),
      ),
    );
    const odd = reversed(
      f32x4.sub(
        f32x4.mul(v128.load(SPARE + back), v128.load(LONG_TURNS + back)),
        f32x4.mul(v128.load(reals + back), v128.load(LONG_TURNS + back, 4 * 480)),
      ),
    );
    v128.store(spectrum + 2 * front, f32x4.shuffle(even, odd, 0, 4, 1, 5));
    v128.store(spectrum + 2 * front, f32x4.shuffle(even, odd, 2, 6, 3, 7), VECTOR_BYTES);
    back -= VECTOR_BYTES;
  }
}

/** Four short blocks from `folded`, one in each lane. */
function turnShortInput(folded: usize): void {
  for (let at: usize = 0; at < SHORT_BYTES; at += VECTOR_BYTES) {
    const a = v128.load(folded + at);
    const b = v128.load(folded + SHORT_BYTES + at);
    const c = v128.load(folded + 2 * SHORT_BYTES + at);
    const d = v128.load(folded + 3 * SHORT_BYTES + at);
    const ab = f32x4.shuffle(a, b, 0, 4, 1, 5);
    const cd = f32x4.shuffle(c, d, 0, 4, 1, 5);
    const ab2 = f32x4.shuffle(a, b, 2, 6, 3, 7);
    const cd2 = f32x4.shuffle(c, d, 2, 6, 3, 7);
    const to = SPARE + 4 * at;
    v128.store(to, f32x4.shuffle(ab, cd, 0, 1, 4, 5));
    v128.store(to, f32x4.shuffle(ab, cd, 2, 3, 6, 7), VECTOR_BYTES);
    v128.store(to, f32x4.shuffle(ab2, cd2, 0, 1, 4, 5), 2 * VECTOR_BYTES);
    v128.store(to, f32x4.shuffle(ab2, cd2, 2, 3, 6, 7), 3 * VECTOR_BYTES);
  }
  const scale = f32x4.splat(SHORT_SCALE);
  for (let index: usize = 0; index < 60; index++) {
    const imaginary = v128.load(SPARE + 2 * index * VECTOR_BYTES);
    const real = v128.load(SPARE + (119 - 2 * index) * VECTOR_BYTES);
    const cosine = f32x4.mul(v128.load32_splat(SHORT_TURNS + 4 * index), scale);
    const sine = f32x4.mul(v128.load32_splat(SHORT_TURNS + 4 * index, 4 * 60), scale);
    const to = STEPS + index * SAMPLE;
    v128.store(to, f32x4.add(f32x4.mul(real, cosine), f32x4.mul(imaginary, sine)));
    v128.store(to, f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine)), VECTOR_BYTES);
  }
}

/** Sample n of block b is at 8 n + b. */
function writeShortSpectrum(spectrum: usize): void {
  for (let index: usize = 0; index < 60; index++) {
    const sample = STEPS + STEP_BYTES + index * SAMPLE;
    const real = v128.load(sample);
    const imaginary = v128.load(sample, VECTOR_BYTES);
    const cosine = v128.load32_splat(SHORT_TURNS + 4 * index);
    const sine = v128.load32_splat(SHORT_TURNS + 4 * index, 4 * 60);
    const even = f32x4.neg(f32x4.add(f32x4.mul(imaginary, sine), f32x4.mul(real, cosine)));
    const odd = f32x4.sub(f32x4.mul(imaginary, cosine), f32x4.mul(real, sine));
    v128.store(spectrum + 64 * index, even);
    v128.store(spectrum + 32 * (119 - 2 * index), odd);
  }
}
