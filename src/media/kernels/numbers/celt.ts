// The CELT decoder's memory, for both compilers: its map begins as that of the Opus encoder, whose tables it shares. Audio
// thread.

import { INPUT_BYTE, PACKET_BYTE } from "../../../../opus-encoder/src/numbers.ts";

/** The decoded frame: up to 960 floats of each channel. */
export const AUDIO_BYTE = INPUT_BYTE;

/** The coded frame, without the header of its packet: up to 1275 bytes, and four behind it. */
export const FRAME_BYTE = PACKET_BYTE;

/** The states of streams begin here. */
export const SLOTS_BYTE = 147_456;

/** Size of the state of one stream. */
export const SLOT_BYTES = 17_152;
