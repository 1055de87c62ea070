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
import { type SampleFrame, SampleTable } from "./sample-table.ts";

export interface Movie {
  readonly trackId: number;
  readonly stream: AudioStream;
  /** Units of the track's times in a second. */
  readonly timescale: number;
  readonly table: SampleTable;
  readonly frame: SampleFrame;
  /** Time of the first audible sample, and of the first that is no longer audible (infinite: play all). */
  readonly startTicks: number;
  readonly endTicks: number;
  /** Length of the track's media in ticks from the header; 0 when it has none. */
  readonly mediaTicks: number;
  readonly tags: Tags;
  /** Set when fragments may follow: their defaults, and the whole length if declared. */
  readonly fragments: FragmentDefaults | undefined;
}

interface FragmentDefaults {
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
    const frame = frameOf(entry, readTimescale(track.get("mdhd")));
    const table = await SampleTable.read(track, { work, fileBytes: cursor.endBytes, frame });
    const movieTimescale = readTimescale(own.get("mvhd"));
    const hasFragments = own.has("mvex");
    const context = { movieTimescale, gapless: list.gapless, entry, table, frame, hasFragments };
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

/** Samples of a packet whose codec allows several lengths; used only where the table says nothing. */
const USUAL_SAMPLES: Partial<Record<AudioStream["codec"], number>> = { opus: 960, mp3: 1152, flac: 4096 };

function frameOf({ stream, frameSamples, frameRateHz, frameBytes }: SampleEntry, timescale: number): SampleFrame {
  const samples = frameSamples || (USUAL_SAMPLES[stream.codec] ?? 0);
  return { ticks: (samples * timescale) / frameRateHz, isFixed: frameSamples > 0, sizeBytes: frameBytes };
}

interface TrackContext {
  readonly movieTimescale: number;
  readonly gapless: Gapless | undefined;
  readonly entry: SampleEntry;
  readonly table: SampleTable;
  readonly frame: SampleFrame;
  readonly hasFragments: boolean;
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
    frame: context.frame,
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

interface Range {
  readonly startTicks: number;
  readonly endTicks: number;
}

/** The audible range: by the edit list (section 8.6.6), else by iTunes' note, else by the codec. */
function readRange(elst: Uint8Array | undefined, context: RangeContext): Range {
  const { timescale, gapless, entry, table, movieTimescale } = context;
  const { stream, preSkipSamples } = entry;
  const { totalTicks } = table;
  const startTicks = (preSkipSamples * timescale) / stream.sampleRateHz;
  const all = { startTicks, endTicks: Number.POSITIVE_INFINITY };
  const edit = readEdits(elst, movieTimescale === 0 ? 0 : timescale / movieTimescale);
  const noted = gapless === undefined ? undefined : readGapless(gapless, context);
  if (noted !== undefined && (edit === undefined || edit.startTicks === 0)) return noted;
  // An edit list that leaves nothing is wrong, and one in front of fragments covers only what was known then.
  if (edit === undefined || (edit.startTicks >= totalTicks && totalTicks > 0)) return all;
  // The edit's length is in coarse units: when it means "to the end", the table is more exact.
  const isWhole = Math.abs(edit.endTicks - totalTicks) <= (1.01 * timescale) / movieTimescale;
  return isWhole || context.hasFragments ? { ...edit, endTicks: all.endTicks } : edit;
}

/** iTunes' note, when it is about as many samples as there are. */
function readGapless(gapless: Gapless, { timescale, entry, table, frame }: RangeContext): Range | undefined {
  const { delaySamples, musicSamples, paddingSamples } = gapless;
  const notedSamples = delaySamples + musicSamples + paddingSamples;
  // HE-AAC may be counted at twice the rate of the track.
  for (const rateHz of [entry.stream.sampleRateHz, 2 * entry.stream.sampleRateHz]) {
    const ticksPerSample = timescale / rateHz;
    const startTicks = delaySamples * ticksPerSample;
    if (table.totalTicks === 0) return { startTicks, endTicks: Number.POSITIVE_INFINITY };
    if (Math.abs(notedSamples * ticksPerSample - table.totalTicks) > 4 * frame.ticks) continue;
    return { startTicks, endTicks: startTicks + musicSamples * ticksPerSample };
  }
  return undefined;
}

/**
 * From the first to the last moment that the edits show. Empty ones only delay the start against the picture; what lies
 * between two others is played as well. `scale` is the ticks in a unit of the edits' lengths.
 */
function readEdits(elst: Uint8Array | undefined, scale: number): Range | undefined {
  if (elst === undefined) return undefined;
  const fields = new Fields(elst);
  const isWide = fields.u8(0) === 1;
  const entryBytes = isWide ? 20 : 12;
  let range: Range | undefined;
  for (let index = 0; index < Math.min(fields.u32(4), EDITS_MAX); index++) {
    const at = 8 + index * entryBytes;
    if (at + entryBytes > fields.sizeBytes) break;
    const mediaTicks = isWide ? fields.s64(at + 8) : fields.s32(at + 4);
    if (mediaTicks < 0) continue;
    const lengthTicks = (isWide ? fields.u64(at) : fields.u32(at)) * scale;
    // A length of 0 is that of fragments that were still to come.
    const endTicks = lengthTicks === 0 ? Number.POSITIVE_INFINITY : mediaTicks + lengthTicks;
    range = {
      startTicks: Math.min(range?.startTicks ?? mediaTicks, mediaTicks),
      endTicks: Math.max(range?.endTicks ?? endTicks, endTicks),
    };
  }
  return range;
}

/** Edits that are read. */
const EDITS_MAX = 1024;

function readFragmentDefaults(
  extends_: Uint8Array | undefined,
  context: { track: Track; movieTimescale: number },
): FragmentDefaults | undefined {
  if (extends_ === undefined) return undefined;
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
