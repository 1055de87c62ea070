// Limits how many of a thread's voice connections connect at the same time. Servers that do not answer (a client names
// them) must not block others: when all permits are taken and others wait, the server with the most unanswered attempts
// loses its oldest one. On the audio thread.

import type { Clock, Timer } from "../../../lib/clock.ts";

/** Concurrent attempts, each from its start to the open WebSocket. */
const CONNECT_ATTEMPTS_MAX = 128;
/** Real servers answer sooner; after that an attempt may be ended in favour of those that wait. */
const ANSWER_MS_MAX = 1000;

interface ConnectAttemptOptions {
  /** The server: `host:port`. */
  readonly remote: string;
  /** Called once, when the attempt gets a permit; synchronously when one is free. */
  readonly onPermit: () => void;
  /** It took too long while others wait and must give up. It holds no permit any more. */
  readonly onOusted: () => void;
}

/** A permit, or the wait for one. */
export interface ConnectAttempt {
  /** The attempt was answered, given up, or is no longer needed. May be called again. */
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

  /** The first waiting entry of the server with the fewest attempts under way. */
  #pickNext(): Entry | undefined {
    const counts = this.#countByRemote();
    let next: Entry | undefined;
    for (const entry of this.#waiting) {
      if (next === undefined || (counts.get(entry.remote) ?? 0) < (counts.get(next.remote) ?? 0)) next = entry;
    }
    return next;
  }

  /** Frees a permit; false when no attempt has had long enough. */
  #oust(): boolean {
    const counts = this.#countByRemote();
    const limitMs = this.#clock.now() - ANSWER_MS_MAX;
    let loser: Entry | undefined;
    // In order of their start: the first of its server is the oldest.
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
