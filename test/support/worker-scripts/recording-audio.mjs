// The real audio worker; everything it dials is told on a BroadcastChannel, and nothing leaves this machine. Needs
// dist.

import { BroadcastChannel } from "node:worker_threads";
import { recordDials } from "./record-dials.mjs";

const channel = new BroadcastChannel("tonearm-test-dials");
channel.unref();
await recordDials((dial) => channel.postMessage(dial));
await import("../../../dist/node/src/media/main.js");
