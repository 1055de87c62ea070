// AAC-LC by our decoder, in 1024 samples a packet; HE-AAC, other profiles and what has no vector instructions by an
// optional package. Audio thread.

import type { AudioStream } from "../format/packet.ts";
import { AAC_EXTENDED, AAC_PACKET_BYTES_MAX, AacStream } from "../kernels/aac-kernel.ts";
import { type AacFrame, AacFraming } from "./aac-framing.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { createWebCodecsDecoder, type WebCodecsOptions } from "./webcodecs-decoder.ts";

const FRAME_SAMPLES = 1024;
const LOW_COMPLEXITY = 2;
/** Channels of a packet that has the first, and of one that has both of stereo. */
const MONO = 1;

/**
 * Rejects as `createWebCodecsDecoder`, for a stream that our decoder does not play. Others need no package, but lack their
 * high frequencies without it if they turn out to be HE-AAC.
 */
export async function createAacDecoder(stream: AudioStream, options: WebCodecsOptions): Promise<Decoder> {
  const framing = new AacFraming(stream);
  const audio = AacStream.start(framing.channelCount);
  if (audio === undefined || (framing.objectType ?? LOW_COMPLEXITY) !== LOW_COMPLEXITY) {
    audio?.close();
    return createWebCodecsDecoder(stream, options);
  }
  return new AacDecoder(framing, audio, () => createWebCodecsDecoder(stream, options));
}

class AacDecoder implements Decoder {
  readonly #framing: AacFraming;
  readonly #openPackage: () => Promise<Decoder>;
  readonly #damage = new DamageLimit("aac");
  #audio: AacStream;
  #channels: readonly Float32Array[] = [];
  /** Decodes all packets from the first one with data of HE-AAC on. */
  #package: Decoder | undefined;
  #isPackageMissing = false;
  #isClosed = false;

  constructor(framing: AacFraming, audio: AacStream, openPackage: () => Promise<Decoder>) {
    this.#framing = framing;
    this.#audio = audio;
    this.#openPackage = openPackage;
  }

  decode(packet: Uint8Array): PcmBlock | Promise<PcmBlock> {
    if (this.#isClosed) return EMPTY_BLOCK;
    if (this.#package !== undefined) return this.#package.decode(packet);
    const frame = packet.length <= AAC_PACKET_BYTES_MAX ? this.#framing.read(packet) : undefined;
    const found = frame === undefined || isBlank(packet) ? 0 : this.#decodeFrame(packet, frame);
    if (frame === undefined || found === 0) return this.#damage.damaged();
    this.#damage.clear();
    const block = this.#takeBlock(frame, found & (AAC_EXTENDED - 1));
    const isExtended = (found & AAC_EXTENDED) !== 0;
    return isExtended && !this.#isPackageMissing ? this.#decodeByPackage(packet, block) : block;
  }

  flush(): PcmBlock | Promise<PcmBlock> {
    return this.#package?.flush() ?? EMPTY_BLOCK;
  }

  reset(): void {
    this.#audio.reset();
    this.#package?.reset();
  }

  close(): void {
    this.#isClosed = true;
    this.#audio.close();
    this.#package?.close();
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
    const channelCount = layout.channelCount === 2 && found === MONO ? 1 : layout.channelCount;
    if (this.#channels.length !== channelCount) {
      this.#channels = Array.from({ length: channelCount }, () => new Float32Array(FRAME_SAMPLES));
    }
    for (const [index, channel] of this.#channels.entries()) {
      channel.set(this.#audio.channels[index]!.subarray(0, FRAME_SAMPLES));
    }
    return { channels: this.#channels, lengthSamples: FRAME_SAMPLES, sampleRateHz, speakers };
  }

  /** `core`: the lower half of its spectrum. */
  async #decodeByPackage(packet: Uint8Array, core: PcmBlock): Promise<PcmBlock> {
    try {
      const opened = await this.#openPackage();
      if (this.#isClosed) {
        opened.close();
        return EMPTY_BLOCK;
      }
      this.#package = opened;
      return await opened.decode(packet);
    } catch {
      // What has been decoded is half of it, which is better than nothing.
      this.#isPackageMissing = true;
      return core;
    }
  }
}

/** Zeros only: a part of a file that never arrived. */
function isBlank(packet: Uint8Array): boolean {
  return packet.every((byte) => byte === 0);
}
