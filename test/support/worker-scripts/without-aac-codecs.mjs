// The real codec thread, on a machine for which the package that decodes AAC has no build. Needs dist.

import { parentPort } from "node:worker_threads";

const { postMessage } = parentPort;
parentPort.postMessage = (answer) => {
  const missing = { codec: "aac", failure: "no build for this machine" };
  postMessage.call(parentPort, answer.codec === "aac" ? missing : answer);
};
await import("../../../dist/node/src/media/codec-main.js");
