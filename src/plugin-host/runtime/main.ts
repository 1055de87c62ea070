// Entry of a plugin's thread: connects the plugin to the real environment. A plugin that damages this thread loses only
// its own loads: the main thread may end and restart it at any time.

import { parentPort, workerData } from "node:worker_threads";
import type { PluginStart } from "../../bridge/plugin-messages.ts";
import { openHeartbeat, startHeartbeat } from "../../bridge/thread-start.ts";
import { systemClock } from "../../lib/clock.ts";
import { lowerPriority } from "../../lib/thread-priority.ts";
import { startPlugin } from "./start-plugin.ts";

/** Memory outside of the JavaScript heap, which has a separate limit: more is a leak, or an unbounded page. */
const BUFFERS_BYTES_MAX = 192 * 1024 * 1024;
const CHECK_EVERY_HEARTBEATS = 5;

if (parentPort === null) throw new Error("plugin-host/runtime/main.ts runs in a worker thread only");
// workerData is made by plugin-host/manage from the same contract.
const { settings, heartbeatMemory } = workerData as PluginStart;
// Playback comes first: a plugin that loops, or fills memory, must not take CPU time from players.
lowerPriority();
let heartbeatCount = 0;
startHeartbeat(openHeartbeat(heartbeatMemory), systemClock, () => {
  heartbeatCount += 1;
  if (heartbeatCount % CHECK_EVERY_HEARTBEATS !== 0 || process.memoryUsage().arrayBuffers <= BUFFERS_BYTES_MAX) return;
  // The exit reports it: the main thread answers pending requests.
  throw new Error(`the plugin keeps more than ${BUFFERS_BYTES_MAX / 2 ** 20} MiB of buffers`);
});
await startPlugin({ port: parentPort, settings, clock: systemClock });
