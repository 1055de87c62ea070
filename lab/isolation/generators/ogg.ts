// Ogg files as trees: pages with their laces and right checksums, Opus, Vorbis and FLAC inside, one stream or a chain.

import { concat, crc, le } from "../../media-files/bytes.ts";
import { flacStreamInfo, opusHead } from "../../media-files/containers.ts";
import { type Field, type GroupField, group, num, numLe, raw, render, type Wrap } from "./field-tree.ts";
import { noise, pick } from "./mutate.ts";
import { vorbisHeaders } from "./vorbis.ts";

const pageCrc = crc(32, 0x04c11db7);

interface Page {
  readonly serial: number;
  readonly sequence: number;
  readonly granule: number;
  readonly flags: number;
  readonly packets: Field[];
}

/** The lace sizes are those of the packets; a wrong size is a separate field. */
function page({ serial, sequence, granule, flags, packets }: Page): GroupField {
  const body = group("packets", packets);
  const laces = packets.flatMap((packet) => {
    const sizeBytes = render(packet).length;
    return [...Array<number>(Math.floor(sizeBytes / 255)).fill(255), sizeBytes % 255];
  });
  const head = [
    ...[
      raw("capture", "OggS"),
      num("version", 0, 1),
      num("flags", flags, 1),
      numLe("granule", granule, 8),
      numLe("serial", serial, 4),
    ],
    ...[numLe("sequence", sequence, 4), raw("checksum", new Uint8Array(4)), num("lace count", laces.length, 1)],
    group(
      "laces",
      laces.slice(0, 255).map((lace) => num("lace", lace, 1)),
    ),
  ];
  return group("page", [...head, body], sealed);
}

const sealed: Wrap = (bytes) => {
  if (bytes.length < 26) return bytes;
  const page = bytes.slice();
  page.fill(0, 22, 26);
  page.set(le(pageCrc(page), 4), 22);
  return page;
};

interface Codec {
  readonly headers: readonly Field[];
  readonly packet: () => Field;
  readonly samples: number;
}

function opus(random: () => number): Codec {
  const tags = group("tags", [
    raw("magic", "OpusTags"),
    numLe("vendor", 0, 4),
    numLe("count", 1, 4),
    numLe("length", 7, 4),
    raw("comment", "TITLE=a"),
  ]);
  const head = group("head", [
    raw("magic", opusHead().subarray(0, 8)),
    num("version", 1, 1),
    num("channels", pick([1, 2, 2, 2, 6], random) ?? 2, 1),
    numLe("pre-skip", 312, 2),
    numLe("rate", 48_000, 4),
    numLe("gain", 0, 2),
    num("family", 0, 1),
  ]);
  return {
    headers: [head, tags],
    packet: () =>
      group("packet", [
        num("toc", pick([0xfc, 0xfc, 0xe3, 0x08, 0xff], random) ?? 0xfc, 1),
        raw("data", noise(Math.floor(random() * 200), random)),
      ]),
    samples: 960,
  };
}

function vorbis(random: () => number): Codec {
  return {
    headers: vorbisHeaders(pick([8000, 44_100, 48_000], random) ?? 44_100, pick([1, 2, 6], random) ?? 2),
    packet: () => raw("packet", noise(Math.floor(random() * 100), random)),
    samples: 1024,
  };
}

function flac(random: () => number): Codec {
  const head = group("head", [
    raw("magic", "\x7fFLAC"),
    num("major", 1, 1),
    num("minor", 0, 1),
    num("headers", 1, 2),
    raw("signature", "fLaC"),
    num("block", 0, 1),
    num("size", 34, 3),
    raw("stream info", flacStreamInfo({ rateHz: 44_100 })),
  ]);
  const comments = group("comments", [num("block", 0x84, 1), num("size", 8, 3), raw("empty", new Uint8Array(8))]);
  return {
    headers: [head, comments],
    packet: () => raw("frame", concat(Uint8Array.of(0xff, 0xf8), noise(50, random))),
    samples: 4096,
  };
}

function stream(serial: number, random: () => number): GroupField[] {
  const { headers, packet, samples } = (pick([opus, opus, vorbis, flac], random) ?? opus)(random);
  const pages = headers.map((header, sequence) =>
    page({ serial, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [header] }),
  );
  const count = 1 + Math.floor(random() * 12);
  let granule = 0;
  for (let index = 0; index < count; index++) {
    const packets = Array.from({ length: 1 + Math.floor(random() * 8) }, packet);
    granule += packets.length * samples;
    pages.push(
      page({ serial, sequence: headers.length + index, granule, flags: index === count - 1 ? 4 : 0, packets }),
    );
  }
  return pages;
}

export function buildOgg(random: () => number): GroupField {
  const links = Array.from({ length: random() < 0.3 ? 3 : 1 }, (_, index) =>
    group("stream", stream(index + 1, random)),
  );
  return group("file", links);
}
