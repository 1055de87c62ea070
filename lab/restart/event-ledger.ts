// The events of one guild as its client got them, over all restarts: each start and end once, in pairs, in order.
// Pure. Lab only.

import type { NodeMessage } from "../test-environment/bot.ts";
import { trackNumber } from "./player-model.ts";

interface LoggedEvent {
  readonly type: string;
  readonly number: number;
  readonly atMs: number;
}

/** Begins the losses of events that reached the client before what they are about was stored. */
export const AHEAD = "event ahead of the store: ";

export class EventLedger {
  /** Tracks that have ended by themselves. */
  readonly finished = new Set<number>();
  readonly #started = new Map<number, LoggedEvent>();
  readonly #ended = new Map<number, LoggedEvent>();
  /** What plays, as the client believes. */
  #current: number | undefined;
  #last: LoggedEvent | undefined;
  #count = 0;

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

  /** Compares with what the node plays now; afterwards the client believes that. `endedMs`: of the process. */
  compare(number: number | undefined, endedMs: number): readonly string[] {
    const believed = this.#current;
    if (number === believed) return [];
    this.#current = number;
    const told = this.#last === undefined ? "nothing" : `${this.#last.type} of ${this.#last.number}`;
    const beforeMs = Math.round(endedMs - (this.#last?.atMs ?? 0));
    const plays = number === undefined ? "nothing" : `track ${number}`;
    // As if that had not been told: its real end is to come.
    if (number !== undefined) this.#ended.delete(number);
    return [
      `${AHEAD}the node plays ${plays}, the client was told last: ${told}, ${beforeMs} ms before the process ended`,
    ];
  }

  /** The session is gone: nothing plays, and no end will be reported. */
  forget(): void {
    this.#current = undefined;
  }

  #start(event: LoggedEvent): readonly string[] {
    const { number } = event;
    const faults: string[] = [];
    if (this.#started.has(number)) faults.push(`TrackStartEvent of ${number} doubled`);
    if (this.#current !== undefined) faults.push(`TrackStartEvent of ${number} before the end of ${this.#current}`);
    this.#started.set(number, event);
    this.#current = number;
    return faults;
  }

  #end(event: LoggedEvent, reason: string): readonly string[] {
    const { number } = event;
    const faults: string[] = [];
    if (this.#ended.has(number)) faults.push(`TrackEndEvent of ${number} doubled`);
    else if (this.#current !== number)
      faults.push(`TrackEndEvent of ${number} while ${this.#current ?? "nothing"} played`);
    if (reason === "loadFailed") faults.push(`track ${number} failed`);
    if (reason === "finished") this.finished.add(number);
    this.#ended.set(number, event);
    this.#current = undefined;
    return faults;
  }
}
