// WebM and Matroska files as trees: elements of known and unknown size, laces, cues, seek heads, every codec.

import { be, concat } from "../../media-files/bytes.ts";
import { flacHead, opusHead } from "../../media-files/containers.ts";
import { type Field, type GroupField, group, num, raw, render, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";
import { vorbisHeaders } from "./vorbis.ts";

type Random = () => number;

function element(name: string, id: number, fields: Field[], isSizeKnown = true): GroupField {
  const idBytes = id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1;
  const wrap: Wrap = (body, claimed) => {
    const isShort = claimed === body.length && body.length < 127;
    const size = isShort
      ? Uint8Array.of(0x80 | body.length)
      : concat(Uint8Array.of(1), isSizeKnown ? be(Math.max(0, claimed), 7) : new Uint8Array(7).fill(255));
    return concat(be(id, idBytes), size, body);
  };
  return group(name, fields, wrap);
}

function float(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return new Uint8Array(bytes);
}

interface Codec {
  readonly id: string;
  readonly rate: number;
  /** Default 16. */
  readonly bits?: number;
  readonly codecPrivate?: Uint8Array;
  readonly packet: (random: Random) => Uint8Array;
}

function xiphHeaders(): Uint8Array {
  const [first, second, third] = vorbisHeaders(44_100, 2).map(render);
  return concat(Uint8Array.of(2, first!.length, second!.length), first!, second!, third!);
}

/** Frames of 4096 samples, 16 bit, stereo, at 44.1 kHz. */
const ALAC_COOKIE = concat(be(4096, 4), Uint8Array.of(0, 16, 40, 10, 14, 2), be(255, 2), be(0, 8), be(44_100, 4));

const CODECS: readonly Codec[] = [
  {
    id: "A_OPUS",
    rate: 48_000,
    codecPrivate: opusHead(),
    packet: (random) => concat(Uint8Array.of(0xfc), noise(80, random)),
  },
  { id: "A_VORBIS", rate: 44_100, codecPrivate: xiphHeaders(), packet: (random) => noise(40, random) },
  {
    id: "A_AAC",
    rate: 44_100,
    codecPrivate: Uint8Array.of(0x12, 0x10),
    packet: () => Uint8Array.of(0x21, 0x10, 4, 0x60, 0x8c, 0x1c),
  },
  {
    id: "A_MPEG/L3",
    rate: 44_100,
    packet: (random) => concat(Uint8Array.of(0xff, 0xfb, 0x50, 0xc4), noise(204, random)),
  },
  {
    id: "A_FLAC",
    rate: 44_100,
    codecPrivate: flacHead({ rateHz: 44_100 }),
    packet: (random) => concat(Uint8Array.of(0xff, 0xf8), noise(60, random)),
  },
  { id: "A_PCM/INT/LIT", rate: 48_000, packet: (random) => noise(1920, random) },
  { id: "A_PCM/FLOAT/IEEE", rate: 8000, bits: 32, packet: (random) => noise(640, random) },
  { id: "A_ALAC", rate: 44_100, codecPrivate: ALAC_COOKIE, packet: (random) => noise(90, random) },
];

function block(codec: Codec, offsetMs: number, random: Random): GroupField {
  const lacing = pick([0, 0, 0, 1, 2, 3], random) ?? 0;
  const packets = Array.from({ length: lacing === 0 ? 1 : 2 + Math.floor(random() * 6) }, () =>
    raw("packet", codec.packet(random)),
  );
  const first = packets[0]?.bytes.length ?? 0;
  const xiph = packets.slice(1).flatMap(() => [...Array<number>(Math.floor(first / 255)).fill(255), first % 255]);
  const sizes =
    lacing === 1
      ? Uint8Array.from(xiph)
      : lacing === 3
        ? concat(be(0x4000 | first, 2), repeatedZero(packets.length - 2))
        : new Uint8Array(0);
  const laces = lacing === 0 ? [] : [num("lace count", packets.length - 1, 1), raw("lace sizes", sizes)];
  const fields = [
    num("track", 0x81, 1),
    num("time", offsetMs, 2),
    num("flags", 0x80 | (lacing << 1), 1),
    ...laces,
    ...packets,
  ];
  return random() < 0.7
    ? element("simple block", 0xa3, fields)
    : element("group", 0xa0, [element("block", 0xa1, fields), element("duration", 0x9b, [num("units", 20, 2)])]);
}

/** Differences of 0 as EBML lacing writes them. */
function repeatedZero(count: number): Uint8Array {
  return new Uint8Array(Math.max(0, count)).fill(0xbf);
}

export function buildMatroska(random: Random): GroupField {
  const codec = pick(CODECS, random) ?? CODECS[0]!;
  const audio = element("audio", 0xe1, [
    element("rate", 0xb5, [raw("float", float(codec.rate))]),
    element("channels", 0x9f, [num("count", 2, 1)]),
    element("bits", 0x6264, [num("count", codec.bits ?? 16, 1)]),
  ]);
  const entry = element("track", 0xae, [
    ...[
      element("number", 0xd7, [num("value", 1, 1)]),
      element("uid", 0x73c5, [num("value", 1, 1)]),
      element("type", 0x83, [num("value", 2, 1)]),
    ],
    ...[
      element("codec", 0x86, [raw("id", codec.id)]),
      ...(codec.codecPrivate === undefined ? [] : [element("private", 0x63a2, [raw("data", codec.codecPrivate)])]),
    ],
    ...[
      element("delay", 0x56aa, [num("ns", 6_500_000, 4)]),
      element("pre-roll", 0x56bb, [num("ns", 80_000_000, 4)]),
      audio,
    ],
    ...(random() < 0.2 ? [element("default duration", 0x23e383, [num("ns", 20_000_000, 4)])] : []),
  ]);
  const info = element("info", 0x1549a966, [
    element("scale", 0x2ad7b1, [num("ns", 1_000_000, 3)]),
    element("duration", 0x4489, [raw("float", float(60_000))]),
  ]);
  const clusters = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, index) =>
    element(
      "cluster",
      0x1f43b675,
      [
        element("time", 0xe7, [num("units", index * 200, 4)]),
        ...Array.from({ length: 10 }, (_b, at) => block(codec, at * 20, random)),
      ],
      random() < 0.8,
    ),
  );
  const point = (index: number) =>
    element("cue", 0xbb, [
      element("cue time", 0xb3, [num("units", index * 200, 4)]),
      element("place", 0xb7, [
        element("cue track", 0xf7, [num("value", 1, 1)]),
        element("position", 0xf1, [num("offset", 300 + index * 1000, 4)]),
      ]),
    ]);
  const seek = element("seek head", 0x114d9b74, [
    element("seek", 0x4dbb, [
      element("seek id", 0x53ab, [num("id", 0x1c53bb6b, 4)]),
      element("seek position", 0x53ac, [num("offset", 5000, 4)]),
    ]),
  ]);
  const tags = element("tags", 0x1254c367, [
    element("tag", 0x7373, [
      element("simple tag", 0x67c8, [
        element("tag name", 0x45a3, [raw("name", "TITLE")]),
        element("tag text", 0x4487, [raw("text", "a")]),
      ]),
    ]),
  ]);
  const head = element("ebml", 0x1a45dfa3, [
    element("doc type", 0x4282, [raw("name", random() < 0.5 ? "webm" : "matroska")]),
  ]);
  const cues = element(
    "cues",
    0x1c53bb6b,
    clusters.map((_, index) => point(index)),
  );
  const body = [
    ...(random() < 0.5 ? [seek] : []),
    info,
    element("tracks", 0x1654ae6b, [entry]),
    ...(random() < 0.5 ? [tags] : []),
    ...clusters,
    ...(random() < 0.5 ? [cues] : []),
  ];
  return group("file", [head, element("segment", 0x18538067, body, random() < 0.5)]);
}
