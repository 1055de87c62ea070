// Counted and bounded memory: bytes that requests make the node hold (tables, read-ahead, decoders, stored JSON) are
// reserved in a budget before they are allocated, outside of V8's heap too. Budgets nest: bytes reserved by a track
// count in its worker's budget as well. All threads. Has no domain knowledge.

import { NodeError } from "../errors.ts";

/** All sizes in bytes, 0 or more. */
interface ByteBudgetOptions {
  /** The owner's name in error messages: "the track", "the session". */
  readonly owner: string;
  /**
   * The most that may be reserved at once, independent of the parent. A child's limit may exceed what is left of the
   * parent's.
   */
  readonly limitBytes: number;
  /** The budget that all its children share; bytes reserved here are reserved there too. */
  readonly parent?: ByteBudget | undefined;
  /** Default: no reserve. */
  readonly reserve?: MemoryReserve | undefined;
}

/** A part of the parent's memory that only owners with little memory may use, however much the others request. */
interface MemoryReserve {
  /** Up to this amount an owner has little … */
  readonly ownBytes: number;
  /** … and beyond it may reserve nothing that would leave the parent with less than this. */
  readonly leftBytes: number;
}

/**
 * Counts bytes and allocates nothing: callers allocate the memory, and release their bytes when they free it. For one
 * thread; each worker has its own budgets.
 */
export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  #usedBytes = 0;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  /** Bytes reserved here and by all children, and not yet released. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The limit given at construction. */
  get limitBytes(): number {
    return this.#options.limitBytes;
  }

  /** Whether `take` would succeed. */
  hasCapacity(sizeBytes: number): boolean {
    const { limitBytes, parent } = this.#options;
    return (
      this.#usedBytes + sizeBytes <= limitBytes &&
      (parent === undefined || (parent.hasCapacity(sizeBytes) && this.#isReserveLeft(sizeBytes)))
    );
  }

  /**
   * Counts `sizeBytes` as used, here and in all parents. `purpose` ends the sentence "… needs memory for".
   * @throws NodeError "memory-exhausted", and nothing is counted
   */
  take(sizeBytes: number, purpose: string): void {
    const { owner, limitBytes, parent } = this.#options;
    if (!(this.#usedBytes + sizeBytes <= limitBytes)) {
      throw new NodeError(
        "memory-exhausted",
        `${owner} needs ${toMegabytes(sizeBytes)} MB of memory for ${purpose}: that would exceed its limit of ` +
          `${toMegabytes(limitBytes)} MB`,
      );
    }
    if (!this.#isReserveLeft(sizeBytes)) {
      throw new NodeError(
        "memory-exhausted",
        `${owner} needs ${toMegabytes(sizeBytes)} MB more of memory for ${purpose}: the rest is reserved for ` +
          "owners that use little",
      );
    }
    parent?.take(sizeBytes, purpose);
    this.#usedBytes += sizeBytes;
  }

  #isReserveLeft(sizeBytes: number): boolean {
    const { parent, reserve } = this.#options;
    if (parent === undefined || reserve === undefined || this.#usedBytes + sizeBytes <= reserve.ownBytes) return true;
    return parent.hasCapacity(sizeBytes + reserve.leftBytes);
  }

  /** Releases bytes that `take` has counted; releasing more is a mistake, and stops at zero. */
  release(sizeBytes: number): void {
    const freedBytes = Math.min(sizeBytes, this.#usedBytes);
    this.#usedBytes -= freedBytes;
    this.#options.parent?.release(freedBytes);
  }

  /** Releases everything, when the owner is closed. */
  releaseAll(): void {
    this.release(this.#usedBytes);
  }
}

function toMegabytes(sizeBytes: number): string {
  return (sizeBytes / 1024 / 1024).toFixed(1);
}
