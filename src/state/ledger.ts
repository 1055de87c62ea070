// What the store knows of its records without their values: their number, size, and a sum of their marks. The sum is
// stored with every write, so that a set in which any record is missing, too many or older than the others is recognised
// as a whole. Main thread.

/** A record as it is stored. */
export interface LedgerEntry {
  /** 48 bits that differ between any two stored values. */
  readonly mark: number;
  /** Of key and stored value. */
  readonly sizeBytes: number;
}

/** The sum over all records. Two equal ones mean the same set of records. */
export interface Total {
  readonly count: number;
  /** Of all marks, modulo 2^48. */
  readonly sum: number;
}

const MODULUS = 2 ** 48;

export class Ledger {
  readonly #entries = new Map<string, LedgerEntry>();
  #sum = 0;
  #sizeBytes = 0;

  get total(): Total {
    return { count: this.#entries.size, sum: this.#sum };
  }

  /** Count and size after the changes; undefined entries are removals. */
  after(changes: ReadonlyMap<string, LedgerEntry | undefined>): { readonly count: number; readonly sizeBytes: number } {
    let count = this.#entries.size;
    let sizeBytes = this.#sizeBytes;
    for (const [key, entry] of changes) {
      const before = this.#entries.get(key);
      count += Number(entry !== undefined) - Number(before !== undefined);
      sizeBytes += (entry?.sizeBytes ?? 0) - (before?.sizeBytes ?? 0);
    }
    return { count, sizeBytes };
  }

  /** Puts or removes one record. */
  set(key: string, entry: LedgerEntry | undefined): void {
    const before = this.#entries.get(key);
    this.#sum = (this.#sum + (entry?.mark ?? 0) - (before?.mark ?? 0) + MODULUS) % MODULUS;
    this.#sizeBytes += (entry?.sizeBytes ?? 0) - (before?.sizeBytes ?? 0);
    if (entry === undefined) this.#entries.delete(key);
    else this.#entries.set(key, entry);
  }
}
