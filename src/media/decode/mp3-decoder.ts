// MPEG audio: layer III by our decoder, which takes little more than half of libmpg123's time; layers I and II, free
// format, damaged headers, and everything where there are no vector instructions by libmpg123. One frame in, its 384 to
// 1152 samples out. Audio thread.

import type { WasmCodec } from "../../lib/wasm-codec.ts";
import { parseMpegAudioHeader } from "../demux/mpeg-audio-header.ts";
import { LAYER3_FRAME_BYTES_MAX, type Layer3Frame, Layer3Stream } from "../kernels/layer3-kernel.ts";
import type { Loadable } from "./codec-modules.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { holdsLayer3Audio } from "./layer3-side-info.ts";
import { Mpg123 } from "./mpg123.ts";

/** Samples of a frame at most. */
const FRAME_SAMPLES_MAX = 1152;
const JOINT_STEREO = 1;
const RATES_HZ = [44_100, 48_000, 32_000, 22_050, 24_000, 16_000, 11_025, 12_000, 8000];

/** `codec`: libmpg123. Packets that need it are answered with a promise until it is loaded. */
export function createMp3Decoder(codec: Loadable<WasmCodec>): Decoder {
  return new Mp3Decoder(codec);
}

class Mp3Decoder implements Decoder {
  readonly #codec: Loadable<WasmCodec>;
  readonly #damage = new DamageLimit("mp3");
  readonly #layer3 = Layer3Stream.start();
  readonly #audio = [new Float32Array(FRAME_SAMPLES_MAX), new Float32Array(FRAME_SAMPLES_MAX)] as const;
  /** Started with the first packet that needs it. */
  #library: Mpg123 | undefined;
  /** Counts the resets. */
  #run = 0;
  #isClosed = false;

  constructor(codec: Loadable<WasmCodec>) {
    this.#codec = codec;
  }

  decode(packet: Uint8Array): PcmBlock | Promise<PcmBlock> {
    if (this.#isClosed) return EMPTY_BLOCK;
    const frame = this.#layer3 === undefined ? undefined : layer3FrameOf(packet);
    if (frame === undefined) return this.#decodeByLibrary(packet);
    const block = this.#decodeLayer3(packet, frame);
    if (block === undefined) this.#layer3?.lose();
    return this.#counted(block);
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  reset(): void {
    if (this.#isClosed) return;
    this.#run += 1;
    this.#layer3?.reset();
    this.#library?.reset();
  }

  close(): void {
    // The instance of the library is freed with this object.
    this.#isClosed = true;
    this.#layer3?.close();
  }

  #decodeLayer3(packet: Uint8Array, frame: Layer3Frame): PcmBlock | undefined {
    const layer3 = this.#layer3;
    const samples = layer3?.decode(packet, frame) ?? 0;
    if (layer3 === undefined || samples === 0) return undefined;
    const lengthSamples = Math.abs(samples);
    const right = frame.channelCount === 1 ? 0 : 1;
    this.#audio[0].set(layer3.channels[0]);
    this.#audio[1].set(layer3.channels[right]);
    const isConcealed = samples < 0 && holdsLayer3Audio(packet);
    return { channels: this.#audio, lengthSamples, sampleRateHz: RATES_HZ[frame.rate]!, isConcealed };
  }

  #decodeByLibrary(packet: Uint8Array): PcmBlock | Promise<PcmBlock> {
    const codec = this.#codec.loaded;
    if (codec === undefined) return this.#decodeWhenLoaded(packet);
    this.#layer3?.lose();
    this.#library ??= new Mpg123(codec);
    const { channels } = this.#library;
    const lengthSamples = this.#library.decode(packet);
    if (lengthSamples === 0) return this.#counted(undefined);
    const isConcealed = isSilent(channels, lengthSamples) && holdsLayer3Audio(packet);
    return this.#counted({ channels, lengthSamples, sampleRateHz: this.#library.sampleRateHz, isConcealed });
  }

  /** A packet from before a reset is of no use any more, and its bytes may have been overwritten. */
  async #decodeWhenLoaded(packet: Uint8Array): Promise<PcmBlock> {
    const run = this.#run;
    await this.#codec.load();
    return run === this.#run ? this.decode(packet) : EMPTY_BLOCK;
  }

  #counted(block: PcmBlock | undefined): PcmBlock {
    if (block === undefined) return this.#damage.damaged();
    this.#damage.clear();
    return block;
  }
}

/** Undefined for what our decoder does not read. */
function layer3FrameOf(packet: Uint8Array): Layer3Frame | undefined {
  if (packet.length < 4 || packet.length > LAYER3_FRAME_BYTES_MAX) return undefined;
  const word = ((packet[0]! << 24) | (packet[1]! << 16) | (packet[2]! << 8) | packet[3]!) >>> 0;
  const header = parseMpegAudioHeader(word);
  if (header === undefined || header.layer !== 3) return undefined;
  const isJoint = ((word >>> 6) & 3) === JOINT_STEREO;
  return {
    sideAt: ((word >>> 16) & 1) === 0 ? 6 : 4,
    version: header.version,
    rate: RATES_HZ.indexOf(header.sampleRateHz),
    channelCount: header.channelCount,
    mode: isJoint ? (word >>> 4) & 3 : 0,
  };
}

function isSilent(channels: readonly Float32Array[], lengthSamples: number): boolean {
  return channels.every((channel) => {
    for (let sample = 0; sample < lengthSamples; sample++) if (channel[sample] !== 0) return false;
    return true;
  });
}
