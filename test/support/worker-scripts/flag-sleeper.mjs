// The pacer's end of a wake-up flag, on a separate thread: checks how much has been written (`counts`, first number),
// reports how much of it has been seen (the second), and sleeps in either mode, for so long that no test waits for it
// to wake by itself.

import { parentPort, workerData } from "node:worker_threads";
import { WakeUpFlag } from "../../../dist/src/media/pacer/wake-up-flag.js";

const LONG_MS = 3_600_000;
const { memory, progress } = workerData;
const counts = new Int32Array(progress);
const wakeUpFlag = new WakeUpFlag(memory);

function poll() {
  for (;;) {
    const seen = wakeUpFlag.signals;
    Atomics.store(counts, 1, Atomics.load(counts, 0));
    Atomics.notify(counts, 1);
    for (let spin = Math.random() * 300; spin > 0; spin--) Atomics.load(counts, 0);
    if (Math.random() < 0.5) {
      if (wakeUpFlag.sleep(seen)) return;
    } else {
      wakeUpFlag.wait(seen, LONG_MS, LONG_MS);
    }
  }
}

parentPort.on("message", poll);
poll();
