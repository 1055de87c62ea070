// The memory for the bodies of answers that a plugin receives at once, shared out between those it works for. Plugin
// thread; used by http-client.ts.

import { ByteBudget } from "../../../lib/byte-budget.ts";
import { greediest } from "../../../lib/greediest.ts";
import type { Owner } from "../../../lib/owners.ts";

interface BodyMemoryOptions {
  readonly limitBytes: number;
  /** Of one body. */
  readonly bodyBytesMax: number;
  /** However many large bodies are being read, each body has space for this much … */
  readonly littleBytes: number;
  /** … and all together for this much. */
  readonly littleBytesOfAll: number;
}

export class BodyMemory {
  readonly #options: BodyMemoryOptions;
  readonly #all: ByteBudget;
  readonly #bodies = new Set<Body>();

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
    this.#all = new ByteBudget({ owner: "the plugin", limitBytes: options.limitBytes });
  }

  /** `noMemory` makes the error of a body for which there is no memory, or whose memory others need. */
  open(owner: Owner, noMemory: () => Error): Body {
    const { bodyBytesMax, littleBytes, littleBytesOfAll } = this.#options;
    const budget = new ByteBudget({
      owner: "the answer",
      limitBytes: bodyBytesMax,
      parent: this.#all,
      reserve: { ownBytes: littleBytes, leftBytes: littleBytesOfAll },
    });
    const body = new Body({ owner, budget, noMemory, bodies: this.#bodies });
    this.#bodies.add(body);
    return body;
  }
}

interface BodyOptions {
  readonly owner: Owner;
  readonly budget: ByteBudget;
  readonly noMemory: () => Error;
  /** All that are being received, in order. */
  readonly bodies: Set<Body>;
}

/** The memory of one body until it is complete. */
export class Body {
  readonly owner: Owner;
  readonly #options: BodyOptions;
  readonly #refusal = new AbortController();

  constructor(options: BodyOptions) {
    this.owner = options.owner;
    this.#options = options;
  }

  get usedBytes(): number {
    return this.#options.budget.usedBytes;
  }

  /** Fires with the error when others need its memory. */
  get signal(): AbortSignal {
    return this.#refusal.signal;
  }

  /** Throws where there is no memory that is free, or with an owner who has more. */
  take(sizeBytes: number): void {
    const { budget, bodies, noMemory } = this.#options;
    while (!budget.hasCapacity(sizeBytes)) {
      const largest = greediest(
        bodies,
        ({ owner }) => owner,
        (body) => body.usedBytes + (body === this ? sizeBytes : 0),
      );
      if (largest === undefined || largest.owner.at(-1) === this.owner.at(-1)) throw noMemory();
      largest.#refuse();
    }
    budget.take(sizeBytes, "the body of an answer");
  }

  release(): void {
    this.#options.bodies.delete(this);
    this.#options.budget.releaseAll();
  }

  #refuse(): void {
    this.release();
    this.#refusal.abort(this.#options.noMemory());
  }
}
