// Drives a container's parsing step: returns packets without waiting while bytes are buffered, waits for bytes when
// they are not, and yields the thread during long searches. It limits for all readers what one may do without finding a
// packet. Used by every demuxer's `next`. Audio thread.

import { NodeError } from "../../errors.ts";
import type { Packet } from "../format/packet.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import type { DemuxWork } from "./demux-work.ts";

/** A step needs more bytes: the cursor knows how many. At the end of the data the pump ends the stream instead. */
export const WAIT = "wait";
/** A step made progress but has no packet yet; it did at most some tens of microseconds of work. */
export const AGAIN = "again";

/** Result of one parsing step; undefined is the end of the stream. */
export type Step = Packet | undefined | typeof WAIT | typeof AGAIN;

/** Steps from one returned packet to the next: a jump over 46 hours of audio that has to be read through. */
const STEPS_MAX = 8 * 1024 * 1024;
/** Bytes scanned from one packet to the next; bytes skipped unread do not count. */
const BYTES_MAX = 1024 * 1024 * 1024;

export interface PumpOptions {
  readonly cursor: ByteCursor;
  readonly work: DemuxWork;
  /** Returns a promise when the step takes its own time slices. */
  readonly step: () => Step | Promise<Step>;
  /** Handles the rest at the end of the data (fewer bytes than the step needs); by default it is dropped. */
  readonly onShort?: () => Step;
}

/** One per reader. Its limits apply from one packet to the next: 8,388,608 steps, and 1 GiB scanned. */
export class PacketPump {
  readonly #options: PumpOptions;
  #dropUntilMs = Number.NEGATIVE_INFINITY;
  #isFinished = false;

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  /** Drops packets that end at or before `timeMs`, to reach the target after a seek. */
  dropUntil(timeMs: number): void {
    this.#dropUntilMs = timeMs;
    this.#isFinished = false;
  }

  /** Ends the stream without reading on: a seek went behind the end. The next `dropUntil` undoes it. */
  finish(): void {
    this.#isFinished = true;
  }

  /** Packets without content are left out. */
  async next(): Promise<Packet | undefined> {
    if (this.#isFinished) return undefined;
    const { cursor, work } = this.#options;
    const bytesMax = cursor.fetchedBytes + BYTES_MAX;
    for (let steps = 0; steps < STEPS_MAX && cursor.fetchedBytes < bytesMax; steps++) {
      if (steps > 0 && work.isSpent) await work.yield();
      let step = this.#options.step();
      if (step instanceof Promise) step = await step;
      if (step === WAIT) step = await this.#fill();
      if (step === undefined) return undefined;
      if (step === AGAIN || step === WAIT || step.data.length === 0) continue;
      if (step.timestampMs < this.#dropUntilMs && step.timestampMs + step.durationMs <= this.#dropUntilMs) continue;
      this.#dropUntilMs = Number.NEGATIVE_INFINITY;
      return step;
    }
    throw new NodeError("media-damaged", "the media cannot be played: it continues without any audio");
  }

  async #fill(): Promise<Step> {
    const { cursor, onShort } = this.#options;
    if (!cursor.isShort) {
      await cursor.fill();
      return AGAIN;
    }
    const rest = onShort?.();
    return rest === WAIT ? undefined : rest;
  }
}
