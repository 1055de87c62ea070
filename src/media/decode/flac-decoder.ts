// FLAC frames (libFLAC as WebAssembly), one whole frame in, its samples out; up to eight channels and 32 bits. Our own
// code (flac-frame-decoder.ts) decodes what the library cannot. Audio thread.

import { NodeError } from "../../errors.ts";
import { startWasmCodec, type WasmCodec, type WasmCodecInstance } from "../../lib/wasm-codec.ts";
import { type FlacFrameHeader, parseFlacFrameHeader, parseFlacStreamInfo } from "../demux/flac-frame-header.ts";
import type { AudioStream } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import { decodeInSlices } from "./decode-in-slices.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { decodeFlacFrame } from "./flac-frame-decoder.ts";
import { integerArea, type WasmArea } from "./wasm-area.ts";

interface FlacFunctions {
  _malloc(sizeBytes: number): number;
  _free(pointer: number): void;
  _create_decoder(...results: number[]): number;
  _destroy_decoder(decoder: number): void;
  /** Takes ownership of the input and frees it. */
  _decode_frame(decoder: number, input: number, sizeBytes: number): void;
}

/**
 * Samples of all channels in one frame: the most that the streamable subset allows (16384 of 8; RFC 9639 section 7).
 */
const FRAME_VALUES_MAX = 2 ** 17;
/** Every sample uncoded, in 32 bits and one more for the difference of channels, and some headers. */
const BITS_PER_VALUE_MAX = 33;
const FRAME_OVERHEAD_BYTES = 1024;
/** Bit depths that the library scales; it outputs others as silence. */
const LIBRARY_BITS: readonly number[] = [8, 16, 24, 32];
/** "fLaC", then the STREAMINFO block: header of 4 bytes and 34 bytes (RFC 9639 section 8). */
const STREAMINFO_END = 4 + 4 + 34;

/** Starts in a millisecond. With a budget, frames that our own code decodes take time slices. */
export function createFlacDecoder(codec: WasmCodec, stream: AudioStream, budget?: TrackBudget): Decoder {
  return new FlacDecoder(startWasmCodec(codec), stream, budget);
}

class FlacDecoder implements Decoder {
  readonly #instance: WasmCodecInstance<FlacFunctions>;
  readonly #stream: AudioStream;
  readonly #budget: TrackBudget | undefined;
  /** "fLaC" and STREAMINFO, where the stream has it. */
  readonly #streamInfo: Uint8Array | undefined;
  /** Of STREAMINFO; 0 when the stream has none. */
  readonly #bitsPerSampleDefault: number;
  readonly #channelCount: WasmArea<Uint32Array>;
  readonly #sampleRate: WasmArea<Uint32Array>;
  readonly #bitsPerSample: WasmArea<Uint32Array>;
  readonly #samplesDecoded: WasmArea<Uint32Array>;
  readonly #outputPointer: WasmArea<Uint32Array>;
  readonly #outputLength: WasmArea<Uint32Array>;
  readonly #errorText: WasmArea<Uint32Array>;
  readonly #stateText: WasmArea<Uint32Array>;
  readonly #damage = new DamageLimit("flac");
  #decoder: number;
  #channels: Float32Array[] = [];
  #isClosed = false;

