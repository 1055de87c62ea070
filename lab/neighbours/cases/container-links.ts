// Links to files whose containers are put together to keep a reader busy: empty laces, false page heads, huge tables.

import { ascii, be, concat, le, repeat } from "../bytes.ts";
import { box, cluster, ebml, fullBox, matroskaHead, oggPage, opusHead, opusTags, simpleBlock } from "../containers.ts";
import { type HostileLayer, playsFile } from "../hostile-case.ts";

const OPUS_TRACK = { codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() };

/** Blocks of 7 bytes with 256 empty frames in each (lacing of equal sizes, 0x04). */
function emptyLaces(count: number): Uint8Array {
  const block = Uint8Array.of(0xa3, 0x85, 0x81, 0, 0, 0x84, 255);
  return concat(matroskaHead(OPUS_TRACK), ebml(0x1f43b675, concat(ebml(0xe7, be(0, 1)), repeat(block, count))));
}

/** Each head claims a page of 56 kB that is not there. */
function falseOggHeads(sizeBytes: number): Uint8Array {
  const head = concat(ascii("OggS"), new Uint8Array(22), Uint8Array.of(220), new Uint8Array(220).fill(255));
  const start = oggPage({ serial: 1, sequence: 0, granule: 0, flags: 2, packets: [opusHead()] });
  return concat(start, repeat(concat(head, new Uint8Array(5)), Math.floor(sizeBytes / (head.length + 5))));
}

/** Nothing but page heads without a body, one byte apart from being found. */
function denseOggHeads(sizeBytes: number): Uint8Array {
  const headers = [opusHead(), opusTags()].map((packet, sequence) =>
    oggPage({ serial: 1, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
  );
  return concat(...headers, repeat(concat(ascii("OggS"), Uint8Array.of(0)), Math.floor(sizeBytes / 5)));
}

function deepBoxes(depth: number): Uint8Array {
  const names = ["moov", "trak", "mdia", "minf"];
  const heads = Array.from({ length: depth }, (_, level) =>
    concat(be((depth - level) * 8, 4), ascii(names[level % 4] ?? "moov")),
  );
  return concat(box("ftyp", ascii("M4A \0\0\0\0")), ...heads);
}

/** A movie whose tables take `tableBytes`, with a sample entry of ALAC or AAC and no data to speak of. */
function mp4WithTables(tableBytes: number): Uint8Array {
  const count = Math.floor(tableBytes / 8);
  const esds = fullBox(
    "esds",
    Uint8Array.from(Buffer.from("0319000100041140150000000000000000000000000502121006010200", "hex").subarray(0, 27)),
  );
  const entry = box(
    "mp4a",
    new Uint8Array(6),
    be(1, 2),
    new Uint8Array(8),
    be(2, 2),
    be(16, 2),
    be(0, 4),
    be(44_100, 2),
    be(0, 2),
    esds,
  );
  const table = (type: string, entryBytes: Uint8Array) => fullBox(type, be(count, 4), repeat(entryBytes, count));
  const stbl = box(
    "stbl",
    fullBox("stsd", be(1, 4), entry),
    table("stts", concat(be(1, 4), be(1024, 4))),
    fullBox("stsc", be(1, 4), be(1, 4), be(1, 4), be(1, 4)),
    fullBox("stsz", be(6, 4), be(count, 4)),
    table("co64", be(64, 8)),
  );
  const minf = box("minf", fullBox("smhd", be(0, 4)), stbl);
  const mdhd = fullBox("mdhd", be(0, 8), be(44_100, 4), be(0x7fffffff, 4), be(0, 4));
  const mdia = box("mdia", mdhd, fullBox("hdlr", be(0, 4), ascii("soun"), new Uint8Array(13)), minf);
  const trak = box("trak", fullBox("tkhd", be(0, 8), be(1, 4), new Uint8Array(68)), mdia);
  const mvhd = fullBox("mvhd", be(0, 8), be(1000, 4), be(0x7fffffff, 4), new Uint8Array(80));
  return concat(box("ftyp", ascii("M4A \0\0\0\0")), box("mdat", new Uint8Array(64)), box("moov", mvhd, trak));
}

export const containerLinks: HostileLayer = {
  layer: "container",
  cases: [
    playsFile("webm-empty-laces", "WebM of 70 kB: 7-byte blocks of 256 empty laces", () => emptyLaces(10_000), {
      fileName: "a.webm",
      isQuick: true,
    }),
    {
      name: "ogg-false-heads",
      what: "8 MB of Ogg page heads that each claim 56 kB, looked up three times",
      isQuick: true,
      arm: (attack) => {
        const url = attack.serveFile("a.ogg", falseOggHeads(8_000_000));
        return async () => {
          const answers = await Promise.all([attack.lookUp(url), attack.lookUp(`${url}?2`), attack.lookUp(`${url}?3`)]);
          return `${answers.join("; ")}; ${await attack.play(url)}`;
        };
      },
    },
    playsFile("ogg-false-heads-small", "the same in 900 kB", () => falseOggHeads(900_000), { fileName: "a.ogg" }),
    playsFile(
      "ogg-dense-heads",
      "4 MB of page heads without a body behind good headers",
      () => denseOggHeads(4_000_000),
      {
        fileName: "a.ogg",
      },
    ),
    {
      name: "mp4-tables-paused",
      what: "MP4 tables of 64 MiB, 12 paused tracks",
      seconds: 12,
      arm: (attack) => {
        const url = attack.serveFile("a.mp4", mp4WithTables(32 * 1024 * 1024));
        return () => attack.play(url, { players: 12, body: { paused: true } });
      },
    },
    playsFile("mp4-deep-boxes", "MP4 boxes nested 100,000 deep", () => deepBoxes(100_000), { fileName: "a.mp4" }),
    playsFile(
      "webm-one-byte-blocks",
      "WebM of 200,000 blocks of one byte",
      () => {
        const block = Uint8Array.of(0xa3, 0x85, 0x81, 0, 0, 0x80, 0xff);
        return concat(matroskaHead(OPUS_TRACK), ebml(0x1f43b675, concat(ebml(0xe7, be(0, 1)), repeat(block, 200_000))));
      },
      { fileName: "a.webm" },
    ),
    playsFile(
      "webm-void-elements",
      "WebM of a million empty Void elements",
      () => concat(matroskaHead(OPUS_TRACK), repeat(Uint8Array.of(0xec, 0x80), 1_000_000)),
      { fileName: "a.webm" },
    ),
    playsFile(
      "wav-chunks",
      "WAV of 500,000 empty chunks in front of the sound",
      () => concat(ascii("RIFF"), le(0xffffffff, 4), ascii("WAVE"), repeat(concat(ascii("junk"), le(0, 4)), 500_000)),
      {
        fileName: "a.wav",
      },
    ),
    playsFile(
      "webm-same-time",
      "WebM whose 100,000 Opus packets all have time 0",
      () =>
        concat(matroskaHead(OPUS_TRACK), cluster(0, Array(100_000).fill(simpleBlock(0, Uint8Array.of(0xfc, 1, 2, 3))))),
      {
        fileName: "a.webm",
      },
    ),
  ],
};
