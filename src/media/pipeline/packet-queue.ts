// Compressed packets of one track that are read but not yet decoded or sent, in order, and the last ones that were taken:
// those warm up a decoder when passthrough ends, come again when frames are rewound, and are returned to when
// passthrough can resume. Limited by duration, by bytes and by count; the larger read-ahead lies beneath, in the byte
// source. Audio thread.

import { FRAME_MS, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import type { AudioStream } from "../format/packet.ts";
import { PacketStore, type QueuedPacket } from "./packet-store.ts";

/** Audio buffered in packets: enough to bridge a slow read, little enough to stay small. */
const QUEUE_MS_MAX = 1_000;
/** Below this the reader is woken again, so that it reads in bursts. */
const QUEUE_MS_LOW = 600;
/** For uncompressed audio at high rates: 1 s of 192 kHz 24-bit stereo is 1.1 MB. */
const QUEUE_BYTES_MAX = 512 * 1024;
/** The shortest packets of real files last 2.5 ms. */
const QUEUE_COUNT_MAX = 512;
/** Set-up data of the streams that the packets belong to: in a chained file each packet may bring its own. */
const DESCRIPTION_BYTES_MAX = 4 * 1024 * 1024;
/** Packets kept behind the playing position (80 ms): they warm up a decoder when passthrough ends. */
export const HISTORY_PACKETS = 4;
/** Audio that warms up any decoder, before the position where other bytes or another decoder take over: ten frames of MP3. */
export const DECODER_WARM_UP_MS = 270;
/** Packets kept during passthrough, including those that may be rewound. */
const PASSED_PACKETS_MAX = HISTORY_PACKETS + FRAMES_AHEAD_MAX;
/**
 * Packets kept that are decoded but perhaps not yet played, for returning to passthrough: look-ahead, priming, and
 * rewound frames, which at higher speeds hold more than a packet each.
 */
const DECODED_PACKETS_MAX = 12 + 2 * FRAMES_AHEAD_MAX;
/** Track times of a packet and of the end of the last frame agree when closer than this. */
const SAME_MOMENT_MS = 0.5;
/** A skip takes a cross-fade of this length. */
const SKIP_MS_MIN = 5;

/** Written by the PacketReader, emptied by the Pipeline. What is asked of the next packet needs one. */
export class PacketQueue {
  readonly #store = new PacketStore();
  /** Number of the packet to be taken next; those before it are history. */
  #next = 0;
  #durationMs = 0;
  #sizeBytes = 0;
  #descriptionBytes = 0;
  /** Length of the history that is kept besides; see `keepHistory`. */
  #historyMs = 0;

  get length(): number {
    return this.#store.end - this.#next;
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
    const isSmall = this.#sizeBytes < QUEUE_BYTES_MAX && this.#descriptionBytes < DESCRIPTION_BYTES_MAX;
    return isSmall && this.length < QUEUE_COUNT_MAX;
  }

  get isLow(): boolean {
    const isShort = this.#durationMs < QUEUE_MS_LOW && this.length < QUEUE_COUNT_MAX / 2;
    return isShort && this.#sizeBytes < QUEUE_BYTES_MAX / 2 && this.#descriptionBytes < DESCRIPTION_BYTES_MAX / 2;
  }

  push(entry: QueuedPacket): void {
    this.#store.push(entry);
    this.#count(this.#store.end - 1, 1);
  }

  /** Drops all packets and the history. */
  clear(): void {
    this.#store.clear();
    this.#next = this.#store.end;
    this.#durationMs = 0;
    this.#sizeBytes = 0;
    this.#descriptionBytes = 0;
  }

  // The next packet

  get stream(): AudioStream {
    return this.#store.streamOf(this.#next);
  }

  /** True if it can be sent to Discord unchanged. */
  get isPassable(): boolean {
    return this.#store.isPassable(this.#next);
  }

  get timestampMs(): number {
    return this.#store.timestampMsOf(this.#next);
  }

  /** See QueuedPacket. */
  get fromMs(): number | undefined {
    return this.#store.fromMsOf(this.#next);
  }

  /** Takes one that is passed through. The bytes are valid until as many more are taken as can be rewound. */
  pass(): Uint8Array {
    const data = this.#store.dataOf(this.#next);
    this.#take(PASSED_PACKETS_MAX);
    return data;
  }

  /** Takes one that is decoded; undefined without one. */
  take(): QueuedPacket | undefined {
    if (this.length === 0) return undefined;
    const entry = this.#store.packetOf(this.#next);
    this.#take(DECODED_PACKETS_MAX);
    // Other packets than Opus are not kept, and may be held longer: uncompressed ones are decoded in pieces.
    return entry.stream.codec === "opus" ? entry : withOwnBytes(entry);
  }

  /** Takes the packets of a new run that only warm up a decoder; they are history in case one is needed. */
  skipPreRoll(startMs: number): void {
    while (this.length > 0 && this.isPassable && this.timestampMs + FRAME_MS / 2 < startMs) {
      this.#take(HISTORY_PACKETS);
    }
  }

  /**
   * Takes packets of new bytes whose audio was played from the old ones, accurate to half a packet. True when there were
   * some.
   */
  skipRepeated(): boolean {
    let hasSkipped = false;
    while (
      this.length > 0 &&
      this.isPassable &&
      this.timestampMs + FRAME_MS / 2 < (this.fromMs ?? Number.NEGATIVE_INFINITY)
    ) {
      this.#take(HISTORY_PACKETS);
      hasSkipped = true;
    }
    return hasSkipped;
  }

  /** Takes packets up to the one that holds this track time. */
  skipTo(trackMs: number): void {
    while (this.length > 1 && this.#store.timestampMsOf(this.#next + 1) <= trackMs) this.#take(HISTORY_PACKETS);
  }

  // The history

  /** From now on history reaches this far back, whatever the codec, milliseconds of track time; 0: as little as needed. */
  keepHistory(lengthMs: number): void {
    this.#historyMs = lengthMs;
  }

  /** Packets come again from the one that holds this track time, or the oldest that is kept. */
  returnBefore(trackMs: number): void {
    let number = this.#next;
    while (number > this.#store.first && (number === this.#store.end || this.#store.timestampMsOf(number) > trackMs)) {
      number -= 1;
    }
    this.#returnTo(number);
  }

  /** The newest `countMax` packets that were taken, oldest first. Their bytes are valid until others are taken. */
  history(countMax: number): QueuedPacket[] {
    const entries: QueuedPacket[] = [];
    const { first } = this.#store;
    for (let number = Math.max(first, this.#next - countMax); number < this.#next; number++) {
      entries.push(this.#store.packetOf(number));
    }
    return entries;
  }

  /** The newest `count` that were taken, as far as they are kept, come again. */
  rewind(count = Number.POSITIVE_INFINITY): void {
    this.#returnTo(Math.max(this.#store.first, this.#next - count));
  }

  /** Those from a track time on come again. False when none begins there, or that one may not pass through. */
  rewindTo(trackMs: number): boolean {
    const number = this.#passableAt(trackMs);
    if (number !== undefined) this.#returnTo(number);
    return number !== undefined;
  }

  /** The packet that begins at a track time; undefined when there is none, or it may not pass through. */
  dataAt(trackMs: number): Uint8Array | undefined {
    const number = this.#passableAt(trackMs);
    return number === undefined ? undefined : this.#store.dataOf(number);
  }

  /**
   * For a track time that lies within one of them: where a later one begins, 5 to 25 ms ahead. Undefined when there is
   * none, or when they may not pass through.
   */
  startBehind(trackMs: number): number | undefined {
    let found = 0;
    let startMs: number | undefined;
    // That one and the two behind it are examined.
    for (let number = this.#store.first; number < this.#next && found < 3; number++) {
      const timestampMs = this.#store.timestampMsOf(number);
      if (found === 0 && (timestampMs >= trackMs || timestampMs + FRAME_MS <= trackMs)) continue;
      if (!this.#store.isPassable(number)) return undefined;
      if (timestampMs - trackMs >= SKIP_MS_MIN) startMs ??= timestampMs;
      found += 1;
    }
    return startMs;
  }

  /** Drops the history. */
  forget(): void {
    this.#store.dropBefore(this.#next);
  }

  /** The next packet becomes history, of which `countMax` are kept. */
  #take(countMax: number): void {
    // Nothing returns to other codecs, whose packets may be large.
    const isKept = this.stream.codec === "opus";
    this.#count(this.#next, -1);
    this.#next += 1;
    let first = isKept ? this.#next - countMax : this.#next;
    if (this.#historyMs > 0) {
      first = Math.min(first, this.#firstFrom(this.#store.timestampMsOf(this.#next - 1) - this.#historyMs));
    }
    this.#store.dropBefore(first);
  }

  /** The number of the oldest one that begins no earlier. */
  #firstFrom(trackMs: number): number {
    let number = this.#store.first;
    while (number < this.#next && this.#store.timestampMsOf(number) < trackMs) number += 1;
    return number;
  }

  #returnTo(number: number): void {
    while (this.#next > number) {
      this.#next -= 1;
      this.#count(this.#next, 1);
    }
  }

  /** A packet has been added (1) or taken (-1). */
  #count(number: number, sign: 1 | -1): void {
    this.#durationMs += sign * this.#store.durationMsOf(number);
    this.#sizeBytes += sign * this.#store.sizeOf(number);
    this.#descriptionBytes += sign * this.#store.descriptionBytesOf(number);
  }

  /** The number of the kept one that begins at a track time and may pass through. */
  #passableAt(trackMs: number): number | undefined {
    for (let number = this.#store.first; number < this.#next; number++) {
      if (Math.abs(this.#store.timestampMsOf(number) - trackMs) >= SAME_MOMENT_MS) continue;
      return this.#store.isPassable(number) ? number : undefined;
    }
    return undefined;
  }
}

function withOwnBytes(entry: QueuedPacket): QueuedPacket {
  const { packet } = entry;
  return { ...entry, packet: { ...packet, data: packet.data.slice() } };
}
