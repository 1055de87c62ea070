// The events of one guild as its client got them, over all restarts: each start and end once, in pairs, in order.
// Pure. Lab only.

import type { NodeMessage } from "../test-environment/bot.ts";
import { trackNumber } from "./player-model.ts";

interface LoggedEvent {
  readonly type: string;
  readonly number: number;
  readonly atMs: number;
}

/**
 * Begins the losses of events that came a second time after a restart: the process ended when the first had been sent,
 * and before that was noted.
 */
export const REPEATED = "repeated: ";
/** Such an event was sent this shortly before the end. */
const REPEATED_MS_MAX = 250;

export class EventLedger {
  /** Tracks that have ended by themselves. */
  readonly finished = new Set<number>();
  readonly #started = new Map<number, LoggedEvent>();
  readonly #ended = new Map<number, LoggedEvent>();
  #current: number | undefined;
  #last: LoggedEvent | undefined;
  /** When the last process ended. */
  #endedMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** The number of the track that plays, as the client believes. */
  get current(): number | undefined {
    return this.#current;
  }

  /** Of starts and ends. */
  get count(): number {
    return this.#count;
  }

  /** Adds an event, received at that time; returns what is wrong with it. */
  add(message: NodeMessage, atMs: number): readonly string[] {
    const { type = "" } = message;
    if (type === "WebSocketClosedEvent") return message.code === 1000 ? [] : [`${type} with code ${message.code}`];
    if (type !== "TrackStartEvent" && type !== "TrackEndEvent") return [`an unexpected ${type}`];
    const number = trackNumber(message.track);
    if (number === undefined) return [`${type} of a track without its user data`];
    this.#count++;
    const event = { type, number, atMs };
    this.#last = event;
    return type === "TrackStartEvent" ? this.#start(event) : this.#end(event, String(message.reason));
  }

  /** The process has ended, and all that it had sent was added. */
  processEnded(atMs: number): void {
    this.#endedMs = atMs;
  }

  /** Compares with what the node plays now; afterwards the client believes that. */
  compare(number: number | undefined): readonly string[] {
    const believed = this.#current;
    if (number === believed) return [];
    this.#current = number;
    const told = this.#last === undefined ? "nothing" : `${this.#last.type} of ${this.#last.number}`;
    const plays = number === undefined ? "nothing" : `track ${number}`;
    // As if that had not been told: its real end is to come.
    if (number !== undefined) this.#ended.delete(number);
    return [`the node plays ${plays}, the client was told last: ${told}`];
  }

  /** The session is gone: nothing plays, and no end will be reported. */
  forget(): void {
    this.#current = undefined;
  }

  #isRepeated(before: LoggedEvent): boolean {
    return before.atMs >= this.#endedMs - REPEATED_MS_MAX;
  }

  #start(event: LoggedEvent): readonly string[] {
    const { number } = event;
    const before = this.#started.get(number);
    if (before !== undefined && this.#isRepeated(before)) return [`${REPEATED}TrackStartEvent of ${number}`];
    const faults: string[] = [];
    if (before !== undefined) faults.push(`TrackStartEvent of ${number} doubled`);
    if (this.#current !== undefined) faults.push(`TrackStartEvent of ${number} before the end of ${this.#current}`);
    this.#started.set(number, event);
    this.#current = number;
    return faults;
  }

  #end(event: LoggedEvent, reason: string): readonly string[] {
    const { number } = event;
    const before = this.#ended.get(number);
    if (before !== undefined && this.#isRepeated(before)) return [`${REPEATED}TrackEndEvent of ${number}`];
    const faults: string[] = [];
    if (before !== undefined) faults.push(`TrackEndEvent of ${number} doubled`);
    else if (this.#current !== number)
      faults.push(`TrackEndEvent of ${number} while ${this.#current ?? "nothing"} played`);
    if (reason === "loadFailed") faults.push(`track ${number} failed`);
    if (reason === "finished") this.finished.add(number);
    this.#ended.set(number, event);
    this.#current = undefined;
    return faults;
  }
}
