// MPEG audio layers I to III (libmpg123 as WebAssembly), one frame in, its 384 to 1152 samples out. Audio thread.

import { MPEGDecoder } from "mpg123-decoder";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import type { WasmArea, WasmAudioInstance } from "./wasm-audio-heap.ts";

interface Mpg123Functions {
  mpeg_frame_decoder_create(decoderPointer: number, isGapless: number): number;
  mpeg_frame_decoder_destroy(decoder: number): void;
  mpeg_decoder_feed(decoder: number, input: number, sizeBytes: number): number;
  mpeg_decoder_read(
    decoder: number,
    output: number,
    outputSamples: number,
    samplesDecoded: number,
    sampleRate: number,
    errorText: number,
  ): number;
}

interface Mpg123Instance extends WasmAudioInstance<Mpg123Functions> {
  readonly _input: WasmArea<Uint8Array>;
  readonly _output: WasmArea<Float32Array>;
  readonly _samplesDecodedPtr: WasmArea<Uint32Array>;
  readonly _sampleRatePtr: WasmArea<Uint32Array>;
  readonly _errorStringPtr: WasmArea<Uint32Array>;
}

const MPG123_NEW_FORMAT = -11;
/** Sound of one packet; a frame has 1152, and some more may come when the decoder has just found its feet. */
const PACKET_SAMPLES_MAX = 8 * 1152;

export async function createMp3Decoder(): Promise<Decoder> {
  // Gapless off: the demuxer knows what to trim. The cast opens the package's own fields, see wasm-audio-heap.ts.
  const instance = new MPEGDecoder({ enableGapless: false }) as unknown as Mpg123Instance;
  await instance.ready;
  return new Mp3Decoder(instance);
}

class Mp3Decoder implements Decoder {
  readonly #instance: Mpg123Instance;
  readonly #damage = new DamageLimit("mp3");
  readonly #channels: readonly [Float32Array, Float32Array];
  #isClosed = false;

  constructor(instance: Mpg123Instance) {
    this.#instance = instance;
    this.#channels = [new Float32Array(PACKET_SAMPLES_MAX), new Float32Array(PACKET_SAMPLES_MAX)];
  }

  decode(packet: Uint8Array): PcmBlock {
    if (this.#isClosed) return EMPTY_BLOCK;
    const lengthSamples = packet.length <= this.#instance._input.len ? this.#decodeFrame(packet) : 0;
    if (lengthSamples === 0) {
      // libmpg123 now searches for a frame in what it has been given; start it over, so that the next one is found.
      this.reset();
      return this.#damage.damaged();
    }
    this.#damage.clear();
    return { channels: this.#channels, lengthSamples, sampleRateHz: this.#instance._sampleRatePtr.buf[0]! };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  reset(): void {
    if (this.#isClosed) return;
    const { wasm } = this.#instance._common;
    wasm.mpeg_frame_decoder_destroy(this.#instance._decoder);
    // The area of the sample count is free for the address of the new decoder.
    const slot = this.#instance._samplesDecodedPtr;
    if (wasm.mpeg_frame_decoder_create(slot.ptr, 0) !== 0) throw new Error("libmpg123 could not start over");
    this.#instance._decoder = slot.buf[0]!;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#instance._common.wasm.mpeg_frame_decoder_destroy(this.#instance._decoder);
  }

  #decodeFrame(packet: Uint8Array): number {
    const { _common, _decoder, _input, _output, _samplesDecodedPtr, _sampleRatePtr, _errorStringPtr } = this.#instance;
    const { wasm } = _common;
    _input.buf.set(packet);
    wasm.mpeg_decoder_feed(_decoder, _input.ptr, packet.length);
    let total = 0;
    // Reads until it asks for more input or fails; a packet of 64 kB cannot hold more frames than this.
    for (let reads = 0; reads < 64; reads++) {
      _samplesDecodedPtr.buf[0] = 0;
      const result = wasm.mpeg_decoder_read(
        _decoder,
        _output.ptr,
        _output.len,
        _samplesDecodedPtr.ptr,
        _sampleRatePtr.ptr,
        _errorStringPtr.ptr,
      );
      const samples = _samplesDecodedPtr.buf[0]!;
      if (total + samples <= PACKET_SAMPLES_MAX) {
        for (let sample = 0; sample < samples; sample++) {
          this.#channels[0][total + sample] = _output.buf[sample]!;
          this.#channels[1][total + sample] = _output.buf[samples + sample]!;
        }
        total += samples;
      }
      if (result !== 0 && result !== MPG123_NEW_FORMAT) break;
    }
    return total;
  }
}
