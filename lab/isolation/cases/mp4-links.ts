// Links to MP4 files: tables that fill memory, boxes without end, hundreds of thousands of fragments.

import { ascii, be, concat, repeat } from "../../media-files/bytes.ts";
import { box, fullBox } from "../../media-files/containers.ts";
import { type HostileLayer, playsFile } from "../harness/hostile-case.ts";

const MP4 = { fileName: "a.mp4" };
const FTYP = box("ftyp", ascii("M4A \0\0\0\0"));
/** ES descriptor of AAC-LC, stereo at 44.1 kHz. */
const ESDS = fullBox(
  "esds",
  Uint8Array.from(Buffer.from("031900010004114015000000000000000000000005021210060102", "hex")),
);

function audioEntry(rateHz = 44_100): Uint8Array {
  const head = concat(new Uint8Array(6), be(1, 2), new Uint8Array(8), be(2, 2), be(16, 2), be(0, 4));
  return box("mp4a", head, be(rateHz, 2), be(0, 2), ESDS);
}

interface Tables {
  readonly stts?: Uint8Array;
  readonly stsc?: Uint8Array;
  readonly stsz?: Uint8Array;
  readonly stco?: Uint8Array;
  readonly entry?: Uint8Array;
  readonly timescale?: number;
  readonly more?: readonly Uint8Array[];
}

/** A movie with one audio track; each table with its count in front. */
function movie(tables: Tables = {}): Uint8Array {
  const { stts = concat(be(1, 4), be(100, 4), be(1024, 4)), stsc = concat(be(1, 4), be(1, 4), be(100, 4), be(1, 4)) } =
    tables;
  const { stsz = concat(be(10, 4), be(100, 4)), stco = concat(be(1, 4), be(32, 4)), entry = audioEntry() } = tables;
  const stbl = box(
    "stbl",
    fullBox("stsd", be(1, 4), entry),
    fullBox("stts", stts),
    fullBox("stsc", stsc),
    fullBox("stsz", stsz),
    fullBox("stco", stco),
  );
  const minf = box("minf", fullBox("smhd", be(0, 4)), stbl);
  const mdhd = fullBox("mdhd", be(0, 8), be(tables.timescale ?? 44_100, 4), be(0x7fffffff, 4), be(0, 4));
  const mdia = box("mdia", mdhd, fullBox("hdlr", be(0, 4), ascii("soun"), new Uint8Array(13)), minf);
  const trak = box("trak", fullBox("tkhd", be(0, 8), be(1, 4), new Uint8Array(68)), mdia);
  const mvhd = fullBox("mvhd", be(0, 8), be(1000, 4), be(0x7fffffff, 4), new Uint8Array(80));
  return box("moov", mvhd, trak, ...(tables.more ?? []));
}

function file(tables: Tables, dataBytes = 1000): Uint8Array {
  return concat(FTYP, box("mdat", new Uint8Array(dataBytes)), movie(tables));
}

/** Tables of this many bytes in all, with plausible entries. */
function largeTables(sizeBytes: number): Tables {
  const count = Math.floor(sizeBytes / 16);
  return {
    stts: concat(be(count, 4), repeat(concat(be(1, 4), be(1024, 4)), count)),
    stsz: concat(be(0, 4), be(count, 4), repeat(be(6, 4), count)),
    stsc: concat(be(1, 4), be(1, 4), be(1, 4), be(1, 4)),
    stco: concat(be(count, 4), repeat(be(32, 4), count)),
  };
}

/** `count` fragments of a sample each. */
function fragments(count: number): Uint8Array {
  const trex = box("mvex", fullBox("trex", be(1, 4), be(1, 4), be(1024, 4), be(6, 4), be(0, 4)));
  const empty = { stts: be(0, 4), stsc: be(0, 4), stsz: be(0, 8), stco: be(0, 4), more: [trex] };
  const traf = box("traf", box("tfhd", be(0x020000, 4), be(1, 4)), box("trun", be(1, 4), be(1, 4), be(64, 4)));
  return concat(
    FTYP,
    movie(empty),
    repeat(concat(box("moof", fullBox("mfhd", be(1, 4)), traf), box("mdat", new Uint8Array(6))), count),
  );
}

