// MP3, MP2 and their tags: every version of ID3 in every encoding, tags behind the audio, junk before it.

import { ascii, concat } from "../../media-files/bytes.ts";
import {
  apeTag,
  id3Picture,
  id3Tag,
  id3Text,
  id3v1,
  lyrics3,
  type TextEncoding,
} from "../../media-files/tag-writers.ts";
import { seededRandom } from "../../seeded-random.ts";
import { ARTIST, damage, type MadeFile, TAGS, TITLE, truncate } from "./made-file.ts";

const BARE = "-c:a libmp3lame -b:a 128k -id3v2_version 0 -write_xing 0";
const INFO = "-c:a libmp3lame -b:a 128k -id3v2_version 0";

const PLAIN: readonly MadeFile[] = [
  ...[8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000].flatMap((rateHz) =>
    ["mono", "stereo"].map((layout) => ({
      file: `mp3/${rateHz}-${layout}.mp3`,
      encode: `-c:a libmp3lame -b:a ${rateHz < 16_000 ? 32 : 64}k ${TAGS}`,
      rateHz,
      layout,
    })),
  ),
  ...[96, 128, 192, 256, 320].map((kbps) => ({
    file: `mp3/cbr-${kbps}.mp3`,
    encode: `-c:a libmp3lame -b:a ${kbps}k ${TAGS}`,
  })),
  ...[0, 2, 5, 9].map((quality) => ({
    file: `mp3/vbr-${quality}.mp3`,
    encode: `-c:a libmp3lame -q:a ${quality} ${TAGS}`,
  })),
  { file: "mp3/abr.mp3", encode: `-c:a libmp3lame -b:a 128k -abr 1 ${TAGS}` },
  { file: "mp3/left-right.mp3", encode: `-c:a libmp3lame -b:a 192k -joint_stereo 0 ${TAGS}` },
  { file: "mp3/cbr-bare.mp3", encode: BARE },
  { file: "mp3/vbr-bare.mp3", encode: "-c:a libmp3lame -q:a 4 -id3v2_version 0 -write_xing 0" },
  { file: "mp3/damaged.mp3", encode: BARE, finish: damage(1000) },
  { file: "mp3/truncated.mp3", encode: BARE, finish: truncate },
  { file: "mp3/truncated-info.mp3", encode: INFO, finish: truncate },
  { file: "mp3/zeros-ahead.mp3", encode: BARE, finish: (bytes) => concat(new Uint8Array(500), bytes) },
  { file: "mp3/junk-ahead.mp3", encode: BARE, finish: (bytes) => concat(junk(3000), bytes) },
  { file: "mp3/cut-into.mp3", encode: BARE, finish: (bytes) => bytes.subarray(1000) },
  ...[128, 192, 384].map((kbps) => ({ file: `mp2/${kbps}.mp2`, encode: `-c:a mp2 -b:a ${kbps}k` })),
  { file: "mp2/mono-22050.mp2", encode: "-c:a mp2 -b:a 64k", rateHz: 22_050, layout: "mono" },
];

const NAMES = { latin: ["Café à São Paulo", "Ängström"], wide: ["Привет, 世界", "Ελένη"] } as const;
const ENCODINGS: readonly (readonly [TextEncoding, string, readonly [string, string]])[] = [
  [0, "latin1", NAMES.latin],
  [1, "utf16", NAMES.wide],
  [2, "utf16be", NAMES.wide],
  [3, "utf8", NAMES.wide],
];

