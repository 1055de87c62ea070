// AAC-LC and HE-AAC (v1 and v2), raw or with ADTS headers: one packet in, its 1024 or 2048 samples out. Audio thread.

import { NodeError } from "../../errors.ts";
import type { AudioStream } from "../format/packet.ts";
import { AAC_PACKET_BYTES_MAX, AacStream } from "../kernels/aac-kernel.ts";
import { type AacFrame, AacFraming } from "./aac-framing.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";

const CORE_SAMPLES = 1024;
const LOW_COMPLEXITY = 2;
/** Channels of a packet that has the first, and of one that has both of stereo. */
const MONO = 1;

/**
 * A decoder for AAC. Throws NodeError "media-unsupported-codec" for set-up data that is damaged, and "codec-unavailable"
 * where the processor lacks the vector instructions.
 */
export function createAacDecoder(stream: AudioStream): Decoder {
  const framing = new AacFraming(stream);
  const audio = AacStream.start(framing.channelCount);
  if (audio === undefined) {
    throw new NodeError(
      "codec-unavailable",
      "decode AAC: the processor lacks WebAssembly's vector instructions (SIMD)",
    );
  }
  return new AacDecoder(framing, audio);
}

class AacDecoder implements Decoder {
  readonly #framing: AacFraming;
  readonly #damage = new DamageLimit("aac");
  #audio: AacStream;
  #channels: readonly Float32Array[] = [];
  #isClosed = false;

  constructor(framing: AacFraming, audio: AacStream) {
    this.#framing = framing;
    this.#audio = audio;
  }

  decode(packet: Uint8Array): PcmBlock {
    if (this.#isClosed) return EMPTY_BLOCK;
    const frame = packet.length <= AAC_PACKET_BYTES_MAX ? this.#framing.read(packet) : undefined;
    const found = frame === undefined || isBlank(packet) ? 0 : this.#decodeFrame(packet, frame);
    if (frame === undefined || found === 0) return this.#damage.damaged();
    this.#damage.clear();
    return this.#takeBlock(frame, found);
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  reset(): void {
    this.#audio.reset();
  }

  close(): void {
    this.#isClosed = true;
    this.#audio.close();
  }

  #decodeFrame(packet: Uint8Array, frame: AacFrame): number {
    if (frame.objectType !== LOW_COMPLEXITY) return 0;
    const { channelCount } = frame.layout;
    if (channelCount > this.#audio.channelsMax) {
      const audio = AacStream.start(channelCount);
      if (audio === undefined) return 0;
      this.#audio.close();
      this.#audio = audio;
    }
    return this.#audio.decode(packet, frame);
  }

  /** `found`: the channels of the packet. */
  #takeBlock({ layout, sampleRateHz, speakers }: AacFrame, found: number): PcmBlock {
    const factor = this.#audio.isReplicated ? 2 : 1;
    const lengthSamples = factor * CORE_SAMPLES;
    const channelCount = layout.channelCount === 2 && found === MONO ? 1 : layout.channelCount;
    if (this.#channels.length !== channelCount || this.#channels[0]!.length !== lengthSamples) {
      this.#channels = Array.from({ length: channelCount }, () => new Float32Array(lengthSamples));
    }
    for (const [index, channel] of this.#channels.entries()) {
      channel.set(this.#audio.channels[index]!.subarray(0, lengthSamples));
    }
    return { channels: this.#channels, lengthSamples, sampleRateHz: factor * sampleRateHz, speakers };
  }
}

/** Zeros only: a part of a file that never arrived. */
function isBlank(packet: Uint8Array): boolean {
  return packet.every((byte) => byte === 0);
}