function deepBoxes(depth: number): Uint8Array {
  const names = ["moov", "trak", "mdia", "minf"];
  const heads = Array.from({ length: depth }, (_, level) =>
    concat(be((depth - level) * 8, 4), ascii(names[level % 4] ?? "")),
  );
  return concat(FTYP, ...heads);
}

export const mp4Links: HostileLayer = {
  layer: "mp4",
  cases: [
    {
      name: "mp4-tables-paused",
      what: "tables of 64 MiB, 12 paused tracks",
      seconds: 12,
      arm: (attack) => {
        const url = attack.serveFile("a.mp4", file(largeTables(64 * 2 ** 20)));
        return () => attack.play(url, { players: 12, body: { paused: true } });
      },
    },
    {
      name: "mp4-tables-small-many",
      what: "tables of 3 MiB, 60 paused tracks",
      seconds: 12,
      arm: (attack) => {
        const url = attack.serveFile("a.mp4", file(largeTables(3 * 2 ** 20)));
        return () => attack.play(url, { players: 60, body: { paused: true } });
      },
    },
    playsFile("mp4-deep-boxes", "boxes nested 100,000 deep", () => deepBoxes(100_000), MP4),
    playsFile("mp4-empty-boxes", "a million empty boxes", () => concat(FTYP, repeat(box("free"), 1_000_000)), MP4),
    playsFile(
      "mp4-box-of-size-0",
      "boxes that claim to be one byte long",
      () => concat(FTYP, repeat(concat(be(1, 4), ascii("free"), be(0, 8)), 100_000)),
      MP4,
    ),
    playsFile(
      "mp4-samples-of-0",
      "16 million samples of no bytes, without a table",
      () => file({ stts: concat(be(1, 4), be(2 ** 24, 4), be(1, 4)), stsz: concat(be(0, 4), be(2 ** 24, 4)) }),
      MP4,
    ),
    playsFile(
      "mp4-one-size-of-1",
      "four billion samples of one byte in one chunk",
      () =>
        file({
          stts: concat(be(1, 4), be(2 ** 32 - 1, 4), be(0, 4)),
          stsz: concat(be(1, 4), be(2 ** 32 - 1, 4)),
          stsc: concat(be(1, 4), be(1, 4), be(2 ** 32 - 1, 4), be(1, 4)),
        }),
      MP4,
    ),
    playsFile("mp4-timescale-0", "a time scale of 0", () => file({ timescale: 0 }), MP4),
    playsFile("mp4-rate-1", "a sample entry at 1 Hz", () => file({ entry: audioEntry(1) }), MP4),
    playsFile(
      "mp4-entries",
      "a sample description of 100,000 entries",
      () => file({ entry: repeat(audioEntry(), 20_000) }),
      MP4,
    ),
    playsFile("mp4-fragments", "30,000 fragments of a sample each", () => fragments(30_000), MP4),
    playsFile("mp4-tracks", "5,000 tracks", () => file({ more: [repeat(movie().subarray(116), 5000)] }), MP4),
    playsFile(
      "mp4-items",
      "200,000 tags",
      () => {
        const item = box("\u00a9nam", box("data", be(1, 4), be(0, 4), ascii("x")));
        const meta = fullBox(
          "meta",
          fullBox("hdlr", be(0, 4), ascii("mdirappl"), new Uint8Array(9)),
          box("ilst", repeat(item, 200_000)),
        );
        return file({ more: [box("udta", meta)] });
      },
      MP4,
    ),
    playsFile(
      "mp4-alac-cookie",
      "ALAC with frames of four billion samples and 255 channels",
      () => {
        const cookie = fullBox(
          "alac",
          be(2 ** 32 - 1, 4),
          Uint8Array.of(0, 255, 255, 255, 255, 255),
          be(0, 10),
          be(44_100, 4),
        );
        const head = concat(
          new Uint8Array(6),
          be(1, 2),
          new Uint8Array(8),
          be(255, 2),
          be(16, 2),
          be(0, 4),
          be(44_100, 2),
          be(0, 2),
        );
        return file({ entry: box("alac", head, cookie) });
      },
      MP4,
    ),
    playsFile(
      "mp4-offsets-behind",
      "chunks beyond the end of the file",
      () => file({ stco: concat(be(1, 4), be(2 ** 32 - 1, 4)) }),
      MP4,
    ),
  ],
};
