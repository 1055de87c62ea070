// Where an encoder writes its packets: two places in turn, as the pipeline prepares one packet while the one before
// waits to be sent. Audio thread.

import { OPUS_FRAME_BYTES_MAX } from "../opus/opus-packet.ts";

/** A header of one byte, and one frame. */
const PACKET_BYTES_MAX = 1 + OPUS_FRAME_BYTES_MAX;

export class PacketBuffers {
  #next = new Uint8Array(PACKET_BYTES_MAX);
  #other = new Uint8Array(PACKET_BYTES_MAX);

  /** Room for the largest packet of 20 ms: what was taken last stays as it is, what was taken before that is used again. */
  take(): Uint8Array {
    const taken = this.#next;
    this.#next = this.#other;
    this.#other = taken;
    return taken;
  }
}
