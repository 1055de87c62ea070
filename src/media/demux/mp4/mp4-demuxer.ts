// Opens MP4, M4A and MOV files and reads those with one index for the whole file; passes fragmented ones to
// fragmented-demuxer.ts. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream, Packet } from "../../format/packet.ts";
import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import type { ContainerInfo, Demuxer } from "../demuxer.ts";
import { readOwned } from "../owned-bytes.ts";
import { PacketPump } from "../packet-pump.ts";
import { spoolSource } from "../spooled-source.ts";
import { BOX_HEADER_BYTES_MAX, parseBoxHeader } from "./box.ts";
import { type Mp4Head, readSegmentIndex, type SegmentIndex } from "./fragment.ts";
import { openFragmented } from "./fragmented-demuxer.ts";
import { type Movie, mp4Info, readMovie } from "./movie.ts";
import { Mp4Packets } from "./mp4-packets.ts";
import { TableReader } from "./table-reader.ts";

/** Largest `moov` that is read: the tables of a film of several hours take about 16 MiB. */
const MOVIE_BYTES_MAX = 64 * 1024 * 1024;
const INDEX_BYTES_MAX = 1024 * 1024;
/** Boxes at the top of the file in front of the audio. */
const BOX_COUNT_MAX = 1024;

/**
 * Reads up to the audio. When the index is behind it and the source only goes forward, the audio is buffered in memory.
 * The source stays open when it throws.
 * @throws NodeError "media-damaged", "media-no-audio", "media-unsupported-codec", "memory-exhausted", and the errors of
 * the source
 */
export async function openMp4(
  parts: ReaderParts,
  leading: unknown,
  hints: { readonly isLengthNeeded?: boolean | undefined } = {},
): Promise<Demuxer> {
  const head = await readHead(parts);
  // Stations send fragments; a file with one index has an end.
  if (head === "index-behind-media" || head.movie.fragments === undefined) parts.source.expectEnd?.();
  if (head === "index-behind-media") {
    return openMp4({ ...parts, source: await spoolSource(parts) }, leading, hints);
  }
  if (head.movie.fragments === undefined) return new Mp4Demuxer(parts, head);
  return openFragmented(parts, head, hints.isLengthNeeded ?? true);
}

/** Reads `moov`, and for fragmented files on to the first fragment. */
async function readHead({ source, work }: ReaderParts): Promise<Mp4Head | "index-behind-media"> {
  const cursor = new ByteCursor(source);
  let movie: Movie | undefined;
  let index: SegmentIndex | undefined;
  for (let count = 0; count < BOX_COUNT_MAX; count++) {
    if (work.isSpent) await work.yield();
    const header = parseBoxHeader(await cursor.peek(BOX_HEADER_BYTES_MAX));
    if (header === undefined) break;
    const end = cursor.position + header.sizeBytes;
    const isMediaData = header.type === "mdat" || header.type === "moof";
    if (isMediaData && movie !== undefined) break;
    if (isMediaData && !source.isRandomAccess) return "index-behind-media";
    if (header.type === "moov" && movie === undefined) {
      if (header.sizeBytes > MOVIE_BYTES_MAX) throw damaged("its index is too large");
      cursor.skip(header.headerBytes);
      movie = await readMovie(cursor, { endBytes: end, work });
      if (movie.fragments === undefined) break;
    } else if (header.type === "sidx" && movie !== undefined && index === undefined) {
      cursor.skip(header.headerBytes);
      const sizeBytes = Math.min(header.sizeBytes - header.headerBytes, INDEX_BYTES_MAX);
      const body = await readOwned(cursor, { sizeBytes, work, purpose: "its index" });
      index = await readSegmentIndex(body, { endBytes: end, timescale: movie.timescale, work });
      work.release(body.length);
    }
    if (!Number.isFinite(end)) break;
    cursor.moveTo(end);
  }
  if (movie === undefined) throw damaged("its index (moov) is missing, the file was probably cut off");
  if (movie.fragments === undefined && movie.table.sampleCount === 0) {
    throw new NodeError("media-no-audio", "the MP4 file holds no audio");
  }
  return { movie, index, bodyStart: cursor.position };
}

function damaged(why: string): NodeError {
  return new NodeError("media-damaged", `the MP4 file cannot be read: ${why}`);
}

class Mp4Demuxer implements Demuxer {
  readonly info: ContainerInfo;
  readonly stream: AudioStream;
  readonly #source: ByteSource;
  readonly #movie: Movie;
  readonly #packets: Mp4Packets;
  readonly #pump: PacketPump;

  constructor({ source, work }: ReaderParts, { movie, bodyStart }: Mp4Head) {
    this.#source = source;
    this.#movie = movie;
    this.stream = movie.stream;
    this.info = mp4Info(movie, lengthMsOf(movie));
    this.#packets = new Mp4Packets(movie);
    const cursor = new ByteCursor(source, bodyStart);
    const reader = new TableReader({ source, cursor, movie, packets: this.#packets });
    this.#pump = new PacketPump({ cursor, work, step: () => reader.step() });
  }

  get isSeekable(): boolean {
    return this.#source.isRandomAccess;
  }

  next(): Promise<Packet | undefined> {
    return this.#pump.next();
  }

  async seek(positionMs: number): Promise<void> {
    const { table } = this.#movie;
    const ticks = this.#packets.seekTicks(positionMs);
    if (!this.isSeekable && ticks < table.ticks) {
      throw new NodeError("media-not-seekable", "cannot seek back: the server delivers this file only forwards");
    }
    if (this.info.lengthMs !== undefined && positionMs >= this.info.lengthMs) return this.#pump.finish();
    await table.seek(ticks);
    this.#pump.dropUntil(Number.NEGATIVE_INFINITY);
  }

  close(): void {
    this.#source.close();
  }
}

/** How far the header's length may be from the table's before the table counts. */
const LENGTH_SHARE_MAX = 0.02;

/** Packets that an encoder adds at both ends: an edit list that cuts more shows a part of the audio. */
const PADDING_PACKETS_MAX = 4;

/** The length shown to clients: that of the media with its encoder padding, as in Lavalink, or of the part shown. */
function lengthMsOf({ mediaTicks, table, timescale, frame, startTicks, endTicks }: Movie): number | undefined {
  const isBelieved = Math.abs(mediaTicks - table.totalTicks) <= LENGTH_SHARE_MAX * table.totalTicks;
  const allTicks = isBelieved || table.totalTicks === 0 ? mediaTicks : table.totalTicks;
  const shownTicks = Math.min(allTicks, endTicks) - startTicks;
  const isPart = shownTicks > 0 && allTicks - shownTicks > PADDING_PACKETS_MAX * frame.ticks;
  const ticks = isPart ? shownTicks : allTicks;
  return ticks > 0 ? Math.floor((1000 * ticks) / timescale) : undefined;
}
