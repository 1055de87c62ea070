// Vorbis packets (libvorbis as WebAssembly) to sound, up to eight channels. The package wants Ogg pages, the library
// below it bare packets, which is what demuxers give. Audio thread.

import { OggVorbisDecoder } from "@wasm-audio-decoders/ogg-vorbis";
import { NodeError } from "../../errors.ts";
import type { AudioStream } from "../demux/demuxer.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import type { WasmArea, WasmAudioInstance } from "./wasm-audio-heap.ts";

interface VorbisFunctions {
  send_setup(decoder: number, isFirst: number): void;
  init_dsp(decoder: number): void;
  decode_packets(decoder: number): void;
  destroy_decoder(decoder: number): void;
}

interface VorbisInstance extends WasmAudioInstance<VorbisFunctions> {
  readonly _input: WasmArea<Uint8Array>;
  readonly _inputLen: WasmArea<Uint32Array>;
  readonly _outputBufferPtr: WasmArea<Uint32Array>;
  readonly _channels: WasmArea<Uint32Array>;
  readonly _sampleRate: WasmArea<Uint32Array>;
  readonly _samplesDecoded: WasmArea<Uint32Array>;
  readonly _errorsLength: WasmArea<Int32Array>;
}

/** Half of the longest block (Vorbis I section 4.2.2). */
const PACKET_SAMPLES_MAX = 4096;

/** Throws NodeError `media-unsupported-codec` when the stream's headers are damaged. */
export async function createVorbisDecoder(stream: AudioStream): Promise<Decoder> {
  const headers = stream.description && splitXiphLacing(stream.description);
  const [identification, , setup] = headers ?? [];
  if (identification === undefined || setup === undefined) throw damagedHeaders();
  // The cast opens the package's own fields, see wasm-audio-heap.ts.
  const outer = new OggVorbisDecoder() as unknown as { ready: Promise<void>; readonly _decoder: VorbisInstance };
  await outer.ready;
  return new VorbisDecoder(outer._decoder, identification, setup);
}

class VorbisDecoder implements Decoder {
  readonly #instance: VorbisInstance;
  readonly #damage = new DamageLimit("vorbis");
  readonly #channels: readonly Float32Array[];
  /** Sound is the overlap of two packets: the first one after a jump gives none. */
  #hasPacketBefore = false;
  #isClosed = false;

  constructor(instance: VorbisInstance, identification: Uint8Array, setup: Uint8Array) {
    this.#instance = instance;
    this.#sendHeader(identification, 1);
    // The comment header in between is made up by the library.
    this.#sendHeader(setup, 0);
    instance._common.wasm.init_dsp(instance._decoder);
    const channelCount = identification[11] ?? 0;
    this.#channels = Array.from({ length: channelCount }, () => new Float32Array(PACKET_SAMPLES_MAX));
  }

  decode(packet: Uint8Array): PcmBlock {
    if (this.#isClosed) return EMPTY_BLOCK;
    const { _common, _decoder, _samplesDecoded, _sampleRate, _errorsLength } = this.#instance;
    if (packet.length === 0 || !this.#give(packet)) return this.#damage.damaged();
    _samplesDecoded.buf[0] = 0;
    _errorsLength.buf[0] = 0;
    _common.wasm.decode_packets(_decoder);
    const samples = _samplesDecoded.buf[0]!;
    if (_errorsLength.buf[0] !== 0 || samples > PACKET_SAMPLES_MAX) return this.#damage.damaged();
    this.#damage.clear();
    if (!this.#hasPacketBefore) {
      this.#hasPacketBefore = true;
      return EMPTY_BLOCK;
    }
    this.#takeOutput(samples);
    return { channels: this.#channels, lengthSamples: samples, sampleRateHz: _sampleRate.buf[0]! };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  /** The next packet's sound, an overlap with what was before the jump, is left out; nothing else is remembered. */
  reset(): void {
    this.#hasPacketBefore = false;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#instance._common.wasm.destroy_decoder(this.#instance._decoder);
  }

  #give(data: Uint8Array): boolean {
    if (data.length > this.#instance._input.len) return false;
    this.#instance._input.buf.set(data);
    this.#instance._inputLen.buf[0] = data.length;
    return true;
  }

  /** A header that libvorbis does not like must not be followed by anything: it would run wild. */
  #sendHeader(header: Uint8Array, isFirst: number): void {
    const { _common, _decoder, _errorsLength } = this.#instance;
    const isGiven = this.#give(header);
    _errorsLength.buf[0] = 0;
    if (isGiven) _common.wasm.send_setup(_decoder, isFirst);
    if (!isGiven || _errorsLength.buf[0] !== 0) throw damagedHeaders();
  }

  #takeOutput(samples: number): void {
    const { _common, _outputBufferPtr } = this.#instance;
    if (samples === 0) return;
    const heap = _common.wasm.HEAP;
    const pointers = new Uint32Array(heap, _outputBufferPtr.buf[0], this.#channels.length);
    for (const [index, channel] of this.#channels.entries()) {
      channel.set(new Float32Array(heap, pointers[index], samples));
    }
  }
}

function damagedHeaders(): NodeError {
  return new NodeError("media-unsupported-codec", "set up a Vorbis decoder: the stream's headers are damaged");
}

/** Packets in one block: their number less one, all lengths but the last in bytes of 255 and a rest, then the data. */
function splitXiphLacing(bytes: Uint8Array): Uint8Array[] | undefined {
  const count = (bytes[0] ?? 0) + 1;
  const sizes: number[] = [];
  let position = 1;
  while (sizes.length < count - 1) {
    let size = 0;
    for (;;) {
      const value = bytes[position++];
      if (value === undefined) return undefined;
      size += value;
      if (value !== 255) break;
    }
    sizes.push(size);
  }
  const packets: Uint8Array[] = [];
  for (const size of sizes) {
    packets.push(bytes.subarray(position, position + size));
    position += size;
  }
  if (position > bytes.length) return undefined;
  packets.push(bytes.subarray(position));
  return packets;
}
