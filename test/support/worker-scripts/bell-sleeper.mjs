// The pacer's end of a bell, on a thread of its own: looks how much has been put (`counts`, first number), says how
// much of it has been seen (the second), and sleeps one way or the other, for so long that nobody waits for it to wake
// by itself.

import { parentPort, workerData } from "node:worker_threads";
import { Bell } from "../../../dist/src/media/pacer/bell.js";

const LONG_MS = 3_600_000;
const { memory, progress } = workerData;
const counts = new Int32Array(progress);
const bell = new Bell(memory);

function look() {
  for (;;) {
    const seen = bell.rings;
    Atomics.store(counts, 1, Atomics.load(counts, 0));
    Atomics.notify(counts, 1);
    for (let spin = Math.random() * 300; spin > 0; spin--) Atomics.load(counts, 0);
    if (Math.random() < 0.5) {
      if (bell.sleep(seen)) return;
    } else {
      bell.wait(seen, LONG_MS, LONG_MS);
    }
  }
}

parentPort.on("message", look);
look();
