// libopus as WebAssembly, with its heap exposed: encoders and decoders work on fixed scratch areas of that heap, so a
// frame costs no allocation. Encoders of a thread share one instance, decoders another: untrusted input reaches only
// the latter. If it corrupts that instance, the instance is replaced, and its decoders are created again
// (`generation`). docs/decisions/codecs.md has the measurements.

import { NodeError } from "../../errors.ts";
import { readWasmCodec } from "../../lib/read-wasm-codec.ts";
import { startWasmCodec, type WasmCodec } from "../../lib/wasm-codec.ts";
import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import { OPUS_PACKET_BYTES_MAX, OPUS_PACKET_SAMPLES_MAX } from "./opus-packet.ts";

/** The functions that are used. */
interface LibopusFunctions {
  _malloc(sizeBytes: number): number;
  _free(pointer: number): void;
  _oc_create_encoder(sampleRateHz: number, channelCount: number, application: number, errorPointer: number): number;
  _oc_destroy_encoder(encoder: number): void;
  _oc_encode_float(encoder: number, pcm: number, samples: number, packet: number, sizeBytesMax: number): number;
  _oc_encoder_ctl(encoder: number, request: number, value: number): number;
  _oc_create_decoder(sampleRateHz: number, channelCount: number, errorPointer: number): number;
  _oc_destroy_decoder(decoder: number): void;
  _oc_decode_float(
    decoder: number,
    packet: number,
    sizeBytes: number,
    pcm: number,
    samplesMax: number,
    isFec: number,
  ): number;
  _oc_decoder_ctl(decoder: number, request: number, value: number): number;
}

/** The functions and views of the heap, which are replaced when it grows: read them at each use. */
interface LibopusModule extends LibopusFunctions {
  readonly HEAPU8: Uint8Array;
  readonly HEAP32: Int32Array;
  readonly HEAPF32: Float32Array;
}

/** Capacity for thousands of encoders. */
const HEAP_BYTES_MAX = 256 * 1024 * 1024;
/** Memory of a decoder, measured. */
export const OPUS_DECODER_BYTES = 27_000;
/** Memory of an encoder, which is one piece without pointers to itself; to be measured again with another build. */
export const OPUS_ENCODER_BYTES = 48_624;

const OPUS_APPLICATION_AUDIO = 2049;
const OPUS_SET_BITRATE = 4002;
const OPUS_SET_COMPLEXITY = 4010;
const OPUS_SET_SIGNAL = 4024;
const OPUS_SIGNAL_MUSIC = 3002;
const OPUS_SET_GAIN = 4034;
const OPUS_SET_PREDICTION_DISABLED = 4042;

/**
 * One call at a time, as all share the scratch areas. Encoders and decoders are pointers into its heap: their creator
 * must destroy them.
 */
export class Libopus {
  readonly #codec: WasmCodec;
  #instance: CodecInstance;
  #generation = 0;

  constructor(codec: WasmCodec) {
    this.#codec = codec;
    this.#instance = createInstance(codec);
  }

  /** Replaced after a decoder has corrupted it: read it again for each call. */
  get module(): LibopusModule {
    return this.#instance.module;
  }

  /** Scratch of `OPUS_PACKET_SAMPLES_MAX` interleaved stereo floats; overwritten by every encode and decode. */
  get pcmPointer(): number {
    return this.#instance.pcmPointer;
  }

  /** Scratch of `OPUS_PACKET_BYTES_MAX` bytes. */
  get packetPointer(): number {
    return this.#instance.packetPointer;
  }

  /** Increases when the instance has been replaced: earlier encoders and decoders are lost. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Decodes the packet of `sizeBytes` from the scratch area into the scratch area; returns samples per channel,
   * negative for a damaged packet.
   */
  decode(decoder: number, sizeBytes: number): number {
    const { module, packetPointer, pcmPointer } = this.#instance;
    try {
      return module._oc_decode_float(decoder, packetPointer, sizeBytes, pcmPointer, OPUS_PACKET_SAMPLES_MAX, 0);
    } catch (cause) {
      this.#replace();
      throw new NodeError("media-decode-failed", "decode opus: the decoder failed on a packet", { cause });
    }
  }

  /**
   * Encodes `lengthSamples` of both channels from the scratch area to a packet there; returns its size, negative on
   * failure.
   */
  encode(encoder: number, lengthSamples: number, sizeBytesMax: number): number {
    const { module, packetPointer, pcmPointer } = this.#instance;
    try {
      return module._oc_encode_float(encoder, pcmPointer, lengthSamples, packetPointer, sizeBytesMax);
    } catch (cause) {
      this.#replace();
      throw new NodeError("internal", "encode opus: the encoder failed on a frame", { cause });
    }
  }

