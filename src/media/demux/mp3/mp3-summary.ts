// The frame without audio that many MP3 files start with (Xing, Info or VBRI): length, seek points, encoder padding.
// Audio thread.

import type { MpegAudioHeader } from "../mpeg-audio-header.ts";

/** Samples a decoder's filter bank adds in front of what the encoder put there. */
const DECODER_DELAY_SAMPLES = 529;

export interface Mp3Summary {
  /** "vbr" for Xing and VBRI, "cbr" for Info: the same frame written by encoders at a constant bit rate. */
  readonly kind: "cbr" | "vbr";
  /** Audio frames behind this one; undefined when it does not say. */
  readonly frameCount: number | undefined;
  /** Bytes from this frame to the end of the audio; undefined when it does not say. */
  readonly sizeBytes: number | undefined;
  /** Where each hundredth of the time starts, in 1/256 of the bytes. */
  readonly hundredths: Uint8Array | undefined;
  /** Bytes of consecutive runs of frames, and frames in each run (VBRI): exact seek points. */
  readonly runs: { readonly sizesBytes: readonly number[]; readonly frames: number } | undefined;
  /** Samples to drop at the start and at the end of the decoded audio. */
  readonly startSamples: number;
  readonly endSamples: number;
}

/** Reads the summary from a complete frame; undefined when the frame is audio. */
export function parseSummary(frame: Uint8Array, header: MpegAudioHeader): Mp3Summary | undefined {
  if (header.layer !== 3) return undefined;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  // A CRC does not move it: encoders write the tag behind the plain side information.
  for (const at of [4 + header.sideBytes, 2 + header.sideBytes]) {
    const name = textAt(frame, at, 4);
    if (name === "Xing" || name === "Info") return parseXing(view, at, name === "Xing" ? "vbr" : "cbr");
  }
  return textAt(frame, 36, 4) === "VBRI" ? parseVbri(view, 36) : undefined;
}

function parseXing(view: DataView, start: number, kind: "cbr" | "vbr"): Mp3Summary | undefined {
  if (start + 8 > view.byteLength) return undefined;
  const flags = view.getUint32(start + 4);
  const has = { frames: (flags & 1) !== 0, bytes: (flags & 2) !== 0, hundredths: (flags & 4) !== 0 };
  let at = start + 8;
  const takeU32 = () => {
    at += 4;
    return at <= view.byteLength ? view.getUint32(at - 4) : 0;
  };
  const frameCount = has.frames ? takeU32() : 0;
  const sizeBytes = has.bytes ? takeU32() : 0;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const hundredths = has.hundredths && at + 100 <= bytes.length ? bytes.subarray(at, at + 100) : undefined;
  at += (has.hundredths ? 100 : 0) + ((flags & 8) !== 0 ? 4 : 0);
  return {
    kind,
    frameCount: frameCount || undefined,
    sizeBytes: sizeBytes || undefined,
    hundredths,
    runs: undefined,
    ...parsePadding(bytes, at),
  };
}

/** The LAME extension: a nine-byte name, and at its byte 21 two 12-bit counts of samples. */
function parsePadding(bytes: Uint8Array, at: number): { startSamples: number; endSamples: number } {
  if (!/^(LAME|Lavf|Lavc|L3\.9)/.test(textAt(bytes, at, 4)) || at + 24 > bytes.length) {
    return { startSamples: 0, endSamples: 0 };
  }
  const delay = (bytes[at + 21]! << 4) | (bytes[at + 22]! >> 4);
  const padding = ((bytes[at + 22]! & 15) << 8) | bytes[at + 23]!;
  return {
    startSamples: delay + DECODER_DELAY_SAMPLES,
    endSamples: Math.max(0, padding - DECODER_DELAY_SAMPLES),
  };
}

/**
 * Fraunhofer's: version, delay, quality (16 bits each), bytes, frames, then a table with its count, scale, width,
 * frames.
 */
function parseVbri(view: DataView, start: number): Mp3Summary | undefined {
  if (start + 26 > view.byteLength) return undefined;
  const entryCount = view.getUint16(start + 18);
  const scale = view.getUint16(start + 20);
  const width = view.getUint16(start + 22);
  const frames = view.getUint16(start + 24);
  const sizesBytes: number[] = [];
  for (let index = 0; index < entryCount; index++) {
    const at = start + 26 + index * width;
    if (width < 1 || width > 4 || at + width > view.byteLength) break;
    let value = 0;
    for (let byte = 0; byte < width; byte++) value = value * 256 + view.getUint8(at + byte);
    sizesBytes.push(value * scale);
  }
  return {
    kind: "vbr",
    frameCount: view.getUint32(start + 14) || undefined,
    sizeBytes: view.getUint32(start + 10) || undefined,
    hundredths: undefined,
    runs: frames > 0 && sizesBytes.length > 0 ? { sizesBytes, frames } : undefined,
    startSamples: 0,
    endSamples: 0,
  };
}

function textAt(bytes: Uint8Array, at: number, count: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + count));
}
