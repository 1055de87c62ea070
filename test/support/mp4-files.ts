// Small MP4 files with tables that say what the test wants, true or not: samples in `moov`, in fragments, or both.

import { ascii, be, concat } from "../../lab/media-files/bytes.ts";
import { box, fullBox } from "../../lab/media-files/containers.ts";

const RATE_HZ = 44_100;
const SAMPLE_BYTES = 32;

/** Runs of samples: how many, and how long each lasts in ticks. */
type Runs = readonly (readonly [count: number, ticks: number])[];

interface Mp4File {
  /** Samples in `moov`; none by default. */
  readonly runs?: Runs;
  /** Number of samples in the size table, when not that of the runs. */
  readonly sampleCount?: number;
  readonly fragments?: readonly Fragment[];
  /** Units per second of the track, and of the movie. */
  readonly timescale?: number;
  readonly mediaTicks?: number;
  /** Movie header's whole length with its fragments (mehd), in milliseconds. */
  readonly declaredMs?: number;
  /** Edits: length in milliseconds, start in ticks. */
  readonly edits?: readonly (readonly [lengthMs: number, mediaTicks: number])[];
  readonly entry?: Uint8Array;
  /** Bytes of each sample: one number for all, in the table too. */
  readonly fixedBytes?: { readonly declared: number; readonly actual: number };
  readonly items?: Uint8Array;
  /** An index of the fragments at the end of the file (mfra). */
  readonly hasTailIndex?: boolean;
}

interface Fragment {
  readonly startTicks: number;
  /** Each sample's. */
  readonly durations: readonly number[];
  /** A `sidx` of this fragment alone in front of it. */
  readonly hasIndex?: boolean;
  /** Bytes of a video track whose data is in front; then the audio is declared to start where that ends. */
  readonly videoBytes?: number;
  /** False: it does not say when it starts (no `tfdt`), as old muxers. */
  readonly hasTime?: boolean;
}

/** The sample entry `mp4a` with an elementary stream descriptor. */
export function mp4aEntry(objectType: number, config: Uint8Array | undefined): Uint8Array {
  const own = config === undefined ? new Uint8Array(0) : concat(Uint8Array.of(5, config.length), config);
  const decoder = concat(Uint8Array.of(objectType, 0x15), new Uint8Array(11), own);
  const stream = concat(be(1, 2), be(0, 1), Uint8Array.of(4, decoder.length), decoder);
  return soundEntry("mp4a", { extra: fullBox("esds", Uint8Array.of(3, stream.length), stream) });
}

export function soundEntry(
  type: string,
  { channels = 2, bits = 16, extra = new Uint8Array(0) }: { channels?: number; bits?: number; extra?: Uint8Array } = {},
): Uint8Array {
  const head = concat(new Uint8Array(6), be(1, 2), be(0, 8), be(channels, 2), be(bits, 2), be(0, 4), be(RATE_HZ, 2));
  return box(type, head, be(0, 2), extra);
}

/** AAC-LC, stereo, 44.1 kHz. */
const AAC_ENTRY = mp4aEntry(0x40, Uint8Array.of(0x12, 0x10));

export function mp4File(file: Mp4File): Uint8Array {
  const head = box("ftyp", ascii("isom"), be(0, 4));
  const moovBytes = movie(file, 0).length;
  const dataStart = head.length + moovBytes + 8;
  const samples = sampleData(countOf(file.runs), file.fixedBytes?.actual);
  const table = file.runs === undefined ? new Uint8Array(0) : box("mdat", samples);
  const parts = [head, movie(file, dataStart), table];
  const entries: Uint8Array[] = [];
  let positionBytes = concat(...parts).length;
  for (const [index, fragment] of (file.fragments ?? []).entries()) {
    entries.push(concat(be(fragment.startTicks, 4), be(positionBytes, 4), Uint8Array.of(1, 1, 1)));
    const boxes = fragmentBoxes(fragment, index);
    positionBytes += boxes.length;
    parts.push(boxes);
  }
  if (file.hasTailIndex === true) {
    const tfra = fullBox("tfra", be(1, 4), be(0, 4), be(entries.length, 4), ...entries);
    parts.push(box("mfra", tfra, fullBox("mfro", be(8 + tfra.length + 16, 4))));
  }
  return concat(...parts);
}

function countOf(runs: Runs = []): number {
  return runs.reduce((sum, [count]) => sum + count, 0);
}

/** Samples that can be told apart by their first two bytes. */
function sampleData(count: number, sizeBytes = SAMPLE_BYTES): Uint8Array {
  const data = new Uint8Array(count * sizeBytes);
  for (let index = 0; index < count && sizeBytes > 1; index++) data.set(be(index, 2), index * sizeBytes);
  return data;
}

