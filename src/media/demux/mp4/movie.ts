// Reads the `moov` box of an MP4 file (ISO 14496-12 section 8.2): the audio track that is played, its sample table,
// where its audio starts and ends, and the tags. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { AudioStream } from "../../format/packet.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import type { ContainerInfo } from "../demuxer.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import type { Tags } from "../tags.ts";
import { Fields, findBox, readBoxes } from "./box.ts";
import type { Gapless } from "./item-list.ts";
import { type Boxes, readMovieBoxes } from "./movie-boxes.ts";
import { type EntryResult, readSampleEntry, type SampleEntry } from "./sample-entry.ts";
import { SampleTable } from "./sample-table.ts";

export interface Movie {
  readonly trackId: number;
  readonly stream: AudioStream;
  /** Units of the track's times in a second. */
  readonly timescale: number;
  readonly table: SampleTable;
  /** Time of the first audible sample, and of the first that is no longer audible (infinite: play all). */
  readonly startTicks: number;
  readonly endTicks: number;
  /** Length of the track's media in ticks from the header; 0 when it has none. */
  readonly mediaTicks: number;
  readonly tags: Tags;
  /** Set when samples come in fragments: their defaults, and the whole length if declared. */
  readonly fragments: FragmentDefaults | undefined;
}

export interface FragmentDefaults {
  readonly durationTicks: number;
  readonly sizeBytes: number;
  /** Undefined when not declared. */
  readonly lengthMs: number | undefined;
}

interface MovieReading {
  /** Where the `moov` box ends. */
  readonly endBytes: number;
  readonly work: DemuxWork;
}

/** Reads from the first child of `moov` to its end. Throws NodeErrors with the reason when there is nothing to play. */
export async function readMovie(cursor: ByteCursor, { endBytes, work }: MovieReading): Promise<Movie> {
  const refused: string[] = [];
  let entry: SampleEntry | undefined;
  const isNeeded = (track: Boxes): boolean => {
    const result = readEntry(track);
    if ("unsupported" in result) refused.push(result.unsupported);
    else entry = result;
    return entry !== undefined;
  };
  const { own, track, list } = await readMovieBoxes(cursor, { endBytes, work, isNeeded });
  if (track !== undefined && entry !== undefined) {
    const table = await SampleTable.read(track, { work, fileBytes: cursor.endBytes });
    const context = { movieTimescale: readTimescale(own.get("mvhd")), gapless: list.gapless, entry, table };
    const found = describeTrack(track, context);
    const fragments = readFragmentDefaults(own.get("mvex"), { track: found, movieTimescale: context.movieTimescale });
    return { ...found, stream: withTaggedLoudness(found.stream, list.tags), tags: list.tags, fragments };
  }
  if (refused.length === 0) throw new NodeError("media-no-audio", "the MP4 file holds no audio track");
  const names = refused.slice(0, 8).join(", ").slice(0, 200);
  throw new NodeError("media-unsupported-codec", `cannot play the audio codec of the MP4 file: ${names}`);
}

function readEntry(track: Boxes): EntryResult {
  const timescale = readTimescale(track.get("mdhd"));
  const stsd = track.get("stsd");
  if (stsd !== undefined && timescale > 0) return readSampleEntry(stsd, timescale);
  throw new NodeError("media-damaged", "the MP4 file cannot be read: its audio track has no tables");
}

/** Units per second of a movie or media header; both have it at the same offset. */
function readTimescale(header: Uint8Array | undefined): number {
  const fields = new Fields(header ?? new Uint8Array(0));
  return fields.u8(0) === 1 ? fields.u32(20) : fields.u32(12);
}

interface TrackContext {
  readonly movieTimescale: number;
  readonly gapless: Gapless | undefined;
  readonly entry: SampleEntry;
  readonly table: SampleTable;
}

type Track = Omit<Movie, "tags" | "fragments">;

function describeTrack(track: Boxes, context: TrackContext): Track {
  const { entry, table } = context;
  const timescale = readTimescale(track.get("mdhd"));
  const header = new Fields(track.get("tkhd") ?? NOTHING);
  const media = new Fields(track.get("mdhd") ?? NOTHING);
  return {
    trackId: header.u8(0) === 1 ? header.u32(20) : header.u32(12),
    stream: entry.stream,
    timescale,
    table,
    mediaTicks: readDuration(media, { narrow: 16, wide: 24 }),
    ...readRange(track.get("elst"), { ...context, timescale }),
  };
}