  constructor(instance: WasmCodecInstance<FlacFunctions>, stream: AudioStream, budget: TrackBudget | undefined) {
    this.#instance = instance;
    this.#stream = stream;
    this.#budget = budget;
    this.#streamInfo = streamInfoOf(stream.description);
    this.#bitsPerSampleDefault =
      (this.#streamInfo && parseFlacStreamInfo(this.#streamInfo.subarray(8)))?.bitsPerSample ?? 0;
    this.#channelCount = integerArea(instance, 1);
    this.#sampleRate = integerArea(instance, 1);
    this.#bitsPerSample = integerArea(instance, 1);
    this.#samplesDecoded = integerArea(instance, 1);
    this.#outputPointer = integerArea(instance, 1);
    this.#outputLength = integerArea(instance, 1);
    this.#errorText = integerArea(instance, 1);
    this.#stateText = integerArea(instance, 1);
    this.#decoder = this.#create();
  }

  /** Throws NodeError `media-unsupported-codec` for a frame that would take far too long. */
  decode(packet: Uint8Array): PcmBlock | Promise<PcmBlock> {
    if (this.#isClosed) return EMPTY_BLOCK;
    const header = parseFlacFrameHeader(packet);
    if (header === undefined || !isPlausible(packet, header)) return this.#damaged();
    const bitsPerSample = header.bitsPerSample || this.#bitsPerSampleDefault;
    if (LIBRARY_BITS.includes(bitsPerSample)) {
      const lengthSamples = this.#decodeFrame(packet);
      if (lengthSamples > 0) return this.#block(lengthSamples, this.#sampleRate.view[0]!);
      this.reset();
    }
    return bitsPerSample === 0 ? this.#damaged() : this.#decodeOurselves(packet, header, bitsPerSample);
  }

  #decodeOurselves(packet: Uint8Array, header: FlacFrameHeader, bitsPerSample: number): PcmBlock | Promise<PcmBlock> {
    const { blockSamples, channelCount, sampleRateHz } = header;
    this.#prepareChannels(channelCount, blockSamples);
    const steps = decodeFlacFrame({ packet, header, bitsPerSample }, this.#channels);
    const toBlock = (isWhole: boolean) => {
      if (this.#isClosed) return EMPTY_BLOCK;
      return isWhole ? this.#block(blockSamples, sampleRateHz || this.#stream.sampleRateHz) : this.#damaged();
    };
    const result = decodeInSlices(steps, this.#budget, { isClosed: () => this.#isClosed, ifClosed: false });
    return typeof result === "boolean" ? toBlock(result) : result.then(toBlock);
  }

  #block(lengthSamples: number, sampleRateHz: number): PcmBlock {
    this.#damage.clear();
    return { channels: this.#channels, lengthSamples, sampleRateHz };
  }

  #damaged(): PcmBlock {
    this.reset();
    return this.#damage.damaged();
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  /** Frames do not depend on each other, but after damage libFLAC has lost the STREAMINFO values. */
  reset(): void {
    if (this.#isClosed) return;
    this.#instance.functions._destroy_decoder(this.#decoder);
    this.#decoder = this.#create();
  }

  close(): void {
    // The instance is freed with the decoder.
    this.#isClosed = true;
    this.#channels = [];
  }

  /** Frames may leave rate and bits to STREAMINFO (RFC 9639 section 9.1). */
  #create(): number {
    this.#decoder = this.#instance.functions._create_decoder(
      this.#channelCount.pointer,
      this.#sampleRate.pointer,
      this.#bitsPerSample.pointer,
      this.#samplesDecoded.pointer,
      this.#outputPointer.pointer,
      this.#outputLength.pointer,
      this.#errorText.pointer,
      this.#stateText.pointer,
    );
    if (this.#streamInfo !== undefined) this.#decodeFrame(this.#streamInfo);
    return this.#decoder;
  }

  /** Returns the samples now in `#channels`. */
  #decodeFrame(data: Uint8Array): number {
    const { functions, heap } = this.#instance;
    const input = functions._malloc(data.length);
    if (input === 0) return 0;
    new Uint8Array(heap.buffer, input, data.length).set(data);
    this.#samplesDecoded.view[0] = 0;
    this.#outputLength.view[0] = 0;
    this.#errorText.view[0] = 0;
    functions._decode_frame(this.#decoder, input, data.length);
    const samples = this.#samplesDecoded.view[0]!;
    const output = this.#outputPointer.view[0]!;
    const isDamaged = this.#errorText.view[0] !== 0;
    if (samples > 0 && !isDamaged) this.#takeOutput(output, samples);
    if (this.#outputLength.view[0] !== 0) functions._free(output);
    return isDamaged ? 0 : samples;
  }

  /** The channels lie one behind the other. */
  #takeOutput(output: number, samples: number): void {
    this.#prepareChannels(this.#channelCount.view[0]!, samples);
    const { buffer } = this.#instance.heap;
    for (const [index, channel] of this.#channels.entries()) {
      channel.set(new Float32Array(buffer, output + index * samples * 4, samples));
    }
  }

  #prepareChannels(channelCount: number, samples: number): void {
    if (this.#channels.length === channelCount && this.#channels[0]!.length >= samples) return;
    this.#channels = Array.from({ length: channelCount }, () => new Float32Array(samples));
  }
}

/** False for a packet that cannot be one frame. */
function isPlausible(packet: Uint8Array, { blockSamples, channelCount }: FlacFrameHeader): boolean {
  const values = blockSamples * channelCount;
  if (values > FRAME_VALUES_MAX) {
    const what = `a frame of ${blockSamples} samples in ${channelCount} channels`;
    throw new NodeError("media-unsupported-codec", `decode flac: ${what} takes too long`);
  }
  return packet.length <= FRAME_OVERHEAD_BYTES + (values * BITS_PER_VALUE_MAX) / 8;
}

/** "fLaC" and STREAMINFO as the only metadata block; undefined when there is none. */
function streamInfoOf(description: Uint8Array | undefined): Uint8Array | undefined {
  if (description === undefined || description.length < STREAMINFO_END) return undefined;
  const header = description.slice(0, STREAMINFO_END);
  // The first bit of a block header marks the last block.
  header[4] = header[4]! | 0x80;
  return header;
}
