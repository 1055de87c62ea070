// Reads the shapes of all bands one by one, each with its allocation and the bits that earlier bands left over (RFC 6716
// section 4.3.4). AssemblyScript, part of the CELT decoder.

import { BIT, bandWidth, edge } from "../../../../../opus-encoder/assembly/format.ts";
import { floatAt, intAt, setFloat, setInt } from "../../../../../opus-encoder/assembly/lists.ts";
import {
  BANDS_BYTES,
  CHANNEL_BYTES,
  PULSE_BITS,
  RESOLUTIONS,
  SHAPES,
} from "../../../../../opus-encoder/assembly/memory-map.ts";
import { beginBand, beginBands, decodeBand } from "./band.ts";
import { FOLD_BYTES, FOLDS, MASKS } from "./memory-map.ts";
import { tellEighths } from "./range-decoder.ts";
import { decodeStereoBand } from "./stereo.ts";

/** Most bits a band can get. */
const BAND_BITS_MAX: i32 = 16383;
const MUCH_SPREAD: i32 = 3;

/** What both channels have that may fill this band: a bit for each block with energy. */
let leftFill: u32 = 0;
let rightFill: u32 = 0;

/**
 * Writes SHAPES and MASKS. `total` is the whole frame, `balance` what no band could use; `blocks` is 1 or the number of
 * short blocks.
 */
export function readBands(
  channels: i32,
  sizeLog: i32,
  bands: i32,
  blocks: i32,
  total: i32,
  balance: i32,
  codedBands: i32,
  intensityBand: i32,
  isDualBelow: bool,
  spreading: i32,
): void {
  beginBands(sizeLog, spreading);
  let isDual = isDualBelow;
  /** The end of what bands are filled from; 0: there is nothing yet. */
  let sourceBand = 0;
  let isSourceMoving = true;
  for (let band = 0; band < bands; band++) {
    const usedBefore = tellEighths();
    if (band > 0) balance -= usedBefore;
    const remaining = total - usedBefore - 1;
    beginBand(band, remaining);
    let bits = 0;
    if (band < codedBands) {
      const share = balance / min(3, codedBands - band);
      bits = max(0, min(BAND_BITS_MAX, min(remaining + 1, intAt(PULSE_BITS, band) + share)));
    }
    const start = edge(band) << sizeLog;
    const length = bandWidth(band) << sizeLog;
    if ((start >= length || band === 1) && (isSourceMoving || sourceBand === 0)) sourceBand = band;
    let source = -1;
    const isFilledByNoise = spreading === MUCH_SPREAD && blocks === 1 && intAt(RESOLUTIONS, band) >= 0;
    if (sourceBand !== 0 && !isFilledByNoise) {
      source = max(0, (edge(sourceBand) << sizeLog) - length);
      gatherFill(channels, sizeLog, band, sourceBand, source, length);
    } else {
      leftFill = (1 << u32(blocks)) - 1;
      rightFill = leftFill;
    }
    if (isDual && band === intensityBand) {
      isDual = false;
      averageFolds(start);
    }
    const isLast = band === bands - 1;
    const shape = SHAPES + (usize(start) << 2);
    const fold: usize = isLast ? 0 : FOLDS + (usize(start) << 2);
    const from: usize = source < 0 ? 0 : FOLDS + (usize(source) << 2);
    if (isDual) {
      const half = bits / 2;
      const otherFold = isLast ? 0 : fold + FOLD_BYTES;
      const otherFrom = source < 0 ? 0 : from + FOLD_BYTES;
      setMask(0, band, decodeBand(shape, length, half, blocks, from, fold, 1, leftFill));
      setMask(1, band, decodeBand(shape + CHANNEL_BYTES, length, half, blocks, otherFrom, otherFold, 1, rightFill));
    } else {
      const fill = leftFill | rightFill;
      const mask =
        channels === 1
          ? decodeBand(shape, length, bits, blocks, from, fold, 1, fill)
          : decodeStereoBand(
              shape,
              shape + CHANNEL_BYTES,
              length,
              bits,
              blocks,
              from,
              fold,
              fill,
              band,
              sizeLog,
              band >= intensityBand,
            );
      setMask(0, band, mask);
      setMask(1, band, mask);
    }
    balance += intAt(PULSE_BITS, band) + usedBefore;
    // Bands are filled from the highest that has a bit per sample.
    isSourceMoving = bits > length << BIT;
  }
}

/** The bits of MASKS for one channel of a band. */
export function maskOf(channel: i32, band: i32): u32 {
  return u32(intAt(MASKS + usize(channel) * BANDS_BYTES, band));
}

function setMask(channel: i32, band: i32, mask: u32): void {
  setInt(MASKS + usize(channel) * BANDS_BYTES, band, i32(mask));
}

/** What all bands have that reach into the `length` samples from `source` on, which end with `sourceBand` or before. */
function gatherFill(channels: i32, sizeLog: i32, band: i32, sourceBand: i32, source: i32, length: i32): void {
  let first = sourceBand - 1;
  while (edge(first) << sizeLog > source) first--;
  let last = sourceBand;
  while (last < band && edge(last) << sizeLog < source + length) last++;
  leftFill = 0;
  rightFill = 0;
  for (let index = first; index < last; index++) {
    leftFill |= maskOf(0, index);
    rightFill |= maskOf(channels - 1, index);
  }
}

/** Where intensity stereo begins, both channels are filled from the same. */
function averageFolds(samples: i32): void {
  for (let index = 0; index < samples; index++) {
    setFloat(FOLDS, index, 0.5 * (floatAt(FOLDS, index) + floatAt(FOLDS + FOLD_BYTES, index)));
  }
}
