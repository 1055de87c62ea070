// Tries a number of generated files of a container, each from its own seed. A file that does not finish, or ends its
// thread, is reported like any other problem, and the rest is tried all the same.

import { Worker } from "node:worker_threads";
import type { Container } from "../generators/generate-file.ts";
import type { FuzzResult } from "./try-file.ts";

type Message =
  | { readonly kind: "begins"; readonly seed: number }
  | { readonly kind: "result"; readonly result: FuzzResult }
  | { readonly kind: "done" };

interface FuzzOptions {
  readonly container: Container;
  readonly firstSeed: number;
  readonly count: number;
  /** After how long without an end a file counts as one that has none. Default 30 s. */
  readonly patienceMs?: number;
}

const ENTRY = new URL("./fuzz-worker.js", import.meta.url);
/** In tests this file runs from its source, its thread from the build. */
const BUILT_ENTRY = new URL("../../../dist/lab/isolation/fuzz/fuzz-worker.js", import.meta.url);

export async function runFuzz(options: FuzzOptions): Promise<FuzzResult[]> {
  const results: FuzzResult[] = [];
  const end = options.firstSeed + options.count;
  for (let next = options.firstSeed; next < end; ) {
    const broken = await runFrom({ ...options, firstSeed: next, count: end - next }, results);
    if (broken === undefined) return results;
    results.push(broken);
    next = broken.seed + 1;
  }
  return results;
}

/** Undefined when all have been tried; else the one that stopped the thread. */
function runFrom(options: FuzzOptions, results: FuzzResult[]): Promise<FuzzResult | undefined> {
  const { container, firstSeed, count, patienceMs = 30_000 } = options;
  const entry = import.meta.url.endsWith(".ts") ? BUILT_ENTRY : ENTRY;
  const worker = new Worker(entry, { workerData: { container, firstSeed, count } });
  let seed = firstSeed;
  return new Promise((resolve) => {
    const stop = (problem: string | undefined): void => {
      clearTimeout(timer);
      void worker.terminate();
      resolve(problem === undefined ? undefined : brokenBy({ container, seed, problem }));
    };
    const timer = setTimeout(() => stop(`no end after ${patienceMs / 1000} s`), patienceMs);
    worker.on("error", (error) => stop(`ended its thread: ${error instanceof Error ? error.stack : error}`));
    // A thread that has nothing left to do ends by itself.
    worker.on("exit", () => stop("never resolves"));
    worker.on("message", (message: Message) => {
      timer.refresh();
      if (message.kind === "begins") seed = message.seed;
      else if (message.kind === "result") results.push(message.result);
      else stop(undefined);
    });
  });
}

function brokenBy({ container, seed, problem }: { container: Container; seed: number; problem: string }): FuzzResult {
  const nothing = { changes: [], sizeBytes: 0, packets: 0, tookMs: 0, stretchCountMax: 0 };
  return { container, seed, problems: [problem], outcome: "stopped", ...nothing };
}
