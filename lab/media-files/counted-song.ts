// A song whose Opus packets carry their numbers, as an Ogg file: the received packets can be read as numbers. Not
// audible music (counted-tones.ts has some).

import { be } from "./bytes.ts";
import { oggPage, opusHead, opusTags } from "./containers.ts";

const PACKETS_PER_PAGE = 25;
const PRE_SKIP_SAMPLES = 312;
const FRAME_SAMPLES = 960;
const PACKETS_PER_SECOND = 50;

/** Packets with the numbers `firstNumber` (default 0) and up, of 20 ms each. */
export function countedSong(options: { seconds: number; firstNumber?: number; packetBytes?: number }): Buffer {
  const { seconds, firstNumber = 0, packetBytes = 100 } = options;
  return oggFile(
    Array.from({ length: seconds * PACKETS_PER_SECOND }, (_, index) => opusPacket(firstNumber + index, packetBytes)),
  );
}

/** An Ogg file of packets of 20 ms. */
export function oggFile(packets: readonly Uint8Array[]): Buffer {
  const [head, tags] = [opusHead(), opusTags()];
  const pages = [
    oggPage({ serial: 7, sequence: 0, granule: 0, flags: 2, packets: [head] }),
    oggPage({ serial: 7, sequence: 1, granule: 0, flags: 0, packets: [tags] }),
  ];
  for (let first = 0; first < packets.length; first += PACKETS_PER_PAGE) {
    const end = Math.min(packets.length, first + PACKETS_PER_PAGE);
    const granule = PRE_SKIP_SAMPLES + end * FRAME_SAMPLES;
    const [sequence, flags] = [pages.length, end === packets.length ? 4 : 0];
    pages.push(oggPage({ serial: 7, sequence, granule, flags, packets: packets.slice(first, end) }));
  }
  return Buffer.concat(pages);
}

/** A 20 ms Opus packet that carries its number. */
export function opusPacket(number: number, sizeBytes = 100): Uint8Array {
  const packet = new Uint8Array(sizeBytes).fill(0x55);
  packet.set([0xfc, ...be(number, 4)]);
  return packet;
}

/** The number that it carries: behind its first byte, or at its end where it has padding (counted-tones.ts). */
export function opusPacketNumber(packet: Uint8Array): number {
  const hasPadding = ((packet[0] ?? 0) & 3) === 3;
  const bytes = hasPadding ? packet.subarray(-4) : packet.subarray(1, 5);
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

/** The numbers of received packets. */
export function packetNumbers(frames: readonly { readonly opus: Uint8Array }[]): number[] {
  return frames.map(({ opus }) => opusPacketNumber(opus));
}

/** first, first + 1, … up to and without `end`. */
export function numbersFrom(first: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
}
