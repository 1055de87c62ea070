// The real audio worker; all its connection attempts are reported on a BroadcastChannel, and nothing leaves this
// machine. Needs dist.

import { BroadcastChannel } from "node:worker_threads";
import { recordConnections } from "./record-connections.mjs";

const channel = new BroadcastChannel("tonearm-test-connections");
channel.unref();
await recordConnections((recordedConnection) => channel.postMessage(recordedConnection));
await import("../../../dist/node/src/media/main.js");
