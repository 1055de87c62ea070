// Ogg pages (RFC 3533 section 6): finding, checking and splitting them. Audio thread.
//
//   "OggS" | 0 | flags | granule, 64 bits | serial, 32 | sequence, 32 | CRC, 32 | segment count | segment sizes | body

import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";

/** Without the segment sizes. */
export const PAGE_HEADER_BYTES = 27;
/** A page is at most this long. */
export const PAGE_BYTES_MAX = 65_307;
const CAPTURE = [0x4f, 0x67, 0x67, 0x53];

export interface OggPage {
  readonly positionBytes: number;
  readonly isContinued: boolean;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Position at the end of the last packet that ends on this page; -1 when none does, or the muxer has written none. */
  readonly granule: number;
  readonly serial: number;
  readonly sequence: number;
  /** Sizes of 0 to 255; a packet ends with the first below 255. */
  readonly segmentSizes: Uint8Array;
  readonly body: Uint8Array;
}

/** How far to search for a page, and which budget the search uses. */
interface PageSearch {
  readonly junkBytesMax: number;
  readonly work: DemuxWork;
}

/**
 * The next page, or why it could not be read yet: bytes are missing, or some junk was skipped and the search continues.
 */
type PageResult = OggPage | "wait" | { readonly skippedBytes: number };

/** Checksums over bytes that were not a page, beyond the bytes that were passed: as much as four of the longest pages. */
const WASTED_BYTES_MAX = 4 * PAGE_BYTES_MAX;

/**
 * Finds and reads pages at a cursor. The bytes it checks stay in proportion to the bytes it passes, whatever headers
 * claim.
 */
export class PageReader {
  readonly cursor: ByteCursor;
  #wastedBytes = 0;

  constructor(cursor: ByteCursor) {
    this.cursor = cursor;
  }

  /** Reads the page at the cursor, or moves on towards the next one. */
  read(): PageResult {
    const { cursor } = this;
    if (!cursor.has(PAGE_HEADER_BYTES)) return "wait";
    const isCandidate = cursor.u32be(0) === 0x4f676753 && cursor.u8(4) === 0;
    if (!isCandidate || this.#wastedBytes >= WASTED_BYTES_MAX) return this.#skipJunk();
    const headerBytes = PAGE_HEADER_BYTES + cursor.u8(26);
    if (!cursor.has(headerBytes)) return "wait";
    let totalBytes = headerBytes;
    for (let at = PAGE_HEADER_BYTES; at < headerBytes; at++) totalBytes += cursor.u8(at);
    if (!cursor.has(totalBytes)) return "wait";
    const bytes = cursor.view(totalBytes);
    if (pageChecksum(bytes) !== cursor.u32le(22)) {
      this.#wastedBytes += totalBytes;
      return this.#skipJunk();
    }
    this.#wastedBytes = 0;
    return this.#take(bytes, headerBytes);
  }

  /** The next page, waiting for bytes; undefined at the end of the data or after `junkBytesMax` without one. */
  async find({ junkBytesMax, work }: PageSearch): Promise<OggPage | undefined> {
    for (let junkBytes = 0; junkBytes <= junkBytesMax; ) {
      if (work.isSpent) await work.yield();
      const result = this.read();
      if (result === "wait") {
        if (this.cursor.isShort) return undefined;
        await this.cursor.fill();
      } else if ("skippedBytes" in result) junkBytes += result.skippedBytes;
      else return result;
    }
    return undefined;
  }

  #take(bytes: Uint8Array, headerBytes: number): OggPage {
    const { cursor } = this;
    const flags = bytes[5]!;
    const page = {
      positionBytes: cursor.position,
      isContinued: (flags & 1) !== 0,
      isFirst: (flags & 2) !== 0,
      isLast: (flags & 4) !== 0,
      granule: readGranule(cursor),
      serial: cursor.u32le(14),
      sequence: cursor.u32le(18),
      segmentSizes: bytes.subarray(PAGE_HEADER_BYTES, headerBytes),
      body: bytes.subarray(headerBytes),
    };
    cursor.skip(bytes.length);
    return page;
  }

  #skipJunk(): { readonly skippedBytes: number } {
    this.cursor.skip(1);
    const skippedBytes = this.cursor.scanFor(CAPTURE).skippedBytes + 1;
    this.#wastedBytes = Math.max(0, this.#wastedBytes - skippedBytes);
    return { skippedBytes };
  }
}

function readGranule(cursor: ByteCursor): number {
  const high = cursor.u32le(10) | 0;
  const granule = high * 2 ** 32 + cursor.u32le(6);
  return granule > 0 && granule < 2 ** 53 ? granule : -1;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ (value & 0x80000000 ? 0x04c11db7 : 0);
  return value >>> 0;
});

/** The page's CRC-32, its own field counted as zero. */
export function pageChecksum(bytes: Uint8Array): number {
  let crc = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = at >= 22 && at < 26 ? 0 : bytes[at]!;
    crc = (crc << 8) ^ CRC_TABLE[(crc >>> 24) ^ byte]!;
  }
  return crc >>> 0;
}
