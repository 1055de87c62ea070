// Decodes frames of Opus packets that are CELT only (RFC 6716 section 4.3), one a call: 2.5 to 20 ms at 48 kHz, all
// bandwidths, one or two channels. All streams of a thread share this module's memory and decode one at a time; each has a
// slot. Whatever a frame holds, only this memory is read and written. AssemblyScript; the host is ../celt-kernel.ts.

import { chooseSlot } from "../../../../opus-encoder/assembly/retained.ts";
import { prepareTables, prepareTurns } from "../../../../opus-encoder/assembly/start-tables.ts";
import { decodeFrame } from "./celt/frame.ts";
import { SHARED_END, TURNS_240, TURNS_480 } from "./celt/memory-map.ts";
import { finalRange } from "./celt/range-decoder.ts";
import { clearSlot } from "./celt/slot.ts";
import { prepareMeans } from "./celt/synthesis.ts";

/** Call once, before anything else. Returns where the shared memory ends: no slot may begin before. */
export function start(): usize {
  prepareTables();
  prepareTurns(TURNS_480, 480);
  prepareTurns(TURNS_240, 240);
  prepareMeans();
  return SHARED_END;
}

/** Turns a slot into a new stream with 1 or 2 output channels. */
export function reset(slot: usize, channels: i32): void {
  chooseSlot(slot);
  clearSlot(channels);
}

/**
 * Decodes the frame of 2 to 1275 bytes at FRAME_BYTE to AUDIO_BYTE. `sizeLog`: the binary logarithm of its length in 2.5
 * ms, 0 to 3; `bands`: 13, 17, 19 or 21; `channels`: the coded ones, 1 or 2; `gain`: of full scale. False: it is damaged.
 */
export function decode(slot: usize, sizeBytes: i32, sizeLog: i32, bands: i32, channels: i32, gain: f32): bool {
  chooseSlot(slot);
  return decodeFrame(sizeBytes, sizeLog, bands, channels, gain / 32768);
}

/** The range that the encoder had after the same frame. */
export function rangeAfterFrame(): u32 {
  return finalRange();
}
