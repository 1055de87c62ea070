// Does nothing but look at the clock, every ten milliseconds: how late it came at worst is what a thread of this
// machine has to put up with. Written to memory that the test reads and sets back.

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
