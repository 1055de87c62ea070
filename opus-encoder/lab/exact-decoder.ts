// libopus's decoder with the final state of its range decoder: when it equals the encoder's, both have computed every
// bit of the packet alike. Lab only.

import { FRAME_SAMPLES } from "../../src/media/format/audio-format.ts";
import { type Libopus, loadLibopus } from "../../src/media/opus/libopus.ts";
import { OPUS_PACKET_BYTES_MAX } from "../../src/media/opus/opus-packet.ts";

/**
 * Offset of the final range in a decoder of the pinned build, in bytes: its function does not report it
 * (OPUS_GET_FINAL_RANGE is answered with OPUS_UNIMPLEMENTED). After a packet of silence it is 2 to the power of 24,
 * which is tested.
 */
const FINAL_RANGE_BYTE = 96;

/** Decodes one stream of packets of 20 ms. */
export class ExactDecoder {
  readonly #opus: Libopus;
  readonly #decoder: number;
  readonly #channelCount: 1 | 2;

  constructor(opus: Libopus, channelCount: 1 | 2) {
    this.#opus = opus;
    this.#channelCount = channelCount;
    this.#decoder = opus.createDecoder(channelCount, 0);
  }

  static async create(channelCount: 1 | 2): Promise<ExactDecoder> {
    return new ExactDecoder(await loadLibopus(), channelCount);
  }

  /** The audio, interleaved: a view that is valid until the next call. Throws when it is no packet of 20 ms. */
  decode(packet: Uint8Array): Float32Array {
    if (packet.length === 0 || packet.length > OPUS_PACKET_BYTES_MAX) {
      throw new Error(`a packet of ${packet.length} bytes is not a 20 ms packet`);
    }
    const { module, packetPointer, pcmPointer } = this.#opus;
    module.HEAPU8.set(packet, packetPointer);
    const samples = this.#opus.decode(this.#decoder, packet.length);
    if (samples !== FRAME_SAMPLES) throw new Error(`libopus made ${samples} samples of a packet, not ${FRAME_SAMPLES}`);
    const first = pcmPointer >> 2;
    return module.HEAPF32.subarray(first, first + FRAME_SAMPLES * this.#channelCount);
  }

  /** After the last packet; an unsigned number of 32 bits. */
  get finalRange(): number {
    return this.#opus.module.HEAP32[(this.#decoder + FINAL_RANGE_BYTE) >> 2]! >>> 0;
  }

  close(): void {
    this.#opus.module._oc_destroy_decoder(this.#decoder);
  }
}
