// Messages buffered for a client that is away, in order and bounded (protocol-v4.md section 4.7). Main thread; each
// waiting session has one, and the unsent messages of a lost socket return to it.
//
// At the bound the older half is dropped, except the newest message of each type of each player, and the newest stats.
// A player has six types of event, and those of extensions count as one, so the number of retained messages is bounded by
// the number of players. A resuming client gets one playerUpdate per player anyway, and so always learns the current
// state. Only when the session has no memory left, the older half is dropped entirely.

import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { OutgoingMessage } from "../protocol/outgoing-message.ts";

/** At either bound the queue is thinned out. */
export const QUEUE_COUNT_MAX = 2000;
const QUEUE_SIZE_MAX_BYTES = 8 * 1024 * 1024;

export interface QueuedMessage {
  /** Messages with an equal topic supersede each other when the queue is full: the guild and type, or the op. */
  readonly topic: string;
  readonly text: string;
  /** Its place among the messages that have waited for this client; undefined: it has not waited. */
  readonly number?: number | undefined;
  /** The machine that it was taken from, and its number there; undefined: it arose here. */
  readonly from?: { readonly machineId: string; readonly number: number } | undefined;
}

/** Follows which messages wait. */
interface QueueRecorder {
  onQueued(message: QueuedMessage): void;
  onDropped(message: QueuedMessage): void;
}

export class ResumeQueue {
  readonly #memory: ByteBudget | undefined;
  readonly #recorder: QueueRecorder | undefined;
  #messages: QueuedMessage[] = [];
  #sizeBytes = 0;
  /** Raised when thinning did not help, so that a queue that must be long is not thinned at every message. */
  #countMax = QUEUE_COUNT_MAX;
  #sizeMaxBytes = QUEUE_SIZE_MAX_BYTES;
  #droppedCount = 0;

  /** Buffered messages are taken from `memory`. */
  constructor(memory?: ByteBudget, recorder?: QueueRecorder) {
    this.#memory = memory;
    this.#recorder = recorder;
  }

  /** Those that wait, oldest first. */
  get messages(): readonly QueuedMessage[] {
    return this.#messages;
  }

  /** The number of messages dropped so far. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  push(message: QueuedMessage): void {
    const sizeBytes = Buffer.byteLength(message.text);
    while (this.#memory?.hasCapacity(sizeBytes) === false) {
      if (this.#messages.length === 0) {
        this.#droppedCount++;
        this.#recorder?.onDropped(message);
        return;
      }
      this.#dropHalf();
    }
    this.#memory?.take(sizeBytes, "a message");
    this.#messages.push(message);
    this.#sizeBytes += sizeBytes;
    this.#recorder?.onQueued(message);
    if (this.#messages.length > this.#countMax || this.#sizeBytes > this.#sizeMaxBytes) this.#thin();
  }

  /** All messages, oldest first; the queue is empty afterwards. They do not count as dropped. */
  drain(): readonly QueuedMessage[] {
    const messages = this.#messages;
    this.#replace([]);
    return messages;
  }

  /** Removes some that no longer need to wait. They do not count as dropped. */
  remove(isGone: (message: QueuedMessage) => boolean): void {
    this.#replace(this.#messages.filter((message) => !isGone(message)));
  }

  #dropHalf(): void {
    this.#drop(this.#messages.slice(Math.ceil(this.#messages.length / 2)));
  }

  #thin(): void {
    const before = this.#messages;
    const newest = new Map(before.map((message) => [message.topic, message]));
    const isNewest = (message: QueuedMessage): boolean => newest.get(message.topic) === message;
    const middle = before.length / 2;
    this.#drop(before.filter((message, index) => index >= middle || isNewest(message)));
    if (this.#sizeBytes > this.#sizeMaxBytes) this.#drop(this.#messages.filter(isNewest));
    this.#countMax = Math.max(QUEUE_COUNT_MAX, newest.size * 4);
    this.#sizeMaxBytes = Math.max(QUEUE_SIZE_MAX_BYTES, this.#sizeBytes * 2);
  }

  /** Drops all but `left`, which are some of the messages. */
  #drop(left: QueuedMessage[]): void {
    const before = this.#messages;
    this.#replace(left);
    this.#droppedCount += before.length - left.length;
    if (this.#recorder === undefined) return;
    const retained = new Set(left);
    for (const message of before) if (!retained.has(message)) this.#recorder.onDropped(message);
  }

  #replace(messages: QueuedMessage[]): void {
    const beforeBytes = this.#sizeBytes;
    this.#messages = messages;
    this.#sizeBytes = messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    this.#memory?.release(beforeBytes - this.#sizeBytes);
  }
}

/** The topic within which a newer message supersedes older ones: see `QueuedMessage.topic`. */
export function topicOf(message: OutgoingMessage): string {
  if (message.op === "extension") return `${message.guildId} ${message.op}`;
  return message.op === "event" ? `${message.guildId} ${message.type}` : message.op;
}
