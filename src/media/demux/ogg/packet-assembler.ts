// Puts the packets of one Ogg stream together from the segments of its pages (RFC 3533 section 5). Audio thread.

import type { OggPage } from "./ogg-page.ts";

/** Longest packet retained; a longer one (a tag block with pictures) is cut off there. */
const PACKET_BYTES_MAX = 1024 * 1024;

export class PacketAssembler {
  #pieces: Uint8Array[] = [];
  #piecesBytes = 0;
  /** True while a packet continues in the next page. */
  #isOpen = false;
  #sequence: number | undefined;
  /** True when the page before ended in the middle of a packet, also of one that is left out. */
  #isPageOpen = false;

  /** Drops an unfinished packet, after a seek. */
  reset(): void {
    this.#pieces = [];
    this.#piecesBytes = 0;
    this.#isOpen = false;
    this.#sequence = undefined;
  }

  /** The packets that end on the page, in order. A packet whose start is missing is left out. */
  add(page: OggPage): Uint8Array[] {
    const isNext = this.#sequence !== undefined && (this.#sequence + 1) >>> 0 === page.sequence;
    // Between two pages in order, the sizes on the first one say it, and some muxers forget the flag.
    const isContinued = isNext ? this.#isPageOpen : page.isContinued;
    if (!isNext || !isContinued) this.reset();
    this.#sequence = page.sequence;
    let isDropping = isContinued && !this.#isOpen;
    const packets: Uint8Array[] = [];
    let start = 0;
    let at = 0;
    for (const size of page.segmentSizes) {
      at += size;
      if (size === 255) continue;
      if (!isDropping) packets.push(this.#close(page.body.subarray(start, at)));
      isDropping = false;
      start = at;
    }
    const isUnfinished = page.segmentSizes.at(-1) === 255;
    this.#isPageOpen = isUnfinished;
    if (isUnfinished && !isDropping) this.#keep(page.body.subarray(start, at));
    return packets;
  }

  #keep(piece: Uint8Array): void {
    this.#isOpen = true;
    const retained = piece.subarray(0, Math.max(0, PACKET_BYTES_MAX - this.#piecesBytes));
    if (retained.length === 0) return;
    this.#pieces.push(retained);
    this.#piecesBytes += retained.length;
  }

  #close(last: Uint8Array): Uint8Array {
    if (!this.#isOpen) return last;
    this.#keep(last);
    const packet = new Uint8Array(this.#piecesBytes);
    let at = 0;
    for (const piece of this.#pieces) {
      packet.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [];
    this.#piecesBytes = 0;
    this.#isOpen = false;
    return packet;
  }
}
