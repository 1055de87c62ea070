// Codes the shapes of all bands one by one, each with its allocation and the bits that earlier bands left over (RFC
// 6716 section 4.3.4). AssemblyScript.

import { beginBand, codeBand, setSpread } from "./band-coding.ts";
import { BANDS, bandByte, bandWidth, SHORT_BLOCKS_LOG } from "./format.ts";
import { intAt } from "./lists.ts";
import { CHANNEL_BYTES, PULSE_BITS, SHAPES } from "./memory-map.ts";
import { tellEighths } from "./range-encoder.ts";
import { codeStereoBand } from "./stereo-coding.ts";

/** Most bits a band can get. */
const BAND_BITS_MAX: i32 = 16383;

/**
 * Codes SHAPES (which are used up) by PULSE_BITS and RESOLUTIONS. `total` is the whole packet, `balance` what no band
 * could use; `blocks` is 1 or 8.
 */
export function codeBands(
  channels: i32,
  blocks: i32,
  total: i32,
  balance: i32,
  codedBands: i32,
  intensityBand: i32,
  isDualBelow: bool,
  spreading: i32,
): void {
  setSpread(spreading);
  for (let band = 0; band < BANDS; band++) {
    // In a frame of short blocks, the lowest band has nothing below it to be filled from.
    const mayMakeNoise = band > 0 || blocks === 1;
    const usedEighths = tellEighths();
    if (band > 0) balance -= usedEighths;
    const remaining = total - usedEighths - 1;
    beginBand(band, remaining, mayMakeNoise);
    let bits = 0;
    if (band < codedBands) {
      const share = balance / min(3, codedBands - band);
      bits = max(0, min(BAND_BITS_MAX, min(remaining + 1, intAt(PULSE_BITS, band) + share)));
    }
    const shape = SHAPES + bandByte(band);
    const length = bandWidth(band) << SHORT_BLOCKS_LOG;
    if (channels === 1) {
      codeBand(shape, length, bits, blocks);
    } else if (isDualBelow && band < intensityBand) {
      codeBand(shape, length, bits / 2, blocks);
      codeBand(shape + CHANNEL_BYTES, length, bits / 2, blocks);
    } else {
      codeStereoBand(band, bits, blocks, band >= intensityBand);
    }
    balance += intAt(PULSE_BITS, band) + usedEighths;
  }
}
