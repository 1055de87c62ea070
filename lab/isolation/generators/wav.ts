// WAV files as trees: RIFF, RF64, chunks in any order, every sample format.

import { concat, le } from "../../media-files/bytes.ts";
import { type Field, type GroupField, group, numLe, raw, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";

const chunkWrap =
  (name: string): Wrap =>
  (body, claimed) =>
    concat(raw(name, name).bytes, le(claimed, 4), body, new Uint8Array(body.length & 1));

function chunk(name: string, fields: Field[]): GroupField {
  return group(name, fields, chunkWrap(name));
}

export function buildWav(random: () => number): GroupField {
  const [format, bitCount] = pick(
    [
      [1, 8],
      [1, 16],
      [1, 24],
      [1, 32],
      [3, 32],
      [3, 64],
      [6, 8],
      [7, 8],
      [0xfffe, 16],
    ] as const,
    random,
  ) ?? [1, 16];
  const channels = pick([1, 2, 3, 6, 8], random) ?? 2;
  const rate = pick([8000, 11_025, 44_100, 48_000, 96_000, 192_000], random) ?? 48_000;
  const frameBytes = (channels * bitCount) / 8;
  const extension =
    format === 0xfffe
      ? [
          numLe("extension size", 22, 2),
          numLe("valid bits", 16, 2),
          numLe("channel mask", 3, 4),
          numLe("sub-format", 1, 2),
          raw("guid", noise(14, random)),
        ]
      : [];
  const fields = [
    chunk("fmt ", [
      ...[numLe("format", format, 2), numLe("channels", channels, 2), numLe("rate", rate, 4)],
      ...[
        numLe("byte rate", rate * frameBytes, 4),
        numLe("block align", frameBytes, 2),
        numLe("bits", bitCount, 2),
        ...extension,
      ],
    ]),
    ...(random() < 0.3 ? [chunk("fact", [numLe("samples", 1000, 4)])] : []),
    ...(random() < 0.3 ? [chunk("LIST", [raw("kind", "INFO"), chunk("INAM", [raw("title", "A title")])])] : []),
    chunk("data", [raw("samples", noise(Math.floor(random() * 20_000), random))]),
  ];
  const is64 = random() < 0.2;
  const ds64 = chunk("ds64", [
    numLe("riff size", 30_000, 8),
    numLe("data size", 20_000, 8),
    numLe("samples", 1000, 8),
    numLe("table", 0, 4),
  ]);
  return group("file", [
    group("riff", [raw("wave", "WAVE"), ...(is64 ? [ds64] : []), ...fields], chunkWrap(is64 ? "RF64" : "RIFF")),
  ]);
}
