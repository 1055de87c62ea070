// The real audio worker, which dies when a client sets an end time of 600001 ms and hangs at 600002 ms. Each reports a
// load that leaves no room for another player and moves none away, so that the next gets another worker. Needs dist.

import { parentPort } from "node:worker_threads";

const LOAD = 0.45;
const post = parentPort.postMessage.bind(parentPort);
parentPort.postMessage = (message, transferList) => {
  if (message?.type === "workerReport") message.worker = { ...message.worker, tickLoad: LOAD, threadLoad: LOAD };
  post(message, transferList);
};
parentPort.on("message", ({ type, endMs }) => {
  if (type !== "setEndTime") return;
  if (endMs === 600_001) process.exit(1);
  if (endMs === 600_002) for (;;);
});
await import("../../../dist/src/media/main.js");
