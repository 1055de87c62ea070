// The format that is written, in numbers (RFC 6716 section 4.3): one frame of 20 ms at 48 kHz in 21 bands up to 20 kHz,
// as one long block or eight short ones. AssemblyScript.

import { ENCODER_DELAY_SAMPLES, FRAME_SAMPLES } from "../src/numbers.ts";

export const BANDS: i32 = 21;
/** Capacity of lists of a number per band, so that channels begin on whole vectors. */
export const BANDS_CAPACITY: usize = 24;
export const SHORT_BLOCKS: usize = 8;
/** The binary logarithm of that. */
export const SHORT_BLOCKS_LOG: i32 = 3;
export const SHORT_SAMPLES: usize = FRAME_SAMPLES / 8;
/** Overlap of two frames. */
export const OVERLAP_SAMPLES: usize = 120;
/** Past samples that the pitch filter uses. */
export const PITCH_PAST_SAMPLES: usize = 1024;
/** Audio is coded this much later than it arrives: together with the overlap this equals the delay of libopus. */
export const AHEAD_SAMPLES: usize = ENCODER_DELAY_SAMPLES - 120;

/** Bits are counted in eighths (their logarithm). */
export const BIT: i32 = 3;
/** Most bits of fine energy. */
export const FINE_BITS_MAX: i32 = 8;

/** Where bands begin, in samples of a short block; and where the last one ends. */
const EDGES = memory.data<u8>([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 34, 40, 48, 60, 78, 100]);
/** Binary logarithms of the bands' widths, in eighths. */
const WIDTH_LOGS = memory.data<u8>([0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 16, 16, 16, 21, 21, 24, 29, 34, 36]);
/** Mean levels of bands, in sixteenths of a binary logarithm. */
const MEANS = memory.data<u8>([103, 100, 92, 85, 81, 77, 72, 70, 78, 75, 73, 71, 78, 74, 69, 72, 70, 74, 76, 71, 60]);

/** The start of a band; for 21, the end of all. */
export function edge(band: i32): i32 {
  return load<u8>(EDGES + usize(band));
}

/** Samples of a short block in a band. */
export function bandWidth(band: i32): i32 {
  return edge(band + 1) - edge(band);
}

/** Logarithm of a band's width, in eighths of a binary logarithm. */
export function widthLog(band: i32): i32 {
  return load<u8>(WIDTH_LOGS + usize(band));
}

/** Binary logarithm of the amplitude that levels of this band are relative to. */
export function meanLevel(band: i32): f32 {
  return f32(load<u8>(MEANS + usize(band))) * 0.0625;
}

/** Bytes from the start of a spectrum to that of a band: a band has eight times as many samples as in a short block. */
export function bandByte(band: i32): usize {
  return usize(edge(band)) << 5;
}
