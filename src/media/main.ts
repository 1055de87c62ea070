// Entry of an audio worker thread; only it, probe-main.ts and codec-main.ts read parentPort. Says that the worker is
// there and lives; what plays (start-worker.ts) is loaded as a whole when the first command comes, as nobody may ever
// send one to this worker, and at once in a spare.

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
    // Sockets that are still closing must not keep the thread: what they had to say has been said.
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
  // A spare is there to take over at once, which it can when all is loaded.
  if (start.isSpare) loading = load().then(reportReady);
  else reportReady();
}

if (parentPort === null) throw new Error("media/main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startThread(parentPort, workerData as WorkerStart);
