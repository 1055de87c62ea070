// Polls a node's version ten times a second, each time over a new connection, and records the slowest answer.

import { request } from "node:http";

const INTERVAL_MS = 100;
/** Limit of pending requests: a node that hangs is not overloaded. */
const IN_FLIGHT_MAX = 20;

export class VersionClock {
  readonly #url: string;
  readonly #timer: NodeJS.Timeout;
  /** When each pending request was sent. */
  readonly #askedMs = new Set<{ readonly atMs: number }>();
  #versionMsMax = 0;
  #versionFailures = 0;

  constructor(url: string) {
    this.#url = `${url}/version`;
    this.#timer = setInterval(() => this.#ask(), INTERVAL_MS);
  }

  reset(): void {
    this.#versionMsMax = 0;
    this.#versionFailures = 0;
  }

  read(): { readonly versionMsMax: number; readonly versionFailures: number } {
    const nowMs = performance.now();
    const waitingMs = Array.from(this.#askedMs, ({ atMs }) => nowMs - atMs);
    return { versionMsMax: Math.max(this.#versionMsMax, ...waitingMs), versionFailures: this.#versionFailures };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #ask(): void {
    if (this.#askedMs.size >= IN_FLIGHT_MAX) return;
    const asked = { atMs: performance.now() };
    this.#askedMs.add(asked);
    const isOver = (isGood: boolean) => {
      if (!this.#askedMs.delete(asked)) return;
      this.#versionMsMax = Math.max(this.#versionMsMax, performance.now() - asked.atMs);
      if (!isGood) this.#versionFailures += 1;
    };
    const sent = request(this.#url, { agent: false }, (response) => {
      response.resume();
      response.once("close", () => isOver(response.statusCode === 200));
    });
    sent.once("error", () => isOver(false));
    sent.end();
  }
}