const NOTHING = new Uint8Array(0);

/** A duration field; all bits set means unknown. */
function readDuration(fields: Fields, offsets: { narrow: number; wide: number }): number {
  const ticks = fields.u8(0) === 1 ? fields.u64(offsets.wide) : fields.u32(offsets.narrow);
  return ticks >= 2 ** 53 || ticks === 0xffffffff ? 0 : ticks;
}

interface RangeContext extends TrackContext {
  readonly timescale: number;
}

/** The audible range: by the edit list (section 8.6.6), else by iTunes' note, else by the codec. */
function readRange(elst: Uint8Array | undefined, context: RangeContext): { startTicks: number; endTicks: number } {
  const { timescale, gapless, entry, table, movieTimescale } = context;
  const { stream, preSkipSamples } = entry;
  const { totalTicks } = table;
  const preSkipTicks = (preSkipSamples * timescale) / stream.sampleRateHz;
  const edit = readEdit(elst);
  const all = { startTicks: preSkipTicks, endTicks: Number.POSITIVE_INFINITY };
  if (gapless !== undefined && (edit === undefined || edit.mediaTicks <= 0)) {
    const ticksPerSample = timescale / stream.sampleRateHz;
    const startTicks = gapless.delaySamples * ticksPerSample;
    return { startTicks, endTicks: startTicks + gapless.musicSamples * ticksPerSample };
  }
  if (edit === undefined) return all;
  const startTicks = Math.max(0, edit.mediaTicks);
  if (edit.durationUnits === 0 || movieTimescale === 0) return { startTicks, endTicks: all.endTicks };
  const endTicks = startTicks + (edit.durationUnits * timescale) / movieTimescale;
  // The edit's length is in coarse units: when it means "to the end", the table is more exact.
  const isWhole = Math.abs(endTicks - totalTicks) <= (1.01 * timescale) / movieTimescale;
  return { startTicks, endTicks: isWhole ? all.endTicks : endTicks };
}

/** The first edit that shows media (empty ones before it only delay the start against the picture). */
function readEdit(elst: Uint8Array | undefined): { durationUnits: number; mediaTicks: number } | undefined {
  if (elst === undefined) return undefined;
  const fields = new Fields(elst);
  const isWide = fields.u8(0) === 1;
  const entryBytes = isWide ? 20 : 12;
  for (let index = 0; index < Math.min(fields.u32(4), 16); index++) {
    const at = 8 + index * entryBytes;
    if (at + entryBytes > fields.sizeBytes) return undefined;
    const mediaTicks = isWide ? fields.s64(at + 8) : fields.s32(at + 4);
    if (mediaTicks >= 0) return { durationUnits: isWide ? fields.u64(at) : fields.u32(at), mediaTicks };
  }
  return undefined;
}

function readFragmentDefaults(
  extends_: Uint8Array | undefined,
  context: { track: Track; movieTimescale: number },
): FragmentDefaults | undefined {
  if (extends_ === undefined || context.track.table.sampleCount > 0) return undefined;
  let found = { durationTicks: 0, sizeBytes: 0 };
  for (const { type, body } of readBoxes(extends_)) {
    const fields = new Fields(body);
    if (type !== "trex" || fields.u32(4) !== context.track.trackId) continue;
    found = { durationTicks: fields.u32(12), sizeBytes: fields.u32(16) };
  }
  const header = new Fields(findBox(extends_, "mehd") ?? new Uint8Array(0));
  const units = header.u8(0) === 1 ? header.u64(4) : header.u32(4);
  const isKnown = units > 0 && context.movieTimescale > 0;
  return { ...found, lengthMs: isKnown ? Math.floor((1000 * units) / context.movieTimescale) : undefined };
}

/** Container facts from the movie; fragmented files find their length elsewhere. */
export function mp4Info(movie: Movie, lengthMs: number | undefined): ContainerInfo {
  const { title, author, isrc } = movie.tags;
  return { probeName: "mp4", title, author, isrc, artworkUrl: undefined, lengthMs };
}
