// Packets of one track in the order of reading, in typed arrays instead of an object for each: a second of them waits at
// every player, and objects that wait are what garbage collection has to copy and to look at again and again. Their
// bytes lie in one ring. Held by packet-queue.ts. Audio thread.

import type { AudioStream, Packet } from "../format/packet.ts";
import { PassablePackets } from "./passable-packets.ts";

/** One packet and the stream it belongs to (which changes within chained files). */
export interface QueuedPacket {
  readonly packet: Packet;
  readonly stream: AudioStream;
  /**
   * When the track continues in other bytes: the part of the packet before this track time was already read, and only
   * warms up a decoder.
   */
  readonly fromMs?: number | undefined;
}

/** A power of two, for a second of Opus and what is kept behind the playing position. */
const PACKETS_INITIAL = 64;
/** The ring of bytes is a multiple of this. */
const BYTES_STEP = 8192;
/** A larger ring is given back once it is empty. */
const BYTES_KEPT_MAX = 1024 * 1024;
/** Numbers of a packet: its time, length, end padding, and `fromMs` or NaN. */
const FIELDS = 4;

/**
 * Packets are numbered from 0 on; those from `first` up to `end` are there. All numbers passed in must be of those.
 */
export class PacketStore {
  readonly #passable = new PassablePackets();
  #first = 0;
  #end = 0;
  /** Of packet n at `n & (length - 1)`. */
  #streams: (AudioStream | undefined)[] = [];
  #offsets = new Uint32Array(PACKETS_INITIAL);
  #sizes = new Uint32Array(PACKETS_INITIAL);
  #descriptionSizes = new Uint32Array(PACKETS_INITIAL);
  #arePassable = new Uint8Array(PACKETS_INITIAL);
  #fields = new Float64Array(PACKETS_INITIAL * FIELDS);
  #bytes = new Uint8Array(0);
  /** Where the next packet goes, if it fits before the end of the ring. */
  #writeAt = 0;
  #keptBytes = 0;
  #newestStream: AudioStream | undefined;

  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#end;
  }

  /** Copies its bytes. */
  push({ packet, stream, fromMs }: QueuedPacket): void {
    const { data } = packet;
    if (this.#end - this.#first === this.#offsets.length) this.#growColumns();
    const offset = this.#allocate(data.length);
    this.#bytes.set(data, offset);
    const index = this.#indexOf(this.#end);
    this.#streams[index] = stream;
    this.#offsets[index] = offset;
    this.#sizes[index] = data.length;
    this.#descriptionSizes[index] = stream === this.#newestStream ? 0 : (stream.description?.length ?? 0);
    this.#newestStream = stream;
    this.#arePassable[index] = this.#passable.has(packet, stream) ? 1 : 0;
    const field = index * FIELDS;
    this.#fields[field] = packet.timestampMs;
    this.#fields[field + 1] = packet.durationMs;
    this.#fields[field + 2] = packet.trimEndSamples;
    this.#fields[field + 3] = fromMs ?? Number.NaN;
    this.#writeAt = offset + data.length;
    this.#keptBytes += data.length;
    this.#end += 1;
  }

  /** Packets before this one are not needed any more; their bytes will be overwritten. */
  dropBefore(number: number): void {
    while (this.#first < number) {
      const index = this.#indexOf(this.#first);
      this.#keptBytes -= this.#sizes[index]!;
      this.#streams[index] = undefined;
      this.#first += 1;
    }
  }

  /** Drops all. What `dataOf` has returned stays as it is. */
  clear(): void {
    this.dropBefore(this.#end);
    this.#bytes = new Uint8Array(0);
  }

  streamOf(number: number): AudioStream {
    return this.#streams[this.#indexOf(number)]!;
  }

  /** True for packets that can be sent to Discord unchanged. */
  isPassable(number: number): boolean {
    return this.#arePassable[this.#indexOf(number)] === 1;
  }

  sizeOf(number: number): number {
    return this.#sizes[this.#indexOf(number)]!;
  }

  /** Size of its stream's set-up data, if it is the first one of that; otherwise 0. */
  descriptionBytesOf(number: number): number {
    return this.#descriptionSizes[this.#indexOf(number)]!;
  }

  timestampMsOf(number: number): number {
    return this.#fields[this.#indexOf(number) * FIELDS]!;
  }

  durationMsOf(number: number): number {
    return this.#fields[this.#indexOf(number) * FIELDS + 1]!;
  }

  fromMsOf(number: number): number | undefined {
    const fromMs = this.#fields[this.#indexOf(number) * FIELDS + 3]!;
    return Number.isNaN(fromMs) ? undefined : fromMs;
  }

  /** The bytes; valid until the packet has been dropped and others are pushed. */
  dataOf(number: number): Uint8Array {
    const index = this.#indexOf(number);
    const offset = this.#offsets[index]!;
    return this.#bytes.subarray(offset, offset + this.#sizes[index]!);
  }

  /** With bytes as in `dataOf`. */
  packetOf(number: number): QueuedPacket {
    const packet = {
      data: this.dataOf(number),
      timestampMs: this.timestampMsOf(number),
      durationMs: this.durationMsOf(number),
      trimEndSamples: this.#fields[this.#indexOf(number) * FIELDS + 2]!,
    };
    return { packet, stream: this.streamOf(number), fromMs: this.fromMsOf(number) };
  }

  #indexOf(number: number): number {
    return number & (this.#offsets.length - 1);
  }

  /** The offset of so many bytes in a row. */
  #allocate(sizeBytes: number): number {
    if (this.#first === this.#end) {
      if (this.#bytes.length > BYTES_KEPT_MAX) this.#bytes = new Uint8Array(0);
      this.#writeAt = 0;
      if (sizeBytes <= this.#bytes.length) return 0;
    } else {
      const firstAt = this.#offsets[this.#indexOf(this.#first)]!;
      const isWrapped = this.#offsets[this.#indexOf(this.#end - 1)]! < firstAt;
      // Never up to the first one, which would then look like the next place that is free.
      if (isWrapped && this.#writeAt + sizeBytes < firstAt) return this.#writeAt;
      if (!isWrapped && this.#writeAt + sizeBytes <= this.#bytes.length) return this.#writeAt;
      if (!isWrapped && sizeBytes < firstAt) return 0;
    }
    this.#growBytes(sizeBytes);
    return this.#writeAt;
  }

  #growBytes(sizeBytes: number): void {
    const bytes = new Uint8Array(Math.ceil((1.5 * this.#keptBytes + sizeBytes) / BYTES_STEP) * BYTES_STEP);
    let writeAt = 0;
    for (let number = this.#first; number < this.#end; number++) {
      bytes.set(this.dataOf(number), writeAt);
      this.#offsets[this.#indexOf(number)] = writeAt;
      writeAt += this.sizeOf(number);
    }
    this.#bytes = bytes;
    this.#writeAt = writeAt;
  }

  #growColumns(): void {
    const length = 2 * this.#offsets.length;
    const streams: (AudioStream | undefined)[] = [];
    const offsets = new Uint32Array(length);
    const sizes = new Uint32Array(length);
    const descriptionSizes = new Uint32Array(length);
    const arePassable = new Uint8Array(length);
    const fields = new Float64Array(length * FIELDS);
    for (let number = this.#first; number < this.#end; number++) {
      const from = this.#indexOf(number);
      const to = number & (length - 1);
      streams[to] = this.#streams[from];
      offsets[to] = this.#offsets[from]!;
      sizes[to] = this.#sizes[from]!;
      descriptionSizes[to] = this.#descriptionSizes[from]!;
      arePassable[to] = this.#arePassable[from]!;
      fields.set(this.#fields.subarray(from * FIELDS, (from + 1) * FIELDS), to * FIELDS);
    }
    this.#streams = streams;
    this.#offsets = offsets;
    this.#sizes = sizes;
    this.#descriptionSizes = descriptionSizes;
    this.#arePassable = arePassable;
    this.#fields = fields;
  }
}
