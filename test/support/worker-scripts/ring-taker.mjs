// The pacer's end of a ring of frames, on a separate thread: takes all ready frames until the end is announced, and
// reports which frames they were. The memory `progress` has their count so far, and whether it is over.

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
