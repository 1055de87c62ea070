// Writes Ogg pages (ogg-page.ts): for entries of the Opus cache, and for the files of tests. Audio thread.

import { PAGE_HEADER_BYTES, pageChecksum } from "./ogg-page.ts";

/** A page holds at most so many segments. */
export const PAGE_SEGMENTS_MAX = 255;
/** A segment of this size is followed by another one of its packet. */
const FULL_SEGMENT_BYTES = 255;

interface OggPageFields {
  readonly serial: number;
  readonly sequence: number;
  readonly granule: number | bigint;
  /** 2 begins a stream, 4 ends it, 1 continues a packet. */
  readonly flags: number;
  readonly packets: readonly Uint8Array[];
  /** The start of a packet that continues in the next page; a multiple of 255 bytes long. Default: none. */
  readonly unfinished?: Uint8Array | undefined;
}

/** Segments that a whole packet takes. */
export function segmentCountOf(packet: Uint8Array): number {
  return Math.floor(packet.length / FULL_SEGMENT_BYTES) + 1;
}

/** A page with a right checksum. The packets take at most PAGE_SEGMENTS_MAX segments. */
export function writeOggPage(fields: OggPageFields): Uint8Array {
  const { serial, sequence, granule, flags, packets, unfinished = new Uint8Array(0) } = fields;
  const openSegments = unfinished.length / FULL_SEGMENT_BYTES;
  const segmentCount = packets.reduce((sum, packet) => sum + segmentCountOf(packet), openSegments);
  const bodyBytes = packets.reduce((sum, packet) => sum + packet.length, unfinished.length);
  const page = new Uint8Array(PAGE_HEADER_BYTES + segmentCount + bodyBytes);
  const view = new DataView(page.buffer);
  page.set([0x4f, 0x67, 0x67, 0x53, 0, flags]);
  view.setBigInt64(6, BigInt(granule), true);
  view.setUint32(14, serial, true);
  view.setUint32(18, sequence, true);
  page[26] = segmentCount;
  let sizeAt = PAGE_HEADER_BYTES;
  let at = PAGE_HEADER_BYTES + segmentCount;
  for (const packet of packets) {
    const fullSegments = segmentCountOf(packet) - 1;
    page.fill(FULL_SEGMENT_BYTES, sizeAt, sizeAt + fullSegments);
    page[sizeAt + fullSegments] = packet.length % FULL_SEGMENT_BYTES;
    sizeAt += fullSegments + 1;
    page.set(packet, at);
    at += packet.length;
  }
  page.fill(FULL_SEGMENT_BYTES, sizeAt, sizeAt + openSegments);
  page.set(unfinished, at);
  view.setUint32(22, pageChecksum(page), true);
  return page;
}
