// Finds positions in an Ogg file by its granule positions: where to start for a seek, and how long the stream is. Audio
// thread.

import type { AudioCodec } from "../../format/packet.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork, ReaderParts } from "../demux-work.ts";
import { createPacketClock } from "../packet-clock.ts";
import { type OggPage, PAGE_BYTES_MAX, PageReader } from "./ogg-page.ts";
import { PacketAssembler } from "./packet-assembler.ts";
import type { OggStart } from "./read-headers.ts";

/** Farthest search for a page of the stream from one middle; then that half counts as empty. */
const PROBE_BYTES_MAX = 8 * 1024 * 1024;
/** Bytes scanned in all such searches of one seek; then playback continues from the best position so far. */
const SEARCH_BYTES_MAX = 64 * 1024 * 1024;
/** How far the first page with a granule is searched. */
const START_BYTES_MAX = 256 * 1024;
/** How far from the end the last page of the stream is searched. */
const TAIL_BYTES_MAX = 1024 * 1024;

export interface OggPosition {
  readonly positionBytes: number;
  /** Granule at which the data from there starts; undefined when the search never left the start. */
  readonly granule: number | undefined;
}

/** The position behind the last page of the stream that ends at or before `granule`. */
export async function findPositionBefore(
  { source, work }: ReaderParts,
  range: { serial: number; startBytes: number; endBytes: number; granule: number },
): Promise<OggPosition> {
  let low: OggPosition = { positionBytes: range.startBytes, granule: undefined };
  let previous = low;
  let high = Math.max(range.startBytes, range.endBytes);
  for (let searchedBytes = 0; high - low.positionBytes > PAGE_BYTES_MAX && searchedBytes < SEARCH_BYTES_MAX; ) {
    const middle = Math.floor((low.positionBytes + high) / 2);
    const cursor = new ByteCursor(source, middle);
    const endBytes = Math.min(high, middle + PROBE_BYTES_MAX);
    const page = await findTimedPage(new PageReader(cursor), { serial: range.serial, endBytes, work });
    searchedBytes += cursor.fetchedBytes;
    if (page !== undefined && page.granule <= range.granule) {
      previous = low;
      low = { positionBytes: cursor.position, granule: page.granule };
    } else high = middle;
  }
  const pages = new PageReader(new ByteCursor(source, low.positionBytes));
  const endBytes = Math.min(range.endBytes, Math.min(high, low.positionBytes + PROBE_BYTES_MAX) + PAGE_BYTES_MAX);
  for (;;) {
    const page = await findTimedPage(pages, { serial: range.serial, endBytes, work });
    // The last page is cut at its end, so times cannot be counted back from there: start with a page before it.
    if (page?.isLast) return previous;
    if (page === undefined || page.granule > range.granule) return low;
    previous = low;
    low = { positionBytes: pages.cursor.position, granule: page.granule };
  }
}

async function findTimedPage(
  pages: PageReader,
  range: { serial: number; endBytes: number; work: DemuxWork },
): Promise<OggPage | undefined> {
  const { work } = range;
  while (pages.cursor.position < range.endBytes) {
    const page = await pages.find({ junkBytesMax: range.endBytes - pages.cursor.position, work });
    if (page === undefined || page.positionBytes >= range.endBytes) return undefined;
    if (page.serial === range.serial && page.granule >= 0) return page;
  }
  return undefined;
}

/**
 * Most samples that a page adds: 255 packets of the longest block of Vorbis, as much as 43 s of Opus. A last page that
 * claims more is not believed.
 */
const PAGE_SAMPLES_MAX = 255 * 8192;
/** The same for FLAC. */
const FLAC_PAGE_SAMPLES_MAX = 255 * 65_535;

/** The last page in front of `endBytes`; undefined when there is none within a MiB. */
export async function readLastPage(parts: ReaderParts, endBytes: number): Promise<OggPage | undefined> {
  let last: OggPage | undefined;
  await searchTail(parts, endBytes, (pages) => {
    last = pages.at(-1);
    return last !== undefined;
  });
  return last;
}

interface TailStream {
  readonly serial: number;
  readonly codec: AudioCodec;
  /** Where the stream ends at the latest. */
  readonly endBytes: number;
}

/** The last granule of the stream; undefined when no page of it is found in the last MiB. */
export async function readTailGranule(
  parts: ReaderParts,
  { serial, codec, endBytes }: TailStream,
): Promise<number | undefined> {
  const samplesMax = codec === "flac" ? FLAC_PAGE_SAMPLES_MAX : PAGE_SAMPLES_MAX;
  let granule: number | undefined;
  await searchTail(parts, endBytes, (pages) => {
    const timed = pages.filter((page) => page.serial === serial && page.granule >= 0);
    const [before, last] = [timed.at(-2)?.granule, timed.at(-1)?.granule];
    granule = before !== undefined && last !== undefined && last - before > samplesMax ? before : last;
    return granule !== undefined;
  });
  return granule;
}

/** Hands the pages at the end to `accept`, of longer and longer parts until it takes them. */
async function searchTail(
  { source, work }: ReaderParts,
  endBytes: number,
  accept: (pages: readonly OggPage[]) => boolean,
): Promise<void> {
  for (let tailBytes = 2 * PAGE_BYTES_MAX; tailBytes <= TAIL_BYTES_MAX; tailBytes *= 2) {
    const start = Math.max(0, endBytes - tailBytes);
    const reader = new PageReader(new ByteCursor(source, start));
    const pages: OggPage[] = [];
    for (;;) {
      const page = await reader.find({ junkBytesMax: tailBytes, work });
      if (page === undefined || page.positionBytes >= endBytes) break;
      pages.push(page);
    }
    if (accept(pages) || start === 0) return;
  }
}

/**
 * The granule at which the stream starts: that of its first timed page less the samples up to there. Not 0 in a stream
 * that was cut out of a longer one (RFC 7845 section 4.5).
 */
export async function readStartGranule(
  { source, work }: ReaderParts,
  start: OggStart & { readonly endBytes: number },
): Promise<number> {
  const { headers, serial, dataStart, endBytes } = start;
  const pages = new PageReader(new ByteCursor(source, dataStart));
  const assembler = new PacketAssembler();
  const clock = createPacketClock(headers.stream);
  let samples = 0;
  while (pages.cursor.position < dataStart + START_BYTES_MAX) {
    const page = await pages.find({ junkBytesMax: START_BYTES_MAX, work });
    if (page === undefined || page.positionBytes >= endBytes) break;
    if (page.serial !== serial) continue;
    for (const packet of assembler.add(page)) samples += clock.count(packet);
    // Without known packet lengths it could be anywhere.
    if (page.granule >= 0 && samples > 0) return Math.max(0, page.granule - samples);
  }
  return 0;
}
