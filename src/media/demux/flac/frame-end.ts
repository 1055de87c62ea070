// Searches for the end of a FLAC frame, a step at a time: each byte is scanned once and enters the checksum once,
// however many headers seem to be in the frame. Audio thread.

import { FLAC_HEADER_BYTES_MAX, type FlacFrameHeader, flacCrc16, parseFlacFrameHeader } from "../flac-frame-header.ts";

/** The smallest frame: header and two checksums. */
export const FRAME_BYTES_MIN = 8;
/**
 * The checksum stays this far behind the search: an end marked by an old tag, before the found header, can still be
 * checked.
 */
const SUM_LAG_BYTES = 192;

/** Where a frame ends, and whether its checksum confirms it. */
interface Found {
  readonly sizeBytes: number;
  readonly isWhole: boolean;
}

export class FrameEnd {
  readonly header: FlacFrameHeader;
  /** Bytes of the frame that hold no end. */
  scannedBytes = FRAME_BYTES_MIN;
  /** True when the buffered bytes are all the remaining data. */
  isLast = false;
  /** Where the first header is that may follow after damage: of a later frame of the same stream. */
  laterBytes: number | undefined;
  #sum = 0;
  #summedBytes = 0;

  constructor(header: FlacFrameHeader) {
    this.header = header;
  }

  /**
   * Scans on up to `untilBytes`. The frame at the start of `bytes` ends at the header with the next number, or at a
   * later one if that checksum is right. "later": not everything is scanned yet; undefined: no end in these bytes.
   */
  find(bytes: Uint8Array, untilBytes: number): Found | "later" | undefined {
    const { header } = this;
    const expected = header.number + (header.isVariable ? header.blockSamples : 1);
    const lastInAll = bytes.length - (this.isLast ? FRAME_BYTES_MIN : FLAC_HEADER_BYTES_MAX);
    const last = Math.min(lastInAll, untilBytes);
    for (let at = findSync(bytes, this.scannedBytes, last); at >= 0; at = findSync(bytes, at + 1, last)) {
      const next = parseFlacFrameHeader(bytes, at);
      if (next === undefined || next.isVariable !== header.isVariable) continue;
      const isNext = next.number === expected;
      const isLater = next.number > expected && next.number - expected < 1000 * header.blockSamples;
      if (!isNext && !isLater) continue;
      this.#sumUpTo(bytes, at - 2 - SUM_LAG_BYTES);
      const isWhole = this.isWhole(bytes, at);
      if (isNext || isWhole) return { sizeBytes: at, isWhole };
      if (isAlike(header, next)) this.laterBytes ??= at;
    }
    this.scannedBytes = Math.max(this.scannedBytes, last + 1);
    this.#sumUpTo(bytes, Math.min(this.scannedBytes, bytes.length) - SUM_LAG_BYTES);
    return last < lastInAll ? "later" : undefined;
  }

  /** True when the bytes up to `end` end with their own CRC-16; `end` must not be far behind the scanned bytes. */
  isWhole(bytes: Uint8Array, end: number): boolean {
    const crc = flacCrc16(bytes, { start: this.#summedBytes, end: end - 2, crc: this.#sum });
    return crc === ((bytes[end - 2]! << 8) | bytes[end - 1]!);
  }

  #sumUpTo(bytes: Uint8Array, end: number): void {
    if (end <= this.#summedBytes) return;
    this.#sum = flacCrc16(bytes, { start: this.#summedBytes, end, crc: this.#sum });
    this.#summedBytes = end;
  }
}

/** True for two frames of one stream, unless it changes its rate, channels or bits. */
function isAlike(frame: FlacFrameHeader, later: FlacFrameHeader): boolean {
  return (
    frame.sampleRateHz === later.sampleRateHz &&
    frame.channelCount === later.channelCount &&
    frame.bitsPerSample === later.bitsPerSample &&
    (frame.isVariable || later.blockSamples <= frame.blockSamples)
  );
}

/** Index of the next frame sync code from `start` up to `last`, or -1. */
export function findSync(bytes: Uint8Array, start: number, last: number): number {
  for (let at = start; at <= last; at++) if (bytes[at] === 0xff && (bytes[at + 1]! & 0xfe) === 0xf8) return at;
  return -1;
}
