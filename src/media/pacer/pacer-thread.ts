// The loop of the pacer thread: sends what is due, sleeps until the next frame is due, and regularly yields to sockets
// and messages. With nothing to send it sleeps in the event loop and costs nothing. Timers count whole milliseconds and
// fire late on a busy machine; a wait in shared memory ends on time. Pacer thread.

import type { MessagePort } from "node:worker_threads";
import { LeaseEnd } from "../../bridge/lease-end.ts";
import type { PacerStart } from "../../bridge/pacer-start.ts";
import { systemClock } from "../../lib/clock.ts";
import { sharedTimeOffsetMs } from "../../lib/shared-time.ts";
import { systemSockets } from "../../network/sockets.ts";
import { Pacer } from "./pacer.ts";
import type { PacerCommand } from "./pacer-messages.ts";
import { WakeUpFlag } from "./wake-up-flag.ts";

/** Sockets and timers are served when so much time has passed, the next time that it wakes. */
const SLICE_MS = 10;
/** It wakes for them alone after so long: frames are due more often than that. */
const WAIT_MS_MAX = 50;
/** Both while responses are awaited, so that joining sessions are not delayed. */
const JOINING_MS = 1;

/** Serves the workers whose ports are passed to `connect`. */
export class PacerThread {
  readonly #wakeUpFlag: WakeUpFlag;
  readonly #offsetMs = sharedTimeOffsetMs();
  readonly #pacer: Pacer;
  #isRunning = false;
  /** Number of frames that had been put into empty rings when it last looked. */
  #seenSignals = Number.NaN;
  /** Number of wake-up messages sent before messages were last read. */
  #seenCalls = 0;

  constructor({ wakeUpMemory, leaseEndMemory }: Pick<PacerStart, "wakeUpMemory" | "leaseEndMemory">) {
    const leaseEnd = leaseEndMemory && new LeaseEnd(leaseEndMemory);
    this.#pacer = new Pacer({ clock: systemClock, sockets: systemSockets, offsetMs: this.#offsetMs, leaseEnd });
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
      // A worker that was terminated between setting the flag and sending the message left the flag as if a message
      // were coming.
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#scheduleSlice();
  }

  /** Schedules the next slice after sockets and messages have been served. */
  #scheduleSlice(): void {
    this.#seenCalls = this.#wakeUpFlag.calls;
    setImmediate(() => this.#runSlice());
  }

  #runSlice(): void {
    const startedMs = systemClock.now();
    const { isJoining } = this.#pacer;
    const lengthMs = isJoining ? JOINING_MS : SLICE_MS;
    const waitMsMax = isJoining ? JOINING_MS : WAIT_MS_MAX;
    do {
      const seenSignals = this.#wakeUpFlag.signals;
      const isAsSeen = seenSignals === this.#seenSignals;
      this.#seenSignals = seenSignals;
      const dueMs = this.#pacer.run({ isAsSeen });
      if (dueMs === Number.POSITIVE_INFINITY && this.#wakeUpFlag.sleep(seenSignals)) {
        this.#isRunning = false;
        return;
      }
      const nowMs = systemClock.now();
      const untilMs = Math.min(dueMs - this.#offsetMs, startedMs + waitMsMax);
      if (untilMs > nowMs) this.#wakeUpFlag.wait(seenSignals, untilMs + this.#offsetMs, untilMs - nowMs);
    } while (this.#wakeUpFlag.calls === this.#seenCalls && systemClock.now() - startedMs < lengthMs);
    this.#scheduleSlice();
  }
}
