// Checks the clock every ten milliseconds: the worst delay is what a thread of this machine has to expect. Written to
// memory that the test reads and resets.

import { workerData } from "node:worker_threads";

const STEP_MS = 10;
const worstMs = new Int32Array(workerData);
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  const lateMs = Math.round(now - last - STEP_MS);
  last = now;
  if (lateMs > Atomics.load(worstMs, 0)) Atomics.store(worstMs, 0, lateMs);
}, STEP_MS);
