// The pacer's end of a ring of frames, on a thread of its own: takes whatever is ready, until it is told that no more
// comes, and says which frames those were. The memory `progress` holds how many so far, and whether it is over.

import { parentPort, workerData } from "node:worker_threads";
import { FrameRingReader } from "../../../dist/src/media/pacer/frame-ring.js";

const { memory, progress } = workerData;
const counts = new Int32Array(progress);
const reader = new FrameRingReader(memory);
const numbers = [];
let torn = 0;

for (;;) {
  const isOver = Atomics.load(counts, 1) === 1;
  const frame = reader.take();
  if (frame === undefined) {
    if (isOver) break;
    continue;
  }
  const number = reader.takenDueMs;
  if (frame.length !== 1 + (number % 1000) || frame.some((byte) => byte !== (number & 0xff))) torn += 1;
  numbers.push(number);
  reader.release();
  Atomics.add(counts, 0, 1);
  Atomics.notify(counts, 0);
}
parentPort.postMessage({ numbers, torn });
