// Compressed packets of one track that are read but not yet decoded or sent, in order. Limited by duration, by bytes
// and by count; the larger read-ahead lies beneath, in the byte source. Audio thread.

import type { AudioStream, Packet } from "../format/packet.ts";

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

/** Audio buffered in packets: enough to bridge a slow read, little enough to stay small. */
const QUEUE_MS_MAX = 1_000;
/** Below this the reader is woken again, so that it reads in bursts. */
const QUEUE_MS_LOW = 600;
/** For uncompressed audio at high rates: 1 s of 192 kHz 24-bit stereo is 1.1 MB. */
const QUEUE_BYTES_MAX = 512 * 1024;
/** The shortest packets of real files last 2.5 ms. */
const QUEUE_COUNT_MAX = 512;
/**
 * Packets are views of the bytes read: each may hold a whole buffer of the source, including the video between its
 * audio.
 */
const QUEUE_BUFFER_BYTES_MAX = 4 * 1024 * 1024;
/** A packet that is a small part of a larger buffer is copied out of it. */
const BUFFER_BYTES_MAX = 256 * 1024;

/** Written by the PacketReader, emptied by the Pipeline. */
export class PacketQueue {
  #entries: QueuedPacket[] = [];
  #head = 0;
  #durationMs = 0;
  #sizeBytes = 0;
  /** Size of the buffers behind the packets, as if each that does not share it with the one before had its own. */
  #bufferBytes = 0;

  get length(): number {
    return this.#entries.length - this.#head;
  }

  /** Length of the queued audio, milliseconds of track time. */
  get durationMs(): number {
    return this.#durationMs;
  }

  get isFull(): boolean {
    return this.#durationMs >= QUEUE_MS_MAX || !this.hasSpace;
  }

  /** True when more packets may be added, however long it is. */
  get hasSpace(): boolean {
    const isSmall = this.#sizeBytes < QUEUE_BYTES_MAX && this.#bufferBytes < QUEUE_BUFFER_BYTES_MAX;
    return isSmall && this.length < QUEUE_COUNT_MAX;
  }

  get isLow(): boolean {
    const isShort = this.#durationMs < QUEUE_MS_LOW && this.length < QUEUE_COUNT_MAX / 2;
    return isShort && this.#sizeBytes < QUEUE_BYTES_MAX / 2 && this.#bufferBytes < QUEUE_BUFFER_BYTES_MAX / 2;
  }

  push(added: QueuedPacket): void {
    const entry = isSmallPart(added) ? copyOf(added) : added;
    const before = this.#entries.length > this.#head ? this.#entries.at(-1) : undefined;
    this.#entries.push(entry);
    this.#durationMs += entry.packet.durationMs;
    this.#sizeBytes += entry.packet.data.length;
    this.#bufferBytes += bufferBytes(entry, before);
  }

  peek(): QueuedPacket | undefined {
    return this.#entries[this.#head];
  }

  shift(): QueuedPacket | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined) return undefined;
    this.#head += 1;
    this.#durationMs -= entry.packet.durationMs;
    this.#sizeBytes -= entry.packet.data.length;
    const next = this.#entries[this.#head];
    // A buffer shared with the next packet is counted for that one from now on.
    this.#bufferBytes -= next === undefined ? this.#bufferBytes : bufferBytes(entry, next);
    if (this.#head >= 64 || this.#head === this.#entries.length) {
      this.#entries.splice(0, this.#head);
      this.#head = 0;
    }
    return entry;
  }

  /** Puts packets back in front, oldest first. */
  unshift(entries: readonly QueuedPacket[]): void {
    this.#entries.splice(0, this.#head, ...entries);
    this.#head = 0;
    for (const [index, entry] of entries.entries()) {
      this.#durationMs += entry.packet.durationMs;
      this.#sizeBytes += entry.packet.data.length;
      this.#bufferBytes += bufferBytes(entry, this.#entries[index + 1]);
    }
  }

  clear(): void {
    this.#entries = [];
    this.#head = 0;
    this.#durationMs = 0;
    this.#sizeBytes = 0;
    this.#bufferBytes = 0;
  }
}

function isSmallPart({ packet: { data } }: QueuedPacket): boolean {
  return data.buffer.byteLength > BUFFER_BYTES_MAX && data.length < data.buffer.byteLength / 4;
}

function copyOf({ packet, ...others }: QueuedPacket): QueuedPacket {
  return { packet: { ...packet, data: packet.data.slice() }, ...others };
}

/** Bytes that are held by the packet and not by its neighbour: its buffer, and its decoder set-up. */
function bufferBytes({ packet, stream }: QueuedPacket, neighbour: QueuedPacket | undefined): number {
  const { buffer } = packet.data;
  const ownBytes = buffer === neighbour?.packet.data.buffer ? 0 : buffer.byteLength;
  return ownBytes + (stream === neighbour?.stream ? 0 : (stream.description?.length ?? 0));
}
