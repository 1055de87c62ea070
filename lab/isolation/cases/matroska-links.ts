// Links to WebM and Matroska files whose elements, laces and cues are made to overload a reader or to fill its queues.

import { ascii, be, concat, repeat } from "../../media-files/bytes.ts";
import {
  cluster,
  ebml,
  flacHead,
  type MatroskaTrack,
  matroskaHead,
  opusHead,
  simpleBlock,
} from "../../media-files/containers.ts";
import { type HostileCase, type HostileLayer, playsFile } from "../harness/hostile-case.ts";

const OPUS: MatroskaTrack = { codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() };
const WEBM = { fileName: "a.webm" };

const LACED_TRACKS: readonly (readonly [name: string, track: MatroskaTrack])[] = [
  ["opus", OPUS],
  ["mp3", { codec: "A_MPEG/L3", rateHz: 44_100, channels: 2 }],
  ["aac", { codec: "A_AAC", rateHz: 44_100, channels: 2, codecPrivate: Uint8Array.of(0x12, 0x10) }],
  ["flac", { codec: "A_FLAC", rateHz: 44_100, channels: 1, codecPrivate: flacHead({ rateHz: 44_100 }) }],
  ["pcm", { codec: "A_PCM/INT/LIT", rateHz: 48_000, channels: 2, bitsPerSample: 16 }],
];

/** One cluster of the same element, repeated. */
function manyOf(element: Uint8Array, count: number): Uint8Array {
  return ebml(0x1f43b675, concat(ebml(0xe7, be(0, 1)), repeat(element, count)));
}

/** Blocks of 7 bytes with 256 empty frames in each (lacing of equal sizes). */
function emptyLaces(track: MatroskaTrack, count: number): Uint8Array {
  return concat(matroskaHead(track), manyOf(Uint8Array.of(0xa3, 0x85, 0x81, 0, 0, 0x84, 255), count));
}

/** Frames of 1 byte each, 256 in a block, Xiph lacing. */
function tinyLaces(count: number): Uint8Array {
  const block = ebml(
    0xa3,
    concat(Uint8Array.of(0x81, 0, 0, 0x82, 255), new Uint8Array(255).fill(1), new Uint8Array(256)),
  );
  return concat(matroskaHead(OPUS), manyOf(block, count));
}

function nested(id: number, depth: number): Uint8Array {
  return repeat(
    concat(be(id, id > 0xffffff ? 4 : 1), Uint8Array.of(0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)),
    depth,
  );
}

/** Cues that all point to the cues themselves. */
function cyclicCues(): Uint8Array {
  const point = ebml(
    0xbb,
    concat(ebml(0xb3, be(1000, 2)), ebml(0xb7, concat(ebml(0xf7, be(1, 1)), ebml(0xf1, be(0, 1))))),
  );
  const head = matroskaHead(OPUS, 600_000);
  return concat(head, ebml(0x1c53bb6b, repeat(point, 50_000)), cluster(0, [simpleBlock(0, Uint8Array.of(0xfc, 1))]));
}

/** Packets of one byte in 100,000 clusters: a seek far ahead has to pass them all. */
function tinyClusters(): Uint8Array {
  const one = cluster(0, [simpleBlock(0, Uint8Array.of(0xf8))]);
  return concat(matroskaHead(OPUS, 36_000_000), repeat(one, 100_000));
}

const seekAhead: HostileCase = {
  name: "webm-seek-tiny-packets",
  what: "a seek of ten hours over 100,000 clusters of a packet each, five times",
  arm: (attack) => {
    const url = attack.serveFile("a.webm", tinyClusters());
    const meanwhile = async (bot: Awaited<ReturnType<typeof attack.session>>, guildIds: readonly string[]) => {
      for (let count = 0; count < 5; count++) {
        const updates = guildIds.map((guildId) => bot.update(guildId, { position: 35_000_000 + count }));
        await Promise.allSettled(updates); // refused once the node has ended the track, as it may
      }
    };
    return () => attack.play(url, { meanwhile });
  },
};

