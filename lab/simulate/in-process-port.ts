// Two ends between the threads of a simulation, in place of a MessageChannel: messages are copied, and arrive a little
// later, in order. An end that is closed with its thread closes the other one.

import type { Clock } from "../../src/lib/clock.ts";
import type { Dice } from "./dice.ts";
import type { ThreadGate } from "./thread-gate.ts";

/** Longest time a message takes. */
const DELAY_MS_MAX = 2;

/** What ports need from the simulation. */
interface PortEnvironment {
  readonly clock: Clock;
  readonly random: Dice;
}

export class InProcessPort {
  peer: InProcessPort | undefined;
  readonly #environment: PortEnvironment;
  /** The gate of the thread that has this end; undefined: the main thread. */
  #gate: ThreadGate | undefined;
  #onMessage: ((message: unknown) => void) | undefined;
  #onClose: (() => void) | undefined;
  /** Messages that arrived before there was a handler. */
  readonly #early: unknown[] = [];
  #arrivesMs = 0;
  #isClosed = false;

  /** Two ends that belong together. */
  static pair(environment: PortEnvironment): readonly [InProcessPort, InProcessPort] {
    const ends = [new InProcessPort(environment), new InProcessPort(environment)] as const;
    ends[0].peer = ends[1];
    ends[1].peer = ends[0];
    return ends;
  }

  private constructor(environment: PortEnvironment) {
    this.#environment = environment;
  }

  /** This end is that thread's now. */
  moveTo(gate: ThreadGate): this {
    this.#gate = gate;
    gate.onEnd(() => this.close());
    return this;
  }

  on(event: "message" | "close", listener: (message: never) => void): this {
    // Both ends are compiled with the same contract.
    const notify = listener as (message: unknown) => void;
    if (event === "close") this.#onClose = () => notify(undefined);
    if (event !== "message") return this;
    this.#onMessage = notify;
    this.#environment.clock.after(0, () => this.#deliverEarly());
    return this;
  }

  postMessage(message: unknown): void {
    if (this.#isClosed) return;
    const { peer } = this;
    const copy = copyOf(message);
    this.#later(() => {
      if (peer !== undefined && !peer.#isClosed) peer.#deliver(copy);
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { peer } = this;
    this.#later(() => {
      if (peer !== undefined) peer.#closedByPeer();
    });
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Runs after everything that was sent before. */
  #later(work: () => void): void {
    const { clock, random } = this.#environment;
    const nowMs = clock.now();
    this.#arrivesMs = Math.max(this.#arrivesMs, nowMs + random.unit() * DELAY_MS_MAX);
    clock.after(this.#arrivesMs - nowMs, work);
  }

  #deliver(message: unknown): void {
    if (this.#onMessage === undefined || this.#early.length > 0) this.#early.push(message);
    else this.#enter(() => this.#onMessage?.(message));
  }

  #deliverEarly(): void {
    const early = this.#early.splice(0);
    this.#enter(() => {
      for (const message of early) this.#onMessage?.(message);
    });
  }

  #enter(work: () => void): void {
    if (this.#isClosed) return;
    if (this.#gate === undefined) work();
    else this.#gate.enter(work);
  }

  #closedByPeer(): void {
    this.#enter(() => {
      this.#isClosed = true;
      this.#onClose?.();
    });
  }
}

/** As a structured clone, but for a port in it, which goes along. */
function copyOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null || !("port" in message)) return structuredClone(message);
  const { port, ...rest } = message;
  return { ...structuredClone(rest), port };
}
