// The real codec thread, on a machine for which the package that decodes AAC has no build. Needs dist.

import { parentPort } from "node:worker_threads";

const { on, postMessage } = parentPort;
const aacRequests = new Set();
parentPort.on = (name, listener) =>
  on.call(parentPort, name, (request) => {
    if (request.codec === "aac") aacRequests.add(request.requestId);
    listener(request);
  });
parentPort.postMessage = (answer) => {
  const { requestId } = answer;
  const isAac = aacRequests.delete(requestId);
  postMessage.call(parentPort, isAac ? { requestId, failure: "no build for this machine" } : answer);
};
await import("../../../dist/node/src/media/codec-main.js");
