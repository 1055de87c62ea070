// A pacer in the worker's own thread, driven by the timers of its clock. Used where no pacer thread is available, as in
// a simulation, and in tests. Same contract as remote-pacer.ts. Audio thread.

import type { Clock, Timer } from "../../lib/clock.ts";
import type { Sockets } from "../../network/sockets.ts";
import { Pacer, type PacerClient } from "./pacer.ts";
import type { PacerEnd } from "./pacer-link.ts";
import type { PacerCommand, PacerEvent } from "./pacer-messages.ts";

export class LocalPacer implements PacerEnd {
  readonly offsetMs = 0;
  readonly #clock: Clock;
  readonly #pacer: Pacer;
  readonly #client: PacerClient;
  #onEvent: (event: PacerEvent) => void = () => undefined;
  #timer: Timer | undefined;
  #wakesAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, sockets: Sockets) {
    this.#clock = clock;
    this.#pacer = new Pacer({ clock, sockets, offsetMs: 0 });
    this.#client = this.#pacer.serve((event) => this.#onEvent(event));
  }

  listen(onEvent: (event: PacerEvent) => void): void {
    this.#onEvent = onEvent;
  }

  post(command: PacerCommand): void {
    this.#client.execute(command);
    if (command.type === "start") this.#run();
  }

  onPut(dueMs: number): void {
    if (dueMs < this.#wakesAtMs) this.#arm(dueMs);
  }

  /** No-op: there is no other thread to yield to. */
  yieldToPacer(): void {}

  close(): void {
    this.#timer?.cancel();
    this.#pacer.close();
  }

  #run(): void {
    this.#arm(this.#pacer.run());
  }

  #arm(atMs: number): void {
    this.#timer?.cancel();
    this.#wakesAtMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#clock.after(Math.max(0, atMs - this.#clock.now()), () => this.#run());
  }
}
