// Media files that cost a reader far more than their size suggests: searches that start over, tables that claim much,
// packets without end or audio. Each is built to a size, so that twice the file can be compared with twice the work.

import { ascii, be, concat, le } from "../../lab/media-files/bytes.ts";
import { box, ebml, oggPage } from "../../lab/media-files/containers.ts";
import { opusPacket } from "../../lab/media-files/counted-song.ts";
import { aiffChunk, aiffFile, cafChunk, cafData, cafFile } from "./chunk-builders.ts";
import { id3Tag, mp3Frames, opusHeaders } from "./media-builders.ts";

export interface HostileFile {
  readonly name: string;
  /** Approximate size in bytes. */
  readonly build: (sizeBytes: number) => Uint8Array;
  readonly hints?: { readonly mimeType?: string };
}

function repeat(part: Uint8Array, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(sizeBytes / part.length) * part.length);
  for (let at = 0; at < bytes.length; at += part.length) bytes.set(part, at);
  return bytes;
}

// Matroska

const [OPUS_HEAD, OPUS_TAGS] = opusHeaders();

function trackOf(codecId: string, codecPrivate: Uint8Array): Uint8Array {
  const fields = [ebml(0xd7, be(1, 1)), ebml(0x83, be(2, 1)), ebml(0x86, ascii(codecId)), ebml(0x63a2, codecPrivate)];
  return ebml(0x1654ae6b, ebml(0xae, concat(...fields)));
}

const OPUS_TRACK = trackOf("A_OPUS", OPUS_HEAD);

function matroska(...parts: readonly Uint8Array[]): Uint8Array {
  return concat(ebml(0x1a45dfa3, ebml(0x4282, ascii("webm"))), ebml(0x18538067, concat(...parts)));
}

function cluster(body: Uint8Array): Uint8Array {
  return ebml(0x1f43b675, concat(ebml(0xe7, be(0, 4)), body));
}

/** An element with a size of one byte. */
function small(id: number, body: Uint8Array): Uint8Array {
  return concat(Uint8Array.of(id, 0x80 | body.length), body);
}

/** A block of 7 bytes with 256 empty laces. */
const EMPTY_LACES = small(0xa3, Uint8Array.of(0x81, 0, 0, 0x84, 255));

// Ogg

const OGG_HEADS = concat(
  oggPage({ serial: 7, sequence: 0, granule: 0, flags: 2, packets: [OPUS_HEAD] }),
  oggPage({ serial: 7, sequence: 1, granule: 0, flags: 0, packets: [OPUS_TAGS] }),
);

/** A header without a page: it claims 56 kB. */
const FALSE_PAGE = concat(ascii("OggS"), new Uint8Array(22), Uint8Array.of(255), new Uint8Array(255).fill(221));

function oggPages(sizeBytes: number, packets: readonly Uint8Array[]): Uint8Array {
  const page = (sequence: number) => oggPage({ serial: 7, sequence, granule: 0, flags: 0, packets });
  const count = Math.ceil(sizeBytes / page(2).length);
  return concat(OGG_HEADS, ...Array.from({ length: count }, (_, index) => page(index + 2)));
}

/** A whole stream of two header pages and one packet, repeated. */
function oggLinks(sizeBytes: number): Uint8Array {
  const link = (serial: number) =>
    concat(
      oggPage({ serial, sequence: 0, granule: 0, flags: 2, packets: [OPUS_HEAD] }),
      oggPage({ serial, sequence: 1, granule: 0, flags: 0, packets: [OPUS_TAGS] }),
      oggPage({ serial, sequence: 2, granule: 960, flags: 4, packets: [opusPacket(serial, 8)] }),
    );
  const count = Math.ceil(sizeBytes / link(0).length);
  return concat(...Array.from({ length: count }, (_, serial) => link(serial)));
}

// FLAC

function flac(...parts: readonly Uint8Array[]): Uint8Array {
  const info = concat(be(16, 2), be(4096, 2), new Uint8Array(6), be(0x0ac442f0, 4), be(0, 4), new Uint8Array(16));
  return concat(ascii("fLaC"), flacBlock(0, info), ...parts);
}

function flacBlock(type: number, body: Uint8Array): Uint8Array {
  return concat(Uint8Array.of(type), be(body.length, 3), body);
}

const LAST_BLOCK = flacBlock(0x81, new Uint8Array(0));

/** A frame header of 6 bytes with its checksum: 4096 samples, frame 0. The bytes after it never have number 1. */
const FLAC_FRAME_0 = withCrc8(Uint8Array.of(0xff, 0xf8, 0xc9, 0x18, 0));
/** Number 500: later than the next one, so that a checksum over everything before it is tried. */
const FLAC_FRAME_500 = withCrc8(Uint8Array.of(0xff, 0xf8, 0xc9, 0x18, 0xc7, 0xb4));

