// Entry of an audio worker thread; only it, lookup-main.ts and codec-main.ts read parentPort. Gives the worker the real
// world to stand on: this thread's port and load, the system's clock and sockets. A spare loads at once what others
// load when it is first needed.

import { parentPort, workerData } from "node:worker_threads";
import { catchStrays, openOwnMark } from "../bridge/thread-start.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { readThreadTimes } from "../lib/thread-cpu.ts";
import { systemSockets } from "../network/sockets.ts";
import { startAudio } from "./start-audio.ts";

function startWorker(port: NonNullable<typeof parentPort>, start: WorkerStart): void {
  const { settings, markMemory, codecPort, isSpare } = start;
  const clock = systemClock;
  const mark = openOwnMark(markMemory);
  const { logger, attribute } = startAudio({
    ...{ port, settings, mark, codecPort, clock, random: systemRandom, sockets: systemSockets },
    takeThreadLoad: createLoadMeter(clock, mark.threadNumber),
    onClosed: () => {
      port.close();
      // Sockets that are still closing must not keep the thread: what they had to say has been said.
      setImmediate(() => process.exit(0));
    },
  });
  catchStrays({ threadName: "an audio worker", clock, logger, attribute });
  if (isSpare) loadAhead();
}

/** What every player needs, half a second's work. */
function loadAhead(): void {
  const parts = [
    import("./voice/voice-connection.ts"),
    import("./input/open-input.ts"),
    import("./input/http-client.ts"),
    import("./input/playlist.ts"),
    import("./opening/open-demuxer.ts"),
  ];
  for (const part of parts) part.catch(() => undefined); // told when a player asks for it
}

/**
 * The share of a core that the thread has used since the call before; where the system does not tell, that of its time.
 */
function createLoadMeter(clock: Clock, threadNumber: number): () => number {
  const cpuMs = readThreadTimes(threadNumber)?.cpuMs;
  if (cpuMs === undefined) return createLoopMeter();
  let before = { nowMs: clock.now(), cpuMs };
  return () => {
    const { nowMs, cpuMs } = before;
    before = { nowMs: clock.now(), cpuMs: readThreadTimes(threadNumber)?.cpuMs ?? cpuMs };
    return Math.min(1, (before.cpuMs - cpuMs) / Math.max(1, before.nowMs - nowMs));
  };
}

function createLoopMeter(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}

if (parentPort === null) throw new Error("media/main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startWorker(parentPort, workerData as WorkerStart);
