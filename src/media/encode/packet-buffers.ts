// The buffers an encoder writes its packets to: two alternating ones, as the pipeline prepares one packet while the one
// before waits to be sent. Audio thread.

import { OPUS_FRAME_BYTES_MAX } from "../opus/opus-packet.ts";

/** A header of one byte, and one frame. */
const PACKET_BYTES_MAX = 1 + OPUS_FRAME_BYTES_MAX;

export class PacketBuffers {
  #next = new Uint8Array(PACKET_BYTES_MAX);
  #other = new Uint8Array(PACKET_BYTES_MAX);

  /**
   * Space for the largest packet of 20 ms: the last buffer taken stays unchanged, the one taken before it is used
   * again.
   */
  take(): Uint8Array {
    const taken = this.#next;
    this.#next = this.#other;
    this.#other = taken;
    return taken;
  }
}
