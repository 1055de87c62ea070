// The packets of one track that were taken last, still at hand: they warm a decoder up where passing through ends, and
// are gone back to where it can begin again. Part of pipeline.ts. Audio thread.

import { FRAME_MS } from "../format/audio-format.ts";
import type { QueuedPacket } from "./packet-queue.ts";
import type { PassablePackets } from "./passable-packets.ts";

/** Track times of a packet and of the end of the last frame agree when closer than this. */
const SAME_MOMENT_MS = 0.5;
/** A skip takes a cross-fade of this length. */
const SKIP_MS_MIN = 5;

/** Oldest first. While passing through: what was sent; while transcoding: what was decoded. */
export class RecentPackets {
  readonly #passable: PassablePackets;
  readonly #entries: QueuedPacket[] = [];

  constructor(passable: PassablePackets) {
    this.#passable = passable;
  }

  /** All of them; not to be kept. */
  get all(): readonly QueuedPacket[] {
    return this.#entries;
  }

  /** Adds the newest one, and forgets the oldest beyond so many. */
  add(entry: QueuedPacket, countMax: number): void {
    this.#entries.push(entry);
    while (this.#entries.length > countMax) this.#entries.shift();
  }

  /** Takes all of them out. */
  takeAll(): QueuedPacket[] {
    return this.#entries.splice(0);
  }

  /** Takes out those from a track time on; undefined when none begins there, or that one may not pass through. */
  takeFrom(trackMs: number): QueuedPacket[] | undefined {
    for (let index = 0; index < this.#entries.length; index++) {
      const entry = this.#entries[index]!; // below the length
      if (Math.abs(entry.packet.timestampMs - trackMs) >= SAME_MOMENT_MS) continue;
      return this.#passable.has(entry) ? this.#entries.splice(index) : undefined;
    }
    return undefined;
  }

  /**
   * For a track time that lies within one of them: where a later one begins, 5 to 25 ms ahead. Undefined when there is
   * none, or when they may not pass through.
   */
  startBehind(trackMs: number): number | undefined {
    let found = 0;
    let startMs: number | undefined;
    for (const entry of this.#entries) {
      // That one and the two behind it are looked at.
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
}

function isWithin({ packet }: QueuedPacket, trackMs: number): boolean {
  return packet.timestampMs < trackMs && packet.timestampMs + FRAME_MS > trackMs;
}
