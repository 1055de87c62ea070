// Drives a container's synchronous parsing step: hands out packets without waiting while bytes are buffered, waits for
// bytes when they are not, and gives the thread back during long searches. Used by every demuxer's `next`. Audio
// thread.

import { setImmediate as yieldThread } from "node:timers/promises";
import type { ByteCursor } from "./byte-cursor.ts";
import type { Packet } from "./demuxer.ts";

/** A step lacks bytes: the cursor knows how many. At the end of the data the pump ends the stream instead. */
export const WAIT = "wait";
/** A step made progress but has no packet yet; it did at most some tens of microseconds of work. */
export const AGAIN = "again";

/** What one parsing step came to; undefined is the end of the stream. */
export type Step = Packet | undefined | typeof WAIT | typeof AGAIN;

/** Steps without a packet after which other players get a turn (about a millisecond of work). */
const STEPS_PER_TURN = 64;

export class PacketPump {
  readonly #cursor: ByteCursor;
  readonly #step: () => Step;
  #dropUntilMs = Number.NEGATIVE_INFINITY;
  #isFinished = false;
  readonly #onShort: (() => Step) | undefined;

  /** `onShort` handles the rest at the end of the data (fewer bytes than the step wanted); by default it is dropped. */
  constructor(cursor: ByteCursor, step: () => Step, onShort?: () => Step) {
    this.#cursor = cursor;
    this.#step = step;
    this.#onShort = onShort;
  }

  /** Drops packets that end at or before `timeMs`: the rest of the way after a seek. */
  dropUntil(timeMs: number): void {
    this.#dropUntilMs = timeMs;
    this.#isFinished = false;
  }

  /** Ends the stream without reading on: a seek went behind the end. The next `dropUntil` takes it back. */
  finish(): void {
    this.#isFinished = true;
  }

  next(): Promise<Packet | undefined> {
    const step = this.#isFinished ? undefined : this.#step();
    if (typeof step === "object" && step.timestampMs >= this.#dropUntilMs) return Promise.resolve(step);
    if (step === undefined) return Promise.resolve(undefined);
    return this.#nextSlowly(step);
  }

  async #nextSlowly(first: Step): Promise<Packet | undefined> {
    let step: Step = first;
    for (let steps = 1; ; steps++) {
      if (step === undefined) return undefined;
      if (typeof step === "object") {
        if (step.timestampMs + step.durationMs > this.#dropUntilMs) {
          this.#dropUntilMs = Number.NEGATIVE_INFINITY;
          return step;
        }
      } else if (step === WAIT) {
        if (this.#cursor.isShort) {
          step = this.#onShort?.();
          if (step === WAIT) return undefined;
          continue;
        }
        await this.#cursor.fill();
      }
      if (steps % STEPS_PER_TURN === 0) await yieldThread();
      step = this.#step();
    }
  }
}
