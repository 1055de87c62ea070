// What all filters of plugins on one audio worker may take of its CPU time. Where they take too much, those that take
// most are removed. Like single filters (guarded-filter.ts), they are watched by the clock, and judged by that and CPU
// time, which a system may count in steps that fall together with frames. Audio thread.

const WINDOW_MS = 1000;
/** Of the thread's time. The rest is for decoding, encoding and the built-in filters. */
const SHARE_MAX = 0.5;

/** A filter as the budget knows it. */
interface Spender {
  /** What it has taken in this window, by the clock and of CPU time, milliseconds. */
  tookMs: number;
  cpuMs: number;
  removeAsTooSlow(message: string): void;
}

/** One per worker. */
export class FilterBudget {
  readonly #nowMs: () => number;
  readonly #spenders = new Set<Spender>();
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #isJudging = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** True while filters are to measure CPU time. */
  get isJudging(): boolean {
    return this.#isJudging;
  }

  /** One has processed audio; while not judging, `cpuMs` is the same as `tookMs`. May remove it, or others. */
  spend(spender: Spender, tookMs: number, cpuMs: number): void {
    spender.tookMs += tookMs;
    spender.cpuMs += cpuMs;
    this.#spenders.add(spender);
    const elapsedMs = this.#nowMs() - this.#windowStartMs;
    if (elapsedMs >= WINDOW_MS) this.#endWindow(elapsedMs);
  }

  /** It has been replaced, or has ended: what it has taken says nothing of the time to come. */
  forget(spender: Spender): void {
    this.#spenders.delete(spender);
    spender.tookMs = 0;
    spender.cpuMs = 0;
  }

  #endWindow(elapsedMs: number): void {
    const limitMs = SHARE_MAX * elapsedMs;
    const spenders = [...this.#spenders].toSorted((one, other) => other.cpuMs - one.cpuMs);
    const totalMs = Math.min(
      sumOf(spenders, ({ tookMs }) => tookMs),
      sumOf(spenders, ({ cpuMs }) => cpuMs),
    );
    const wasJudging = this.#isJudging;
    this.#isJudging = totalMs > limitMs;
    this.#windowStartMs = this.#nowMs();
    let leftMs = totalMs;
    for (const spender of spenders) {
      if (wasJudging && leftMs > limitMs) {
        leftMs -= spender.cpuMs;
        spender.removeAsTooSlow(textOf({ totalMs, elapsedMs, spentMs: spender.cpuMs }));
      }
      this.forget(spender);
    }
  }
}

function sumOf(spenders: readonly Spender[], msOf: (spender: Spender) => number): number {
  return spenders.reduce((sumMs, spender) => sumMs + msOf(spender), 0);
}

function textOf(window: { readonly totalMs: number; readonly elapsedMs: number; readonly spentMs: number }): string {
  const percent = (ms: number): string => `${Math.round((100 * ms) / window.elapsedMs)} %`;
  const total = `filters of plugins take ${percent(window.totalMs)} of an audio worker's time, of which they may take`;
  return `${total} ${100 * SHARE_MAX} %, and this is one of those that take most: ${percent(window.spentMs)}`;
}
