// The undici dispatchers of a thread, one per address to send from, because undici binds an agent and not a request.
// Connections are reused only by requests from the same address. Large blocks give nearly every request another
// address, so only the last few dispatchers stay. Any thread.

import type { Dispatcher } from "undici";
import { createGuardedDispatcher, type GuardedDispatcherOptions } from "./guarded-dispatcher.ts";
import { SocketPortions } from "./socket-portions.ts";

/** Dispatchers retained per thread; each keeps its idle connections for 4 s, or as long as the server says. */
const RETAINED_MAX = 32;

/** One for each guard of a thread. */
export class DispatcherPool {
  /** Shared by all sockets. */
  readonly portions = new SocketPortions();
  readonly #options: Omit<GuardedDispatcherOptions, "localAddress">;
  /** For requests from no address in particular. */
  readonly #unbound: Dispatcher;
  /** By address; the one used last is the last. */
  readonly #bound = new Map<string, Dispatcher>();

  constructor(options: Omit<GuardedDispatcherOptions, "localAddress">) {
    this.#options = { ...options, portions: this.portions };
    this.#unbound = createGuardedDispatcher(this.#options);
  }

  /** The dispatcher that sends from this address; to be used at once, not retained. */
  get(localAddress: string | undefined): Dispatcher {
    if (localAddress === undefined) return this.#unbound;
    const dispatcher = this.#bound.get(localAddress) ?? createGuardedDispatcher({ ...this.#options, localAddress });
    this.#bound.delete(localAddress);
    this.#bound.set(localAddress, dispatcher);
    for (const [address, oldest] of this.#bound) {
      if (this.#bound.size <= RETAINED_MAX) break;
      this.#bound.delete(address);
      // Closes idle connections; active bodies continue, and their readers cancel them.
      oldest.close().catch(() => undefined);
    }
    return dispatcher;
  }

  /** Drops all connections, except bodies of addresses that are no longer retained. */
  close(): void {
    for (const dispatcher of [this.#unbound, ...this.#bound.values()]) {
      // Rejects only when it was destroyed before, which is fine.
      dispatcher.destroy().catch(() => undefined);
    }
    this.#bound.clear();
  }
}
