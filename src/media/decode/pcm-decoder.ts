// Converts uncompressed audio in every layout that containers carry to planar floats: integers of 8 to 64 bits, floats,
// G.711. Audio thread.

import { NodeError } from "../../errors.ts";
import type { AudioStream, PcmLayout } from "../format/packet.ts";
import { EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { requirePlayableRate } from "./resampler.ts";

/** More channels than this mean a damaged header, not audio. */
const CHANNELS_MAX = 64;
/** Floats beyond this (60 dB above full scale) count as damage: they would drown everything. */
const FLOAT_PEAK_MAX = 1000;

type ReadSample = (view: DataView, position: number) => number;

/** A decoder for the stream's layout. Throws NodeError `media-unsupported-codec` for one that does not exist. */
export function createPcmDecoder(stream: AudioStream): Decoder {
  const { pcm, channelCount } = stream;
  const read = pcm && sampleReader(pcm);
  if (pcm === undefined || read === undefined || channelCount < 1 || channelCount > CHANNELS_MAX) {
    const layout = pcm === undefined ? "without a layout" : `as ${pcm.encoding} ${pcm.bitsPerSample} bit`;
    throw new NodeError("media-unsupported-codec", `play uncompressed audio ${layout}, ${channelCount} channels`);
  }
  requirePlayableRate(stream.sampleRateHz);
  return new PcmDecoder(stream, read, pcm.bitsPerSample / 8);
}

class PcmDecoder implements Decoder {
  readonly #stream: AudioStream;
  readonly #read: ReadSample;
  readonly #sampleBytes: number;
  #channels: Float32Array[] = [];

  constructor(stream: AudioStream, read: ReadSample, sampleBytes: number) {
    this.#stream = stream;
    this.#read = read;
    this.#sampleBytes = sampleBytes;
  }

  /** Bytes of an incomplete last sample are left out. */
  decode(packet: Uint8Array): PcmBlock {
    const { channelCount, sampleRateHz } = this.#stream;
    const frameBytes = this.#sampleBytes * channelCount;
    const lengthSamples = Math.floor(packet.length / frameBytes);
    if ((this.#channels[0]?.length ?? 0) < lengthSamples) {
      this.#channels = Array.from({ length: channelCount }, () => new Float32Array(lengthSamples));
    }
    const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
    const read = this.#read;
    for (let channel = 0; channel < channelCount; channel++) {
      const output = this.#channels[channel]!;
      let position = channel * this.#sampleBytes;
      for (let sample = 0; sample < lengthSamples; sample++, position += frameBytes) {
        output[sample] = read(view, position);
      }
    }
    return { channels: this.#channels, lengthSamples, sampleRateHz };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  reset(): void {
    // Samples do not depend on each other.
  }

  close(): void {
    this.#channels = [];
  }
}

/** How to read one sample as a number from -1 to 1; undefined for a layout that does not exist. */
function sampleReader(layout: PcmLayout): ReadSample | undefined {
  const isLittle = !layout.isBigEndian;
  switch (`${layout.encoding}${layout.bitsPerSample}`) {
    case "unsigned8":
      return (view, position) => (view.getUint8(position) - 128) / 128;
    case "unsigned16":
      return (view, position) => (view.getUint16(position, isLittle) - 2 ** 15) / 2 ** 15;
    case "signed8":
      return (view, position) => view.getInt8(position) / 128;
    case "signed16":
      return (view, position) => view.getInt16(position, isLittle) / 2 ** 15;
    case "signed24":
      return isLittle
        ? (view, position) => (view.getInt8(position + 2) * 2 ** 16 + view.getUint16(position, true)) / 2 ** 23
        : (view, position) => (view.getInt8(position) * 2 ** 16 + view.getUint16(position + 1)) / 2 ** 23;
    case "signed32":
      return (view, position) => view.getInt32(position, isLittle) / 2 ** 31;
    case "signed64":
      // The upper half is more than a float holds.
      return (view, position) => view.getInt32(position + (isLittle ? 4 : 0), isLittle) / 2 ** 31;
    case "float32":
      return (view, position) => finite(view.getFloat32(position, isLittle));
    case "float64":
      return (view, position) => finite(view.getFloat64(position, isLittle));
    case "alaw8":
      return tableReader(aLawValue);
    case "mulaw8":
      return tableReader(muLawValue);
    default:
      return undefined;
  }
}

/** Replaces NaN and absurdly large values with silence: they would stay in every later filter. */
function finite(value: number): number {
  return Math.abs(value) <= FLOAT_PEAK_MAX ? value : 0;
}

function tableReader(decodeCode: (code: number) => number): ReadSample {
  const table = Float32Array.from({ length: 256 }, (_, code) => decodeCode(code));
  return (view, position) => table[view.getUint8(position)]!;
}

/** ITU-T G.711 A-law, even bits inverted: sign, three bits of exponent, four of mantissa; 13 bits of range. */
function aLawValue(code: number): number {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = ((bits & 15) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return ((bits & 0x80) !== 0 ? magnitude : -magnitude) / 2 ** 15;
}

/** ITU-T G.711 µ-law, all bits inverted; 14 bits of range with a bias of 33 quarter steps. */
function muLawValue(code: number): number {
  const bits = ~code & 0xff;
  const magnitude = ((((bits & 15) << 3) + 132) << ((bits >> 4) & 7)) - 132;
  return ((bits & 0x80) !== 0 ? -magnitude : magnitude) / 2 ** 15;
}