const ID3: readonly MadeFile[] = [
  ...([2, 3, 4] as const).flatMap((version) =>
    ENCODINGS.map(([encoding, name, [title, artist]]) =>
      tagged(`id3v2${version}-${name}`, [title, artist], (audio) =>
        concat(id3Tag({ version, frames: frames(version, [title, artist], encoding) }), audio),
      ),
    ),
  ),
  ...([3, 4] as const).flatMap((version) => [
    tagged(`id3v2${version}-unsynchronised`, NAMES.latin, (audio) =>
      concat(id3Tag({ version, isUnsynchronised: true, frames: frames(version, NAMES.latin, 1) }), audio),
    ),
    tagged(`id3v2${version}-padding`, NAMES.latin, (audio) =>
      concat(id3Tag({ version, paddingBytes: 20_000, frames: frames(version, NAMES.latin, 3) }), audio),
    ),
    tagged(`id3v2${version}-picture-first`, NAMES.latin, (audio) =>
      concat(id3Tag({ version, frames: [picture(30_000), ...frames(version, NAMES.latin, 1)] }), audio),
    ),
  ]),
  tagged("id3v23-extended-header", NAMES.latin, (audio) =>
    concat(id3Tag({ version: 3, hasExtendedHeader: true, frames: frames(3, NAMES.latin, 0) }), audio),
  ),
  tagged("id3v24-plain-sizes", NAMES.latin, (audio) =>
    concat(id3Tag({ version: 4, hasPlainSizes: true, frames: [picture(30_000), ...frames(4, NAMES.latin, 3)] }), audio),
  ),
  tagged("id3v23-with-v22-ids", NAMES.latin, (audio) => {
    const odd = [
      { id: "TT2\0", body: id3Text(NAMES.latin[0], 0) },
      { id: "TP1\0", body: id3Text(NAMES.latin[1], 0) },
    ];
    return concat(id3Tag({ version: 3, frames: odd }), audio);
  }),
  tagged("id3v23-v22-id-before-title", NAMES.latin, (audio) => {
    const odd = { id: "TP1\0", body: id3Text("Somebody", 0) };
    return concat(id3Tag({ version: 3, frames: [odd, ...frames(3, NAMES.latin, 0)] }), audio);
  }),
  tagged("id3v2-twice", NAMES.latin, (audio) =>
    concat(
      id3Tag({ version: 3, frames: frames(3, NAMES.latin, 0) }),
      id3Tag({ version: 4, frames: [{ id: "TALB", body: id3Text("Album", 3) }] }),
      audio,
    ),
  ),
  tagged("id3v23-utf8-called-latin1", NAMES.wide, (audio) => {
    const text = (value: string) => concat(Uint8Array.of(0), new Uint8Array(Buffer.from(value, "utf8")));
    const wild = [
      { id: "TIT2", body: text(NAMES.wide[0]) },
      { id: "TPE1", body: text(NAMES.wide[1]) },
    ];
    return concat(id3Tag({ version: 3, frames: wild }), audio);
  }),
  tagged("id3v1-latin1", NAMES.latin, (audio) => concat(audio, id3v1(ascii(NAMES.latin[0]), ascii(NAMES.latin[1])))),
  tagged("ape-behind", NAMES.wide, (audio) => concat(audio, apeTag({ Title: NAMES.wide[0], Artist: NAMES.wide[1] }))),
  tagged("ape-large-behind", NAMES.latin, (audio) =>
    concat(audio, apeTag({ Title: NAMES.latin[0], Artist: NAMES.latin[1] }, 120_000)),
  ),
  tagged("lyrics3-behind", [TITLE, ARTIST], (audio) =>
    concat(audio, lyrics3(5000), id3v1(ascii(TITLE), ascii(ARTIST))),
  ),
  tagged("junk-behind", [TITLE, ARTIST], (audio) =>
    concat(id3Tag({ version: 3, frames: frames(3, [TITLE, ARTIST], 0) }), audio, junk(60_000)),
  ),
];

export const MP3_FILES: readonly MadeFile[] = [...PLAIN, ...ID3];

function tagged(
  name: string,
  [title, artist]: readonly [string, string],
  finish: (audio: Uint8Array) => Uint8Array,
): MadeFile {
  const expected = { title, artist };
  // The length of a summary frame, which no tag behind the audio changes.
  return { file: `mp3-tags/${name}.mp3`, encode: INFO, finish, expected };
}

function frames(version: 2 | 3 | 4, [title, artist]: readonly [string, string], encoding: TextEncoding) {
  const [titleId, artistId] = version === 2 ? ["TT2", "TP1"] : ["TIT2", "TPE1"];
  return [
    { id: titleId, body: id3Text(title, encoding) },
    { id: artistId, body: id3Text(artist, encoding) },
  ];
}

function picture(sizeBytes: number) {
  return { id: "APIC", body: id3Picture(sizeBytes) };
}

function junk(sizeBytes: number): Uint8Array {
  const random = seededRandom(sizeBytes);
  return Uint8Array.from({ length: sizeBytes }, () => Math.floor(random() * 200)); // nothing like a frame's sync
}
