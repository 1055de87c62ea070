// Entry of a plugin's thread: gives the plugin the real world to stand on. What a plugin does to this thread costs its
// own loads and nothing else: the main thread ends it and starts it anew at any time.

import { parentPort, workerData } from "node:worker_threads";
import type { PluginStart } from "../../bridge/plugin-messages.ts";
import { openHeartbeat, startHeartbeat } from "../../bridge/thread-start.ts";
import { systemClock } from "../../lib/clock.ts";
import { lowerPriority } from "../../lib/thread-priority.ts";
import { startPlugin } from "./start-plugin.ts";

/** Outside of the JavaScript heap, which has a limit of its own: more is a leak, or a page that nobody bounded. */
const BUFFERS_BYTES_MAX = 192 * 1024 * 1024;
const CHECK_EVERY_HEARTBEATS = 20;

if (parentPort === null) throw new Error("plugin-host/runtime/main.ts runs in a worker thread only");
// workerData is made by plugin-host/manage from the same contract.
const { settings, heartbeatMemory } = workerData as PluginStart;
// Music first: a plugin that loops, or fills memory, must not take processors from those who play.
lowerPriority();
let heartbeatCount = 0;
startHeartbeat(openHeartbeat(heartbeatMemory), systemClock, () => {
  heartbeatCount += 1;
  if (heartbeatCount % CHECK_EVERY_HEARTBEATS !== 0 || process.memoryUsage().arrayBuffers <= BUFFERS_BYTES_MAX) return;
  // Told by the exit: whoever waits is answered by the main thread.
  throw new Error(`the plugin keeps more than ${BUFFERS_BYTES_MAX / 2 ** 20} MiB of buffers`);
});
await startPlugin({ port: parentPort, settings, clock: systemClock });
