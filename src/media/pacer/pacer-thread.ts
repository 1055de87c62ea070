// What the pacer's thread does all its life: sends what is due, sleeps until the next frame is, and now and then gives
// sockets and messages their turn. With nothing to send it sleeps in the event loop and costs nothing. Timers count
// whole milliseconds and come late where others are busy; a wait in shared memory ends when it should. Pacer thread.

import type { MessagePort } from "node:worker_threads";
import { systemClock } from "../../lib/clock.ts";
import { sharedTimeOffsetMs } from "../../lib/shared-time.ts";
import { systemSockets } from "../../network/sockets.ts";
import { Pacer } from "./pacer.ts";
import type { PacerCommand } from "./pacer-messages.ts";
import { WakeUpFlag } from "./wake-up-flag.ts";

/** Sockets and timers wait so long at most. */
const SLICE_MS_MAX = 10;
/** The same while answers are awaited: who joins shall not wait. */
const JOINING_SLICE_MS_MAX = 1;

/** Serves the workers whose ports `connect` is given. */
export class PacerThread {
  readonly #wakeUpFlag: WakeUpFlag;
  readonly #offsetMs = sharedTimeOffsetMs();
  readonly #pacer = new Pacer({ clock: systemClock, sockets: systemSockets, offsetMs: this.#offsetMs });
  #isRunning = false;
  /** Calls that came before messages were read last. */
  #seenCalls = 0;

  constructor(wakeUpMemory: SharedArrayBuffer) {
    this.#wakeUpFlag = new WakeUpFlag(wakeUpMemory);
    this.#wakeUpFlag.sleep(this.#wakeUpFlag.signals);
  }

  /** One more worker, until its end of the port closes. */
  connect(port: MessagePort): void {
    const client = this.#pacer.serve((event) => port.postMessage(event));
    port.on("message", (message) => {
      // The other end is our own worker, compiled with the same contract.
      client.execute(message as PacerCommand);
      this.#wake();
    });
    port.on("close", () => {
      client.leave();
      // A worker that was ended between ringing and saying so has left the bell as if somebody came.
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#scheduleSlice();
  }

  /** When sockets and messages have had their turn. */
  #scheduleSlice(): void {
    this.#seenCalls = this.#wakeUpFlag.calls;
    setImmediate(() => this.#runSlice());
  }

  #runSlice(): void {
    const startedMs = systemClock.now();
    const lengthMs = this.#pacer.isJoining ? JOINING_SLICE_MS_MAX : SLICE_MS_MAX;
    do {
      const seenSignals = this.#wakeUpFlag.signals;
      const dueMs = this.#pacer.run();
      if (dueMs === Number.POSITIVE_INFINITY && this.#wakeUpFlag.sleep(seenSignals)) {
        this.#isRunning = false;
        return;
      }
      const nowMs = systemClock.now();
      const untilMs = Math.min(dueMs - this.#offsetMs, startedMs + lengthMs);
      if (untilMs > nowMs) this.#wakeUpFlag.wait(seenSignals, untilMs + this.#offsetMs, untilMs - nowMs);
    } while (this.#wakeUpFlag.calls === this.#seenCalls && systemClock.now() - startedMs < lengthMs);
    this.#scheduleSlice();
  }
}
