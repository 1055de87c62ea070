// The messages about end-to-end encryption that wait: MLS work cannot be done in slices, so many connections that have
// some at once do it one per turn of the event loop, and one that has used up its share of time for it is served later,
// message by message and in order. Before the DAVE session, on the audio thread.

import type { Clock, Timer } from "../../lib/clock.ts";
import type { DaveMessage } from "./gateway-messages.ts";
import { limitExceeded, type VoiceLimits } from "./voice-limits.ts";

/** A channel of 99 that comes and goes at once brings some hundred. */
const WAITING_MAX = 512;
const WAITING_BYTES_MAX = 256 * 1024;
/** A message without bytes of MLS in it. */
const PLAIN_BYTES = 64;

export interface DaveInboxOptions {
  readonly limits: VoiceLimits;
  readonly clock: Clock;
  readonly onMessage: (message: DaveMessage) => void;
  /** More waits than any real channel brings. */
  readonly onFull: (error: Error) => void;
}

export class DaveInbox {
  readonly #options: DaveInboxOptions;
  #waiting: DaveMessage[] = [];
  #waitingBytes = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: DaveInboxOptions) {
    this.#options = options;
  }

  /** Handles it now, or when what came before has been handled and there is time for it. */
  take(message: DaveMessage): void {
    const { limits, onMessage, onFull } = this.#options;
    if (this.#isClosed) return;
    if (this.#waiting.length === 0 && limits.hasTimeForMls) {
      onMessage(message);
      return;
    }
    this.#waiting.push(message);
    this.#waitingBytes += sizeOf(message);
    if (this.#waiting.length > WAITING_MAX || this.#waitingBytes > WAITING_BYTES_MAX) {
      this.close();
      onFull(limitExceeded("it changes the group of end-to-end encryption faster than it can be followed"));
      return;
    }
    this.#arm();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#waiting = [];
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#waiting.length === 0) return;
    this.#timer = this.#options.clock.after(Math.ceil(this.#options.limits.mlsWaitMs), () => this.#serve());
  }

  #serve(): void {
    this.#timer = undefined;
    const next = this.#options.limits.hasTimeForMls ? this.#waiting.shift() : undefined;
    if (next !== undefined) {
      this.#waitingBytes -= sizeOf(next);
      this.#options.onMessage(next);
    }
    if (!this.#isClosed) this.#arm();
  }
}

function sizeOf(message: DaveMessage): number {
  switch (message.kind) {
    case "externalSender":
      return PLAIN_BYTES + message.senderPackage.length;
    case "proposals":
      return PLAIN_BYTES + message.proposals.length;
    case "commit":
      return PLAIN_BYTES + message.commit.length;
    case "welcome":
      return PLAIN_BYTES + message.welcome.length;
    case "usersPresent":
      return PLAIN_BYTES * message.userIds.length;
    default:
      return PLAIN_BYTES;
  }
}
