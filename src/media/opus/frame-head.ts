// Reads the start of a CELT frame: the pitch filter of its audio (RFC 6716 section 4.3.7.1) and whether it is a
// transient (4.3.1). An encoder whose frame replaces one needs it, so that the next frames fit. Audio thread.

import type { FrameHead } from "@tonearm/opus-encoder";
import { FRAME_SAMPLES } from "../format/audio-format.ts";
import { isCelt, packetDurationSamples } from "./opus-packet.ts";

const NO_FILTER = { period: 0, gainStep: 0, taps: 0 };
/** Minimum of the range decoder, section 4.1. */
const RANGE_MIN = 2 ** 23;
const VALUE_MASK = 0x7fff_ffff;
/** Inverse cumulative probabilities of the sets of taps, in quarters. */
const TAPS_PROBABILITIES = [2, 1, 0] as const;

/**
 * Undefined when it is not one frame of 20 ms of CELT. Whatever the packet holds, values are within the ranges above.
 */
export function readFrameHead(packet: Uint8Array): FrameHead | undefined {
  const isOneFrame = packet.length > 2 && (packet[0]! & 3) === 0;
  if (!isOneFrame || !isCelt(packet[0]!) || packetDurationSamples(packet) !== FRAME_SAMPLES) return undefined;
  const reader = new RangeReader(packet);
  if (reader.bit(15)) return { ...NO_FILTER, isTransient: false };
  const filter = reader.bit(1) ? readFilter(reader) : NO_FILTER;
  return { ...filter, isTransient: reader.bit(3) };
}

function readFilter(reader: RangeReader): Omit<FrameHead, "isTransient"> {
  const octave = reader.number(6);
  const period = (16 << octave) + reader.raw(4 + octave) - 1;
  const gainStep = reader.raw(3);
  return { period, gainStep, taps: reader.taps() };
}

/** The part of section 4.1 that the beginning of a frame needs: bytes from its front, raw bits from its back. */
class RangeReader {
  readonly #packet: Uint8Array;
  #at = 2;
  #rawBits = 0;
  #lastByte: number;
  #range = 128;
  #value: number;

  constructor(packet: Uint8Array) {
    this.#packet = packet;
    this.#lastByte = packet[1]!; // readFrameHead requires three bytes
    this.#value = 127 - (this.#lastByte >> 1);
    this.#normalize();
  }

  /** True with a probability of one in 2 to the power of `log`. */
  bit(log: number): boolean {
    const part = this.#range >>> log;
    const isSet = this.#value < part;
    if (!isSet) this.#value -= part;
    this.#range = isSet ? part : this.#range - part;
    this.#normalize();
    return isSet;
  }

  /** One of `count` numbers that are equally likely. */
  number(count: number): number {
    const part = Math.floor(this.#range / count);
    const found = count - Math.min(Math.floor(this.#value / part) + 1, count);
    const above = part * (count - found - 1);
    this.#value -= above;
    this.#range = found > 0 ? part : this.#range - above;
    this.#normalize();
    return found;
  }

  taps(): number {
    const part = this.#range >>> 2;
    const found = TAPS_PROBABILITIES.findIndex((probability) => this.#value >= part * probability);
    const below = part * TAPS_PROBABILITIES[found]!; // the last probability is 0
    this.#range = (found === 0 ? this.#range : part * TAPS_PROBABILITIES[found - 1]!) - below;
    this.#value -= below;
    this.#normalize();
    return found;
  }

  /** The next raw bits, lowest first. */
  raw(count: number): number {
    let bits = 0;
    for (let bit = 0; bit < count; bit++, this.#rawBits++) {
      const byte = this.#packet[this.#packet.length - 1 - (this.#rawBits >> 3)]!; // 12 bits at most
      bits |= ((byte >> (this.#rawBits & 7)) & 1) << bit;
    }
    return bits;
  }

  #normalize(): void {
    while (this.#range <= RANGE_MIN) {
      const byte = this.#packet[this.#at++] ?? 0;
      const next = ((this.#lastByte << 8) | byte) >> 1;
      this.#lastByte = byte;
      this.#range *= 256;
      this.#value = (((this.#value << 8) >>> 0) + (255 & ~next)) & VALUE_MASK;
    }
  }
}
