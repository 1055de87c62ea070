// Files of bare frames as trees: MP3 with ID3 tags, Xing and LAME headers, and AAC in ADTS frames.

import { ascii, be, concat } from "../../media-files/bytes.ts";
import { AAC_SILENCE, mp3Frame } from "../../media-files/containers.ts";
import { bitNum, type Field, type GroupField, group, num, raw, render, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";

type Random = () => number;

function synchsafe(value: number): Uint8Array {
  return Uint8Array.from([21, 14, 7, 0], (shift) => (value >> shift) & 0x7f);
}

/** An ID3v2 tag with texts, a picture and other frames that players meet. */
function id3Tag(random: Random): GroupField {
  const version = pick([2, 3, 4], random) ?? 4;
  const wrapFrame =
    (name: string): Wrap =>
    (body, claimed) => {
      if (version === 2) return concat(ascii(name.slice(0, 3)), be(claimed, 3), body);
      return concat(ascii(name), version === 4 ? synchsafe(claimed) : be(claimed, 4), be(0, 2), body);
    };
  const frame = (name: string, fields: Field[]) => group(name, fields, wrapFrame(name));
  const fields = [
    frame("TIT2", [num("encoding", pick([0, 1, 2, 3], random) ?? 0, 1), raw("text", "A title")]),
    frame("TPE1", [num("encoding", 1, 1), raw("text", "\xff\xfea\0b\0")]),
    frame("TXXX", [num("encoding", 0, 1), raw("text", "REPLAYGAIN_TRACK_GAIN\x00-6.5 dB")]),
    frame("TLEN", [num("encoding", 0, 1), raw("text", "60000")]),
    frame("APIC", [
      num("encoding", 0, 1),
      raw("mime", "image/png\0"),
      num("kind", 3, 1),
      raw("picture", noise(300, random)),
    ]),
  ];
  const flags = pick([0, 0, 0, 0x80, 0x40, 0x10], random) ?? 0;
  return group("id3", fields, (body, claimed) =>
    concat(ascii("ID3"), Uint8Array.of(version, 0, flags), synchsafe(claimed), body),
  );
}

/** Layer III at 64 or 40 kbit/s: the rates of each version in the order of their numbers, and bytes times the rate. */
const MPEG_VERSIONS = [
  { version: 3, rates: [44_100, 48_000, 32_000], sizeFactor: 144 * 64_000 },
  { version: 2, rates: [22_050, 24_000, 16_000], sizeFactor: 72 * 40_000 },
  { version: 0, rates: [11_025, 12_000, 8000], sizeFactor: 72 * 40_000 },
] as const;

interface MpegKind {
  readonly head: readonly Field[];
  readonly sizeBytes: number;
}

function mpegKind(random: Random): MpegKind {
  const { version, rates, sizeFactor } = pick(MPEG_VERSIONS, random) ?? MPEG_VERSIONS[0];
  const rate = Math.floor(random() * rates.length);
  const head = [
    ...[bitNum("sync", 0x7ff, 11), bitNum("version", version, 2), bitNum("layer", 1, 2), bitNum("no checksum", 1, 1)],
    ...[bitNum("bitrate", 5, 4), bitNum("rate", rate, 2), bitNum("padding", 0, 1), bitNum("private", 0, 1)],
    ...[bitNum("mode", pick([0, 1, 3], random) ?? 3, 2), bitNum("rest", 4, 6)],
  ];
  return { head, sizeBytes: Math.floor(sizeFactor / (rates[rate] ?? 1)) };
}

function mpegFrame({ head, sizeBytes }: MpegKind, random: Random): GroupField {
  const inside = noise(sizeBytes - 4, random);
  if (random() < 0.6) inside.fill(0).set(mp3Frame().subarray(4, sizeBytes));
  return group("frame", [...head.map((field) => ({ ...field })), raw("inside", inside)]);
}

function xing(random: Random): Field {
  return group(
    "xing",
    [
      ...[
        raw("head", mp3Frame().subarray(0, 21)),
        raw("magic", pick(["Xing", "Info", "VBRI"], random) ?? "Xing"),
        num("flags", 15, 4),
        num("frames", 100, 4),
      ],
      ...[
        num("bytes", 20_800, 4),
        raw("table", new Uint8Array(100)),
        num("quality", 0, 4),
        raw("encoder", "LAME3.100"),
        raw("gain", noise(12, random)),
        num("delays", 0x240360, 3),
      ],
    ],
    (body) => concat(body, new Uint8Array(Math.max(0, 208 - body.length))),
  );
}

export function buildMp3(random: Random): GroupField {
  const kind = mpegKind(random);
  const frames = Array.from({ length: 2 + Math.floor(random() * 60) }, () => mpegFrame(kind, random));
  const tail = random() < 0.3 ? [group("id3v1", [raw("magic", "TAG"), raw("text", noise(125, random))])] : [];
  return group("file", [
    ...(random() < 0.6 ? [id3Tag(random)] : []),
    ...(random() < 0.5 ? [xing(random)] : []),
    ...frames,
    ...tail,
  ]);
}

export function buildId3(random: Random): GroupField {
  const tags = Array.from({ length: 1 + Math.floor(random() * 3) }, () => id3Tag(random));
  return group("file", [...tags, ...Array.from({ length: 10 }, () => raw("frame", mp3Frame()))]);
}

const ADTS_RATES = [3, 4, 11];

function adtsFrame(rate: number, random: Random): GroupField {
  const data = random() < 0.7 ? AAC_SILENCE : noise(Math.floor(random() * 300), random);
  return group("frame", [
    ...[
      bitNum("sync", 0xfff, 12),
      bitNum("id", 0, 1),
      bitNum("layer", 0, 2),
      bitNum("no checksum", 1, 1),
      bitNum("profile", 1, 2),
      bitNum("rate", rate, 4),
    ],
    ...[
      bitNum("private", 0, 1),
      bitNum("channels", 2, 3),
      bitNum("flags", 0, 4),
      bitNum("length", data.length + 7, 13),
      bitNum("fullness", 0x7ff, 11),
    ],
    ...[bitNum("blocks", 0, 2), raw("data", data)],
  ]);
}

export function buildAdts(random: Random): GroupField {
  const rate = pick(ADTS_RATES, random) ?? 4;
  const frames = Array.from({ length: 2 + Math.floor(random() * 60) }, () => adtsFrame(rate, random));
  return group("file", [...(random() < 0.2 ? [id3Tag(random)] : []), ...frames]);
}

/** Some ADTS frames as bytes. */
export function adtsBytes(count: number, random: Random): Uint8Array {
  return concat(...Array.from({ length: count }, () => render(adtsFrame(ADTS_RATES[1] ?? 4, random))));
}
