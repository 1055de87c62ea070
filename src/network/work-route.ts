// The address that one load or resolve of a plugin leaves from: sites bind links to the address that asked for them,
// so all of its requests and the playing share one. The address is preferred, not reserved: each request still asks the
// planner, so a ban that another thread has met counts at once. Used by outgoing-routes.ts. Any thread.

import type { NodeError } from "../errors.ts";

/** One for each piece of work. Moves on to another address where the one it has may be used no more. */
export class WorkRoute {
  /** A site's refusals of searches count only if the operator enables it. */
  readonly isSearch: boolean;
  /** A host of its source: an address that is chosen before any request is one for that. */
  readonly site: string | undefined;
  /** Why the last request of it found no address to leave from; undefined: it found one. */
  exhaustion: NodeError | undefined;
  #address: string | undefined;
  #choosing: Promise<unknown> = Promise.resolve();

  constructor({ isSearch, site }: { readonly isSearch: boolean; readonly site?: string | undefined }) {
    this.isSearch = isSearch;
    this.site = site;
  }

  /** That its last request left from; undefined: none has left from the operator's blocks so far. */
  get address(): string | undefined {
    return this.#address;
  }

  /** Chooses the address for the next request through `requestRoute`, which is given the previous one. */
  choose(requestRoute: (preferred: string | undefined) => Promise<string | undefined>): Promise<string | undefined> {
    // One at a time: of requests that begin together, or fail together, the first one chooses for all.
    const chosen = this.#choosing.then(() => this.#ask(requestRoute));
    this.#choosing = chosen.catch(() => undefined);
    return chosen;
  }

  async #ask(
    requestRoute: (preferred: string | undefined) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const address = await requestRoute(this.#address);
    this.#address = address ?? this.#address;
    return address;
  }
}
