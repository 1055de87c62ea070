// The real audio worker, which dies when a client sets an end time of 600001 ms and hangs at 600002 ms. Needs dist.

import { parentPort } from "node:worker_threads";
import "../../../dist/src/media/main.js";

parentPort.on("message", ({ type, endMs }) => {
  if (type !== "setEndTime") return;
  if (endMs === 600_001) process.exit(1);
  if (endMs === 600_002) for (;;);
});
