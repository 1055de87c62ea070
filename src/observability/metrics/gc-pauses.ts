// How long the garbage collector stopped the main thread: what Lavalink shows under the same name. Main thread.

import { PerformanceObserver } from "node:perf_hooks";
import type { Sample } from "./prometheus-text.ts";

const BUCKETS_S = [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6];

export class GcPauses {
  readonly #counts = BUCKETS_S.map(() => 0);
  readonly #observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.add(duration / 1000);
  });
  #sumS = 0;
  #count = 0;

  constructor() {
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  add(pauseS: number): void {
    this.#sumS += pauseS;
    this.#count++;
    for (const [index, bucketS] of BUCKETS_S.entries()) if (pauseS <= bucketS) this.#counts[index]! += 1;
  }

  samples(): readonly Sample[] {
    const buckets = BUCKETS_S.map((bucketS, index) => bucket(String(bucketS), this.#counts[index] ?? 0));
    return [
      ...buckets,
      bucket("+Inf", this.#count),
      { suffix: "_sum", value: this.#sumS },
      { suffix: "_count", value: this.#count },
    ];
  }

  close(): void {
    this.#observer.disconnect();
  }
}

function bucket(bound: string, value: number): Sample {
  return { suffix: "_bucket", labels: { le: bound }, value };
}
