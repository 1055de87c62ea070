// What all filters of plugins on one audio worker may take of its CPU time. Where they take too much, those that take
// most are removed. Like single filters (guarded-filter.ts), they are watched by the clock, and judged by that and CPU
// time, which a system may count in steps that fall together with frames. Audio thread.

const WINDOW_MS = 1000;
/** Of the thread's time. The rest is for decoding, encoding and the built-in filters. */
const SHARE_MAX = 0.5;

/** A filter as the budget knows it. */
interface Spender {
  /** CPU time that it has taken in this window, milliseconds. */
  spentMs: number;
  removeAsTooSlow(message: string): void;
}

/** One per worker. */
export class FilterBudget {
  readonly #nowMs: () => number;
  readonly #spenders = new Set<Spender>();
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  #cpuMs = 0;
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
    const elapsedMs = this.#nowMs() - this.#windowStartMs;
    if (elapsedMs >= WINDOW_MS) this.#endWindow(elapsedMs);
    this.#tookMs += tookMs;
    this.#cpuMs += cpuMs;
    spender.spentMs += cpuMs;
    this.#spenders.add(spender);
  }

  #endWindow(elapsedMs: number): void {
    const limitMs = SHARE_MAX * elapsedMs;
    const spenders = [...this.#spenders].toSorted((one, other) => other.spentMs - one.spentMs);
    const totalMs = Math.min(this.#tookMs, this.#cpuMs);
    const wasJudging = this.#isJudging;
    this.#isJudging = totalMs > limitMs;
    this.#windowStartMs = this.#nowMs();
    this.#tookMs = 0;
    this.#cpuMs = 0;
    this.#spenders.clear();
    let leftMs = totalMs;
    for (const spender of spenders) {
      if (wasJudging && leftMs > limitMs) {
        leftMs -= spender.spentMs;
        spender.removeAsTooSlow(textOf({ totalMs, elapsedMs, spentMs: spender.spentMs }));
      }
      spender.spentMs = 0;
    }
  }
}

function textOf(window: { readonly totalMs: number; readonly elapsedMs: number; readonly spentMs: number }): string {
  const percent = (ms: number): string => `${Math.round((100 * ms) / window.elapsedMs)} %`;
  const total = `filters of plugins take ${percent(window.totalMs)} of an audio worker's time, of which they may take`;
  return `${total} ${100 * SHARE_MAX} %, and this is one of those that take most: ${percent(window.spentMs)}`;
}
