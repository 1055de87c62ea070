// FLAC files as trees: metadata blocks, seek table, frames with subframes, and their checksums.

import { be, concat, crc } from "../../media-files/bytes.ts";
import { bitNum, type Field, type GroupField, group, num, numLe, raw, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";

const crc8 = crc(8, 0x07);
const crc16 = crc(16, 0x8005);

function block(type: number, isLast: boolean, fields: Field[]): GroupField {
  const wrap: Wrap = (body, claimed) => concat(Uint8Array.of((isLast ? 0x80 : 0) | type), be(claimed, 3), body);
  return group(`block ${type}`, fields, wrap);
}

function streamInfo(blockSamples: number, rate: number, channels: number): Field[] {
  return [
    ...[
      num("block min", blockSamples, 2),
      num("block max", blockSamples, 2),
      num("frame min", 0, 3),
      num("frame max", 0, 3),
    ],
    ...[
      bitNum("rate", rate, 20),
      bitNum("channels", channels - 1, 3),
      bitNum("bits", 15, 5),
      bitNum("samples", 44_100, 36),
    ],
    raw("md5", new Uint8Array(16)),
  ];
}

function vorbisComment(): Field[] {
  const comment = (text: string) =>
    group("comment", [raw("text", text)], (body, claimed) => concat(le32(claimed), body));
  return [
    group("vendor", [raw("text", "x")], (body, claimed) => concat(le32(claimed), body)),
    numLe("count", 2, 4),
    comment("TITLE=a"),
    comment("ARTIST=b"),
  ];
}

function le32(value: number): Uint8Array {
  return be(value, 4).reverse();
}

function frame(number: number, blockSamples: number, channels: number, random: () => number): GroupField {
  const rateCode = pick([0, 0, 9, 12, 13], random) ?? 0;
  const rate = rateCode === 12 ? [num("rate kHz", 44, 1)] : rateCode === 13 ? [num("rate Hz", 44_100, 2)] : [];
  const head = group(
    "frame head",
    [
      ...[
        bitNum("sync", 0x3ffe, 14),
        bitNum("reserved", 0, 1),
        bitNum("variable", 0, 1),
        bitNum("block code", 7, 4),
        bitNum("rate code", rateCode, 4),
      ],
      ...[
        bitNum("channel code", channels - 1, 4),
        bitNum("size code", pick([0, 4], random) ?? 0, 3),
        bitNum("reserved 2", 0, 1),
      ],
      ...[num("number", number & 0x7f, 1), num("block samples", blockSamples - 1, 2), ...rate],
    ],
    (body) => concat(body, be(crc8(body), 1)),
  );
  const subframes = Array.from({ length: channels }, () => subframe(random));
  return group("frame", [head, ...subframes], (body) => concat(body, be(crc16(body), 2)));
}

function subframe(random: () => number): GroupField {
  const type = pick([0, 0, 0, 1, 8, 10, 32], random) ?? 0;
  const body = type === 0 ? [num("value", 100, 2)] : [raw("residue", noise(Math.floor(random() * 200), random))];
  return group("subframe", [bitNum("zero", 0, 1), bitNum("type", type, 6), bitNum("wasted", 0, 1), ...body]);
}

export function buildFlac(random: () => number): GroupField {
  const blockSamples = pick([16, 192, 4096, 65_535], random) ?? 4096;
  const channels = pick([1, 2, 6, 8], random) ?? 2;
  const rate = pick([8000, 44_100, 48_000, 96_000, 655_350], random) ?? 44_100;
  const points = Array.from({ length: 4 }, (_, index) =>
    group("point", [
      num("sample", index * blockSamples, 8),
      num("offset", index * 20, 8),
      num("samples", blockSamples, 2),
    ]),
  );
  const blocks = [
    block(0, false, streamInfo(blockSamples, rate, channels)),
    ...(random() < 0.5 ? [block(3, false, points)] : []),
    ...(random() < 0.5 ? [block(4, false, vorbisComment())] : []),
    block(1, true, [raw("padding", new Uint8Array(20))]),
  ];
  const frames = Array.from({ length: 1 + Math.floor(random() * 30) }, (_, index) =>
    frame(index, blockSamples, channels, random),
  );
  return group("file", [raw("signature", "fLaC"), ...blocks, ...frames]);
}
