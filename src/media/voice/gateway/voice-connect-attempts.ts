// Who of a thread's voice connections may dial at the same time. Servers that do not answer (a client names them) must
// not take the turns of others: when all turns are taken and others wait, the one that has gone longest without an
// answer, of the server that has most of them, loses its turn. On the audio thread.

import type { Clock, Timer } from "../../../lib/clock.ts";

/** At the same time, from dialling to the open WebSocket. */
const CONNECT_ATTEMPTS_MAX = 128;
/** Real servers answer sooner; after that a dial may be ended in favour of those that wait. */
const ANSWER_MS_MAX = 1000;

interface ConnectAttemptOptions {
  /** Who is dialled: `host:port`. */
  readonly remote: string;
  /** Its turn has come: called once, at once when there is room. */
  readonly onPermit: () => void;
  /** It took too long while others wait: it has to give up. `enter` counts on nothing from it any more. */
  readonly onOusted: () => void;
}

/** A turn, or the wait for one. */
export interface ConnectAttempt {
  /** Answered, given up, or not wanted any more. Harmless when called again. */
  end(): void;
}

interface Entry extends ConnectAttemptOptions {
  startedMs: number;
}

export class VoiceConnectAttempts {
  readonly #clock: Clock;
  readonly #connecting = new Set<Entry>();
  readonly #waiting = new Set<Entry>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get connectingCount(): number {
    return this.#connecting.size;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  enter(options: ConnectAttemptOptions): ConnectAttempt {
    const entry: Entry = { ...options, startedMs: 0 };
    this.#waiting.add(entry);
    this.#serve();
    return {
      end: () => {
        const wasConnecting = this.#connecting.delete(entry);
        this.#waiting.delete(entry);
        if (wasConnecting) this.#serve();
      },
    };
  }

  #serve(): void {
    while (this.#waiting.size > 0) {
      if (this.#connecting.size >= CONNECT_ATTEMPTS_MAX && !this.#oust()) break;
      this.#start(this.#pickNext());
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    const oldest = this.#waiting.size > 0 ? this.#connecting.values().next().value : undefined;
    if (oldest === undefined) return;
    const delayMs = Math.max(1, oldest.startedMs + ANSWER_MS_MAX - this.#clock.now());
    this.#timer = this.#clock.after(delayMs, () => this.#serve());
  }

  #start(entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.#waiting.delete(entry);
    this.#connecting.add(entry);
    entry.startedMs = this.#clock.now();
    entry.onPermit();
  }

  /** Whoever waits for the server that has the fewest dials under way, the first of them. */
  #pickNext(): Entry | undefined {
    const counts = this.#countByRemote();
    let next: Entry | undefined;
    for (const entry of this.#waiting) {
      if (next === undefined || (counts.get(entry.remote) ?? 0) < (counts.get(next.remote) ?? 0)) next = entry;
    }
    return next;
  }

  /** Makes room; false when nobody has had long enough. */
  #oust(): boolean {
    const counts = this.#countByRemote();
    const limitMs = this.#clock.now() - ANSWER_MS_MAX;
    let loser: Entry | undefined;
    // In the order they began: the first of its server is the oldest.
    for (const entry of this.#connecting) {
      if (entry.startedMs > limitMs) break;
      if (loser === undefined || (counts.get(entry.remote) ?? 0) > (counts.get(loser.remote) ?? 0)) loser = entry;
    }
    if (loser === undefined) return false;
    this.#connecting.delete(loser);
    loser.onOusted();
    return true;
  }

  #countByRemote(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { remote } of this.#connecting) counts.set(remote, (counts.get(remote) ?? 0) + 1);
    return counts;
  }
}
