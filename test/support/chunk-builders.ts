// Builds WAV, AIFF and CAF files by hand for demuxer tests.

import { ascii, be, concat, le } from "../../lab/media-files/bytes.ts";

/** A chunk of RIFF, padded to an even size. */
export function riffChunk(id: string, body: Uint8Array): Uint8Array {
  return concat(ascii(id), le(body.length, 4), body, new Uint8Array(body.length & 1));
}

/** A WAV file of these chunks. */
export function riffFile(...chunks: readonly Uint8Array[]): Uint8Array {
  return riffChunk("RIFF", concat(ascii("WAVE"), ...chunks));
}

/** The `fmt ` chunk: 8 kHz, one channel unless said otherwise. */
export function wavFormat(format: number, options: { frameBytes?: number; bits?: number; channels?: number } = {}) {
  const { frameBytes = 2, bits = 16, channels = 1 } = options;
  const numbers = [
    le(format, 2),
    le(channels, 2),
    le(8000, 4),
    le(8000 * frameBytes, 4),
    le(frameBytes, 2),
    le(bits, 2),
  ];
  return riffChunk("fmt ", concat(...numbers));
}

/** An INFO list. */
export function infoList(...entries: readonly (readonly [id: string, text: Uint8Array])[]): Uint8Array {
  return riffChunk("LIST", concat(ascii("INFO"), ...entries.map(([id, text]) => riffChunk(id, text))));
}

/** A chunk of AIFF, padded to an even size. */
export function aiffChunk(id: string, body: Uint8Array): Uint8Array {
  return concat(ascii(id), be(body.length, 4), body, new Uint8Array(body.length & 1));
}

/** The COMM chunk of one channel at 8 kHz; with a codec for AIFF-C. */
export function aiffFormat(options: { frames: number; bits: number; codec?: string }): Uint8Array {
  const rate = concat(be(0x400b, 2), be(0xfa000000, 4), be(0, 4));
  const codec = options.codec === undefined ? new Uint8Array(0) : concat(ascii(options.codec), be(0, 2));
  return aiffChunk("COMM", concat(be(1, 2), be(options.frames, 4), be(options.bits, 2), rate, codec));
}

/** The SSND chunk. */
export function aiffData(samples: Uint8Array): Uint8Array {
  return aiffChunk("SSND", concat(new Uint8Array(8), samples));
}

/** An AIFF file of these chunks. */
export function aiffFile(kind: "AIFF" | "AIFC", ...chunks: readonly Uint8Array[]): Uint8Array {
  return aiffChunk("FORM", concat(ascii(kind), ...chunks));
}

/** A chunk of CAF. */
export function cafChunk(id: string, body: Uint8Array): Uint8Array {
  return concat(ascii(id), be(body.length, 8), body);
}

/** The format of a CAF file. */
export interface CafDescription {
  readonly codec: string;
  readonly flags?: number;
  readonly rateHz: number;
  readonly packetBytes: number;
  readonly packetFrames: number;
  readonly channels: number;
  readonly bits: number;
}

/** A CAF file that begins with its format. */
export function cafFile(description: CafDescription, ...chunks: readonly Uint8Array[]): Uint8Array {
  const rate = new Uint8Array(8);
  new DataView(rate.buffer).setFloat64(0, description.rateHz);
  const { codec, flags = 0, packetBytes, packetFrames, channels, bits } = description;
  const numbers = [flags, packetBytes, packetFrames, channels, bits].map((value) => be(value, 4));
  return concat(ascii("caff"), be(1, 2), be(0, 2), cafChunk("desc", concat(rate, ascii(codec), ...numbers)), ...chunks);
}

/** The `data` chunk of CAF. */
export function cafData(audio: Uint8Array): Uint8Array {
  return cafChunk("data", concat(be(0, 4), audio));
}
