// Reads the packets of one audio track from Matroska and WebM, from files and from live streams of unknown size. Damage
// is stepped over to the next cluster. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import { readOwned } from "../owned-bytes.ts";
import { createPacketClock, type PacketClock, seekPreRollMs } from "../packet-clock.ts";
import { AGAIN, PacketPump, type Step, WAIT } from "../packet-pump.ts";
import { splitBlock } from "./block.ts";
import { CLUSTER_ID_BYTES, findClusterBefore } from "./cluster-search.ts";
import { CueTable } from "./cue-table.ts";
import {
  ELEMENT_HEADER_BYTES_MAX,
  type ElementHeader,
  ID,
  parseElementHeader,
  peekElementHeader,
  readElements,
  readSigned,
  readUnsigned,
  UNKNOWN_SIZE,
} from "./ebml.ts";
import { type MatroskaHeader, readCues, readMatroskaHeader } from "./matroska-header.ts";
import { measureMatroska } from "./measure-matroska.ts";

/** Largest block of the audio track that is accepted. */
const BLOCK_BYTES_MAX = 4 * 1024 * 1024;
/** Damage that is searched for the next cluster before the stream counts as over. */
const DAMAGE_BYTES_MAX = 16 * 1024 * 1024;
const CUES_BYTES_MAX = 4 * 1024 * 1024;
/** Block times are rounded to milliseconds; within this of the counted time the counted one is right. */
const TIME_TOLERANCE_MS = 10;
/** A seek from a cluster at most this far before the target reads on: cheaper than searching for a nearer cluster. */
const READ_THROUGH_MS = 2000;

/** Fields of a block group; real ones have a handful. */
const GROUP_FIELDS_MAX = 64;

/** Elements between and inside clusters that are skipped: padding, checksums, indexes, encrypted blocks. */
const SKIPPED_IDS = new Set<number>([
  0xec, 0xbf, 0xa7, 0xab, 0xaf, 0x5854, 0x1941a469, 0x1043a770, 0x1a45dfa3, 0x114d9b74, 0x1549a966, 0x1654ae6b,
  0x1c53bb6b, 0x1254c367,
]);

/**
 * Reads up to the first cluster, and chooses the track to play. The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", "memory-exhausted", and the errors of
 * the source
 */
export async function openMatroska(
  parts: ReaderParts,
  _leading: unknown,
  { isLengthNeeded = true }: { readonly isLengthNeeded?: boolean | undefined },
): Promise<Demuxer> {
  const header = await readMatroskaHeader(new ByteCursor(parts.source), parts.work);
  const measuredMs = isLengthNeeded ? await measureMatroska(parts, header) : undefined;
  return new MatroskaDemuxer(parts, { ...header, lengthMs: measuredMs ?? header.lengthMs });
}

class MatroskaDemuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #parts: ReaderParts;
  readonly #header: MatroskaHeader;
  readonly #cursor: ByteCursor;
  readonly #clock: PacketClock;
  readonly #pump: PacketPump;
  #cues: CueTable | undefined;
  #clusterEnd = UNKNOWN_SIZE;
  #clusterUnits = 0;
  /** Time of the first block of a stream or file that does not start at 0; 0 for others. */
  #baseMs: number | undefined;
  /** Where the next packet starts if nothing is missing. */
  #expectedMs: number | undefined;
  /** Padding at the end of the last block, and whether a block started where it begins, not where it ends. */
  #paddingMs = 0;
  #isPaddingConfirmed = false;
  /** Packets of a laced block that are still to be returned. */
  #laced: Packet[] = [];
  #isLost = false;
  #damageBytes = 0;

  constructor(parts: ReaderParts, header: MatroskaHeader) {
    const { tags, lengthMs, track } = header;
    this.#parts = parts;
    this.#header = header;
    this.stream = withTaggedLoudness(track.stream, tags);
    this.info = {
      probeName: "matroska/webm",
      title: tags.title,
      author: tags.author,
      isrc: tags.isrc,
      artworkUrl: undefined,
      lengthMs,
    };
    this.#cues = header.cues;
    this.#baseMs = header.isLive || header.startMs > 0 ? undefined : 0;
    this.#clock = createPacketClock(track.stream, track.frameSamples);
    this.#cursor = new ByteCursor(parts.source, header.firstCluster);
    this.#pump = new PacketPump({
      cursor: this.#cursor,
      work: parts.work,
      step: () => this.#step(),
      stream: () => this.stream,
      isPaddingConfirmed: () => this.#isPaddingConfirmed,
    });
  }

  get isSeekable(): boolean {
    const { source } = this.#parts;
    return source.isRandomAccess && (source.sizeBytes !== undefined || (this.#cues?.count ?? 0) > 0);
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  nextNow(): Packet | undefined {
    return this.#pump.nextNow();
  }

  async seek(positionMs: number): Promise<void> {
    // The first block shows where the time of a recording without a head starts.
    if (this.#baseMs === undefined) await this.#pump.next();
    const { track, lengthMs } = this.#header;
    // A declared length may be too short: where it costs little, the file itself shows its end.
    if (lengthMs !== undefined && positionMs >= lengthMs && !this.isSeekable) return this.#pump.finish();
    const targetMs = Math.max(0, positionMs) - Math.max(track.seekPreRollMs, seekPreRollMs(this.stream));
    if (!this.isSeekable) return this.#seekForward(targetMs);
    await this.#loadCues();
    this.#jump((await this.#findCluster(targetMs)) ?? this.#header.firstCluster);
    this.#pump.dropUntil(targetMs);
  }

  close(): void {
    this.#parts.source.close();
  }

  #seekForward(targetMs: number): void {
    const nextMs = this.#pump.heldMs ?? this.#laced[0]?.timestampMs ?? this.#expectedMs;
    if (nextMs !== undefined && targetMs < nextMs) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this stream only forwards");
    }
    this.#pump.skipUntil(targetMs);
  }

  async #loadCues(): Promise<void> {
    const { cuesPosition, unitMs, segmentStart, track } = this.#header;
    if (this.#cues !== undefined || cuesPosition === undefined) return;
    const { source, work } = this.#parts;
    this.#cues = new CueTable(work);
    const cursor = new ByteCursor(source, cuesPosition);
    const header = await peekElementHeader(cursor);
    if (header?.id !== ID.cues) return;
    cursor.skip(header.headerBytes);
    const sizeBytes = Math.min(header.sizeBytes, CUES_BYTES_MAX);
    const body = await readOwned(cursor, { sizeBytes, work, purpose: "its cue list" });
    this.#cues = await readCues(body, { unitMs, segmentStart, trackNumber: track.number }, work);
  }

  /** The last cluster that starts at or before the target, by the cue list or else by a search. */
  async #findCluster(targetMs: number): Promise<number | undefined> {
    const { track, firstCluster, unitMs, lengthMs } = this.#header;
    const baseMs = this.#baseMs ?? 0;
    const unshiftedMs = targetMs + track.codecDelayMs + baseMs;
    const cues = this.#cues;
    if (cues === undefined || cues.count === 0) {
      return findClusterBefore(this.#parts, {
        startBytes: firstCluster,
        startUnits: baseMs / unitMs,
        units: unshiftedMs / unitMs,
        nearUnits: READ_THROUGH_MS / unitMs,
        endUnits: lengthMs === undefined ? undefined : (baseMs + lengthMs) / unitMs,
      });
    }
    // Cues of a video track say little about the position of its audio: go back half a second further.
    const positionBytes = cues.positionBefore(cues.isOwn ? unshiftedMs : unshiftedMs - 500);
    return Math.max(firstCluster, positionBytes ?? firstCluster);
  }

  #jump(positionBytes: number): void {
    this.#cursor.moveTo(positionBytes);
    this.#clock.reset();
    this.#clusterEnd = UNKNOWN_SIZE;
    this.#expectedMs = undefined;
    this.#laced = [];
    this.#isLost = false;
    this.#damageBytes = 0;
  }

  #step(): Step {
    const waiting = this.#laced.shift();
    if (waiting !== undefined) return waiting;
    if (this.#isLost) return this.#search();
    const cursor = this.#cursor;
    if (!cursor.has(ELEMENT_HEADER_BYTES_MAX) && !cursor.isShort) return WAIT;
    if (cursor.bufferedBytes === 0) return undefined;
    const header = parseElementHeader(cursor.view(ELEMENT_HEADER_BYTES_MAX));
    if (header === undefined) return this.#lose();
    if (cursor.position >= this.#clusterEnd) this.#clusterEnd = UNKNOWN_SIZE;
    switch (header.id) {
      case ID.simpleBlock:
        return this.#simpleBlock(header);
      case ID.blockGroup:
        return this.#blockGroup(header);
      case ID.timestamp:
        return this.#timestamp(header);
      case ID.cluster:
        cursor.skip(header.headerBytes);
        this.#clusterEnd = cursor.position + header.sizeBytes;
        this.#clusterUnits = 0;
        this.#damageBytes = 0;
        return AGAIN;
      case ID.segment:
        cursor.skip(header.headerBytes);
        return AGAIN;
      default:
        return this.#skip(header);
    }
  }

  /**
   * Skips an element that is known but not needed, and an unknown one inside a cluster, where the search behind damage
   * would leave out more. Anything else is damage.
   */
  #skip(header: ElementHeader): Step {
    const end = this.#cursor.position + header.headerBytes + header.sizeBytes;
    const isInside = end <= this.#clusterEnd && end <= (this.#cursor.endBytes ?? Number.MAX_SAFE_INTEGER);
    const isPassed = SKIPPED_IDS.has(header.id) || this.#clusterEnd !== UNKNOWN_SIZE;
    if (!isPassed || !isInside) return this.#lose();
    this.#cursor.moveTo(end);
    return AGAIN;
  }

  #timestamp(header: ElementHeader): Step {
    if (header.sizeBytes > 8) return this.#lose();
    if (!this.#cursor.has(header.headerBytes + header.sizeBytes)) return WAIT;
    this.#cursor.skip(header.headerBytes);
    this.#clusterUnits = readUnsigned(this.#cursor.take(header.sizeBytes));
    return AGAIN;
  }

  #simpleBlock(header: ElementHeader): Step {
    const total = header.headerBytes + header.sizeBytes;
    if (this.#cursor.position + total > this.#clusterEnd || header.sizeBytes < 4) return this.#lose();
    if (!this.#cursor.has(header.headerBytes + 4)) return WAIT;
    const number = this.#trackNumberAt(header.headerBytes);
    if (number !== this.#header.track.number) return this.#skipTo(total);
    if (header.sizeBytes > BLOCK_BYTES_MAX) return this.#lose();
    if (!this.#cursor.has(total)) return WAIT;
    this.#cursor.skip(header.headerBytes);
    return this.#packets(this.#cursor.take(header.sizeBytes), 0);
  }

  /** A block group; real muxers write the block first, before the group's other fields. */
  #blockGroup(header: ElementHeader): Step {
    const total = header.headerBytes + header.sizeBytes;
    if (this.#cursor.position + total > this.#clusterEnd || header.sizeBytes < 6) return this.#lose();
    const sniffBytes = header.headerBytes + Math.min(header.sizeBytes, ELEMENT_HEADER_BYTES_MAX + 2);
    if (!this.#cursor.has(sniffBytes)) return WAIT;
    const first = parseElementHeader(this.#cursor.view(sniffBytes), header.headerBytes);
    if (first?.id === ID.block) {
      const number = this.#trackNumberAt(header.headerBytes + first.headerBytes);
      if (number !== this.#header.track.number) return this.#skipTo(total);
    }
    if (header.sizeBytes > BLOCK_BYTES_MAX) return this.#skipTo(total);
    if (!this.#cursor.has(total)) return WAIT;
    this.#cursor.skip(header.headerBytes);
    let block: Uint8Array | undefined;
    let discardNs = 0;
    for (const { id, body } of readElements(this.#cursor.take(header.sizeBytes), GROUP_FIELDS_MAX)) {
      if (id === ID.block) block = body;
      else if (id === ID.discardPadding) discardNs = readSigned(body);
    }
    return block === undefined ? AGAIN : this.#packets(block, discardNs);
  }

  #trackNumberAt(ahead: number): number {
    const first = this.#cursor.u8(ahead);
    return first >= 0x80 ? first & 0x7f : this.#cursor.u16be(ahead) & 0x3fff;
  }

  #skipTo(ahead: number): Step {
    this.#cursor.skip(ahead);
    return AGAIN;
  }

  /** The packets of a block: returns the first, more (lacing) wait for the next steps. */
  #packets(block: Uint8Array, discardNs: number): Step {
    const { track } = this.#header;
    const parts = splitBlock(block);
    if (parts === undefined || parts.trackNumber !== track.number) return AGAIN;
    const blockMs = (this.#clusterUnits + parts.relativeUnits) * this.#header.unitMs;
    this.#baseMs ??= blockMs;
    const timeMs = blockMs - this.#baseMs - track.codecDelayMs;
    const expectedMs = this.#expectedAt(timeMs);
    const isSeamless = expectedMs !== undefined && Math.abs(timeMs - expectedMs) <= TIME_TOLERANCE_MS;
    let timestampMs = isSeamless ? expectedMs : timeMs;
    let first: Packet | undefined;
    let trimEndSamples = 0;
    for (let index = 0; index < parts.frames.length; index++) {
      const frame = parts.frames[index]!;
      const data = track.strippedPrefix === undefined ? frame : joinBytes(track.strippedPrefix, frame);
      const samples = this.#clock.count(data);
      const durationMs = (1000 * samples) / this.stream.sampleRateHz;
      const isLast = index === parts.frames.length - 1;
      const discarded = isLast && discardNs > 0 ? Math.round((discardNs * this.stream.sampleRateHz) / 1e9) : 0;
      trimEndSamples = Math.min(discarded, samples);
      const packet = { data, timestampMs, durationMs, trimEndSamples };
      // Nearly every block is one packet: no list for that.
      if (first === undefined) first = packet;
      else this.#laced.push(packet);
      timestampMs += durationMs;
    }
    this.#expectedMs = timestampMs;
    this.#paddingMs = (1000 * trimEndSamples) / this.stream.sampleRateHz;
    return first ?? AGAIN;
  }

  /** Where a block of that time follows the one before: behind its padding, or in place of it. */
  #expectedAt(timeMs: number): number | undefined {
    const endMs = this.#expectedMs;
    if (endMs === undefined) return undefined;
    this.#isPaddingConfirmed = endMs - timeMs > this.#paddingMs / 2;
    return this.#isPaddingConfirmed ? endMs - this.#paddingMs : endMs;
  }

  /** The data here is invalid: the next steps search for a cluster. */
  #lose(): Step {
    this.#isLost = true;
    this.#cursor.skip(1);
    return AGAIN;
  }

  #search(): Step {
    const cursor = this.#cursor;
    if (!cursor.has(CLUSTER_ID_BYTES.length)) return WAIT;
    const { isFound, skippedBytes } = cursor.scanFor(CLUSTER_ID_BYTES);
    this.#damageBytes += skippedBytes;
    if (this.#damageBytes > DAMAGE_BYTES_MAX) return undefined;
    if (!isFound) return AGAIN;
    this.#isLost = false;
    this.#clusterEnd = UNKNOWN_SIZE;
    this.#clock.reset();
    return AGAIN;
  }
}

function joinBytes(prefix: Uint8Array, rest: Uint8Array): Uint8Array {
  const joined = new Uint8Array(prefix.length + rest.length);
  joined.set(prefix);
  joined.set(rest, prefix.length);
  return joined;
}
