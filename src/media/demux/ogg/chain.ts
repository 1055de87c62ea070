// Where the links of a chained Ogg file begin and how long each is (RFC 3533 section 4). Links may repeat a serial number
// (`cat a.ogg a.ogg`), so the last granule alone does not say how long the file is: page numbers, granules and bytes have
// to grow together. Audio and probe threads.

import { NodeError } from "../../../errors.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { readLastPage, readStartGranule, readTailGranule } from "./granule-search.ts";
import { createHeaderReader } from "./ogg-codec.ts";
import { type OggPage, PageReader } from "./ogg-page.ts";
import { type OggStart, readOggHeaders } from "./read-headers.ts";

/** More links, or more positions to find them, are not worth the reads: such a file is a stream. */
const LINKS_MAX = 16;
const PROBES_MAX = 64;
/** Positions looked at only because the bytes of pages vary, as they do in music, too: for a length, and for a seek. */
const DOUBTS_MAX = { length: 16, seek: 4 };
/** Read through to find where links begin. */
const SCAN_BYTES = 256 * 1024;
/** Files up to this size are read through. */
const WHOLE_BYTES = 2 * 1024 * 1024;
/** How much the bytes of a page may vary from one half to the other: in the whole file, and in parts of it. */
const VARIATION = { whole: 1.25, part: 1.5 };

interface OggLink {
  /** Where its first page starts, and where the next link does. */
  readonly positionBytes: number;
  readonly endBytes: number;
  /** Time of its first audible sample. */
  readonly startMs: number;
  readonly startGranule: number;
}

export interface OggChain {
  readonly links: readonly OggLink[];
  readonly lengthMs: number;
}

/** Undefined when no end of the stream is found, or there are too many links. */
export async function mapChain(
  parts: ReaderParts,
  first: OggStart & { readonly serials: ReadonlySet<number> },
  purpose: keyof typeof DOUBTS_MAX,
): Promise<OggChain | undefined> {
  const sizeBytes = parts.source.isRandomAccess ? parts.source.sizeBytes : undefined;
  if (sizeBytes === undefined) return undefined;
  const starts = await new LinkSearch(parts, DOUBTS_MAX[purpose]).find(first, sizeBytes);
  if (starts === undefined) return undefined;
  const links: OggLink[] = [];
  let startMs = 0;
  let preSkipMs = 0;
  for (const [index, positionBytes] of starts.entries()) {
    const start = index === 0 ? first : await readLink(parts, positionBytes);
    if (start === undefined) continue;
    const endBytes = starts[index + 1] ?? sizeBytes;
    const { stream, preSkipSamples } = start.headers;
    const startGranule = await readStartGranule(parts, { ...start, endBytes });
    const granule = await readTailGranule(parts, { serial: start.serial, codec: stream.codec, endBytes });
    if (granule === undefined && starts.length === 1) return undefined;
    links.push({ positionBytes, endBytes, startMs, startGranule });
    const samples = Math.max(0, (granule ?? startGranule) - startGranule - preSkipSamples);
    startMs += (1000 * samples) / stream.sampleRateHz;
    preSkipMs ||= (1000 * preSkipSamples) / stream.sampleRateHz;
  }
  // Lavalink counts the samples in front of the first audible one.
  return { links, lengthMs: Math.floor(startMs + preSkipMs) };
}

/** The headers of a later link; undefined when they are broken. Playback goes past such a link, too. */
export async function readLink(parts: ReaderParts, positionBytes: number): Promise<OggStart | undefined> {
  try {
    return await readOggHeaders(new ByteCursor(parts.source, positionBytes), parts.work);
  } catch (error) {
    if (error instanceof NodeError && error.code.startsWith("media-")) return undefined;
    throw error;
  }
}

class LinkSearch {
  readonly #parts: ReaderParts;
  readonly #doubtsMax: number;
  readonly #starts: number[] = [];
  #probes = 0;
  /** Two pages cannot be of one stream. */
  #isChain = false;

  constructor(parts: ReaderParts, doubtsMax: number) {
    this.#parts = parts;
    this.#doubtsMax = doubtsMax;
  }

