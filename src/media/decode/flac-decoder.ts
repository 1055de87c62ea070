// FLAC frames (libFLAC as WebAssembly), one whole frame in, its samples out; up to eight channels and 32 bits. Audio
// thread.

import { FLACDecoder } from "@wasm-audio-decoders/flac";
import type { AudioStream } from "../demux/demuxer.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import type { WasmArea, WasmAudioInstance } from "./wasm-audio-heap.ts";

interface FlacFunctions {
  malloc(sizeBytes: number): number;
  free(pointer: number): void;
  create_decoder(...results: number[]): number;
  destroy_decoder(decoder: number): void;
  /** Takes over and frees the input. */
  decode_frame(decoder: number, input: number, sizeBytes: number): void;
}

interface FlacInstance extends WasmAudioInstance<FlacFunctions> {
  readonly _channels: WasmArea<Uint32Array>;
  readonly _sampleRate: WasmArea<Uint32Array>;
  readonly _bitsPerSample: WasmArea<Uint32Array>;
  readonly _samplesDecoded: WasmArea<Uint32Array>;
  readonly _outputBufferPtr: WasmArea<Uint32Array>;
  readonly _outputBufferLen: WasmArea<Uint32Array>;
  readonly _errorStringPtr: WasmArea<Uint32Array>;
  readonly _stateStringPtr: WasmArea<Uint32Array>;
}

/** Larger than any sensible frame (4608 samples of 8 channels at 32 bit are 147 kB), small against the 17 MB heap. */
const PACKET_BYTES_MAX = 2 ** 21;
/** "fLaC", then the STREAMINFO block: header of 4 bytes and 34 bytes (RFC 9639 section 8). */
const STREAMINFO_END = 4 + 4 + 34;

export async function createFlacDecoder(stream: AudioStream): Promise<Decoder> {
  // The cast opens the package's own fields, see wasm-audio-heap.ts.
  const outer = new FLACDecoder() as unknown as { readonly ready: Promise<void>; readonly _decoder: FlacInstance };
  await outer.ready;
  return new FlacDecoder(outer._decoder, streamInfoOf(stream.description));
}

class FlacDecoder implements Decoder {
  readonly #instance: FlacInstance;
  readonly #streamInfo: Uint8Array | undefined;
  readonly #damage = new DamageLimit("flac");
  #channels: Float32Array[] = [];
  #isClosed = false;

  constructor(instance: FlacInstance, streamInfo: Uint8Array | undefined) {
    this.#instance = instance;
    this.#streamInfo = streamInfo;
    this.#sendStreamInfo();
  }

  decode(packet: Uint8Array): PcmBlock {
    if (this.#isClosed) return EMPTY_BLOCK;
    const lengthSamples = this.#decodeFrame(packet);
    if (lengthSamples === 0) {
      this.reset();
      return this.#damage.damaged();
    }
    this.#damage.clear();
    return { channels: this.#channels, lengthSamples, sampleRateHz: this.#instance._sampleRate.buf[0]! };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  /** Frames do not depend on each other, but after damage libFLAC has forgotten what STREAMINFO said. */
  reset(): void {
    if (this.#isClosed) return;
    const instance = this.#instance;
    instance._common.wasm.destroy_decoder(instance._decoder);
    instance._decoder = instance._common.wasm.create_decoder(
      instance._channels.ptr,
      instance._sampleRate.ptr,
      instance._bitsPerSample.ptr,
      instance._samplesDecoded.ptr,
      instance._outputBufferPtr.ptr,
      instance._outputBufferLen.ptr,
      instance._errorStringPtr.ptr,
      instance._stateStringPtr.ptr,
    );
    this.#sendStreamInfo();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#instance._common.wasm.destroy_decoder(this.#instance._decoder);
  }

  /** Frames may leave rate and bits to STREAMINFO (RFC 9639 section 9.1). */
  #sendStreamInfo(): void {
    if (this.#streamInfo !== undefined) this.#decodeFrame(this.#streamInfo);
  }

  /** Returns the samples now in `#channels`. */
  #decodeFrame(data: Uint8Array): number {
    const instance = this.#instance;
    const { wasm } = instance._common;
    const input = data.length <= PACKET_BYTES_MAX ? wasm.malloc(data.length) : 0;
    if (input === 0) return 0;
    new Uint8Array(wasm.HEAP, input, data.length).set(data);
    instance._samplesDecoded.buf[0] = 0;
    instance._outputBufferLen.buf[0] = 0;
    instance._errorStringPtr.buf[0] = 0;
    wasm.decode_frame(instance._decoder, input, data.length);
    const samples = instance._samplesDecoded.buf[0]!;
    const output = instance._outputBufferPtr.buf[0]!;
    if (samples > 0 && instance._errorStringPtr.buf[0] === 0) this.#takeOutput(output, samples);
    if (instance._outputBufferLen.buf[0] !== 0) wasm.free(output);
    return instance._errorStringPtr.buf[0] === 0 ? samples : 0;
  }

  /** The channels lie one behind the other. */
  #takeOutput(output: number, samples: number): void {
    const channelCount = this.#instance._channels.buf[0]!;
    if (this.#channels.length !== channelCount || this.#channels[0]!.length < samples) {
      this.#channels = Array.from({ length: channelCount }, () => new Float32Array(samples));
    }
    const heap = this.#instance._common.wasm.HEAP;
    for (const [index, channel] of this.#channels.entries()) {
      channel.set(new Float32Array(heap, output + index * samples * 4, samples));
    }
  }
}

/** "fLaC" and STREAMINFO as the only metadata block; undefined when there is none. */
function streamInfoOf(description: Uint8Array | undefined): Uint8Array | undefined {
  if (description === undefined || description.length < STREAMINFO_END) return undefined;
  const header = description.slice(0, STREAMINFO_END);
  // The first bit of a block header marks the last block.
  header[4] = header[4]! | 0x80;
  return header;
}
