// Compressed packets of one track that are read but not yet decoded or sent, in order. Bounded by sound and by bytes; the
// larger read-ahead lies beneath, in the byte source. Audio thread.

import type { AudioStream, Packet } from "./demux/demuxer.ts";

/** One packet and the stream it belongs to (which changes within chained files). */
export interface QueuedPacket {
  readonly packet: Packet;
  readonly stream: AudioStream;
}

/** Sound kept in packets: enough to ride out a slow read, little enough to stay small. */
const QUEUE_MS_MAX = 1_000;
/** Below this the reader is woken again, so that it reads in bursts. */
const QUEUE_MS_LOW = 600;
/** For uncompressed sound at high rates: 1 s of 192 kHz 24-bit stereo is 1.1 MB. */
const QUEUE_BYTES_MAX = 512 * 1024;

export class PacketQueue {
  #entries: QueuedPacket[] = [];
  #head = 0;
  #durationMs = 0;
  #sizeBytes = 0;

  get length(): number {
    return this.#entries.length - this.#head;
  }

  get isFull(): boolean {
    return this.#durationMs >= QUEUE_MS_MAX || this.#sizeBytes >= QUEUE_BYTES_MAX;
  }

  get isLow(): boolean {
    return this.#durationMs < QUEUE_MS_LOW && this.#sizeBytes < QUEUE_BYTES_MAX / 2;
  }

  push(entry: QueuedPacket): void {
    this.#entries.push(entry);
    this.#durationMs += entry.packet.durationMs;
    this.#sizeBytes += entry.packet.data.length;
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
    for (const entry of entries) {
      this.#durationMs += entry.packet.durationMs;
      this.#sizeBytes += entry.packet.data.length;
    }
  }

  clear(): void {
    this.#entries = [];
    this.#head = 0;
    this.#durationMs = 0;
    this.#sizeBytes = 0;
  }
}