function withCrc8(header: Uint8Array): Uint8Array {
  let crc = 0;
  for (const byte of header) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  }
  return concat(header, Uint8Array.of(crc));
}

// MP4

interface Mp4Parts {
  readonly stts?: Uint8Array;
  readonly stsc?: Uint8Array;
  readonly stsz?: Uint8Array;
  readonly stco?: Uint8Array;
  readonly elst?: Uint8Array;
  readonly mvex?: Uint8Array;
  readonly udta?: Uint8Array;
}

function table(entries: Uint8Array, entryBytes: number): Uint8Array {
  return concat(be(0, 4), be(entries.length / entryBytes, 4), entries);
}

/** An index for a FLAC track; the audio is where the tables say. */
function moov(parts: Mp4Parts): Uint8Array {
  const dfla = box("dfLa", be(0, 4), flac().subarray(4, 46));
  const entry = box(
    "fLaC",
    new Uint8Array(8),
    new Uint8Array(8),
    be(2, 2),
    be(16, 2),
    be(0, 4),
    be(44_100 * 65_536, 4),
    dfla,
  );
  const stbl = box(
    "stbl",
    box("stsd", be(0, 4), be(1, 4), entry),
    box("stts", parts.stts ?? table(concat(be(1, 4), be(4096, 4)), 8)),
    box("stsc", parts.stsc ?? table(concat(be(1, 4), be(1, 4), be(1, 4)), 12)),
    box("stsz", parts.stsz ?? concat(be(0, 8), be(1, 4), be(8, 4))),
    box("stco", parts.stco ?? table(be(0, 4), 4)),
  );
  const mdhd = box("mdhd", be(0, 12), be(44_100, 4), be(0, 8));
  const hdlr = box("hdlr", be(0, 8), ascii("soun"), be(0, 13));
  const edts = parts.elst === undefined ? new Uint8Array(0) : box("edts", box("elst", parts.elst));
  const trak = box("trak", box("tkhd", be(0, 12), be(1, 4)), edts, box("mdia", mdhd, hdlr, box("minf", stbl)));
  return box(
    "moov",
    box("mvhd", be(0, 12), be(1000, 4), be(0, 84)),
    trak,
    parts.mvex ?? new Uint8Array(0),
    parts.udta ?? new Uint8Array(0),
  );
}

function mp4(parts: Mp4Parts): Uint8Array {
  return concat(box("ftyp", ascii("isom")), moov(parts), box("mdat", new Uint8Array(4096)));
}

const EMPTY_TABLES: Mp4Parts = {
  stts: table(new Uint8Array(0), 8),
  stsc: table(new Uint8Array(0), 12),
  stsz: be(0, 12),
  stco: table(new Uint8Array(0), 4),
  mvex: box("mvex", box("trex", be(0, 4), be(1, 4), be(1, 4), be(0, 8), be(0, 4))),
};

function fragments(sizeBytes: number, fragment: Uint8Array): Uint8Array {
  return concat(box("ftyp", ascii("isom")), moov(EMPTY_TABLES), repeat(fragment, sizeBytes));
}

function fragment(...runs: readonly Uint8Array[]): Uint8Array {
  const traf = box("traf", box("tfhd", be(0x20000, 4), be(1, 4)), ...runs);
  return concat(box("moof", traf), box("mdat", new Uint8Array(8)));
}

// WAV, MPEG

const ADTS_FRAME = Uint8Array.of(0xff, 0xf1, 0x50, 0x80, 0x01, 0x1f, 0xfc, 0);
const MP3_HEADER = Uint8Array.of(0xff, 0xfb, 0x14, 0xc4);

function tsPacket(payload: Uint8Array): Uint8Array {
  return concat(Uint8Array.of(0x47, 0x01, 0x00, 0x10), payload, new Uint8Array(184 - payload.length).fill(255));
}

