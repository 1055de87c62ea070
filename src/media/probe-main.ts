// Entry of the probe thread: gives it its real environment, as main.ts does for an audio worker. Nothing plays here, so
// a hostile file cannot affect audio; the main thread ends and restarts it at any time.

import { parentPort, workerData } from "node:worker_threads";
import { catchStrays, openHeartbeat } from "../bridge/thread-start.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { systemClock } from "../lib/clock.ts";
import { systemSockets } from "../network/sockets.ts";
import { startProbeWorker } from "./start-probe-worker.ts";
import { TaskTracker } from "./task-tracker.ts";

function startThread(port: NonNullable<typeof parentPort>, { settings, heartbeatMemory }: WorkerStart): void {
  const clock = systemClock;
  const heartbeat = openHeartbeat(heartbeatMemory);
  const tasks = new TaskTracker(heartbeat);
  const { logger, worker } = startProbeWorker({ port, settings, heartbeat, tasks, clock, sockets: systemSockets });
  const attribute = (error: unknown): boolean => {
    if (tasks.current === undefined) return false;
    worker.end(tasks.current, error);
    return true;
  };
  catchStrays({ threadName: "the probe thread", clock, logger, attribute });
}

if (parentPort === null) throw new Error("media/probe-main.ts runs in a worker thread only");
// Every probe needs these, and the first read of a file from a slow disk must not look like a hang: the thread is
// watched once it is ready. Commands wait in the port until then.
await Promise.all([import("./input/http-client.ts"), import("./input/playlist.ts"), import("./probe/open-demuxer.ts")]);
// workerData is made by control/workers from the same contract.
startThread(parentPort, workerData as WorkerStart);