function movie(file: Mp4File, dataStart: number): Uint8Array {
  const { runs = [], timescale = RATE_HZ, fragments, declaredMs, edits, items } = file;
  const mediaTicks = file.mediaTicks ?? runs.reduce((sum, [count, ticks]) => sum + count * ticks, 0);
  const mvhd = fullBox("mvhd", be(0, 8), be(1000, 4), be(0, 4), new Uint8Array(80));
  const tkhd = fullBox("tkhd", be(0, 8), be(1, 4), new Uint8Array(68));
  const mdhd = fullBox("mdhd", be(0, 8), be(timescale, 4), be(mediaTicks, 4), be(0, 4));
  const hdlr = fullBox("hdlr", be(0, 4), ascii("soun"), new Uint8Array(13));
  const rows = (edits ?? []).map(([length, start]) => concat(be(length, 4), be(start, 4), be(0x10000, 4)));
  const edts = edits === undefined ? new Uint8Array(0) : box("edts", fullBox("elst", be(rows.length, 4), ...rows));
  const trak = box("trak", tkhd, edts, box("mdia", mdhd, hdlr, box("minf", sampleTables(file, dataStart))));
  const mehd = declaredMs === undefined ? new Uint8Array(0) : fullBox("mehd", be(declaredMs, 4));
  const trex = fullBox("trex", be(1, 4), be(1, 4), be(1024, 4), be(0, 4), be(0, 4));
  const tags = items === undefined ? new Uint8Array(0) : box("udta", fullBox("meta", box("ilst", items)));
  return box("moov", mvhd, trak, fragments === undefined ? new Uint8Array(0) : box("mvex", mehd, trex), tags);
}

function sampleTables(file: Mp4File, dataStart: number): Uint8Array {
  const { runs = [], entry = AAC_ENTRY, fixedBytes } = file;
  const held = countOf(runs);
  const count = file.sampleCount ?? held;
  const times = runs.map(([samples, ticks]) => concat(be(samples, 4), be(ticks, 4)));
  const sizes = Array.from({ length: fixedBytes === undefined ? count : 0 }, () => be(SAMPLE_BYTES, 4));
  const chunks = count === 0 ? [] : [be(dataStart, 4)];
  return box(
    "stbl",
    fullBox("stsd", be(1, 4), entry),
    fullBox("stts", be(times.length, 4), ...times),
    fullBox("stsc", be(chunks.length, 4), ...chunks.map(() => concat(be(1, 4), be(count, 4), be(1, 4)))),
    fullBox("stsz", be(fixedBytes?.declared ?? 0, 4), be(count, 4), ...sizes),
    fullBox("stco", be(chunks.length, 4), ...chunks),
  );
}

function fragmentBoxes({ startTicks, durations, hasIndex, videoBytes, hasTime }: Fragment, index: number): Uint8Array {
  const runBytes = 20 + 8 * durations.length;
  const hasVideo = videoBytes !== undefined;
  const moofBytes = 8 + 16 + (hasVideo ? 8 + 16 + 24 : 0) + 8 + 16 + 20 + runBytes;
  const videoRun = box("trun", be(0x201, 4), be(1, 4), be(moofBytes + 8, 4), be(videoBytes ?? 0, 4));
  const video = hasVideo ? box("traf", box("tfhd", be(0, 4), be(2, 4)), videoRun) : new Uint8Array(0);
  const rows = durations.map((ticks) => concat(be(ticks, 4), be(SAMPLE_BYTES, 4)));
  const traf = box(
    "traf",
    box("tfhd", be(hasVideo ? 0 : 0x020000, 4), be(1, 4)),
    box(hasTime === false ? "free" : "tfdt", be(0x01000000, 4), be(startTicks, 8)),
    box("trun", be(0x301, 4), be(durations.length, 4), be(hasVideo ? 0 : moofBytes + 8, 4), ...rows),
  );
  const moof = box("moof", fullBox("mfhd", be(index + 1, 4)), video, traf);
  const mdat = box("mdat", new Uint8Array(videoBytes ?? 0).fill(0xff), sampleData(durations.length));
  if (hasIndex !== true) return concat(moof, mdat);
  const ticks = durations.reduce((sum, duration) => sum + duration, 0);
  const reference = concat(be(moof.length + mdat.length, 4), be(ticks, 4), be(0x90000000, 4));
  const sidx = fullBox("sidx", be(1, 4), be(RATE_HZ, 4), be(startTicks, 4), be(0, 4), be(1, 4), reference);
  return concat(sidx, moof, mdat);
}
