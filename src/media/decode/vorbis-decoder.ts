// Decodes Vorbis packets (libvorbis as WebAssembly), up to eight channels. The package needs Ogg pages; the library
// below it takes raw packets, which is what demuxers output. Audio thread.

import { NodeError } from "../../errors.ts";
import { startWasmCodec, type WasmCodec, type WasmCodecInstance } from "../../lib/wasm-codec.ts";
import type { AudioStream } from "../format/packet.ts";
import { splitXiphLaced } from "../format/xiph-lacing.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { vorbisChannelsOf } from "./require-playable.ts";
import { isVorbisSetupBounded } from "./vorbis-setup.ts";
import { byteArea, integerArea, type WasmArea } from "./wasm-area.ts";

interface VorbisFunctions {
  _malloc(sizeBytes: number): number;
  _create_decoder(...areas: number[]): number;
  _send_setup(decoder: number, isFirst: number): void;
  _init_dsp(decoder: number): void;
  _decode_packets(decoder: number): void;
}

/** Half of the longest block (Vorbis I section 4.2.2). */
const PACKET_SAMPLES_MAX = 4096;
const HEADER_BYTES_MAX = 128 * 1024;
/** Three times the need of the highest quality. A larger packet is built to be slow: its time grows with its bits. */
const CHANNEL_BYTES_MAX = 8 * 1024;
/** Errors and their positions that the library records, two words each. */
const ERROR_WORDS = 2 * 128;

/**
 * Rejects with NodeError `media-unsupported-codec` when the stream's headers are damaged or ask for too much. Parsing
 * them and setting up their tables takes a millisecond or more each: each gets its own time slice.
 */
export async function createVorbisDecoder(
  codec: WasmCodec,
  stream: AudioStream,
  budget: TrackBudget | undefined,
): Promise<Decoder> {
  const headers = stream.description && splitXiphLaced(stream.description);
  const [identification, , setup] = headers ?? [];
  if (identification === undefined || setup === undefined) throw damagedHeaders();
  vorbisChannelsOf(stream.description);
  if (!isVorbisSetupBounded(setup)) throw damagedHeaders();
  await budget?.yield();
  const instance = startWasmCodec<VorbisFunctions>(codec);
  await budget?.yield();
  try {
    return new VorbisDecoder(instance, identification, setup);
  } catch (cause) {
    throw damagedHeaders(cause);
  } finally {
    budget?.pause();
  }
}

class VorbisDecoder implements Decoder {
  readonly #instance: WasmCodecInstance<VorbisFunctions>;
  readonly #input: WasmArea<Uint8Array>;
  readonly #inputLength: WasmArea<Uint32Array>;
  readonly #outputPointer: WasmArea<Uint32Array>;
  readonly #channelCount: WasmArea<Uint32Array>;
  readonly #sampleRate: WasmArea<Uint32Array>;
  readonly #samplesDecoded: WasmArea<Uint32Array>;
  readonly #errors: WasmArea<Uint32Array>;
  readonly #errorsLength: WasmArea<Uint32Array>;
  readonly #decoder: number;
  readonly #damage = new DamageLimit("vorbis");
  readonly #channels: readonly Float32Array[];
  /** Output is the overlap of two packets: the first one after a jump gives none. */
  #hasPacketBefore = false;
  #isClosed = false;

  constructor(instance: WasmCodecInstance<VorbisFunctions>, identification: Uint8Array, setup: Uint8Array) {
    this.#instance = instance;
    this.#input = byteArea(instance, HEADER_BYTES_MAX);
    this.#inputLength = integerArea(instance, 1);
    this.#outputPointer = integerArea(instance, 1);
    this.#channelCount = integerArea(instance, 1);
    this.#sampleRate = integerArea(instance, 1);
    this.#samplesDecoded = integerArea(instance, 1);
    this.#errors = integerArea(instance, ERROR_WORDS);
    this.#errorsLength = integerArea(instance, 1);
    this.#decoder = instance.functions._create_decoder(
      this.#input.pointer,
      this.#inputLength.pointer,
      this.#outputPointer.pointer,
      this.#channelCount.pointer,
      this.#sampleRate.pointer,
      this.#samplesDecoded.pointer,
      this.#errors.pointer,
      this.#errorsLength.pointer,
      ERROR_WORDS,
    );
    this.#sendHeader(identification, 1);
    // The library makes up the comment header in between.
    this.#sendHeader(setup, 0);
    instance.functions._init_dsp(this.#decoder);
    const channelCount = identification[11] ?? 0;
    this.#channels = Array.from({ length: channelCount }, () => new Float32Array(PACKET_SAMPLES_MAX));
  }

  decode(packet: Uint8Array): PcmBlock {
    if (this.#isClosed) return EMPTY_BLOCK;
    const sizeBytesMax = CHANNEL_BYTES_MAX * this.#channels.length;
    if (packet.length === 0 || packet.length > sizeBytesMax || !this.#feed(packet)) return this.#damage.damaged();
    this.#samplesDecoded.view[0] = 0;
    this.#errorsLength.view[0] = 0;
    this.#instance.functions._decode_packets(this.#decoder);
    const samples = this.#samplesDecoded.view[0]!;
    if (this.#errorsLength.view[0] !== 0 || samples > PACKET_SAMPLES_MAX) return this.#damage.damaged();
    this.#damage.clear();
    if (!this.#hasPacketBefore) {
      this.#hasPacketBefore = true;
      return EMPTY_BLOCK;
    }
    this.#takeOutput(samples);
    return { channels: this.#channels, lengthSamples: samples, sampleRateHz: this.#sampleRate.view[0]! };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  /** Skips the next packet's output, an overlap with the audio before the jump; no other state remains. */
  reset(): void {
    this.#hasPacketBefore = false;
  }

  close(): void {
    // The instance is freed with the decoder.
    this.#isClosed = true;
  }

  #feed(data: Uint8Array): boolean {
    if (data.length > HEADER_BYTES_MAX) return false;
    this.#input.view.set(data);
    this.#inputLength.view[0] = data.length;
    return true;
  }

  /** Nothing may follow a header that libvorbis rejects: it would corrupt its memory. */
  #sendHeader(header: Uint8Array, isFirst: number): void {
    const isGiven = this.#feed(header);
    this.#errorsLength.view[0] = 0;
    if (isGiven) this.#instance.functions._send_setup(this.#decoder, isFirst);
    if (!isGiven || this.#errorsLength.view[0] !== 0) throw damagedHeaders();
  }

  #takeOutput(samples: number): void {
    if (samples === 0) return;
    const { buffer } = this.#instance.heap;
    const pointers = new Uint32Array(buffer, this.#outputPointer.view[0], this.#channels.length);
    for (const [index, channel] of this.#channels.entries()) {
      channel.set(new Float32Array(buffer, pointers[index], samples));
    }
  }
}

function damagedHeaders(cause?: unknown): NodeError {
  const message = "set up a Vorbis decoder: the stream's headers are damaged, or demand too much memory";
  return new NodeError("media-unsupported-codec", message, { cause });
}
