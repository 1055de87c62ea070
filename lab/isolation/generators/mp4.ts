// MP4 files as trees: whole and fragmented, AAC, ALAC, FLAC, Opus and MP3, with all tables of an audio track.

import { ascii, be, concat } from "../../media-files/bytes.ts";
import { flacStreamInfo } from "../../media-files/containers.ts";
import { type Field, type GroupField, group, num, raw, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";

type Random = () => number;

function box(name: string, fields: Field[], isLarge = false): GroupField {
  const wrap: Wrap = (body, claimed) =>
    isLarge ? concat(be(1, 4), ascii(name), be(claimed + 16, 8), body) : concat(be(claimed + 8, 4), ascii(name), body);
  return group(name, fields, wrap);
}

function fullBox(name: string, fields: Field[], flags = 0, version = 0): GroupField {
  return box(name, [num("version", version, 1), num("flags", flags, 3), ...fields]);
}

/** Rows of numbers of four bytes, by name, or of what `valueBytes` says. */
function table(
  name: string,
  rows: readonly Readonly<Record<string, number>>[],
  { before = [], valueBytes = 4 }: { before?: Field[]; valueBytes?: number } = {},
): GroupField {
  const entries = rows.map((row) =>
    group(
      "entry",
      Object.entries(row).map(([field, value]) => num(field, value, valueBytes)),
    ),
  );
  return fullBox(name, [...before, num("count", rows.length, 4), ...entries]);
}

function descriptor(tag: number, fields: Field[]): GroupField {
  return group(`descriptor ${tag}`, fields, (body, claimed) => concat(Uint8Array.of(tag, claimed & 0x7f), body));
}

/** The decoder's kind, and what else its description holds. */
function esds(object: number, ...more: Field[]): GroupField {
  const decoder = [
    num("object", object, 1),
    num("stream", 0x15, 1),
    num("buffer", 0, 3),
    num("max", 0, 4),
    num("average", 0, 4),
    ...more,
  ];
  return fullBox("esds", [descriptor(3, [num("id", 1, 2), num("stream flags", 0, 1), descriptor(4, decoder)])]);
}

const CONFIGS: readonly (() => readonly [name: string, config: GroupField])[] = [
  () => ["mp4a", esds(0x40, descriptor(5, [num("config", 0x1210, 2)]))],
  () => ["mp4a", esds(0x6b)],
  () => [
    "alac",
    fullBox("alac", [
      num("frame samples", 4096, 4),
      num("compatible", 0, 1),
      num("bits", 16, 1),
      num("pb", 40, 1),
      num("mb", 10, 1),
      num("kb", 14, 1),
      num("channels", 2, 1),
      num("max run", 255, 2),
      num("max frame", 0, 4),
      num("bitrate", 0, 4),
      num("rate", 44_100, 4),
    ]),
  ],
  () => [
    "fLaC",
    fullBox("dfLa", [
      num("block", 0x80, 1),
      num("size", 34, 3),
      raw("stream info", flacStreamInfo({ rateHz: 44_100 })),
    ]),
  ],
  () => [
    "Opus",
    box("dOps", [
      num("version", 0, 1),
      num("channels", 2, 1),
      num("pre-skip", 312, 2),
      num("rate", 48_000, 4),
      num("gain", 0, 2),
      num("family", 0, 1),
    ]),
  ],
];

function sampleEntry(random: Random): GroupField {
  const [name, config] = (pick(CONFIGS, random) ?? CONFIGS[0]!)();
  const head = [
    raw("reserved", new Uint8Array(6)),
    num("data reference", 1, 2),
    num("entry version", 0, 2),
    raw("reserved 2", new Uint8Array(6)),
  ];
  return box(name, [
    ...head,
    num("channels", 2, 2),
    num("sample bits", 16, 2),
    num("reserved 3", 0, 4),
    num("rate", 44_100, 2),
    num("rate fraction", 0, 2),
    config,
  ]);
}

function audioTrack(entry: GroupField, tables: Field[]): GroupField {
  const stbl = box("stbl", [fullBox("stsd", [num("count", 1, 4), entry]), ...tables]);
  const mdhd = fullBox("mdhd", [
    num("created", 0, 4),
    num("modified", 0, 4),
    num("time scale", 44_100, 4),
    num("duration", 441_000, 4),
    num("language", 0, 4),
  ]);
  const edit = box("edts", [table("elst", [{ length: 10_000, "media time": 1024, rate: 65_536 }])]);
  const handler = fullBox("hdlr", [num("reserved", 0, 4), raw("kind", "soun"), raw("rest", new Uint8Array(13))]);
  const header = fullBox("tkhd", [raw("times", new Uint8Array(8)), num("id", 1, 4), raw("rest", new Uint8Array(68))]);
  return box("trak", [
    header,
    edit,
    box("mdia", [mdhd, handler, box("minf", [fullBox("smhd", [num("balance", 0, 4)]), stbl])]),
  ]);
}

function movie(track: GroupField, more: Field[]): GroupField {
  const header = fullBox("mvhd", [
    raw("times", new Uint8Array(8)),
    num("time scale", 1000, 4),
    num("duration", 10_000, 4),
    raw("rest", new Uint8Array(80)),
  ]);
  const item = (name: string, value: string) =>
    box(name, [box("data", [num("type", 1, 4), num("locale", 0, 4), raw("text", value)])]);
  const list = box("ilst", [item("\u00a9nam", "title"), item("\u00a9ART", "artist")]);
  const meta = fullBox("meta", [
    fullBox("hdlr", [num("reserved", 0, 4), raw("kind", "mdirappl"), raw("rest", new Uint8Array(9))]),
    list,
  ]);
  return box("moov", [header, track, box("udta", [meta]), ...more]);
}

function sampleSizes(sizes: readonly number[]): GroupField {
  return table(
    "stsz",
    sizes.map((size) => ({ size })),
    { before: [num("size for all", 0, 4)] },
  );
}

function whole(random: Random): Field[] {
  const count = 1 + Math.floor(random() * 60);
  const sizes = Array.from({ length: count }, () => 6 + Math.floor(random() * 60));
  const dataBytes = sizes.reduce((sum, size) => sum + size, 0);
  const data = box("mdat", [raw("samples", noise(dataBytes, random))], random() < 0.2);
  const isFirst = random() < 0.5;
  const offsets = [{ offset: isFirst ? 32 : 1000 }];
  const tables = [
    table("stts", [{ samples: count, delta: 1024 }]),
    table("stsc", [{ "first chunk": 1, samples: count, description: 1 }]),
    sampleSizes(sizes),
    random() < 0.5 ? table("stco", offsets) : table("co64", offsets, { valueBytes: 8 }),
  ];
  const head = movie(audioTrack(sampleEntry(random), tables), []);
  return isFirst ? [data, head] : [head, data];
}

function fragmented(random: Random): Field[] {
  const empty = ["stts", "stsc", "stco"].map((name) => table(name, []));
  const trex = fullBox("trex", [
    num("track", 1, 4),
    num("description", 1, 4),
    num("delta", 1024, 4),
    num("size", 60, 4),
    num("flags", 0, 4),
  ]);
  const moov = movie(audioTrack(sampleEntry(random), [...empty, sampleSizes([])]), [box("mvex", [trex])]);
  const fragment = (index: number): Field[] => {
    const count = 1 + Math.floor(random() * 10);
    const rows = Array.from({ length: count }, () => group("entry", [num("duration", 1024, 4), num("size", 60, 4)]));
    const run = fullBox("trun", [num("count", count, 4), num("data offset", 100 + count * 8, 4), ...rows], 0x301);
    const traf = box("traf", [
      fullBox("tfhd", [num("track", 1, 4)], 0x020000),
      fullBox("tfdt", [num("time", index * 10_240, 4)]),
      run,
    ]);
    return [
      box("moof", [fullBox("mfhd", [num("sequence", index, 4)]), traf]),
      box("mdat", [raw("samples", noise(count * 60, random))]),
    ];
  };
  const reference = group("entry", [num("size", 1000, 4), num("duration", 10_240, 4), num("sap", 0, 4)]);
  const sidx = fullBox("sidx", [
    num("id", 1, 4),
    num("time scale", 44_100, 4),
    num("earliest", 0, 4),
    num("first", 0, 4),
    num("reserved", 0, 2),
    num("count", 2, 2),
    reference,
    group("entry", reference.fields),
  ]);
  return [
    moov,
    ...(random() < 0.5 ? [sidx] : []),
    ...Array.from({ length: 1 + Math.floor(random() * 5) }, (_, index) => fragment(index)).flat(),
  ];
}

export function buildMp4(random: Random): GroupField {
  const head = box("ftyp", [raw("brand", "M4A "), num("minor", 0, 4), raw("compatible", "isom")]);
  return group("file", [head, ...(random() < 0.6 ? whole(random) : fragmented(random))]);
}