  /** Where each link begins, the first one at 0. */
  async find(
    { serials, dataStart }: { readonly serials: ReadonlySet<number>; readonly dataStart: number },
    sizeBytes: number,
  ): Promise<readonly number[] | undefined> {
    this.#starts.push(0);
    const last = await readLastPage(this.#parts, sizeBytes);
    if (last === undefined) return undefined;
    // Audio beside other streams: their pages cannot be compared. One that was not there at the start is a chain.
    if (serials.size > 1) return serials.has(last.serial) ? this.#starts : undefined;
    const first = await this.#pageFrom(dataStart, sizeBytes);
    if (first === undefined) return undefined;
    if (sizeBytes <= WHOLE_BYTES) await this.#scan(first.positionBytes, sizeBytes);
    else await this.#split(first, last, VARIATION.whole);
    return this.#isTooMuch ? undefined : this.#starts;
  }

  get #isTooMuch(): boolean {
    return this.#probes > PROBES_MAX || this.#starts.length > LINKS_MAX;
  }

  /** Finds the links that begin between two pages. */
  async #split(from: OggPage, to: OggPage, variation: number): Promise<void> {
    if (this.#isTooMuch || (!this.#isChain && this.#probes >= this.#doubtsMax)) return;
    if (to.positionBytes - from.positionBytes <= SCAN_BYTES) {
      return this.#scan(from.positionBytes + 1, to.positionBytes + 1);
    }
    this.#probes += 1;
    const middleBytes = Math.floor((from.positionBytes + to.positionBytes) / 2);
    const middle = await this.#pageFrom(middleBytes, to.positionBytes);
    if (middle === undefined) return this.#split(from, { ...to, positionBytes: middleBytes }, variation);
    this.#isChain ||= !isFollowing(from, middle) || !isFollowing(middle, to);
    if (isOneStream([from, middle, to], variation)) return;
    await this.#split(from, middle, VARIATION.part);
    await this.#split(middle, to, VARIATION.part);
  }

  async #pageFrom(positionBytes: number, endBytes: number): Promise<OggPage | undefined> {
    const pages = new PageReader(new ByteCursor(this.#parts.source, positionBytes));
    const page = await pages.find({ junkBytesMax: SCAN_BYTES, work: this.#parts.work });
    return page === undefined || page.positionBytes >= endBytes ? undefined : page;
  }

  /** Playback goes over to a link when it has audio of the one before. */
  async #scan(fromBytes: number, endBytes: number): Promise<void> {
    const { source, work } = this.#parts;
    const pages = new PageReader(new ByteCursor(source, fromBytes));
    let isFirst = false;
    while (this.#starts.length <= LINKS_MAX) {
      const page = await pages.find({ junkBytesMax: endBytes - pages.cursor.position, work });
      if (page === undefined || page.positionBytes >= endBytes) return;
      if (page.isFirst && !isFirst && createHeaderReader(page.body) !== undefined) {
        this.#starts.push(page.positionBytes);
        isFirst = true;
      } else if (!page.isFirst) isFirst = false;
    }
  }
}

function isOneStream([from, middle, to]: readonly [OggPage, OggPage, OggPage], variation: number): boolean {
  if (!isFollowing(from, middle) || !isFollowing(middle, to)) return false;
  const isNumbered = middle.sequence > from.sequence && to.sequence > middle.sequence;
  const unit = isNumbered ? "sequence" : "granule";
  const ratio = bytesPer(unit, from, middle) / bytesPer(unit, middle, to);
  return ratio <= variation && ratio >= 1 / variation;
}

/** Some tools number all pages 0, or begin again in the middle of a stream: then the times have to grow. */
function isFollowing(from: OggPage, to: OggPage): boolean {
  if (to.serial !== from.serial) return false;
  if (to.sequence > from.sequence) return to.granule < 0 || to.granule >= from.granule;
  return from.granule >= 0 && to.granule > from.granule;
}

function bytesPer(unit: "sequence" | "granule", from: OggPage, to: OggPage): number {
  return (to.positionBytes - from.positionBytes) / (to[unit] - from[unit]);
}
