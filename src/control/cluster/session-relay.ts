// Passes the messages of a remote session on to the machine that has the session, in order: some at a time, the next ones
// when these were taken. What must arrive waits until it is stored, and is repeated until it was taken, also by a machine
// that gets the session meanwhile. Main thread; one per remote session.

import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { MessageRelay } from "../sessions/message-relay.ts";
import { type QueuedMessage, ResumeQueue } from "../sessions/resume-queue.ts";
import type { Session } from "../sessions/session.ts";
import { MESSAGES, messagesAnswer } from "./player-calls.ts";
import { RETRY_MS_MAX, RETRY_MS_MIN } from "./retry-times.ts";
import type { SessionDirectory } from "./session-directory.ts";

/** Of one call. */
const BATCH_COUNT_MAX = 200;
const BATCH_SIZE_MAX_BYTES = 256 * 1024;
/** The other machine answers when it has stored them. */
const CALL_TIMEOUT_MS = 5000;
/** Messages that may be dropped do not join more than these. */
const DROPPABLE_BEHIND_MAX = 1000;

export interface SessionRelayOptions {
  readonly sessionId: string;
  readonly machineId: string;
  /** See `MessageRelay.nextNumber`. */
  readonly nextNumber: () => number;
  /** The remote session; it exists when the first message comes. */
  readonly session: () => Pick<Session, "memory" | "relayed"> | undefined;
  readonly link: Pick<MachineLink, "call">;
  readonly membership: Pick<Membership, "isAlive">;
  readonly directory: Pick<SessionDirectory, "homes">;
  readonly onClosed: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SessionRelay implements MessageRelay {
  readonly machineId: string;
  readonly #options: SessionRelayOptions;
  #queue: ResumeQueue | undefined;
  /** Still being stored. */
  readonly #unwritten = new Set<QueuedMessage>();
  #isCalling = false;
  /** Set: the last try has failed. */
  #retry: Timer | undefined;
  #retryMs = RETRY_MS_MIN;
  #reportedCount = 0;
  #isClosed = false;

  constructor(options: SessionRelayOptions) {
    this.#options = options;
    this.machineId = options.machineId;
  }

  /** Nothing waits to be passed on. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Nothing waits to be passed on that must arrive. */
  get hasPassedEvents(): boolean {
    return this.#waiting.every(({ number }) => number === undefined);
  }

  nextNumber(): number {
    return this.#options.nextNumber();
  }

  push(message: QueuedMessage, written?: Promise<void>): void {
    if (this.#isClosed || (message.number === undefined && !this.#isTaking(message))) return;
    if (written !== undefined) this.#holdUntil(written, message);
    this.#queue ??= this.#newQueue();
    this.#queue.push(message);
    this.#flow();
  }

  /** Tries again now: the session, or a machine, is another than before. */
  wake(): void {
    this.#retryMs = RETRY_MS_MIN;
    if (this.#retry === undefined) return;
    this.#retry.cancel();
    this.#retry = undefined;
    this.#flow();
  }

  /** A call that is under way may still arrive: the machine there knows the numbers that it has taken. */
  close(): readonly QueuedMessage[] {
    if (this.#isClosed) return [];
    this.#isClosed = true;
    this.#retry?.cancel();
    const messages = this.#queue?.drain() ?? [];
    this.#options.onClosed();
    return messages.filter(({ number }) => number !== undefined);
  }

  get #waiting(): readonly QueuedMessage[] {
    return this.#queue?.messages ?? [];
  }

  /** Whether one that may be dropped can be passed on soon, and takes no memory from those that must arrive. */
  #isTaking({ text }: QueuedMessage): boolean {
    const hasMemory = this.#options.session()?.memory.hasCapacity(Buffer.byteLength(text)) ?? false;
    return hasMemory && this.#retry === undefined && this.#waiting.length < DROPPABLE_BEHIND_MAX;
  }

  #newQueue(): ResumeQueue {
    return new ResumeQueue(this.#options.session()?.memory, {
      onQueued: () => undefined,
      onDropped: (message) => this.#onGone(message),
    });
  }

  #onGone({ number }: QueuedMessage): void {
    if (number !== undefined) this.#options.session()?.relayed(number);
  }

  #holdUntil(written: Promise<void>, message: QueuedMessage): void {
    this.#unwritten.add(message);
    void written.then(() => {
      if (this.#unwritten.delete(message)) this.#flow();
    });
  }

  #flow(): void {
    if (this.#isClosed || this.#isCalling || this.#retry !== undefined) return;
    const batch = this.#nextBatch();
    if (batch.length === 0) return;
    const machineId = this.#target();
    if (machineId === undefined) this.#retryLater();
    else void this.#pass(batch, machineId);
  }

  #nextBatch(): readonly QueuedMessage[] {
    let count = 0;
    let sizeBytes = 0;
    for (const message of this.#waiting) {
      sizeBytes += Buffer.byteLength(message.text);
      const isFull = count >= BATCH_COUNT_MAX || (count > 0 && sizeBytes > BATCH_SIZE_MAX_BYTES);
      if (isFull || this.#unwritten.has(message)) break;
      count++;
    }
    return this.#waiting.slice(0, count);
  }

  /** The machine that has the session; undefined: nobody knows, it has died, or it is this one. */
  #target(): string | undefined {
    const { directory, membership, sessionId } = this.#options;
    const { machineId } = directory.homes.get(sessionId) ?? {};
    if (machineId === undefined || machineId === this.machineId) return undefined;
    return membership.isAlive(machineId) ? machineId : undefined;
  }

  async #pass(batch: readonly QueuedMessage[], machineId: string): Promise<void> {
    this.#isCalling = true;
    const isTaken = await this.#call(batch, machineId);
    this.#isCalling = false;
    if (this.#isClosed) return;
    if (isTaken) this.#onTaken(batch);
    else this.#retryLater();
    this.#flow();
  }

  /** Whether they were taken; never rejects. */
  async #call(batch: readonly QueuedMessage[], machineId: string): Promise<boolean> {
    const { link, sessionId, logger } = this.#options;
    const messages = batch.map(({ number, topic, text }) => ({ number, topic, text }));
    const request = JSON.stringify({ sessionId, messages });
    try {
      const answer = await link.call(machineId, MESSAGES, request, { timeoutMs: CALL_TIMEOUT_MS });
      return messagesAnswer.parse(JSON.parse(answer)).kind === "taken";
    } catch (error) {
      const level = error instanceof NodeError ? "debug" : "warn";
      logger[level]("cluster: events could not be passed on yet", { sessionId, machineId, error });
      return false;
    }
  }

  #onTaken(batch: readonly QueuedMessage[]): void {
    const taken = new Set(batch);
    this.#queue?.remove((message) => taken.has(message));
    for (const message of batch) this.#onGone(message);
    this.#retryMs = RETRY_MS_MIN;
    const { logger, sessionId } = this.#options;
    const { droppedCount = 0 } = this.#queue ?? {};
    if (droppedCount === this.#reportedCount) return;
    const count = droppedCount - this.#reportedCount;
    this.#reportedCount = droppedCount;
    logger.warn("cluster: older events were dropped: the machine of their session could not be reached for too long", {
      sessionId,
      count,
    });
  }

  #retryLater(): void {
    this.#queue?.remove(({ number }) => number === undefined);
    this.#retry = this.#options.clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.#flow();
    });
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
  }
}
