// Ogg within HLS: a segment may be a separate stream, or a piece of one that began in the first segment, without the
// headers in front. The headers are retained and put before such pieces. Part of segment-loader.ts. Audio thread.

import { ByteWindow } from "../../input/byte-window.ts";
import type { TrackBudget } from "../../quota/track-budget.ts";

/** A page begins with "OggS", flags behind the version (2: a stream begins), and the granule (RFC 3533 section 6). */
const PAGE_HEADER_BYTES = 27;
const CAPTURE = 0x4f676753;
const FIRST_FLAG = 2;
/** Headers are two or three packets; tags may hold a picture. */
const HEADERS_BYTES_MAX = 1024 * 1024;
const HEADER_PAGES_MAX = 64;
/** Copied in one stretch. */
const COPY_BYTES = 64 * 1024;

export class OggSegments {
  readonly #budget: TrackBudget;
  #headers: Uint8Array | undefined;

  constructor(budget: TrackBudget) {
    this.#budget = budget;
  }

  /** The segment as a stream that can be read alone: the same, or a copy, in which case the original is released. */
  async complete(segment: ByteWindow): Promise<ByteWindow> {
    const page = segment.read(0, Math.min(PAGE_HEADER_BYTES, segment.endBytes));
    if (page === undefined || page.length < PAGE_HEADER_BYTES || be32(page) !== CAPTURE) return segment;
    if ((page[5]! & FIRST_FLAG) !== 0) {
      this.#keep(segment);
      return segment;
    }
    if (this.#headers === undefined) return segment;
    const whole = new ByteWindow(this.#budget.memory);
    try {
      whole.append(this.#headers);
      for (let at = 0; at < segment.endBytes; at += COPY_BYTES) {
        if (this.#budget.isSpent) await this.#budget.yield();
        whole.append(segment.read(at, Math.min(COPY_BYTES, segment.endBytes - at)) ?? new Uint8Array(0));
      }
      return whole;
    } catch (error) {
      whole.reset(0);
      throw error;
    } finally {
      segment.reset(0);
    }
  }

  /** Releases its memory. */
  close(): void {
    this.#budget.memory.release(this.#headers?.length ?? 0);
    this.#headers = undefined;
  }

  /** Retains the pages in front of the first audio page, the first whose granule is not 0. */
  #keep(segment: ByteWindow): void {
    let at = 0;
    for (let count = 0; count < HEADER_PAGES_MAX && at <= HEADERS_BYTES_MAX; count++) {
      const header = segment.read(at, PAGE_HEADER_BYTES);
      const sizes = header && segment.read(at + PAGE_HEADER_BYTES, header[26]!);
      if (header === undefined || sizes === undefined || be32(header) !== CAPTURE) return;
      if (header.subarray(6, 14).some((byte) => byte !== 0)) break;
      at += PAGE_HEADER_BYTES + sizes.length + sizes.reduce((sum, size) => sum + size, 0);
    }
    const headers = at > HEADERS_BYTES_MAX ? undefined : segment.read(0, at);
    if (headers === undefined) return;
    this.close();
    this.#budget.memory.take(headers.length, "the headers of segments");
    this.#headers = Uint8Array.from(headers);
  }
}

function be32(bytes: Uint8Array): number {
  return ((bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!) >>> 0;
}
