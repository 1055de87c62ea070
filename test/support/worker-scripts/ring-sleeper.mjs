// The pacer's end of a ring of frames, on a separate thread: takes all ready frames and, when there are none, sleeps
// until it is signalled. Reports how many it has taken once the end is announced. The memory `progress` has that number
// so far, whether it is over, and the number of signals.

import { parentPort, workerData } from "node:worker_threads";
import { FrameRingReader } from "../../../dist/src/media/pacer/frame-ring.js";

const { memory, progress } = workerData;
const counts = new Int32Array(progress);
const reader = new FrameRingReader(memory);

for (let isOver = false; !isOver; ) {
  const seenSignals = Atomics.load(counts, 2);
  isOver = Atomics.load(counts, 1) === 1;
  while (reader.take() !== undefined) {
    reader.release();
    Atomics.add(counts, 0, 1);
    Atomics.notify(counts, 0);
  }
  if (!isOver) Atomics.wait(counts, 2, seenSignals);
}
parentPort.postMessage(Atomics.load(counts, 0));
