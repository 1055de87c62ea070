// Parametric stereo: makes two sides of the subbands of one. AssemblyScript, part of the AAC decoder; ISO 14496-3 section
// 8.6.4.

import { MIXED_BYTE, MIXED_BYTES } from "../../../numbers/aac.ts";
import { join, split } from "./bands.ts";
import { decorrelate } from "./decorrelate.ts";
import { fact, IS_34, IS_STARTED } from "./facts.ts";
import { mixSides } from "./mix.ts";

/** From the left side's subbands in `MIXED_BYTE`. `end`: behind the last that has audio. */
export function spreadSides(stereo: usize, end: i32): void {
  if (fact(stereo, IS_STARTED) === 0) {
    memory.copy(MIXED_BYTE + MIXED_BYTES, MIXED_BYTE, MIXED_BYTES);
    return;
  }
  const is34 = fact(stereo, IS_34) !== 0;
  split(stereo, is34);
  decorrelate(stereo, end, is34);
  mixSides(stereo, is34);
  join(0, is34);
  join(1, is34);
}
