// Coding of each band's resolution of time and frequency (RFC 6716 section 4.3.1), which is chosen in
// resolution-choice.ts. AssemblyScript.

import { BANDS, SHORT_BLOCKS_LOG } from "./format.ts";
import { intAt, setInt } from "./lists.ts";
import { RESOLUTIONS } from "./memory-map.ts";
import { encodeBit, tell } from "./range-encoder.ts";
import { changeFor, isPairNeeded } from "./resolution-changes.ts";

/** Codes the flags in RESOLUTIONS, which become changes of resolution. */
export function codeResolutions(bitsMax: i32, isShort: bool, pair: i32): void {
  let rarity = isShort ? 2 : 4;
  const isPairSignalled = tell() + rarity + 1 <= bitsMax;
  const bits = isPairSignalled ? bitsMax - 1 : bitsMax;
  let flag = 0;
  let anyFlag = 0;
  for (let band = 0; band < BANDS; band++) {
    if (tell() + rarity <= bits) {
      const target = intAt(RESOLUTIONS, band);
      encodeBit(target !== flag, u32(rarity));
      flag = target;
      anyFlag |= flag;
    } else {
      setInt(RESOLUTIONS, band, flag);
    }
    rarity = isShort ? 4 : 5;
  }
  let usedEighths = 0;
  if (isPairSignalled && isPairNeeded(SHORT_BLOCKS_LOG, isShort, anyFlag)) {
    encodeBit(pair !== 0, 1);
    usedEighths = pair;
  }
  for (let band = 0; band < BANDS; band++) {
    setInt(RESOLUTIONS, band, changeFor(SHORT_BLOCKS_LOG, isShort, usedEighths, intAt(RESOLUTIONS, band)));
  }
}
