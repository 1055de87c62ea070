// The real probe thread; all its connection attempts are reported as in recording-audio.mjs. Needs dist.

import { BroadcastChannel } from "node:worker_threads";
import { recordConnections } from "./record-connections.mjs";

const channel = new BroadcastChannel("tonearm-test-connections");
channel.unref();
await recordConnections((recordedConnection) => channel.postMessage(recordedConnection));
await import("../../../dist/node/src/media/probe-main.js");
