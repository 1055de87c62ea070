// Links to Opus whose packets are damaged, of every length, or change all the time: decoder, repacketizer, passthrough.

import { concat, join } from "../../media-files/bytes.ts";
import { cluster, matroskaHead, opusHead, simpleBlock } from "../../media-files/containers.ts";
import { type HostileLayer, playsFile } from "../harness/hostile-case.ts";

const WEBM = { fileName: "a.webm" };
const HEAD = matroskaHead({ codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() });

function song(packetOf: (index: number) => Uint8Array, count: number, stepMs = 20): Uint8Array {
  return join([
    HEAD,
    ...Array.from({ length: count }, (_, index) =>
      cluster(Math.floor(index * stepMs), [simpleBlock(0, packetOf(index))]),
    ),
  ]);
}

function noise(seed: number, lengthBytes: number): Uint8Array {
  return Uint8Array.from(
    { length: lengthBytes },
    (_, at) => ((at + 1) * (seed + 1) * 7919 + (seed >> 2) * 104_729) & 0xff,
  );
}

export const opusLinks: HostileLayer = {
  layer: "opus",
  cases: [
    playsFile("opus-random", "Opus packets of random bytes", () => song((index) => noise(index, 120), 2000), WEBM),
    playsFile(
      "opus-all-modes",
      "each packet in another mode, bandwidth, length and channel count",
      () => song((index) => concat(Uint8Array.of((index * 37) & 0xfc), noise(index, 60)), 3000),
      WEBM,
    ),
    playsFile(
      "opus-48-frames",
      "packets of 48 frames of 2.5 ms",
      () => song(() => concat(Uint8Array.of(0xe3, 48), new Uint8Array(48)), 5000, 120),
      WEBM,
    ),
    playsFile(
      "opus-2-5-ms",
      "200,000 packets of 2.5 ms",
      () => song(() => Uint8Array.of(0xe0, 0xff), 50_000, 2.5),
      WEBM,
    ),
    playsFile(
      "opus-120-ms",
      "packets of 120 ms, each of a megabyte",
      () => song(() => concat(Uint8Array.of(0xff, 6), new Uint8Array(1_000_000)), 20, 120),
      WEBM,
    ),
    playsFile(
      "opus-padding",
      "packets that are almost all padding",
      () => song(() => concat(Uint8Array.of(0xff, 0x41), new Uint8Array(240).fill(255), new Uint8Array(62_000)), 200),
      WEBM,
    ),
    playsFile(
      "opus-empty",
      "Opus packets of no bytes between good ones",
      () => song((index) => (index % 50 === 0 ? Uint8Array.of(0xfc, 0xff, 0xfe) : new Uint8Array(0)), 20_000),
      WEBM,
    ),
    playsFile(
      "opus-gaps",
      "an hour between each packet and the next",
      () => song(() => Uint8Array.of(0xfc, 0xff, 0xfe), 500, 3_600_000),
      WEBM,
    ),
    playsFile(
      "opus-large",
      "packets of 64 kB that are passed through unchanged",
      () => song((index) => concat(Uint8Array.of(0xfc), noise(index, 65_000)), 200),
      WEBM,
    ),
  ],
};
