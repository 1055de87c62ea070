// The length of Vorbis packets, which depends on the packet before, and the headers that define it (Vorbis I section
// 4). Used by the Ogg and Matroska readers. Audio thread.

import { splitXiphLaced } from "../format/xiph-lacing.ts";

/** Fields of the identification header. */
interface VorbisIdentification {
  readonly channelCount: number;
  readonly sampleRateHz: number;
  /** Samples of a short and a long block. */
  readonly blockSamples: readonly [short: number, long: number];
}

/** Vorbis I section 4.2.2. Undefined when it breaks a rule, or has a rate above 768 kHz. */
export function parseVorbisIdentification(packet: Uint8Array): VorbisIdentification | undefined {
  if (packet.length < 30 || !isVorbisHeader(packet, 1)) return undefined;
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  const channelCount = packet[11]!;
  const sampleRateHz = view.getUint32(12, true);
  const [short, long] = [packet[28]! & 15, packet[28]! >> 4];
  if (channelCount === 0 || sampleRateHz === 0 || sampleRateHz > 768_000) return undefined;
  if (short < 6 || long > 13 || short > long) return undefined;
  return { channelCount, sampleRateHz, blockSamples: [1 << short, 1 << long] };
}

/** True for the header packet of that type: 1 identification, 3 comments, 5 set-up. */
export function isVorbisHeader(packet: Uint8Array, type: number): boolean {
  return packet[0] === type && String.fromCharCode(...packet.subarray(1, 7)) === "vorbis";
}

/** Counts samples from packet to packet. Without a readable set-up header every packet counts as 0. */
export class VorbisClock {
  readonly #blockSamples: readonly [number, number];
  readonly #modes: readonly number[];
  readonly #modeMask: number;
  #previousSamples = 0;

  constructor(identification: VorbisIdentification, setup: Uint8Array) {
    this.#blockSamples = identification.blockSamples;
    this.#modes = readModes(setup);
    this.#modeMask = (1 << (32 - Math.clz32(Math.max(0, this.#modes.length - 1)))) - 1;
  }

  /** Samples the packet with this first byte decodes to, after the packet before. */
  count(firstByte: number): number {
    const mode = this.#modes[(firstByte >> 1) & this.#modeMask];
    if (mode === undefined || (firstByte & 1) !== 0) return 0;
    const samples = this.#blockSamples[mode === 0 ? 0 : 1];
    const previousSamples = this.#previousSamples;
    this.#previousSamples = samples;
    return previousSamples === 0 ? 0 : (previousSamples + samples) / 4;
  }

  /** Clears the previous packet: the next one decodes to nothing. */
  reset(): void {
    this.#previousSamples = 0;
  }
}

/** A mode is 41 bits: block flag 1, window type 16 and transform type 16 (both 0), mapping 8. At most 64 of them. */
const MODE_BITS = 41;
const MODE_COUNT_MAX = 64;
/** Zeros behind the framing bit that are skipped. */
const PADDING_BYTES_MAX = 4096;

/**
 * The block flags of the modes, which are at the very end of the set-up header, behind codebooks that are not worth
 * parsing for this: so they are read backwards from the framing bit, until the six bits in front hold the count read so
 * far.
 */
function readModes(setup: Uint8Array): number[] {
  let lastByte = setup.length - 1;
  while (lastByte > 0 && setup[lastByte] === 0 && setup.length - lastByte < PADDING_BYTES_MAX) lastByte--;
  // The framing bit is the highest that is set.
  const end = lastByte * 8 + 31 - Math.clz32(setup[lastByte] ?? 0);
  if (end < lastByte * 8) return [];
  const flags: number[] = [];
  let matching = 0;
  for (let at = end - MODE_BITS; at >= 56 && flags.length < MODE_COUNT_MAX; at -= MODE_BITS) {
    const isMode = readBits(setup, at + 1, 16) === 0 && readBits(setup, at + 17, 16) === 0;
    if (!isMode || readBits(setup, at + 33, 8) > 63) break;
    flags.unshift(readBits(setup, at, 1));
    if (readBits(setup, at - 6, 6) + 1 === flags.length) matching = flags.length;
  }
  return matching === 0 ? [] : flags.slice(-matching);
}

function readBits(bytes: Uint8Array, position: number, count: number): number {
  let value = 0;
  for (let bit = 0; bit < count; bit++) {
    const at = position + bit;
    value |= (((bytes[at >> 3] ?? 0) >> (at & 7)) & 1) << bit;
  }
  return value;
}

/**
 * The three headers of a Vorbis stream (identification, comments, set-up) from its description; undefined for anything
 * else.
 */
export function splitVorbisHeaders(description: Uint8Array): readonly [Uint8Array, Uint8Array, Uint8Array] | undefined {
  const [identification, comments, setup, ...more] = splitXiphLaced(description) ?? [];
  if (identification === undefined || comments === undefined || setup === undefined || more.length > 0)
    return undefined;
  return [identification, comments, setup];
}
