// An Opus encoder (RFC 6716, 8251) for music: 48 kHz, frames of 20 ms, all of the band, one or two channels. This file
// holds the functions that kernel.ts calls; docs/design.md describes how the files fit together. All
// encoders of a thread share this module's memory and run one at a time; each has a slot. AssemblyScript.

import { BITRATE_BPS_MAX, BITRATE_BPS_MIN } from "../src/numbers.ts";
import { encodeFrame, setNextHead } from "./frame.ts";
import { SCRATCH_END } from "./memory-map.ts";
import { finalRange } from "./range-encoder.ts";
import { chooseSlot } from "./retained.ts";
import { clearSlot } from "./slot.ts";
import { prepareTables } from "./start-tables.ts";

/** Call once, before anything else. Returns where the shared memory ends: no slot may begin before. */
export function start(): usize {
  prepareTables();
  return SCRATCH_END;
}

/** Turns a slot into a new encoder, for 1 or 2 channels. */
export function reset(slot: usize, channels: i32): void {
  chooseSlot(slot);
  clearSlot(channels);
}

/**
 * Encodes the frame at INPUT_BYTE to a packet at PACKET_BYTE; returns its size, at least 3, at most
 * PACKET_BYTES_MAX, or 0 when it failed. `isVariable` lets the size vary around the rate; `isIndependent` makes a
 * packet that does not depend on earlier ones. It begins with the given pitch filter (PERIOD_MIN to PERIOD_MAX samples,
 * gain step 0 to 7, taps 0 to 2; period 0: none) and blocks; period below 0: the encoder chooses.
 */
export function encode(
  slot: usize,
  bitsPerSecond: i32,
  isVariable: bool,
  isIndependent: bool,
  period: i32,
  gainStep: i32,
  taps: i32,
  isTransient: bool,
): i32 {
  chooseSlot(slot);
  const rate = max(BITRATE_BPS_MIN, min(BITRATE_BPS_MAX, bitsPerSecond));
  setNextHead(period, gainStep, taps, isTransient);
  return encodeFrame(rate, isVariable, isIndependent);
}

/** The range that the decoder must have after the same packet. */
export function rangeAfterPacket(): u32 {
  return finalRange();
}
