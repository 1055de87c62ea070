// A fake WebSocket of a client, with a network that a test can stop.

import type { SessionSocket } from "../../src/control/sessions/session-socket.ts";

interface PendingSend {
  readonly text: string;
  readonly onSent: (error?: Error | null) => void;
}

export class FakeSocket implements SessionSocket {
  /** Messages that the other side has received, parsed. */
  readonly received: ReturnType<JSON["parse"]>[] = [];
  closedWith: number | undefined;
  isTerminated = false;
  #isFlowing = true;
  #pending: PendingSend[] = [];
  #bufferedAmount = 0;

  get bufferedAmount(): number {
    return this.#bufferedAmount;
  }

  /** The `thresholdMs` of every event received: the argument of FakeSessionPlayer.say. */
  get said(): number[] {
    return this.received.filter(({ op }) => op === "event").map(({ thresholdMs }) => thresholdMs);
  }

  get ops(): string[] {
    return this.received.map(({ op }) => op);
  }

  send(text: string, onSent: (error?: Error | null) => void): void {
    this.#pending.push({ text, onSent });
    this.#bufferedAmount += text.length;
    if (this.#isFlowing) this.flow();
  }

  /** From now on nothing arrives, until `flow`. */
  stall(): void {
    this.#isFlowing = false;
  }

  /** Delivers pending messages, at most `count`. */
  flow(count = Number.POSITIVE_INFINITY): void {
    this.#isFlowing = count === Number.POSITIVE_INFINITY;
    for (const { text, onSent } of this.#pending.splice(0, count)) {
      this.#bufferedAmount -= text.length;
      this.received.push(JSON.parse(text));
      onSent();
    }
  }

  /** The connection breaks: pending messages never arrive. */
  break(): void {
    this.#isFlowing = false;
    for (const { onSent } of this.#pending.splice(0)) onSent(new Error("the socket is closed"));
  }

  close(code: number): void {
    this.closedWith = code;
  }

  terminate(): void {
    this.isTerminated = true;
    this.break();
  }
}
