// The packets of one track that were taken last: they warm up a decoder when passthrough ends, and are returned to when
// it can resume. Part of pipeline.ts. Audio thread.

import { FRAME_MS, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import type { PacketQueue, QueuedPacket } from "./packet-queue.ts";
import type { PassablePackets } from "./passable-packets.ts";
import type { PacketSupply } from "./track-decoder.ts";

/** Packets retained behind the playing position (80 ms): they warm up a decoder when passthrough ends. */
export const HISTORY_PACKETS = 4;
/** Packets retained during passthrough, including those that may be rewound. */
const PASSED_PACKETS_MAX = HISTORY_PACKETS + FRAMES_AHEAD_MAX;
/**
 * Packets retained that are decoded but perhaps not yet played, for returning to passthrough: look-ahead, priming, and
 * rewound frames, which at higher speeds hold more than a packet each.
 */
const DECODED_PACKETS_MAX = 12 + 2 * FRAMES_AHEAD_MAX;
/** Track times of a packet and of the end of the last frame agree when closer than this. */
const SAME_MOMENT_MS = 0.5;
/** A skip takes a cross-fade of this length. */
const SKIP_MS_MIN = 5;

/** Oldest first. In passthrough: the sent packets; while transcoding: the decoded ones. */
export class RecentPackets {
  readonly #passable: PassablePackets;
  readonly #entries: QueuedPacket[] = [];

  constructor(passable: PassablePackets) {
    this.#passable = passable;
  }

  /** Adds the newest packet, and drops the oldest beyond `countMax`. */
  add(entry: QueuedPacket, countMax: number): void {
    this.#entries.push(entry);
    while (this.#entries.length > countMax) this.#entries.shift();
  }

  /** The newest `count` packets, oldest first; fewer when there are not as many. */
  newest(count: number): readonly QueuedPacket[] {
    return this.#entries.slice(-count);
  }

  /** Removes and returns the newest `count` packets. */
  takeNewest(count: number): QueuedPacket[] {
    return this.#entries.splice(Math.max(0, this.#entries.length - count));
  }

  /**
   * Takes the packets of a new run from the queue that only warm up a decoder; they are history in case one is needed.
   */
  skipPreRoll(queue: PacketQueue, startMs: number): void {
    for (let head = queue.peek(); head !== undefined && this.#passable.has(head); head = queue.peek()) {
      if (head.packet.timestampMs + FRAME_MS / 2 >= startMs) return;
      queue.shift();
      this.add(head, HISTORY_PACKETS);
    }
  }

  /**
   * Skips packets of new bytes whose audio was played from the old ones, accurate to half a packet. True when there
   * were some.
   */
  skipRepeated(queue: PacketQueue): boolean {
    let hasSkipped = false;
    for (let head = queue.peek(); head?.fromMs !== undefined && this.#passable.has(head); head = queue.peek()) {
      if (head.packet.timestampMs + FRAME_MS / 2 >= head.fromMs) return hasSkipped;
      queue.shift();
      this.add(head, HISTORY_PACKETS);
      hasSkipped = true;
    }
    return hasSkipped;
  }

  /** Adds one that is passed through. */
  addPassed(entry: QueuedPacket): void {
    this.add(entry, PASSED_PACKETS_MAX);
  }

  /** A decoder's supply from the reader's queue, recorded here; nothing while `isStale`. */
  supplyOf(
    reader: { readonly queue: PacketQueue; readonly isFinished: boolean },
    isStale: () => boolean,
  ): PacketSupply {
    return {
      take: () => {
        if (isStale()) return undefined;
        const entry = reader.queue.shift();
        if (entry !== undefined) this.add(entry, DECODED_PACKETS_MAX);
        return entry;
      },
      get isFinished() {
        return !isStale() && reader.isFinished && reader.queue.length === 0;
      },
    };
  }

  /** Removes and returns all packets. */
  takeAll(): QueuedPacket[] {
    return this.#entries.splice(0);
  }

  /** Removes the packets from a track time on; undefined when none begins there, or that one may not pass through. */
  takeFrom(trackMs: number): QueuedPacket[] | undefined {
    const index = this.#passableAt(trackMs);
    return index === -1 ? undefined : this.#entries.splice(index);
  }

  /** The packet that begins at a track time; undefined when there is none, or it may not pass through. */
  dataAt(trackMs: number): Uint8Array | undefined {
    return this.#entries[this.#passableAt(trackMs)]?.packet.data;
  }

  /**
   * For a track time that lies within one of them: where a later one begins, 5 to 25 ms ahead. Undefined when there is
   * none, or when they may not pass through.
   */
  startBehind(trackMs: number): number | undefined {
    let found = 0;
    let startMs: number | undefined;
    for (const entry of this.#entries) {
      // That one and the two behind it are examined.
      if (found === 3) break;
      if (found === 0 && !isWithin(entry, trackMs)) continue;
      if (!this.#passable.has(entry)) return undefined;
      if (entry.packet.timestampMs - trackMs >= SKIP_MS_MIN) startMs ??= entry.packet.timestampMs;
      found += 1;
    }
    return startMs;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  /** The index of the one that begins at a track time, or -1. */
  #passableAt(trackMs: number): number {
    const index = this.#entries.findIndex(({ packet }) => Math.abs(packet.timestampMs - trackMs) < SAME_MOMENT_MS);
    const entry = this.#entries[index];
    return entry !== undefined && this.#passable.has(entry) ? index : -1;
  }
}

function isWithin({ packet }: QueuedPacket, trackMs: number): boolean {
  return packet.timestampMs < trackMs && packet.timestampMs + FRAME_MS > trackMs;
}
