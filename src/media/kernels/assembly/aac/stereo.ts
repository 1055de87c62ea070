// Makes left and right of what a pair of channels stores: sum and difference, or one spectrum with a gain for each band
// (intensity). AssemblyScript, part of the AAC decoder; ISO 14496-3 section 4.6.8.

import { SHORT_SAMPLES } from "../../numbers/aac.ts";
import {
  BANDS,
  bandStart,
  bookOf,
  fact,
  GROUPS,
  gainOf,
  groupSize,
  INTENSITY_BOOK,
  INVERTED_BOOK,
  isMasked,
  NOISE_BOOK,
} from "./channel.ts";

const WINDOW_BYTES: usize = 4 * SHORT_SAMPLES;

/** Sum and difference to left and right, where both have the same windows and the mask says so. */
export function separate(left: usize, right: usize, leftSpectrum: usize, rightSpectrum: usize): void {
  const bands = fact(left, BANDS);
  let index = 0;
  let windows: usize = 0;
  for (let group = 0; group < fact(left, GROUPS); group++) {
    const size = groupSize(left, group);
    for (let band = 0; band < bands; band++) {
      if (isMasked(left, index) && bookOf(left, index) < NOISE_BOOK && bookOf(right, index) < NOISE_BOOK) {
        const bytes: usize = 4 * (bandStart(left, band + 1) - bandStart(left, band));
        let at = windows + 4 * bandStart(left, band);
        for (let window = 0; window < size; window++) {
          separateBand(leftSpectrum + at, rightSpectrum + at, bytes);
          at += WINDOW_BYTES;
        }
      }
      index++;
    }
    windows += WINDOW_BYTES * size;
  }
}

function separateBand(left: usize, right: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) {
    const sum = v128.load(left + at);
    const difference = v128.load(right + at);
    v128.store(left + at, f32x4.add(sum, difference));
    v128.store(right + at, f32x4.sub(sum, difference));
  }
}

/** Bands of the right channel that are the left one's with a gain. */
export function direct(left: usize, right: usize, leftSpectrum: usize, rightSpectrum: usize): void {
  const bands = fact(right, BANDS);
  let index = 0;
  let windows: usize = 0;
  for (let group = 0; group < fact(right, GROUPS); group++) {
    const size = groupSize(right, group);
    for (let band = 0; band < bands; band++) {
      const book = bookOf(right, index);
      if (book >= INVERTED_BOOK) {
        const isInverted = (book === INTENSITY_BOOK) === isMasked(left, index);
        const gain = f32x4.splat(isInverted ? -gainOf(right, index) : gainOf(right, index));
        const bytes: usize = 4 * (bandStart(right, band + 1) - bandStart(right, band));
        let at = windows + 4 * bandStart(right, band);
        for (let window = 0; window < size; window++) {
          for (let line = at; line < at + bytes; line += 16) {
            v128.store(rightSpectrum + line, f32x4.mul(gain, v128.load(leftSpectrum + line)));
          }
          at += WINDOW_BYTES;
        }
      }
      index++;
    }
    windows += WINDOW_BYTES * size;
  }
}
