// The messages about end-to-end encryption that wait for their turn in the thread's queue (group-queue.ts): one with
// MLS work in it a turn, and those without with the one before. Of one session they are handled in the order in which
// they came. Before the DAVE session, on the audio thread.

import type { Clock } from "../../../lib/clock.ts";
import type { HandlerGuard } from "../../pacer/handler-guard.ts";
import type { DaveMessage } from "../gateway/gateway-messages.ts";
import { limitExceeded, type VoiceLimits } from "../voice-limits.ts";
import type { GroupWaiter } from "./group-queue.ts";

/** A channel of 99 that comes and goes at once brings some hundred. */
const WAITING_MAX = 512;
const WAITING_BYTES_MAX = 256 * 1024;
/** A message without bytes of MLS in it. */
const PLAIN_BYTES = 64;

/**
 * Who waits for a first group is served as if what came had come that much sooner, but not before the wait began: in a
 * crowd some are heard soon, instead of all at its end. Nobody stays ahead of others for longer by it.
 */
const HEAD_START_MS = 3000;
/** What others can answer as well has so long until they have: their Welcome spares us half of the work of a start. */
const OTHERS_ANSWER_MS = 200;

/** What the gateway says, and op 4: begin a group of our own. */
export type DaveTask = DaveMessage | { readonly kind: "begin" };

interface DaveInboxOptions {
  readonly limits: VoiceLimits;
  readonly clock: Clock;
  readonly guardHandler: HandlerGuard;
  /** Since when its first group is waited for; undefined: it has one, or wants none. */
  readonly waitsForGroupSinceMs: () => number | undefined;
  /** It is to be handled with next to no MLS work. */
  readonly isLight: (task: DaveTask) => boolean;
  readonly onTask: (task: DaveTask) => void;
  /** More waits than any real channel brings. */
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

  /** Handles it now, or when what came before has been handled and there is time for it. */
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

  /** What has come is not known to its session yet. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** One like this has come and waits. */
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
