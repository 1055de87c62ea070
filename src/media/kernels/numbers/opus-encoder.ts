// What the Opus encoder's WebAssembly and the node agree on: where sound and packets stand in its memory, and how large
// the state of one encoder is. Read by both compilers (block.ts).

import { FRAME_SAMPLES } from "../../format/audio-format.ts";

/** The encoder's own tables of constants end before this. */
export const TABLES_END_BYTE = 8192;

/** One frame of the left side (or the only one), then one of the right: 960 floats each. */
export const INPUT_BYTE = TABLES_END_BYTE + 64;

/** The packet of the last frame: a header of one byte, and what was coded. */
export const PACKET_BYTE = INPUT_BYTE + 2 * 4 * FRAME_SAMPLES;
/** RFC 6716 section 3.4, R2: a frame is at most 1275 bytes; and the header. */
export const WHOLE_PACKET_BYTES_MAX = 1276;

/** What encoders share: tables made at the start, and the work on one frame. */
export const SCRATCH_BYTE = PACKET_BYTE + 1280;

/** Here the states of encoders begin, … */
export const SLOTS_BYTE = 131072;
/** … each so large. */
export const SLOT_BYTES = 11776;

/** Bits per second that can be asked for; what is beyond is taken for these. */
export const BITRATE_BPS_MIN = 6000;
/** The most of them, as what one packet of 20 ms can hold. */
export const BITRATE_BPS_MAX = 510000;
