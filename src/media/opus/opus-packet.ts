// Parses Opus packets, and regroups their frames into packets of 20 ms without changing the coded audio, as passthrough
// needs it. RFC 6716 section 3. Audio thread.

import { FRAME_SAMPLES } from "../format/audio-format.ts";

/** RFC 6716 section 3.4, R2: a frame is at most 1275 bytes. */
export const OPUS_FRAME_BYTES_MAX = 1275;
/** RFC 6716 section 3.4, R5: a packet is at most 120 ms. In samples at 48 kHz. */
export const OPUS_PACKET_SAMPLES_MAX = 5760;
/** 48 frames with their lengths; anything larger is endless padding. */
export const OPUS_PACKET_BYTES_MAX = 65_536;

export interface OpusPacket {
  /** 0 to 31: mode, bandwidth and frame length (RFC 6716 table 2). */
  readonly config: number;
  readonly mode: "silk" | "hybrid" | "celt";
  readonly isStereo: boolean;
  /** Length of each frame at 48 kHz: 120, 240, 480, 960, 1920 or 2880. */
  readonly frameSamples: number;
  /** Views of the coded frames, in order; one of length 0 is a frame that was not transmitted. */
  readonly frames: readonly Uint8Array[];
  /** Bytes of the packet that were used: all of them, or fewer with self-delimiting framing. */
  readonly sizeBytes: number;
}

/** Length of the packet's audio in samples at 48 kHz; 0 when its header is invalid. Allocates nothing. */
export function packetDurationSamples(packet: Uint8Array): number {
  if (packet.length === 0) return 0;
  const code = packet[0]! & 3;
  if (code === 3 && packet.length < 2) return 0;
  const frameCount = code === 0 ? 1 : code < 3 ? 2 : packet[1]! & 63;
  const samples = frameCount * frameSamplesOf(packet[0]!);
  return samples > OPUS_PACKET_SAMPLES_MAX ? 0 : samples;
}

/**
 * True when the packet can be sent to Discord unchanged: well-formed, exactly 20 ms, and no larger than one frame gets.
 */
export function isPassthroughPacket(packet: Uint8Array): boolean {
  if (packet.length > 1 + OPUS_FRAME_BYTES_MAX || packetDurationSamples(packet) !== FRAME_SAMPLES) return false;
  return (packet[0]! & 3) === 0 || parseOpusPacket(packet) !== undefined;
}

/**
 * Splits a packet (RFC 6716 section 3.2); undefined when it breaks a rule of section 3.4. `isSelfDelimited` reads the
 * framing of appendix B, used inside multistream packets, and ignores bytes behind the packet.
 */
export function parseOpusPacket(
  packet: Uint8Array,
  { isSelfDelimited = false }: { readonly isSelfDelimited?: boolean } = {},
): OpusPacket | undefined {
  const toc = packet[0];
  if (toc === undefined || packet.length > OPUS_PACKET_BYTES_MAX) return undefined;
  const layout = readLayout(packet, isSelfDelimited);
  const frameSamples = frameSamplesOf(toc);
  if (layout === undefined || layout.sizes.length * frameSamples > OPUS_PACKET_SAMPLES_MAX) return undefined;
  let position = layout.dataStart;
  const frames: Uint8Array[] = [];
  for (const size of layout.sizes) {
    if (size > OPUS_FRAME_BYTES_MAX) return undefined;
    frames.push(packet.subarray(position, position + size));
    position += size;
  }
  // Catches frames beyond the end: the sum of all parts must be the packet.
  const sizeBytes = position + layout.paddingBytes;
  if (isSelfDelimited ? sizeBytes > packet.length : sizeBytes !== packet.length) return undefined;
  const config = toc >> 3;
  const mode = isCelt(toc) ? "celt" : config < 12 ? "silk" : "hybrid";
  return { config, mode, isStereo: (toc & 4) !== 0, frameSamples, frames, sizeBytes };
}

/** Builds the shortest packet of frames that share `config` (1 to 48 frames, 120 ms at most). */
export function buildOpusPacket(config: number, isStereo: boolean, frames: readonly Uint8Array[]): Uint8Array {
  const toc = (config << 3) | (isStereo ? 4 : 0);
  const [first, second] = frames;
  if (frames.length === 1 && first !== undefined) return join([Uint8Array.of(toc), first]);
  if (frames.length === 2 && first !== undefined && second !== undefined) {
    if (first.length === second.length) return join([Uint8Array.of(toc | 1), first, second]);
    return join([Uint8Array.of(toc | 2, ...lengthBytes(first.length)), first, second]);
  }
  const isConstant = frames.every((frame) => frame.length === first?.length);
  const sizes = isConstant ? [] : frames.slice(0, -1).flatMap((frame) => lengthBytes(frame.length));
  return join([Uint8Array.of(toc | 3, (isConstant ? 0 : 0x80) | frames.length, ...sizes), ...frames]);
}

/**
 * Regroups packets of other lengths into packets of exactly 20 ms, losslessly: longer packets of 20 ms frames are
 * split, shorter frames of one configuration are joined. Holds less than 20 ms between calls.
 */
export class OpusRepacketizer {
  #config = -1;
  #isStereo = false;
  #frames: Uint8Array[] = [];

