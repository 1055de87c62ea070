// AIFF and CAF files as trees: chunks in any order, every sample format, packet tables of ALAC.

import { be, concat } from "../../media-files/bytes.ts";
import { type Field, type GroupField, group, num, raw, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";

/** Name, size in so many bytes, body. */
function chunk(name: string, fields: Field[], sizeBytes: 4 | 8): GroupField {
  const wrap: Wrap = (body, claimed) => {
    const padding = new Uint8Array(sizeBytes === 4 ? body.length & 1 : 0);
    return concat(raw(name, name).bytes, be(claimed, sizeBytes), body, padding);
  };
  return group(name, fields, wrap);
}

export function buildAiff(random: () => number): GroupField {
  const codec = pick(["NONE", "sowt", "fl32", "fl64", "in24", "raw ", "alaw", "ulaw", "ima4"], random) ?? "NONE";
  const isCompressed = random() < 0.5;
  const bits = pick([8, 12, 16, 24, 32], random) ?? 16;
  const format = [
    ...[num("channels", pick([1, 2, 6], random) ?? 2, 2), num("frames", 5000, 4), num("bits", bits, 2)],
    ...[num("exponent", 0x400e, 2), num("mantissa", 0xbb80, 2), raw("rest of the rate", new Uint8Array(6))],
    ...(isCompressed ? [raw("codec", codec), raw("name", new Uint8Array(2))] : []),
  ];
  const samples = raw("samples", noise(Math.floor(random() * 20_000), random));
  const chunks = [
    chunk("COMM", format, 4),
    ...(random() < 0.5 ? [chunk("NAME", [raw("title", "A title")], 4)] : []),
    chunk("SSND", [num("offset", 0, 4), num("block", 0, 4), samples], 4),
    ...(random() < 0.3 ? [chunk("ID3 ", [raw("tag", "ID3\x04\0\0\0\0\0\x0aTIT2\0\0\0\0\0\0")], 4)] : []),
  ];
  if (random() < 0.2) chunks.reverse();
  return group("file", [chunk("FORM", [raw("kind", isCompressed ? "AIFC" : "AIFF"), ...chunks], 4)]);
}

export function buildCaf(random: () => number): GroupField {
  const isAlac = random() < 0.5;
  const bits = pick([8, 16, 24, 32], random) ?? 16;
  const packetCount = 1 + Math.floor(random() * 20);
  const sizes = Array.from({ length: packetCount }, () => 100 + Math.floor(random() * 1000));
  const desc = [
    ...[raw("rate", be(0x40e5888000000000n, 8)), raw("codec", isAlac ? "alac" : "lpcm")],
    ...[num("flags", pick([0, 1, 2, 3], random) ?? 0, 4), num("packet bytes", isAlac ? 0 : bits / 4, 4)],
    ...[num("packet frames", isAlac ? 4096 : 1, 4), num("channels", 2, 4), num("bits", bits, 4)],
  ];
  const table = [
    ...[num("packets", packetCount, 8), num("valid frames", packetCount * 4096, 8)],
    ...[num("priming", 0, 4), num("remainder", 0, 4)],
    ...sizes.map((size) => raw("size", Uint8Array.of(0x80 | (size >> 7), size & 0x7f))),
  ];
  // 4,096 frames of two channels with 16 bits at 44.1 kHz.
  const cookie = "00001000" + "0010280a" + "0e0200ff" + "00000000" + "00000000" + "0000ac44";
  const sizeBytes = sizes.reduce((sum, size) => sum + size, 0);
  const data = chunk("data", [num("edits", 0, 4), raw("audio", noise(isAlac ? sizeBytes : 20_000, random))], 8);
  const around = isAlac
    ? [chunk("kuki", [raw("cookie", new Uint8Array(Buffer.from(cookie, "hex")))], 8), chunk("pakt", table, 8)]
    : [chunk("info", [num("entries", 1, 4), raw("title", "title\0A title\0")], 8)];
  const chunks = random() < 0.5 ? [...around, data] : [data, ...around];
  return group("file", [raw("caff", "caff\0\x01\0\0"), chunk("desc", desc, 8), ...chunks]);
}
