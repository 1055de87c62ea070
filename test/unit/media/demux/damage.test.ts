// Damage costs what it covers: in every container, at least 95 % of the packets that it leaves whole are played.

import { describe, expect, it } from "vitest";
import { concat } from "../../../../lab/media-files/bytes.ts";
import { cluster, matroskaHead, oggPage, simpleBlock } from "../../../../lab/media-files/containers.ts";
import { opusPacket } from "../../../../lab/media-files/counted-song.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { opusHeaders } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const DAMAGE_BYTES = 300;

/** Forty clusters of a fifth of a second. */
function matroska(): Uint8Array {
  const head = matroskaHead({ codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHeaders()[0] });
  const clusters = Array.from({ length: 40 }, (_, index) => {
    const blocks = Array.from({ length: 10 }, (_unused, slot) => simpleBlock(slot * 20, opusPacket(index * 10 + slot)));
    return cluster(index * 200, blocks);
  });
  return concat(head, ...clusters);
}

/** A Vorbis file in pages of five packets: that of the fixture has three pages in all. */
async function vorbis(): Promise<Uint8Array> {
  const file = Buffer.from(readMediaFixture("vorbis.ogg"));
  const packets = await packetsOf(file);
  const start = file.lastIndexOf("OggS", file.indexOf(packets[0]!.data));
  const pages: Uint8Array[] = [file.subarray(0, start)];
  for (let at = 0; at < packets.length; at += 5) {
    const group = packets.slice(at, at + 5);
    const { timestampMs, durationMs } = group.at(-1)!;
    const granule = Math.round((timestampMs + durationMs) * 44.1);
    const fields = {
      serial: file.readUInt32LE(14),
      sequence: file.readUInt32LE(start + 18) + at / 5,
      granule,
      flags: 0,
    };
    pages.push(oggPage({ ...fields, packets: group.map(({ data }) => data) }));
  }
  return concat(...pages);
}

/** Files, and the bytes of what is lost as a whole: a frame, a TS packet and what began in it, a page, a cluster. */
const FILES: readonly (readonly [string, () => Uint8Array | Promise<Uint8Array>, number])[] = [
  ["MP3", () => readMediaFixture("cbr-noxing.mp3"), 900],
  ["MP3 of varying rate", () => readMediaFixture("vbr-noxing.mp3"), 1500],
  ["ADTS", () => readMediaFixture("aac.aac"), 900],
  ["AAC in MPEG-TS", () => readMediaFixture("aac.mpegts"), 3500],
  ["MP3 in MPEG-TS", () => readMediaFixture("mp3.mpegts"), 3500],
  ["MP4", () => readMediaFixture("aac-faststart.m4a"), 600],
  ["FLAC", () => readMediaFixture("small.flac"), 0],
  ["Opus in Ogg", () => readMediaFixture("opus.ogg"), 0],
  ["Vorbis in Ogg", vorbis, 0],
  ["FLAC in Ogg", () => readMediaFixture("flac.oga"), 0],
  ["Matroska", matroska, 1200],
];

const random = seededRandom(16);

/** `isMoved`: the bytes behind are elsewhere then, which files with tables of positions do not survive. */
const DAMAGES: readonly {
  readonly name: string;
  readonly isMoved: boolean;
  readonly damage: (file: Uint8Array, at: number) => Uint8Array;
}[] = [
  { name: "noise", isMoved: false, damage: (file, at) => fill(file, at, () => Math.floor(random() * 256)) },
  { name: "zeros", isMoved: false, damage: (file, at) => fill(file, at, () => 0) },
  { name: "ones", isMoved: false, damage: (file, at) => fill(file, at, () => 255) },
  {
    name: "flipped bits",
    isMoved: false,
    damage: (file, at) => fill(file, at, (byte) => (random() < 0.04 ? byte ^ 16 : byte)),
  },
  {
    name: "missing bytes",
    isMoved: true,
    damage: (file, at) => concat(file.subarray(0, at), file.subarray(at + DAMAGE_BYTES)),
  },
  {
    name: "bytes of another place",
    isMoved: true,
    damage: (file, at) => concat(file.subarray(0, at), file.subarray(at / 2, at / 2 + DAMAGE_BYTES), file.subarray(at)),
  },
];

function fill(file: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  return file.map((byte, index) => (index >= at && index < at + DAMAGE_BYTES ? change(byte) : byte));
}

async function packetsOf(bytes: Uint8Array): Promise<Packet[]> {
  return readPackets(await openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget()));
}

const keyOf = ({ data }: Packet) => Buffer.from(data).toString("base64");

/** The parts of Ogg and FLAC differ much in size: the one that the damage hits, and the next. */
function lostBytes(file: Uint8Array, at: number, unitBytes: number): { from: number; to: number } {
  if (unitBytes > 0) return { from: at - unitBytes, to: at + DAMAGE_BYTES + unitBytes };
  const mark = file[0] === 0x4f ? Buffer.from("OggS") : Buffer.from([0xff, 0xf8]);
  const buffer = Buffer.from(file);
  const end = buffer.indexOf(mark, at + DAMAGE_BYTES);
  return { from: buffer.lastIndexOf(mark, at), to: end < 0 ? file.length : end };
}

describe.each(FILES)("damaged %s", (_, make, unitBytes) => {
  it.each(DAMAGES)("plays what is left whole by $name", async ({ damage, isMoved }) => {
    const file = await make();
    const whole = await packetsOf(file);
    const hasTable = Buffer.from(file.subarray(4, 8)).toString() === "ftyp";
    if (isMoved && hasTable) return;
    const packetBytes = whole.reduce((sum, { data }) => sum + data.length, 0);
    const headBytes = Math.max(0, Buffer.from(file).indexOf(whole[0]!.data));
    for (const share of [0.3, 0.5, 0.77]) {
      const at = 2 * Math.floor((headBytes + share * (file.length - headBytes)) / 2);
      const played = new Map<string, number>();
      for (const packet of await packetsOf(damage(file, at)))
        played.set(keyOf(packet), (played.get(keyOf(packet)) ?? 0) + 1);
      const lost = lostBytes(file, at, unitBytes);
      const lostPackets = ((lost.to - lost.from) / (file.length - headBytes)) * packetBytes;
      const wanted = packetBytes - lostPackets;
      let heard = 0;
      for (const packet of whole) {
        const count = played.get(keyOf(packet)) ?? 0;
        if (count > 0) heard += packet.data.length;
        played.set(keyOf(packet), count - 1);
      }
      expect(wanted).toBeGreaterThan(packetBytes / 3);
      expect(heard / wanted).toBeGreaterThan(0.95);
    }
  });
});
