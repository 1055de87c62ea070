// The pacer thread as seen by an audio worker: commands over a port, frames over shared memory, and a wake-up flag for
// frames that are due sooner than the pacer expects. Audio thread.

import type { MessagePort } from "node:worker_threads";
import { sharedTimeOffsetMs } from "../../lib/shared-time.ts";
import type { PacerEnd } from "./pacer-end.ts";
import type { PacerCommand, PacerEvent } from "./pacer-messages.ts";
import { WakeUpFlag } from "./wake-up-flag.ts";

/** One per worker and pacer, over the two things that the main thread has given: never used again after `close`. */
export class RemotePacer implements PacerEnd {
  readonly offsetMs = sharedTimeOffsetMs();
  readonly #port: MessagePort;
  readonly #wakeUpFlag: WakeUpFlag;

  constructor(port: MessagePort, wakeUpMemory: SharedArrayBuffer) {
    this.#port = port;
    this.#wakeUpFlag = new WakeUpFlag(wakeUpMemory);
  }

  listen(onEvent: (event: PacerEvent) => void): void {
    // The other end is our own thread, compiled with the same contract.
    this.#port.on("message", (message) => onEvent(message as PacerEvent));
    this.#port.unref();
  }

  post(command: PacerCommand): void {
    this.#port.postMessage(command);
    this.#wakeUpFlag.call();
  }

  onPut(dueMs: number): void {
    if (this.#wakeUpFlag.signal(dueMs + this.offsetMs)) this.#port.postMessage({ type: "wake" } satisfies PacerCommand);
  }

  yieldToPacer(nowMs: number): void {
    this.#wakeUpFlag.yieldToPacer(nowMs + this.offsetMs);
  }

  close(): void {
    this.#port.close();
  }
}
