// The lapped transform (MDCT, RFC 6716 section 4.3.7): a frame of one channel, with its overlap with the frame before,
// to 960 samples of spectrum, as one long block or eight short ones (whose samples are then interleaved). Overlaps are
// folded before the transform. AssemblyScript.

import { VECTOR_BYTES } from "../src/numbers.ts";
import { reversed, transformLanes, transformLong, transposed } from "./cosine-transform.ts";
import {
  CHANNEL_BYTES,
  FOLDED,
  LONG_TURNS,
  SHORT_BYTES,
  SHORT_TURNS,
  SIGNAL,
  SIGNAL_BYTES,
  SPARE,
  WINDOW,
} from "./memory-map.ts";

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
    else {
      fold(signal, FOLDED, 960);
      transformLong(FOLDED, spectrum, 120, LONG_TURNS, LONG_SCALE, false);
    }
  }
}

/** Transforms one channel as eight short blocks: sample n of block b is at 8 n + b. */
function transformShort(signal: usize, spectrum: usize): void {
  for (let block: usize = 0; block < 8; block++) {
    fold(signal + block * SHORT_BYTES, FOLDED + block * SHORT_BYTES, 120);
  }
  for (let half: usize = 0; half < 2; half++) {
    transposed(FOLDED + half * 4 * SHORT_BYTES, SHORT_BYTES, SPARE);
    transformLanes(SPARE, VECTOR_BYTES, spectrum + half * VECTOR_BYTES, 2 * VECTOR_BYTES, 60, SHORT_TURNS, SHORT_SCALE);
  }
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
