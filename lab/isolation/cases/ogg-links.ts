// Links to Ogg files: false page headers, endless headers, chains without end, packets over many pages.

import { ascii, concat, join, le, repeat } from "../../media-files/bytes.ts";
import { oggPage, opusHead, opusTags } from "../../media-files/containers.ts";
import { type HostileLayer, playsFile } from "../harness/hostile-case.ts";

const OGG = { fileName: "a.ogg" };
const START = concat(
  oggPage({ serial: 1, sequence: 0, granule: 0, flags: 2, packets: [opusHead()] }),
  oggPage({ serial: 1, sequence: 1, granule: 0, flags: 0, packets: [opusTags()] }),
);

/** Each header claims a page of 56 kB that does not follow. */
function falseHeads(sizeBytes: number): Uint8Array {
  const head = concat(ascii("OggS"), new Uint8Array(22), Uint8Array.of(220), new Uint8Array(220).fill(255));
  const start = oggPage({ serial: 1, sequence: 0, granule: 0, flags: 2, packets: [opusHead()] });
  return concat(start, repeat(concat(head, new Uint8Array(5)), Math.floor(sizeBytes / (head.length + 5))));
}

/** Whole streams of one packet, one after the other: a radio that changes its song all the time. */
function shortChain(count: number, channels: number): Uint8Array {
  const links = Array.from({ length: count }, (_, index) =>
    concat(
      oggPage({
        serial: index + 2,
        sequence: 0,
        granule: 0,
        flags: 2,
        packets: [opusHead(index % 2 === 0 ? 2 : channels)],
      }),
      oggPage({ serial: index + 2, sequence: 1, granule: 0, flags: 0, packets: [opusTags()] }),
      oggPage({ serial: index + 2, sequence: 2, granule: 960, flags: 4, packets: [Uint8Array.of(0xfc, 0xff, 0xfe)] }),
    ),
  );
  return join(links);
}

function beginnings(count: number): Uint8Array {
  const page = (serial: number) =>
    oggPage({ serial, sequence: 0, granule: 0, flags: 2, packets: [ascii("fishead\0")] });
  return join(Array.from({ length: count }, (_, index) => page(index)));
}

export const oggLinks: HostileLayer = {
  layer: "ogg",
  cases: [
    {
      name: "ogg-false-heads",
      what: "8 MB of page headers that each claim 56 kB, loaded three times and played",
      isQuick: true,
      arm: (attack) => {
        const url = attack.serveFile("a.ogg", falseHeads(8_000_000));
        return async () => {
          const answers = await Promise.all([attack.load(url), attack.load(`${url}?2`), attack.load(`${url}?3`)]);
          return `${answers.join("; ")}; ${await attack.play(url)}`;
        };
      },
    },
    playsFile("ogg-false-heads-small", "the same in 900 kB", () => falseHeads(900_000), OGG),
    playsFile(
      "ogg-dense-heads",
      "4 MB of page headers of five bytes after valid headers",
      () => concat(START, repeat(concat(ascii("OggS"), Uint8Array.of(0)), 800_000)),
      OGG,
    ),
    playsFile(
      "ogg-wrong-checksums",
      "4 MB of pages whose checksums are wrong",
      () => {
        const page = oggPage({ serial: 1, sequence: 2, granule: 960, flags: 0, packets: [new Uint8Array(200)] });
        page[22]! ^= 1;
        return concat(START, repeat(page, 18_000));
      },
      OGG,
    ),
    playsFile(
      "ogg-empty-pages",
      "300,000 pages without a packet",
      () => concat(START, repeat(oggPage({ serial: 1, sequence: 2, granule: -1, flags: 0, packets: [] }), 300_000)),
      OGG,
    ),
    playsFile(
      "ogg-empty-packets",
      "pages of 255 empty packets",
      () =>
        concat(
          START,
          repeat(
            oggPage({ serial: 1, sequence: 2, granule: 960, flags: 0, packets: Array(255).fill(new Uint8Array(0)) }),
            10_000,
          ),
        ),
      OGG,
    ),
    playsFile("ogg-beginnings", "20,000 streams that only begin", () => beginnings(20_000), OGG),
    playsFile(
      "ogg-short-chain",
      "4,000 chained streams of one packet, alternating 2 and 8 channels",
      () => shortChain(4000, 8),
      OGG,
    ),
    playsFile(
      "ogg-endless-packet",
      "one packet that spans 60 MB of pages",
      () => {
        const page = oggPage({ serial: 1, sequence: 2, granule: -1, flags: 1, packets: [new Uint8Array(254 * 255)] });
        // The last lace is 255 as well: the packet continues on the next page.
        page[26 + 255] = 255;
        return concat(START, repeat(page, 900));
      },
      OGG,
    ),
    playsFile(
      "ogg-granule-max",
      "granules at both ends of what 64 bits hold",
      () =>
        concat(
          START,
          ...Array.from({ length: 2000 }, (_, index) =>
            oggPage({
              serial: 1,
              sequence: index,
              granule: index % 2 === 0 ? 2n ** 63n - 1n : -(2n ** 63n),
              flags: 0,
              packets: [Uint8Array.of(0xfc, 1, 2)],
            }),
          ),
        ),
      OGG,
    ),
    playsFile(
      "ogg-comments",
      "OpusTags that claim four billion comments",
      () =>
        concat(
          oggPage({ serial: 1, sequence: 0, granule: 0, flags: 2, packets: [opusHead()] }),
          oggPage({
            serial: 1,
            sequence: 1,
            granule: 0,
            flags: 0,
            packets: [concat(ascii("OpusTags"), le(0, 4), le(2 ** 32 - 1, 4), new Uint8Array(50_000))],
          }),
        ),
      OGG,
    ),
    playsFile(
      "ogg-preskip-max",
      "a pre-skip of 65,535 samples in each of 2,000 chained streams",
      () =>
        concat(
          ...Array.from({ length: 2000 }, (_, index) =>
            concat(
              oggPage({ serial: index, sequence: 0, granule: 0, flags: 2, packets: [opusHead(2, 65_535)] }),
              oggPage({ serial: index, sequence: 1, granule: 0, flags: 0, packets: [opusTags()] }),
              oggPage({
                serial: index,
                sequence: 2,
                granule: 960,
                flags: 4,
                packets: [Uint8Array.of(0xfc, 0xff, 0xfe)],
              }),
            ),
          ),
        ),
      OGG,
    ),
  ],
};
