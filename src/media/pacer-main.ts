// Entry of the pacer thread, which keeps deadlines and does nothing else: it owns the UDP sockets of all voice sessions
// and sends the frames that audio workers have prepared (pacer/). Started with the first voice connection.

import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { PacerStart, ThreadMessage } from "../bridge/pacer-start.ts";
import { catchStrays, openHeartbeat, startHeartbeat } from "../bridge/thread-start.ts";
import { systemClock } from "../lib/clock.ts";
import { raisePriority } from "../lib/thread-priority.ts";
import { createLogger } from "../log/log.ts";
import { PacerThread } from "./pacer/pacer-thread.ts";

function startThread(port: NonNullable<typeof parentPort>, start: PacerStart): void {
  raisePriority();
  const clock = systemClock;
  const heartbeat = openHeartbeat(start.heartbeatMemory);
  const post = (message: ThreadMessage): void => port.postMessage(message);
  const logger = createLogger((level, message, fields) => post({ type: "log", level, message, fields }));
  const pacer = new PacerThread(start);
  // The other end is our own main thread, compiled with the same contract.
  port.on("message", (message) => pacer.connect(message as MessagePort));
  catchStrays({ threadName: "the pacer", clock, logger, attribute: () => false });
  startHeartbeat(heartbeat, clock);
  post({ type: "ready" });
}

if (parentPort === null) throw new Error("media/pacer-main.ts runs in a worker thread only");
// workerData is made by control/workers from the same contract.
startThread(parentPort, workerData as PacerStart);
