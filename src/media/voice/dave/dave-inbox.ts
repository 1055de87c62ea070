// The DAVE messages of one session that wait in the thread's queue (group-queue.ts). One message with MLS work is
// handled per slot, and messages without MLS work together with the previous one. The messages of one session are
// handled in order of arrival. In front of the DAVE session, on the audio thread.

import type { Clock } from "../../../lib/clock.ts";
import type { HandlerGuard } from "../../pacer/handler-guard.ts";
import type { DaveMessage } from "../gateway/gateway-messages.ts";
import { limitExceeded, type VoiceLimits } from "../voice-limits.ts";
import type { GroupWaiter } from "./group-queue.ts";

/** A channel of 99 users that leave and join at once causes about a hundred. */
const WAITING_MAX = 512;
const WAITING_BYTES_MAX = 256 * 1024;
/** A message without bytes of MLS in it. */
const PLAIN_BYTES = 64;

/**
 * A session that waits for its first group is served as if its messages had arrived this much sooner, but not before
 * its wait began: in a crowd some sessions become audible soon, instead of all at the end. No session stays ahead of
 * others for longer.
 */
const HEAD_START_MS = 3000;
/**
 * Answers that other members can give as well are delayed this long: their Welcome spares us half of the work of a
 * start.
 */
const OTHERS_ANSWER_MS = 200;

/** A DAVE message of the gateway, or op 4: begin our own group. */
export type DaveTask = DaveMessage | { readonly kind: "begin" };

interface DaveInboxOptions {
  readonly limits: VoiceLimits;
  readonly clock: Clock;
  readonly guardHandler: HandlerGuard;
  /** When the wait for its first group began; undefined: it has one, or needs none. */
  readonly waitsForGroupSinceMs: () => number | undefined;
  /** Whether it can be handled with next to no MLS work. */
  readonly isLight: (task: DaveTask) => boolean;
  readonly onTask: (task: DaveTask) => void;
  /** More messages wait than any real channel causes. */
  readonly onFull: (error: Error) => void;
}

interface Waiting {
  readonly task: DaveTask;
  readonly sinceMs: number;
}

export class DaveInbox implements GroupWaiter {
  readonly #options: DaveInboxOptions;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isClosed = false;

  constructor(options: DaveInboxOptions) {
    this.#options = options;
  }

  /** Handles the task now, or after the earlier ones, when there is time for it. */
  take(task: DaveTask): void {
    const { limits, clock, isLight, onTask, onFull } = this.#options;
    if (this.#isClosed) return;
    const canHandleNow = limits.groupQueue.isFree && limits.mlsWaitMs === 0;
    if (this.#waiting.length === 0 && (canHandleNow || isLight(task))) {
      onTask(task);
      return;
    }
    this.#waiting.push({ task, sinceMs: clock.now() });
    this.#waitingBytes += sizeOf(task);
    if (this.#waiting.length > WAITING_MAX || this.#waitingBytes > WAITING_BYTES_MAX) {
      this.close();
      onFull(limitExceeded("it changes the group of end-to-end encryption faster than it can be followed"));
      return;
    }
    if (this.#waiting.length === 1) limits.groupQueue.enter(this);
  }

  /** Messages have arrived that the session has not handled yet. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** A message of this kind waits. */
  has(kind: DaveTask["kind"]): boolean {
    return this.#waiting.some(({ task }) => task.kind === kind);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    this.#options.limits.groupQueue.leave(this);
  }

  // In the queue

  get rankMs(): number {
    const [first] = this.#waiting;
    if (first === undefined) return Number.POSITIVE_INFINITY;
    const { task, sinceMs } = first;
    const startedMs = this.#options.waitsForGroupSinceMs();
    if (startedMs === undefined) return sinceMs;
    // The gateway waits for our key package, and others for the gateway.
    if (task.kind === "begin") return sinceMs - HEAD_START_MS;
    return task.kind === "proposals" ? sinceMs + OTHERS_ANSWER_MS : Math.max(startedMs, sinceMs - HEAD_START_MS);
  }

  get shareWaitMs(): number {
    return this.#options.limits.mlsWaitMs;
  }

  serve(): boolean {
    this.#options.guardHandler(() => this.#serve())();
    return this.#waiting.length > 0;
  }

  #serve(): void {
    const { onTask, isLight } = this.#options;
    let next: Waiting | undefined;
    do {
      next = this.#waiting.shift();
      if (next === undefined) return;
      this.#waitingBytes -= sizeOf(next.task);
      onTask(next.task);
      next = this.#waiting[0];
    } while (next !== undefined && isLight(next.task));
  }
}

function sizeOf(task: DaveTask): number {
  switch (task.kind) {
    case "externalSender":
      return PLAIN_BYTES + task.senderPackage.length;
    case "proposals":
      return PLAIN_BYTES + task.proposals.length;
    case "commit":
      return PLAIN_BYTES + task.commit.length;
    case "welcome":
      return PLAIN_BYTES + task.welcome.length;
    case "usersPresent":
      return PLAIN_BYTES * task.userIds.length;
    default:
      return PLAIN_BYTES;
  }
}
