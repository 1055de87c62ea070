// A codec thread without codecs: it counts its requests, and ends when MP3 is requested.

import { parentPort } from "node:worker_threads";

let count = 0;
parentPort.on("message", ({ requestId, codec }) => {
  count += 1;
  if (codec === "mp3") process.exit(1);
  if (codec === "flac") throw new Error("broken on purpose");
  parentPort.postMessage({ requestId, loaded: { kind: "wasm", wasm: { startName: `start-${count}` } } });
});
