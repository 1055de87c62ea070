// Tries files one after the other on a separate thread, which can be terminated when one does not finish. Started by
// run-fuzz.ts.

import { parentPort, workerData } from "node:worker_threads";
import type { Container } from "../generators/generate-file.ts";
import { tryFile } from "./try-file.ts";

const { container, firstSeed, count } = workerData as { container: Container; firstSeed: number; count: number };

// Decoders with threads of their own do not keep this one alive; a node always has a timer.
setInterval(() => undefined, 1000);

for (let seed = firstSeed; seed < firstSeed + count; seed++) {
  parentPort?.postMessage({ kind: "begins", seed });
  parentPort?.postMessage({ kind: "result", result: await tryFile(container, seed) });
}
parentPort?.postMessage({ kind: "done" });
