// Recognises calls that come a second time: a client of NATS that can read them can send them again, sealed as they
// are. Each sender numbers its calls; a receiver takes each number once, and none that is far behind (as RFC 4303,
// section 3.4.3). A machine that starts takes another id, for which nothing recorded before is sealed. Main thread.

/** Calls that may overtake each other, as those of two connections to NATS. */
const WINDOW = 1024;
/** Machines that were heard; of more the one that was silent longest is forgotten. */
const SENDERS_MAX = 4096;

interface Heard {
  highest: number;
  /** Those within the window. */
  readonly numbers: Set<number>;
}

export class ReplayWindow {
  readonly #heard = new Map<string, Heard>();

  /** Whether the sender's call with that number, from 1, is taken; it is not a second time. */
  takes(sender: string, number: number): boolean {
    const heard = this.#heard.get(sender) ?? { highest: 0, numbers: new Set() };
    if (number <= heard.highest - WINDOW || heard.numbers.has(number)) return false;
    this.#heard.delete(sender);
    this.#heard.set(sender, heard);
    const [silent] = this.#heard.keys();
    if (this.#heard.size > SENDERS_MAX && silent !== undefined) this.#heard.delete(silent);
    heard.highest = Math.max(heard.highest, number);
    heard.numbers.add(number);
    for (const old of heard.numbers) {
      if (heard.numbers.size <= WINDOW) break;
      heard.numbers.delete(old);
    }
    return true;
  }
}
