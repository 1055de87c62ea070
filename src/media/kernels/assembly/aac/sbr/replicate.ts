// Spectral band replication of an element: doubles the sample rate of its channels, with upper frequencies made of the
// lower ones. AssemblyScript, part of the AAC decoder; ISO 14496-3 section 4.6.18.

import { MIXED_BYTE, MIXED_BYTES } from "../../../numbers/aac.ts";
import { spreadSides } from "../ps/spread.ts";
import { adjust, mix } from "./adjust.ts";
import { analyze } from "./analysis.ts";
import {
  COUNT,
  FIRST,
  fact,
  HAS_DATA,
  IS_PUSHED,
  IS_STARTED,
  OLD_COUNT,
  OLD_FIRST,
  setFact,
  turnOff,
} from "./facts.ts";
import { findGains } from "./gains.ts";
import { generate } from "./generate.ts";
import { synthesize } from "./synthesis.ts";

/**
 * `left` and `right`: what the channels retain, `right` 0 for a single one. `stereo`: of a single channel that becomes two,
 * else 0. In and out: 1024 samples of each to 2048.
 */
export function replicate(left: usize, right: usize, stereo: usize, leftSamples: usize, rightSamples: usize): void {
  if (fact(left, IS_PUSHED) === 0) {
    setFact(left, OLD_FIRST, fact(left, FIRST));
    setFact(left, OLD_COUNT, fact(left, COUNT));
  }
  setFact(left, IS_PUSHED, 0);
  // Of a packet without data, nothing is known.
  if (fact(left, IS_STARTED) !== 0 && fact(left, HAS_DATA) === 0) turnOff(left);
  setFact(left, HAS_DATA, 0);
  const isPair = right !== 0 && stereo === 0;
  replicateChannel(left, left, left, isPair ? right : left, leftSamples, MIXED_BYTE);
  if (stereo !== 0) spreadSides(stereo, fact(left, FIRST) + fact(left, COUNT));
  if (isPair) replicateChannel(left, right, left, right, rightSamples, MIXED_BYTE + MIXED_BYTES);
  synthesize(left, MIXED_BYTE, leftSamples);
  if (right !== 0) synthesize(right, MIXED_BYTE + MIXED_BYTES, rightSamples);
}

function replicateChannel(
  header: usize,
  replica: usize,
  left: usize,
  right: usize,
  samples: usize,
  subbands: usize,
): void {
  analyze(header, replica, samples);
  if (fact(header, IS_STARTED) !== 0) {
    generate(header, replica);
    findGains(header, replica, left, right);
    adjust(header, replica);
  }
  mix(header, replica, subbands);
}
