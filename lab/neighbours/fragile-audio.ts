// The real audio worker, in which the code of one player can be made to fail on purpose: an end time of so many milliseconds
// makes it end the thread, loop for ever, or fill the heap. Entry of a worker thread; used by fragile-node.ts.

import { Pipeline } from "../../src/media/pipeline.ts";
import "../../src/media/main.ts";
import { DEADLY_END_TIMES } from "./deadly-end-times.ts";

const setEnd = Pipeline.prototype.setEnd;

Pipeline.prototype.setEnd = function (endMs) {
  if (endMs === DEADLY_END_TIMES.exit) process.exit(1);
  if (endMs === DEADLY_END_TIMES.loop) for (;;);
  if (endMs === DEADLY_END_TIMES.heap)
    for (const heap: unknown[] = []; ; ) heap.push(new Array(100_000).fill(heap.length));
  setEnd.call(this, endMs);
};
