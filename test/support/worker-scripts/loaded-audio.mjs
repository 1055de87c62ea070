// The real audio worker, which reports that it is busy as long as it plays and has not handed over two players; not
// where it renders the audio of remote players, which would be stuck between two busy workers. Needs dist.

import { parentPort } from "node:worker_threads";

let handedOver = 0;
let isRenderWorker = false;
const { postMessage } = parentPort;
parentPort.postMessage = (event, ...rest) => {
  if (event.type === "handedOver") handedOver += 1;
  const isBusy = event.type === "workerReport" && event.worker.playingCount > 0 && handedOver < 2 && !isRenderWorker;
  const worker = isBusy ? { ...event.worker, tickLoad: 0.55, threadLoad: 0.55 } : event.worker;
  postMessage.call(parentPort, worker === undefined ? event : { ...event, worker }, ...rest);
};
await import("../../../dist/node/src/media/main.js");
// After the worker's own handler: messages that arrive before there is one wait.
parentPort.on("message", ({ type }) => {
  isRenderWorker ||= type === "renderRemotePlayer";
});
