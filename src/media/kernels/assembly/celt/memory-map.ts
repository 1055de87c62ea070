// The layout of the CELT decoder's memory: that of the Opus encoder, for the tables and the work that both have in common,
// and behind it what only the decoder needs. AssemblyScript, part of the CELT decoder.

import { BANDS_BYTES, SCRATCH_END } from "../../../../../opus-encoder/assembly/memory-map.ts";
import { AUDIO_BYTE, FRAME_BYTE } from "../../numbers/celt.ts";

export const AUDIO: usize = AUDIO_BYTE;
export const FRAME_ADDRESS: usize = FRAME_BYTE;

/** Rotations of the transforms of 480 and of 240 samples: half as many cosines, then as many sines. */
export const TURNS_480: usize = (SCRATCH_END + 15) & ~15;
export const TURNS_240: usize = TURNS_480 + 4 * 480;
/** The shapes of the lower bands, scaled to be copied into others: per channel 78 bands' widths of up to 8 samples. */
export const FOLD_BYTES: usize = 4 * 640;
export const FOLDS: usize = TURNS_240 + 4 * 240;
/** What a band is filled from, in the order of the band. */
export const FOLD_SOURCE: usize = FOLDS + 2 * FOLD_BYTES;
/** Per band and channel: one bit for each short block that has energy. */
export const MASKS: usize = FOLD_SOURCE + 4 * 192;
/** Per band: the level that levels are relative to. */
export const MEANS: usize = MASKS + 2 * BANDS_BYTES;
export const SHARED_END: usize = MEANS + BANDS_BYTES;