  /**
   * The 20 ms packets that are complete with this one (none or more), or undefined when it cannot be done losslessly
   * (frames of 40 or 60 ms, a change of configuration inside a 20 ms group, a malformed packet): transcode from here
   * on. `pendingSamples` is the audio before this packet that has not been returned; after undefined all of it is
   * discarded.
   */
  push(packet: Uint8Array): readonly Uint8Array[] | undefined {
    if (this.#frames.length === 0 && isPassthroughPacket(packet)) return [packet];
    const parsed = parseOpusPacket(packet);
    const isSame = parsed !== undefined && parsed.config === this.#config && parsed.isStereo === this.#isStereo;
    if (
      parsed === undefined ||
      parsed.frameSamples > FRAME_SAMPLES ||
      (this.#frames.length > 0 && !isSame) ||
      parsed.frames.length === 0
    ) {
      this.reset();
      return undefined;
    }
    this.#config = parsed.config;
    this.#isStereo = parsed.isStereo;
    this.#frames.push(...parsed.frames);
    return this.#takeGroups(FRAME_SAMPLES / parsed.frameSamples);
  }

  /** Samples at 48 kHz that wait for the rest of their 20 ms. */
  get pendingSamples(): number {
    return this.#frames.length === 0 ? 0 : this.#frames.length * frameSamplesOf(this.#config << 3);
  }

  reset(): void {
    this.#frames = [];
    this.#config = -1;
  }

  #takeGroups(framesPerPacket: number): Uint8Array[] {
    const packets: Uint8Array[] = [];
    while (this.#frames.length >= framesPerPacket) {
      packets.push(buildOpusPacket(this.#config, this.#isStereo, this.#frames.splice(0, framesPerPacket)));
    }
    return packets;
  }
}

interface Layout {
  readonly sizes: readonly number[];
  readonly dataStart: number;
  readonly paddingBytes: number;
}

/** Where the frames lie (RFC 6716 section 3.2.2 to 3.2.5), not yet checked against the packet's end. */
function readLayout(packet: Uint8Array, isSelfDelimited: boolean): Layout | undefined {
  const code = packet[0]! & 3;
  if (code === 3) return readLayoutOfMany(packet, isSelfDelimited);
  let position = 1;
  let size = 0;
  if (code === 2 || isSelfDelimited) {
    const length = readLength(packet, position);
    if (length === undefined) return undefined;
    size = length.size;
    position = length.end;
  }
  if (code === 0) return { sizes: [isSelfDelimited ? size : packet.length - 1], dataStart: position, paddingBytes: 0 };
  if (code === 1) {
    const each = isSelfDelimited ? size : (packet.length - 1) / 2;
    return Number.isInteger(each) ? { sizes: [each, each], dataStart: position, paddingBytes: 0 } : undefined;
  }
  if (!isSelfDelimited) {
    return { sizes: [size, Math.max(packet.length - position - size, 0)], dataStart: position, paddingBytes: 0 };
  }
  const second = readLength(packet, position);
  return second && { sizes: [size, second.size], dataStart: second.end, paddingBytes: 0 };
}

/**
 * Code 3 (section 3.2.5): a count byte `v p M(6)`, padding lengths when p, the lengths of all frames but the last when
 * v (with self-delimiting framing one length more: of the last frame, or of every frame).
 */
function readLayoutOfMany(packet: Uint8Array, isSelfDelimited: boolean): Layout | undefined {
  const countByte = packet[1];
  if (countByte === undefined) return undefined;
  const count = countByte & 63;
  if (count === 0) return undefined;
  let position = 2;
  let paddingBytes = 0;
  if ((countByte & 0x40) !== 0) {
    for (;;) {
      const value = packet[position++];
      if (value === undefined) return undefined;
      paddingBytes += value === 255 ? 254 : value;
      if (value !== 255) break;
    }
  }
  const isVariable = (countByte & 0x80) !== 0;
  const sizes: number[] = [];
  const codedLengths = (isVariable ? count - 1 : 0) + (isSelfDelimited ? 1 : 0);
  for (let index = 0; index < codedLengths; index++) {
    const length = readLength(packet, position);
    if (length === undefined) return undefined;
    sizes.push(length.size);
    position = length.end;
  }
  const rest = packet.length - position - paddingBytes - sizes.reduce((sum, size) => sum + size, 0);
  if (isVariable && !isSelfDelimited) sizes.push(rest);
  if (!isVariable) {
    const each = sizes[0] ?? rest / count;
    sizes.length = 0;
    for (let index = 0; index < count; index++) sizes.push(each);
  }
  if (sizes.some((size) => size < 0 || !Number.isInteger(size))) return undefined;
  return { sizes, dataStart: position, paddingBytes };
}

/** One or two bytes of frame length (section 3.2.1). */
function readLength(packet: Uint8Array, position: number): { size: number; end: number } | undefined {
  const first = packet[position];
  if (first === undefined) return undefined;
  if (first < 252) return { size: first, end: position + 1 };
  const second = packet[position + 1];
  return second === undefined ? undefined : { size: second * 4 + first, end: position + 2 };
}

function lengthBytes(size: number): number[] {
  if (size < 252) return [size];
  const first = 252 + (size & 3);
  return [first, (size - first) / 4];
}

/** True when the packet's first byte says that its frames are CELT only (table 2). */
export function isCelt(toc: number): boolean {
  return toc >> 3 >= 16;
}

/** Frame length by configuration (table 2): SILK 10, 20, 40, 60 ms; hybrid 10, 20; CELT 2.5, 5, 10, 20. */
function frameSamplesOf(toc: number): number {
  const config = toc >> 3;
  if (config >= 16) return 120 << (config & 3);
  if (config >= 12) return (config & 1) === 0 ? 480 : 960;
  return (config & 3) === 3 ? 2880 : 480 << (config & 3);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts) {
    joined.set(part, position);
    position += part.length;
  }
  return joined;
}
