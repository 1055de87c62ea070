// Reads the packets of the first audio stream in Ogg, follows it through chained streams (radio stations start a new
// one with each title), and steps over damaged pages. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { createPacketClock, type PacketClock, seekPreRollMs } from "../packet-clock.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { mapChain, type OggChain, readLink } from "./chain.ts";
import { findPositionBefore, type OggPosition } from "./granule-search.ts";
import { createHeaderReader, type HeaderReader, type OggHeaders } from "./ogg-codec.ts";
import { type OggPage, PageReader } from "./ogg-page.ts";
import { PacketAssembler } from "./packet-assembler.ts";
import { type OggStart, readOggHeaders } from "./read-headers.ts";

/** Damage in a row after which the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;
/** Chained streams in a row that last less than a second: no station has so many titles. */
const SHORT_LINKS_MAX = 64;
const SHORT_LINK_MS = 1000;

/** One logical stream whose headers are complete. */
interface Link {
  readonly headers: OggHeaders;
  readonly clock: PacketClock;
  readonly serial: number;
  /** Where its first page starts. */
  readonly positionBytes: number;
  /** Time of granule `baseGranule` plus the pre-skip. */
  readonly startMs: number;
  /**
   * Where the sample count started: 0 except for live streams joined in the middle. Undefined before the first page.
   */
  baseGranule: number | undefined;
}

/** The length is at the end: reading it before playback would cost connections, or the whole file. */
export async function openOgg(
  parts: ReaderParts,
  _leading: unknown,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const { source, work } = parts;
  const first = await readOggHeaders(new ByteCursor(source), work);
  const chain = isLengthNeeded ? await mapChain(parts, first, "length") : undefined;
  const isSeekable = isLengthNeeded ? chain !== undefined : source.isRandomAccess && source.sizeBytes !== undefined;
  return new OggDemuxer(parts, { ...first, chain, isSeekable });
}

interface Opened extends OggStart {
  readonly serials: ReadonlySet<number>;
  /** Undefined for streams, or when not requested. */
  readonly chain: OggChain | undefined;
  readonly isSeekable: boolean;
}

interface NextHeaders {
  readonly serial: number;
  readonly positionBytes: number;
  readonly read: HeaderReader;
}

class OggDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly #parts: ReaderParts;
  readonly #opened: Opened;
  readonly #cursor: ByteCursor;
  readonly #pages: PageReader;
  readonly #pump: PacketPump;
  readonly #assembler = new PacketAssembler();
  readonly #firstLink: Link;
  #chain: OggChain | undefined;
  #isMapped = false;
  #link: Link;
  /** The headers of the next chained stream while they arrive. */
  #nextHeaders: NextHeaders | undefined;
  /** Granule at which the next packet starts, as counted; undefined after a jump. */
  #granule: number | undefined;
  /** The first granule at the start of the file. */
  #firstGranule: number | undefined;
  #endMs = 0;
  #hasData = false;
  #shortLinks = 0;
  #linkBytes = 0;
  /** The packets of the current page. */
  #packets: Packet[] = [];
  #packetIndex = 0;
  #damageBytes = 0;

  constructor(parts: ReaderParts, opened: Opened) {
    this.#parts = parts;
    this.#opened = opened;
    const { headers, serial } = opened;
    this.#chain = opened.chain;
    this.#firstLink = createLink(headers, serial, { positionBytes: 0, startMs: 0 });
    this.#link = this.#firstLink;
    parts.work.take(headers.stream.description?.length ?? 0, "the set-up of its decoder");
    const { title, author, isrc } = headers.tags;
    const lengthMs = opened.chain?.lengthMs;
    this.info = { probeName: "ogg", title, author, isrc, artworkUrl: undefined, lengthMs };
    this.#cursor = new ByteCursor(parts.source, opened.dataStart);
    this.#pages = new PageReader(this.#cursor);
    const stream = () => this.#link.headers.stream;
    this.#pump = new PacketPump({ cursor: this.#cursor, work: parts.work, step: () => this.#step(), stream });
  }

  get stream(): AudioStream {
    return this.#pump.stream ?? this.#link.headers.stream;
  }

  get isSeekable(): boolean {
    return this.#opened.isSeekable;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  nextNow(): Packet | undefined {
    return this.#pump.nextNow();
  }

  async seek(positionMs: number): Promise<void> {
    const { lengthMs } = this.info;
    // The first page shows where the sample count starts.
    if (this.#link.baseGranule === undefined) await this.#pump.next();
    if (lengthMs !== undefined && positionMs >= lengthMs) return this.#pump.finish();
    const targetMs = Math.max(0, positionMs) - seekPreRollMs(this.stream);
    if (!this.isSeekable) return this.#seekForward(targetMs);
    const { positionBytes, granule } = await this.#find(targetMs);
    this.#nextHeaders = undefined;
    this.#cursor.moveTo(positionBytes);
    this.#granule = granule;
    this.#assembler.reset();
    this.#link.clock.reset();
    this.#packets = [];
    this.#packetIndex = 0;
    this.#damageBytes = 0;
    this.#pump.dropUntil(targetMs);
  }

  close(): void {
    this.#parts.source.close();
  }

  /** Goes over to the link of the target and finds the position in it. */
  async #find(targetMs: number): Promise<OggPosition> {
    const parts = this.#parts;
    if (this.#chain === undefined && !this.#isMapped) this.#chain = await mapChain(parts, this.#opened, "seek");
    this.#isMapped = true;
    const found = this.#chain?.links.findLast(({ startMs }) => startMs <= Math.max(0, targetMs));
    const isFirst = found === undefined || found.positionBytes === 0;
    const start = isFirst ? this.#opened : await readLink(parts, found.positionBytes);
    if (start === undefined) throw new NodeError("media-damaged", "cannot seek: a stream of the Ogg file is damaged");
    if (isFirst) this.#link = this.#firstLink;
    else if (this.#link.positionBytes !== found.positionBytes) {
      this.#takeMemory(start.headers);
      this.#link = createLink(start.headers, start.serial, found);
    }
    const base = this.#link.baseGranule ?? found?.startGranule ?? 0;
    this.#link.baseGranule = base;
    // Too many links to know where they begin: read through.
    if (found === undefined) return { positionBytes: start.dataStart, granule: this.#firstGranule };
    const { stream, preSkipSamples } = start.headers;
    const granule = ((targetMs - found.startMs) * stream.sampleRateHz) / 1000 + preSkipSamples + base;
    const range = { serial: start.serial, startBytes: start.dataStart, endBytes: found.endBytes, granule };
    const position = await findPositionBefore(parts, range);
    return { ...position, granule: position.granule ?? (isFirst ? this.#firstGranule : undefined) ?? base };
  }

  #seekForward(targetMs: number): void {
    const nextMs = this.#pump.heldMs ?? this.#packets[this.#packetIndex]?.timestampMs ?? this.#endMs;
    if (targetMs < nextMs) {
      throw new NodeError("media-not-seekable", "cannot seek back: this stream only runs forwards");
    }
    this.#pump.skipUntil(targetMs);
  }

  #step(): Step {
    const packet = this.#packets[this.#packetIndex];
    if (packet !== undefined) {
      this.#packetIndex += 1;
      return packet;
    }
    const page = this.#pages.read();
    if (page === "wait") return WAIT;
    if ("skippedBytes" in page) {
      this.#damageBytes += page.skippedBytes;
      return this.#damageBytes > DAMAGE_BYTES_MAX ? undefined : AGAIN;
    }
    this.#damageBytes = 0;
    this.#addPage(page);
    return AGAIN;
  }

  #addPage(page: OggPage): void {
    if (page.isFirst && this.#hasData) this.#startNextLink(page);
    if (this.#nextHeaders !== undefined) {
      if (page.serial === this.#nextHeaders.serial) this.#addHeaderPage(page, this.#nextHeaders);
    } else if (page.serial === this.#link.serial) this.#addDataPage(page);
  }

  /** A stream that starts after audio was played takes over: the chain continues. */
  #startNextLink(page: OggPage): void {
    const read = createHeaderReader(page.body);
    if (read === undefined || this.#nextHeaders !== undefined) return;
    this.#nextHeaders = { serial: page.serial, read, positionBytes: page.positionBytes };
    this.#assembler.reset();
  }

  #addHeaderPage(page: OggPage, next: NextHeaders): void {
    for (const packet of this.#assembler.add(page)) {
      const result = next.read(packet);
      if (result === "more") continue;
      this.#nextHeaders = undefined;
      if (result === "broken") return;
      this.#countLink();
      this.#takeMemory(result);
      this.#link = createLink(result, next.serial, { positionBytes: next.positionBytes, startMs: this.#endMs });
      this.#granule = undefined;
      this.#hasData = false;
      return;
    }
  }

  /** Retains the decoder setup of the current link, and that of the first link for a seek back. */
  #takeMemory({ stream }: OggHeaders): void {
    const sizeBytes = stream.description?.length ?? 0;
    this.#parts.work.take(sizeBytes, "the set-up of its decoder");
    this.#parts.work.release(this.#linkBytes);
    this.#linkBytes = sizeBytes;
  }

  /** Each link costs a new decoder: too many links with almost nothing to decode are damage. */
  #countLink(): void {
    const isShort = this.#endMs - this.#link.startMs < SHORT_LINK_MS;
    this.#shortLinks = isShort ? this.#shortLinks + 1 : 0;
    if (this.#shortLinks <= SHORT_LINKS_MAX) return;
    throw new NodeError("media-damaged", "the Ogg file cannot be played: one stream after another without audio");
  }

  #addDataPage(page: OggPage): void {
    const { clock } = this.#link;
    const datas = this.#assembler.add(page).filter((data) => data.length > 0);
    if (datas.length === 0) return;
    this.#hasData = true;
    const counts = datas.map((data) => clock.count(data));
    const sum = counts.reduce((total, count) => total + count, 0);
    const start = this.#startGranule(page, sum);
    this.#firstGranule ??= start;
    this.#link.baseGranule ??= Math.max(0, start);
    this.#packets = [];
    this.#packetIndex = 0;
    let granule = start;
    // Only the last page may end before its packets do; there the rest is padding.
    const end = page.isLast && page.granule > start ? page.granule : Number.POSITIVE_INFINITY;
    for (const [index, data] of datas.entries()) {
      this.#packets.push(this.#packet(data, { granule, count: counts[index]!, end }));
      granule += counts[index]!;
    }
    this.#granule = page.isLast || page.granule < 0 ? granule : page.granule;
  }

  /** Where the page's first packet starts: counted back from its granule, or forwards on the last page. */
  #startGranule(page: OggPage, sum: number): number {
    const counted = this.#granule;
    if (page.granule < 0) return counted ?? 0;
    if (!page.isLast) return page.granule - sum;
    return counted ?? (this.#link.baseGranule === undefined ? Math.max(0, page.granule - sum) : page.granule - sum);
  }

  #packet(data: Uint8Array, pagePosition: { granule: number; count: number; end: number }): Packet {
    const { headers, startMs, baseGranule } = this.#link;
    const rate = headers.stream.sampleRateHz;
    const skipped = headers.preSkipSamples + (baseGranule ?? 0);
    const timestampMs = startMs + (1000 * (pagePosition.granule - skipped)) / rate;
    const surplus = pagePosition.granule + pagePosition.count - pagePosition.end;
    const trimEndSamples = Math.max(0, Math.min(pagePosition.count, surplus));
    const endGranule = Math.min(pagePosition.granule + pagePosition.count, pagePosition.end);
    this.#endMs = startMs + (1000 * (endGranule - skipped)) / rate;
    return { data, timestampMs, durationMs: (1000 * pagePosition.count) / rate, trimEndSamples };
  }
}

function createLink(headers: OggHeaders, serial: number, start: { positionBytes: number; startMs: number }): Link {
  const { positionBytes, startMs } = start;
  const clock = createPacketClock(headers.stream);
  return { headers, serial, positionBytes, startMs, clock, baseGranule: undefined };
}
