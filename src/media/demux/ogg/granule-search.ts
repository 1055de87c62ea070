// Finds places in an Ogg file by its granule positions: where to start for a seek, and how long the stream is. Audio
// thread.

import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import { findPage, type OggPage } from "./ogg-page.ts";

/** A page is at most this long. */
const PAGE_BYTES_MAX = 65_307;
/** How far from the end the last page of the stream is looked for. */
const TAIL_BYTES_MAX = 1024 * 1024;

export interface OggPlace {
  readonly positionBytes: number;
  /** Granule at which the data from there starts; undefined when the search never left the start. */
  readonly granule: number | undefined;
}

/** The place behind the last page of the stream that ends at or before `granule`. */
export async function findPlaceBefore(
  source: ByteSource,
  range: { serial: number; startBytes: number; granule: number },
): Promise<OggPlace> {
  let low: OggPlace = { positionBytes: range.startBytes, granule: undefined };
  let previous = low;
  let high = source.sizeBytes ?? range.startBytes;
  for (let round = 0; round < 48 && high - low.positionBytes > PAGE_BYTES_MAX; round++) {
    const middle = Math.floor((low.positionBytes + high) / 2);
    const cursor = new ByteCursor(source, middle);
    const page = await findTimedPage(cursor, { serial: range.serial, endBytes: high });
    if (page !== undefined && page.granule <= range.granule) {
      previous = low;
      low = { positionBytes: cursor.position, granule: page.granule };
    } else high = middle;
  }
  const cursor = new ByteCursor(source, low.positionBytes);
  for (;;) {
    const page = await findTimedPage(cursor, { serial: range.serial, endBytes: high + PAGE_BYTES_MAX });
    // The last page is cut at its end, so times cannot be counted back from there: start with a page before it.
    if (page?.isLast) return previous;
    if (page === undefined || page.granule > range.granule) return low;
    previous = low;
    low = { positionBytes: cursor.position, granule: page.granule };
  }
}

async function findTimedPage(
  cursor: ByteCursor,
  range: { serial: number; endBytes: number },
): Promise<OggPage | undefined> {
  while (cursor.position < range.endBytes) {
    const page = await findPage(cursor, range.endBytes - cursor.position);
    if (page === undefined || page.positionBytes >= range.endBytes) return undefined;
    if (page.serial === range.serial && page.granule >= 0) return page;
  }
  return undefined;
}

export interface OggTail {
  /** The last granule of the stream. */
  readonly granule: number;
  /** The stream of the file's last page. */
  readonly lastSerial: number;
}

/** Reads the end of the file; undefined when no page of the stream is found there. */
export async function readTail(source: ByteSource, serial: number): Promise<OggTail | undefined> {
  const sizeBytes = source.sizeBytes;
  if (sizeBytes === undefined) return undefined;
  for (let tailBytes = 2 * PAGE_BYTES_MAX; tailBytes <= TAIL_BYTES_MAX; tailBytes *= 2) {
    const start = Math.max(0, sizeBytes - tailBytes);
    const cursor = new ByteCursor(source, start);
    let granule = -1;
    let lastSerial = serial;
    for (;;) {
      const page = await findPage(cursor, tailBytes);
      if (page === undefined) break;
      lastSerial = page.serial;
      if (page.serial === serial && page.granule >= 0) granule = page.granule;
    }
    if (granule >= 0) return { granule, lastSerial };
    if (start === 0) return undefined;
  }
  return undefined;
}
