// The three headers of a Vorbis stream as trees: identification, comments, and a set-up of one codebook, floor,
// residue, mapping and mode. Its bits are packed least significant first.

import { concat, le } from "../../media-files/bytes.ts";
import { type Field, type GroupField, group, numLe, raw, text } from "./field-tree.ts";

/** Numbers of some bits, least significant bit first, as Vorbis packs them. */
function packed(name: string, values: readonly (readonly [name: string, value: number, bits: number])[]): GroupField {
  const fields = values.map(([field, value, bits]) =>
    numLe(`${field} (${bits} bits)`, value, bits > 16 ? 4 : bits > 8 ? 2 : 1),
  );
  return group(name, fields, (body) => {
    let at = 0;
    let bitText = "";
    for (const [, , bits] of values) {
      const sizeBytes = bits > 16 ? 4 : bits > 8 ? 2 : 1;
      let value = 0n;
      for (let index = sizeBytes - 1; index >= 0; index--) value = (value << 8n) | BigInt(body[at + index] ?? 0);
      at += sizeBytes;
      for (let bit = 0; bit < bits; bit++) bitText += (value >> BigInt(bit)) & 1n ? "1" : "0";
    }
    const count = Math.ceil(bitText.length / 8);
    return Uint8Array.from({ length: count }, (_, index) =>
      Number.parseInt(
        bitText
          .slice(index * 8, index * 8 + 8)
          .padEnd(8, "0")
          .split("")
          .reverse()
          .join(""),
        2,
      ),
    );
  });
}

function header(type: number, name: string, fields: Field[]): GroupField {
  return group(name, fields, (body) => concat(Uint8Array.of(type), raw("", "vorbis").bytes, body));
}

/** Identification, comments, set-up. */
export function vorbisHeaders(rateHz: number, channels: number): readonly [GroupField, GroupField, GroupField] {
  const lengthed = (name: string, value: string) =>
    group(name, [text("text", value)], (body, claimed) => concat(le(claimed, 4), body));
  return [
    header(1, "identification", [
      ...[numLe("version", 0, 4), numLe("channels", channels, 1), numLe("rate", rateHz, 4), numLe("bitrate max", 0, 4)],
      ...[
        numLe("bitrate", 128_000, 4),
        numLe("bitrate min", 0, 4),
        numLe("block sizes", 0xb8, 1),
        numLe("framing", 1, 1),
      ],
    ]),
    header(3, "comments", [
      lengthed("vendor", "x"),
      numLe("count", 1, 4),
      lengthed("comment", "TITLE=a"),
      numLe("framing", 1, 1),
    ]),
    header(5, "set-up", [packed("set-up bits", SETUP)]),
  ];
}

const SETUP: readonly (readonly [string, number, number])[] = [
  ["codebook count", 0, 8],
  ["codebook sync", 0x564342, 24],
  ["dimensions", 1, 16],
  ["entries", 2, 24],
  ["ordered", 0, 1],
  ["sparse", 0, 1],
  ["length 0", 0, 5],
  ["length 1", 0, 5],
  ["lookup", 0, 4],
  ["time count", 0, 6],
  ["time", 0, 16],
  ["floor count", 0, 6],
  ["floor type", 1, 16],
  ["partitions", 1, 5],
  ["partition class", 0, 4],
  ["class dimensions", 0, 3],
  ["class subclasses", 0, 2],
  ["class book", 1, 8],
  ["multiplier", 0, 2],
  ["range bits", 7, 4],
  ["point", 64, 7],
  ["residue count", 0, 6],
  ["residue type", 1, 16],
  ["begin", 0, 24],
  ["end", 0, 24],
  ["partition size", 31, 24],
  ["classifications", 0, 6],
  ["class book 2", 0, 8],
  ["cascade", 0, 3],
  ["cascade flag", 0, 1],
  ["mapping count", 0, 6],
  ["mapping type", 0, 16],
  ["submaps flag", 0, 1],
  ["coupling flag", 0, 1],
  ["reserved", 0, 2],
  ["submap time", 0, 8],
  ["submap floor", 0, 8],
  ["submap residue", 0, 8],
  ["mode count", 0, 6],
  ["block flag", 0, 1],
  ["window", 0, 16],
  ["transform", 0, 16],
  ["mode mapping", 0, 8],
  ["framing", 1, 1],
];