  /** A new stereo encoder for music at 48 kHz (about 49 kB). Complexity 0 to 10, bitrate 500 to 512000. */
  createEncoder(options: { readonly complexity: number; readonly bitrateBps: number }): number {
    const module = this.module;
    const encoder = module._oc_create_encoder(SAMPLE_RATE_HZ, 2, OPUS_APPLICATION_AUDIO, this.#instance.errorPointer);
    this.#check(encoder, "create an encoder");
    const results = [
      module._oc_encoder_ctl(encoder, OPUS_SET_BITRATE, options.bitrateBps),
      module._oc_encoder_ctl(encoder, OPUS_SET_COMPLEXITY, options.complexity),
      module._oc_encoder_ctl(encoder, OPUS_SET_SIGNAL, OPUS_SIGNAL_MUSIC),
    ];
    if (results.every((result) => result === 0)) return encoder;
    module._oc_destroy_encoder(encoder);
    throw new Error(`libopus refused complexity ${options.complexity} or bitrate ${options.bitrateBps}`);
  }

  /** The complete state of an encoder: may be copied, and overwritten with such a copy. Invalid when the heap grows. */
  viewEncoder(encoder: number): Uint8Array {
    return new Uint8Array(this.module.HEAPU8.buffer, encoder, OPUS_ENCODER_BYTES);
  }

  /** Takes effect with the next frame, without resetting the stream. */
  setComplexity(encoder: number, complexity: number): void {
    this.module._oc_encoder_ctl(encoder, OPUS_SET_COMPLEXITY, complexity);
  }

  /** False: packets do not depend on earlier ones, until it is true again (as in a new encoder). */
  setPrediction(encoder: number, { isOn }: { readonly isOn: boolean }): void {
    this.module._oc_encoder_ctl(encoder, OPUS_SET_PREDICTION_DISABLED, isOn ? 0 : 1);
  }

  /** A new decoder to 48 kHz (about 27 kB). `gainQ8` is the output gain of OpusHead, 1/256 dB. */
  createDecoder(channelCount: 1 | 2, gainQ8: number): number {
    const decoder = this.module._oc_create_decoder(SAMPLE_RATE_HZ, channelCount, this.#instance.errorPointer);
    this.#check(decoder, "create a decoder");
    if (gainQ8 !== 0) this.module._oc_decoder_ctl(decoder, OPUS_SET_GAIN, gainQ8);
    return decoder;
  }

  #replace(): void {
    this.#instance = createInstance(this.#codec);
    this.#generation += 1;
  }

  #check(pointer: number, action: string): void {
    const code = this.module.HEAP32[this.#instance.errorPointer >> 2];
    if (pointer === 0 || code !== 0) throw new Error(`libopus could not ${action} (${code})`);
  }
}

/** One instance and the scratch areas in it. */
interface CodecInstance {
  readonly module: LibopusModule;
  readonly pcmPointer: number;
  readonly packetPointer: number;
  readonly errorPointer: number;
}

function createInstance(codec: WasmCodec): CodecInstance {
  const { functions, heap } = startWasmCodec<LibopusFunctions>(codec, { sizeBytesMax: HEAP_BYTES_MAX });
  const module = Object.defineProperties({ ...functions }, viewsOf(heap)) as LibopusModule; // the views are added here
  const instance: CodecInstance = {
    module,
    pcmPointer: module._malloc(OPUS_PACKET_SAMPLES_MAX * 2 * Float32Array.BYTES_PER_ELEMENT),
    packetPointer: module._malloc(OPUS_PACKET_BYTES_MAX),
    errorPointer: module._malloc(4),
  };
  if (!instance.pcmPointer || !instance.packetPointer || !instance.errorPointer)
    throw new Error("libopus has no memory to start");
  return instance;
}

function viewsOf(heap: { readonly buffer: ArrayBuffer }): PropertyDescriptorMap {
  let bytes = new Uint8Array(heap.buffer);
  let integers = new Int32Array(heap.buffer);
  let floats = new Float32Array(heap.buffer);
  const renew = () => {
    if (bytes.buffer === heap.buffer) return;
    bytes = new Uint8Array(heap.buffer);
    integers = new Int32Array(heap.buffer);
    floats = new Float32Array(heap.buffer);
  };
  const view = (give: () => Uint8Array | Int32Array | Float32Array): PropertyDescriptor => ({
    get: () => {
      renew();
      return give();
    },
  });
  return { HEAPU8: view(() => bytes), HEAP32: view(() => integers), HEAPF32: view(() => floats) };
}

// Loaded once per thread and never changed afterwards, like an imported module.
let loading: Promise<Libopus> | undefined;

/**
 * An instance for callers without an audio thread's (see codec-modules.ts): tests, tools. The first call takes 30 to
 * 100 ms.
 */
export function loadLibopus(): Promise<Libopus> {
  loading ??= readWasmCodec("opus").then((codec) => new Libopus(codec));
  return loading;
}
