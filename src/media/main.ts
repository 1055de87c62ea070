// Entry of an audio worker thread; only this file, probe-main.ts and codec-main.ts read parentPort. Reports that the
// worker has started and is alive. The player code (start-worker.ts) is loaded as a whole with the first command, which
// may never come; a spare loads it at once.

import { parentPort, workerData } from "node:worker_threads";
import type { PlainCommand } from "../bridge/channel.ts";
import type { WorkerEvent } from "../bridge/events.ts";
import { openHeartbeat, startHeartbeat } from "../bridge/thread-start.ts";
import type { WorkerStart } from "../bridge/worker-settings.ts";
import { systemClock } from "../lib/clock.ts";
import { EarlyPort } from "./early-port.ts";

function startThread(ownPort: NonNullable<typeof parentPort>, start: WorkerStart): void {
  const heartbeat = openHeartbeat(start.heartbeatMemory);
  let onHeartbeat = (): void => undefined;
  const end = (): void => {
    ownPort.close();
    // Sockets that are still closing must not keep the thread alive: all their results have been reported.
    setImmediate(() => process.exit(0));
  };
  const load = async (): Promise<void> => {
    const { startWorker, loadAhead } = await import("./start-worker.ts");
    await loadAhead();
    onHeartbeat = startWorker({ start, heartbeat, port, onClosed: end }).onHeartbeat;
  };
  let loading: Promise<void> | undefined;
  // Where it cannot be loaded the thread ends with the reason, and the main thread starts another.
  const port = new EarlyPort<PlainCommand>(ownPort, ({ type }) => {
    if (type === "close" && loading === undefined) end();
    else loading ??= load();
  });
  startHeartbeat(heartbeat, systemClock, () => onHeartbeat());
  const reportReady = (): void => ownPort.postMessage({ type: "ready" } satisfies WorkerEvent);
  // A spare must take over at once, which it can only when everything is loaded.
  if (start.isSpare) loading = load().then(reportReady);
  else reportReady();
}

if (parentPort === null) throw new Error("media/main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startThread(parentPort, workerData as WorkerStart);
