// The last packets of a stream, for a decoder that goes on where another one stopped. Audio thread.

import { OPUS_FRAME_BYTES_MAX } from "../opus/opus-packet.ts";

/**
 * A frame's levels depend on half of those before: after eight packets, the first audio of a new decoder is wrong by -31
 * dB, after these by -72 dB.
 */
const PACKETS_MAX = 16;
/** The largest packet of one frame. */
const PACKET_BYTES_MAX = 1 + OPUS_FRAME_BYTES_MAX;

/** Memory of one stream's packets. */
export const PAST_PACKETS_BYTES = PACKETS_MAX * PACKET_BYTES_MAX;

/** Holds copies of sixteen packets, 320 ms of most streams. A packet larger than one of a single frame ends the past. */
export class PastPackets {
  readonly #bytes = new Uint8Array(PAST_PACKETS_BYTES);
  readonly #sizes = new Array<number>(PACKETS_MAX).fill(0);
  #pushed = 0;
  #count = 0;

  push(packet: Uint8Array): void {
    if (packet.length > PACKET_BYTES_MAX) {
      this.clear();
      return;
    }
    const index = this.#pushed++ % PACKETS_MAX;
    this.#bytes.set(packet, index * PACKET_BYTES_MAX);
    this.#sizes[index] = packet.length;
    this.#count = Math.min(this.#count + 1, PACKETS_MAX);
  }

  /** The oldest first; views that the next `push` may overwrite. */
  packets(): readonly Uint8Array[] {
    return Array.from({ length: this.#count }, (_, age) => {
      const index = (this.#pushed - this.#count + age) % PACKETS_MAX;
      return this.#bytes.subarray(index * PACKET_BYTES_MAX, index * PACKET_BYTES_MAX + this.#sizes[index]!);
    });
  }

  clear(): void {
    this.#count = 0;
  }
}