/** Each claims, repeats or hides something; none contains music. */
export const HOSTILE_FILES: readonly HostileFile[] = [
  {
    name: "webm: blocks of 256 empty laces",
    build: (size) => matroska(OPUS_TRACK, cluster(repeat(EMPTY_LACES, size))),
  },
  {
    name: "webm: packets without time",
    build: (size) => matroska(OPUS_TRACK, cluster(repeat(small(0xa3, Uint8Array.of(0x81, 0, 0, 0x80, 3)), size))),
  },
  {
    name: "webm: false clusters",
    build: (size) => matroska(OPUS_TRACK, repeat(Uint8Array.of(0x1f, 0x43, 0xb6, 0x75, 0), size)),
  },
  {
    name: "webm: nearly cluster after nearly cluster",
    build: (size) => matroska(OPUS_TRACK, new Uint8Array(size).fill(0x1f)),
  },
  {
    name: "webm: groups that hold thousands of fields",
    build: (size) => matroska(OPUS_TRACK, cluster(repeat(ebml(0xa0, repeat(small(0x9b, be(1, 1)), 300_000)), size))),
  },
  {
    name: "webm: Xiph sizes without end",
    build: (size) =>
      matroska(
        OPUS_TRACK,
        cluster(ebml(0xa3, concat(Uint8Array.of(0x81, 0, 0, 0x82, 255), new Uint8Array(size).fill(255)))),
      ),
  },
  {
    name: "webm: a long cue list",
    build: (size) => {
      const position = small(0xb7, concat(small(0xf7, be(1, 1)), small(0xf1, be(90, 1))));
      return matroska(
        OPUS_TRACK,
        ebml(0x1c53bb6b, repeat(small(0xbb, concat(small(0xb3, be(1, 1)), position)), size)),
        cluster(EMPTY_LACES),
      );
    },
  },
  {
    name: "webm: tags of tags",
    build: (size) => {
      const tag = small(0x7f, new Uint8Array(0));
      const simple = ebml(0x67c8, concat(ebml(0x45a3, ascii("TITLE")), ebml(0x4487, ascii(" "))));
      return matroska(
        ebml(0x1254c367, ebml(0x7373, concat(repeat(simple, size / 2), repeat(tag, size / 2)))),
        OPUS_TRACK,
        cluster(EMPTY_LACES),
      );
    },
  },
  {
    name: "webm: Vorbis headers of zeros",
    build: (size) => matroska(trackOf("A_VORBIS", vorbisPrivate(size)), cluster(repeat(EMPTY_LACES, 1000))),
  },
  { name: "ogg: false pages", build: (size) => concat(OGG_HEADS, repeat(FALSE_PAGE, size)) },
  { name: "ogg: false pages from the start", build: (size) => repeat(FALSE_PAGE, size) },
  {
    name: "ogg: pages of empty packets",
    build: (size) => oggPages(size, Array<Uint8Array>(255).fill(new Uint8Array(0))),
  },
  { name: "ogg: packets without time", build: (size) => oggPages(size, Array<Uint8Array>(255).fill(Uint8Array.of(3))) },
  { name: "ogg: one stream after another", build: oggLinks },
  {
    name: "ogg: comments without end",
    build: (size) => {
      const comment = concat(le(7, 4), ascii("TITLE= "));
      const tags = concat(ascii("OpusTags"), le(0, 4), le(0xffffffff, 4), repeat(comment, Math.min(size, 60_000)));
      return concat(
        oggPage({ serial: 7, sequence: 0, granule: 0, flags: 2, packets: [OPUS_HEAD] }),
        oggPage({ serial: 7, sequence: 1, granule: 0, flags: 0, packets: [tags] }),
        repeat(FALSE_PAGE, size),
      );
    },
  },
  { name: "flac: headers of frames that never end", build: (size) => flac(LAST_BLOCK, repeat(FLAC_FRAME_0, size)) },
  { name: "flac: headers far ahead", build: (size) => flac(LAST_BLOCK, FLAC_FRAME_0, repeat(FLAC_FRAME_500, size)) },
  {
    name: "flac: one sync code after another",
    build: (size) => flac(LAST_BLOCK, repeat(Uint8Array.of(0xff, 0xf8), size)),
  },
  {
    name: "flac: long seek tables",
    build: (size) =>
      flac(
        flacBlock(3, repeat(concat(be(1, 8), be(5, 8), be(1, 2)), Math.min(size, 1_000_000))),
        LAST_BLOCK,
        repeat(FLAC_FRAME_0, size),
      ),
  },
  { name: "mp3: headers without frames", build: (size) => repeat(MP3_HEADER, size), hints: { mimeType: "audio/mpeg" } },
  {
    name: "mp3: one sync byte after another",
    build: (size) => new Uint8Array(size).fill(0xff),
    hints: { mimeType: "audio/mpeg" },
  },
  {
    name: "mp3: a tag whose ids of texts lead nowhere",
    build: (size) => id3Tag(4, 0, repeat(concat(ascii("TIT2"), be(0x7f7f7f7f, 4)), size)),
  },
  {
    name: "mp3: an APE tag of empty items behind the audio",
    build: (size) => {
      const items = repeat(concat(le(0, 8), ascii("Name\0")), size);
      const footer = concat(ascii("APETAGEX"), le(2000, 4), le(items.length + 32, 4), le(9, 4), le(0, 12));
      return concat(mp3Frames({ kbps: 128, rateHz: 48_000, sizeBytes: 3840 }), items, footer);
    },
  },
  {
    name: "mp3: varying rates and junk",
    build: (size) =>
      repeat(concat(mp3Frames({ kbps: 32, rateHz: 48_000, sizeBytes: 960 }), new Uint8Array(500).fill(0xff)), size),
  },
  {
    name: "caf: a table of empty packets",
    build: (size) => {
      const description = { codec: "alac", rateHz: 44_100, packetBytes: 0, packetFrames: 4096, channels: 2, bits: 16 };
      const table = cafChunk("pakt", concat(be(2 ** 40, 8), be(0, 16), new Uint8Array(size)));
      return cafFile(description, cafChunk("kuki", new Uint8Array(24)), table, cafData(new Uint8Array(1000)));
    },
  },
  { name: "aiff: empty chunks", build: (size) => aiffFile("AIFF", repeat(aiffChunk("NAME", be(0, 0)), size)) },
  {
    name: "mp3: a tag of escaped bytes",
    build: (size) =>
      concat(id3Tag(3, 0x80, repeat(Uint8Array.of(0xff, 0), Math.min(size, 4_000_000))), new Uint8Array(4096)),
    hints: { mimeType: "audio/mpeg" },
  },
  {
    name: "mp3: a tag of a thousand texts",
    build: (size) => {
      const text = concat(
        ascii("TXXX"),
        be(16_001, 4),
        be(0, 2),
        Uint8Array.of(1),
        repeat(Uint8Array.of(0x20, 0x20), 15_999),
      );
      return concat(id3Tag(3, 0, repeat(text, Math.min(size, 16_000_000))), new Uint8Array(4096));
    },
    hints: { mimeType: "audio/mpeg" },
  },
  { name: "adts: frames of one byte", build: (size) => repeat(ADTS_FRAME, size) },
  {
    name: "adts: headers without frames",
    build: (size) => concat(repeat(ADTS_FRAME, 64), repeat(ADTS_FRAME.subarray(0, 6), size)),
  },
  { name: "mpegts: nothing but padding", build: (size) => repeat(tsPacket(new Uint8Array(0)), size) },
  {
    name: "mpegts: out of step",
    build: (size) =>
      concat(repeat(tsPacket(new Uint8Array(0)), 2000), repeat(concat(tsPacket(new Uint8Array(0)), be(1, 1)), size)),
  },
  {
    name: "mp4: times of no samples",
    build: (size) => mp4({ stts: table(concat(repeat(concat(be(0, 4), be(1, 4)), size), be(1, 4), be(4096, 4)), 8) }),
  },
  {
    name: "mp4: times of no length",
    build: (size) => mp4({ stts: table(concat(repeat(concat(be(1, 4), be(0, 4)), size), be(1, 4), be(4096, 4)), 8) }),
  },
  {
    name: "mp4: runs of no chunks",
    build: (size) => mp4({ stsc: table(repeat(concat(be(1, 4), be(1, 4), be(1, 4)), size), 12) }),
  },
  {
    name: "mp4: samples of no bytes",
    build: (size) =>
      mp4({
        stsz: concat(be(0, 8), be(size / 4, 4), new Uint8Array(size)),
        stts: table(concat(be(0x7fffffff, 4), be(4096, 4)), 8),
        stsc: table(concat(be(1, 4), be(0x7fffffff, 4), be(1, 4)), 12),
      }),
  },
  {
    name: "mp4: a chunk of millions of samples",
    build: (size) =>
      mp4({
        stsz: concat(be(0, 8), be(size / 4, 4), repeat(be(1, 4), size)),
        stts: table(concat(be(size / 4, 4), be(1, 4)), 8),
        stsc: table(concat(be(1, 4), be(0x7fffffff, 4), be(1, 4)), 12),
      }),
  },
  { name: "mp4: user data of small boxes", build: (size) => mp4({ udta: box("udta", repeat(box("abcd"), size)) }) },
  {
    name: "mp4: fragments of small boxes",
    build: (size) => fragments(size, box("moof", repeat(box("traf", repeat(box("abcd"), 4000)), 200_000))),
  },
  {
    name: "mp4: fragments of samples without bytes",
    build: (size) => fragments(size, fragment(box("trun", be(0, 4), be(0xffffffff, 4)))),
  },
  { name: "mp4: false fragments", build: (size) => fragments(size, concat(be(0x7fffffff, 4), ascii("moof"))) },
  { name: "mp4: nearly fragment after nearly fragment", build: (size) => fragments(size, ascii("m")) },
];

/** Three laced headers, the last all zeros. */
function vorbisPrivate(sizeBytes: number): Uint8Array {
  const identification = concat(
    Uint8Array.of(1),
    ascii("vorbis"),
    le(0, 4),
    Uint8Array.of(2),
    le(44_100, 4),
    le(0, 12),
    Uint8Array.of(0xb8, 1),
  );
  return concat(Uint8Array.of(2, 30, 0), identification, new Uint8Array(Math.min(sizeBytes, 3_900_000)));
}
