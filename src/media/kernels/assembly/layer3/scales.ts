// Reads the scale factors of a granule's channel. AssemblyScript, part of the layer III decoder; ISO 11172-3 section
// 2.4.2.7, ISO 13818-3 section 2.4.3.2.

import { POSITIONS_BYTE, SCALE_BITS_BYTE, SCALE_COUNTS_BYTE, SCALES } from "../../numbers/layer3.ts";
import { read } from "../bits.ts";
import { BLOCK_TYPE, fact, HAS_EXTRA_SCALES, IS_MIXED, SCALE_CODE, SHORT_BLOCKS, setFact } from "./granule.ts";

/** Of a band that has no position: it is no intensity. */
const NO_POSITION: i32 = 255;

/** Groups of bands of long blocks, each of which the second granule may take from the first. */
const GROUP_COUNT: i32 = 4;

/**
 * Version 1. `shared`: a bit for each group, the first the highest, that the first granule's are used for. Bands in the
 * order of the data: long ones, then short ones with their three windows each.
 */
export function readScales(granule: usize, scales: usize, before: usize, shared: i32): void {
  const code = fact(granule, SCALE_CODE);
  const low = load<u8>(SCALE_BITS_BYTE + code);
  const high = load<u8>(SCALE_BITS_BYTE + 16 + code);
  memory.fill(scales + 21, 0, SCALES - 21);
  if (fact(granule, BLOCK_TYPE) === SHORT_BLOCKS) {
    const lowCount = fact(granule, IS_MIXED) !== 0 ? 17 : 18;
    for (let band = 0; band < lowCount; band++) store<u8>(scales + band, read(low));
    for (let band = 0; band < 18; band++) store<u8>(scales + lowCount + band, read(high));
    return;
  }
  let band = 0;
  for (let group = 0; group < GROUP_COUNT; group++) {
    const end = group === 0 ? 6 : 6 + 5 * group;
    const bits: i32 = group < 2 ? low : high;
    if ((shared & (8 >> group)) !== 0) {
      memory.copy(scales + band, before + band, end - band);
      band = end;
    } else for (; band < end; band++) store<u8>(scales + band, read(bits));
  }
}

/** Version 2. `isRight`: of the right channel of a frame with intensity, where they are positions as well. */
export function readScales2(granule: usize, scales: usize, isRight: bool): void {
  let code = fact(granule, SCALE_CODE);
  let kind = 0;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  if (isRight) {
    code >>= 1;
    if (code < 180) {
      kind = 3;
      a = code / 36;
      b = (code % 36) / 6;
      c = (code % 36) % 6;
    } else if (code < 244) {
      kind = 4;
      code -= 180;
      a = (code % 64) >> 4;
      b = (code % 16) >> 2;
      c = code % 4;
    } else {
      kind = 5;
      code -= 244;
      a = code / 3;
      b = code % 3;
    }
  } else if (code < 400) {
    a = (code >> 4) / 5;
    b = (code >> 4) % 5;
    c = (code % 16) >> 2;
    d = code % 4;
  } else if (code < 500) {
    kind = 1;
    code -= 400;
    a = (code >> 2) / 5;
    b = (code >> 2) % 5;
    c = code % 4;
  } else {
    kind = 2;
    code -= 500;
    a = code / 3;
    b = code % 3;
    setFact(granule, HAS_EXTRA_SCALES, 1);
  }
  const isShort = fact(granule, BLOCK_TYPE) === SHORT_BLOCKS;
  const blocks = isShort ? (fact(granule, IS_MIXED) !== 0 ? 2 : 1) : 0;
  memory.fill(scales, 0, SCALES);
  memory.fill(POSITIONS_BYTE, 0, SCALES);
  let band = 0;
  for (let part = 0; part < 4; part++) {
    const bits = part === 0 ? a : part === 1 ? b : part === 2 ? c : d;
    const count: i32 = load<u8>(SCALE_COUNTS_BYTE + 4 * (3 * kind + blocks) + part);
    const none = isRight && bits > 0 ? (1 << bits) - 1 : -1;
    for (let index = 0; index < count; index++) {
      const value = read(bits);
      store<u8>(scales + band, value);
      store<u8>(POSITIONS_BYTE + band, value === none ? NO_POSITION : value);
      band++;
    }
  }
}