export const matroskaLinks: HostileLayer = {
  layer: "matroska",
  cases: [
    ...LACED_TRACKS.map(([codec, track]) =>
      playsFile(
        `webm-empty-laces-${codec}`,
        `70 kB of 7-byte blocks of 256 empty laces, ${codec}`,
        () => emptyLaces(track, 10_000),
        {
          ...WEBM,
          isQuick: codec === "mp3",
        },
      ),
    ),
    playsFile("webm-tiny-laces", "4 MB of blocks of 256 packets of one byte", () => tinyLaces(8000), WEBM),
    playsFile(
      "webm-one-byte-blocks",
      "200,000 blocks of one byte",
      () => concat(matroskaHead(OPUS), manyOf(Uint8Array.of(0xa3, 0x85, 0x81, 0, 0, 0x80, 0xff), 200_000)),
      WEBM,
    ),
    playsFile(
      "webm-foreign-blocks",
      "a million blocks of another track",
      () => concat(matroskaHead(OPUS), manyOf(Uint8Array.of(0xa3, 0x85, 0x82, 0, 0, 0x80, 0xff), 1_000_000)),
      WEBM,
    ),
    playsFile(
      "webm-void-elements",
      "a million empty Void elements",
      () => concat(matroskaHead(OPUS), repeat(Uint8Array.of(0xec, 0x80), 1_000_000)),
      WEBM,
    ),
    playsFile(
      "webm-empty-clusters",
      "500,000 empty clusters",
      () => concat(matroskaHead(OPUS), repeat(Uint8Array.of(0x1f, 0x43, 0xb6, 0x75, 0x80), 500_000)),
      WEBM,
    ),
    playsFile(
      "webm-nested-clusters",
      "clusters of unknown size nested 200,000 deep",
      () => concat(matroskaHead(OPUS), nested(0x1f43b675, 200_000)),
      WEBM,
    ),
    playsFile(
      "webm-nested-groups",
      "block groups of unknown size nested 200,000 deep",
      () => concat(matroskaHead(OPUS), nested(0xa0, 200_000)),
      WEBM,
    ),
    playsFile(
      "webm-same-time",
      "100,000 Opus packets that all have time 0",
      () => concat(matroskaHead(OPUS), manyOf(simpleBlock(0, Uint8Array.of(0xfc, 1, 2, 3)), 100_000)),
      WEBM,
    ),
    playsFile(
      "webm-time-max",
      "clusters at the end of time",
      () => {
        const time = ebml(0xe7, be(2n ** 64n - 1n, 8));
        return concat(
          matroskaHead(OPUS),
          repeat(ebml(0x1f43b675, concat(time, simpleBlock(0x7fff, Uint8Array.of(0xfc, 1)))), 1000),
        );
      },
      WEBM,
    ),
    playsFile("webm-cyclic-cues", "50,000 cues that point back to the start", cyclicCues, WEBM),
    playsFile(
      "webm-tracks",
      "20,000 audio tracks, none of a known codec",
      () => {
        const track = ebml(0xae, concat(ebml(0xd7, be(2, 1)), ebml(0x83, be(2, 1)), ebml(0x86, ascii("A_NONE"))));
        return concat(
          ebml(0x1a45dfa3, ebml(0x4282, ascii("webm"))),
          ebml(0x18538067, ebml(0x1654ae6b, repeat(track, 20_000)), "unknown"),
        );
      },
      WEBM,
    ),
    playsFile(
      "webm-tags",
      "8 MB of tags",
      () => {
        const tag = ebml(0x67c8, concat(ebml(0x45a3, ascii("TITLE")), ebml(0x4487, ascii("t".repeat(100)))));
        return concat(matroskaHead(OPUS), ebml(0x1254c367, ebml(0x7373, repeat(tag, 60_000))), cluster(0, []));
      },
      WEBM,
    ),
    playsFile(
      "webm-element-of-exabytes",
      "an element that claims 2^56 bytes",
      () => concat(matroskaHead(OPUS), ebml(0x1f43b675, new Uint8Array(1000), 2 ** 48)),
      WEBM,
    ),
    playsFile(
      "webm-codec-private-huge",
      "an OpusHead of 8 MB with 255 channels",
      () =>
        concat(
          matroskaHead({ ...OPUS, codecPrivate: concat(opusHead(255), new Uint8Array(8_000_000)) }),
          cluster(0, []),
        ),
      WEBM,
    ),
    seekAhead,
  ],
};
