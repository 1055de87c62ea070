// The real look-up thread; everything it dials is told as in recording-audio.mjs. Needs dist.

import { BroadcastChannel } from "node:worker_threads";
import { recordDials } from "./record-dials.mjs";

const channel = new BroadcastChannel("tonearm-test-dials");
channel.unref();
await recordDials((dial) => channel.postMessage(dial));
await import("../../../dist/node/src/media/lookup-main.js");
