// libmpg123 as WebAssembly: MPEG audio layers I to III, one frame in, its 384 to 1152 samples out. Audio thread.

import { startWasmCodec, type WasmCodec, type WasmCodecInstance } from "../../lib/wasm-codec.ts";
import { byteArea, floatArea, integerArea, type WasmArea } from "./wasm-area.ts";

interface Mpg123Functions {
  _malloc(sizeBytes: number): number;
  _mpeg_frame_decoder_create(decoderPointer: number, isGapless: number): number;
  _mpeg_frame_decoder_destroy(decoder: number): void;
  _mpeg_decoder_feed(decoder: number, input: number, sizeBytes: number): number;
  _mpeg_decoder_read(
    decoder: number,
    output: number,
    outputSamples: number,
    samplesDecoded: number,
    sampleRate: number,
    errorText: number,
  ): number;
}

const MPG123_NEW_FORMAT = -11;
/** Larger than the largest possible frame, of any layer and free format. */
const PACKET_BYTES_MAX = 2 ** 16;
/** Samples of one packet; a frame has 1152, and some more may come when the decoder has just synchronized. */
const PACKET_SAMPLES_MAX = 8 * 1152;
/** Samples that the library outputs at once. */
const OUTPUT_SAMPLES = 2889 * 16;
/** Calls for one packet: its frames, a change of format, and the request for more input. */
const READS_MAX = 10;

/** One stream. Starts in a millisecond. */
export class Mpg123 {
  readonly #functions: Mpg123Functions;
  readonly #input: WasmArea<Uint8Array>;
  readonly #output: WasmArea<Float32Array>;
  readonly #samplesDecoded: WasmArea<Uint32Array>;
  readonly #sampleRate: WasmArea<Uint32Array>;
  readonly #errorText: WasmArea<Uint32Array>;
  /** The audio of the last packet, mono on both. */
  readonly channels: readonly [Float32Array, Float32Array];
  #decoder: number;

  constructor(codec: WasmCodec) {
    const instance: WasmCodecInstance<Mpg123Functions> = startWasmCodec(codec);
    this.#functions = instance.functions;
    this.#input = byteArea(instance, PACKET_BYTES_MAX);
    this.#output = floatArea(instance, 2 * OUTPUT_SAMPLES);
    this.#samplesDecoded = integerArea(instance, 1);
    this.#sampleRate = integerArea(instance, 1);
    this.#errorText = integerArea(instance, 1);
    this.channels = [new Float32Array(PACKET_SAMPLES_MAX), new Float32Array(PACKET_SAMPLES_MAX)];
    this.#decoder = this.#create();
  }

  get sampleRateHz(): number {
    return this.#sampleRate.view[0]!;
  }

  /** Returns how many samples the packet holds; 0 if it is damaged, after which the next one is a first one. */
  decode(packet: Uint8Array): number {
    const lengthSamples = packet.length <= PACKET_BYTES_MAX ? this.#decodeFrame(packet) : 0;
    // libmpg123 now searches for a frame in the data it has; restart it, so that the next one is found.
    if (lengthSamples === 0) this.reset();
    return lengthSamples;
  }

  /** Forgets all earlier packets. */
  reset(): void {
    this.#functions._mpeg_frame_decoder_destroy(this.#decoder);
    this.#decoder = this.#create();
  }

  /** Gapless off: the demuxer knows what to trim. */
  #create(): number {
    // The area of the sample count is free for the address of the new decoder.
    const { pointer, view } = this.#samplesDecoded;
    if (this.#functions._mpeg_frame_decoder_create(pointer, 0) !== 0) throw new Error("libmpg123 could not start");
    return view[0]!;
  }

  #decodeFrame(packet: Uint8Array): number {
    this.#input.view.set(packet);
    this.#functions._mpeg_decoder_feed(this.#decoder, this.#input.pointer, packet.length);
    let total = 0;
    let result = 0;
    // Reads until the library requests more input or fails.
    for (let reads = 0; reads < READS_MAX; reads++) {
      this.#samplesDecoded.view[0] = 0;
      result = this.#functions._mpeg_decoder_read(
        this.#decoder,
        this.#output.pointer,
        2 * OUTPUT_SAMPLES,
        this.#samplesDecoded.pointer,
        this.#sampleRate.pointer,
        this.#errorText.pointer,
      );
      total += this.#takeOutput(total);
      if (result !== 0 && result !== MPG123_NEW_FORMAT) break;
    }
    // A packet full of frames: the unread part would pile up in the library.
    if (result === 0 || result === MPG123_NEW_FORMAT) this.reset();
    return total;
  }

  #takeOutput(total: number): number {
    const samples = this.#samplesDecoded.view[0]!;
    if (total + samples > PACKET_SAMPLES_MAX) return 0;
    const output = this.#output.view;
    for (let sample = 0; sample < samples; sample++) {
      this.channels[0][total + sample] = output[sample]!;
      this.channels[1][total + sample] = output[samples + sample]!;
    }
    return samples;
  }
}
