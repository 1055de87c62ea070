// A probe thread without a network for tests: does what the URL of a probe orders, and logs its requests. Plain
// JavaScript: threads load it without a compiler.

import { parentPort, workerData } from "node:worker_threads";

/** Fields and codes of src/bridge/heartbeat.ts. */
const [BEATS, OWNER, PROBE] = [0, 1, 7];
const heartbeat = new Int32Array(workerData.heartbeatMemory);
let probeCount = 0;

setInterval(() => Atomics.add(heartbeat, BEATS, 1), 10);
say({ type: "ready" });
parentPort.on("message", (command) => {
  report(`asked ${command.type}`, command.requestId);
  if (command.type === "probe") obey(command.input.url, command.requestId);
});

function obey(order, requestId) {
  probeCount++;
  const [what, how] = order.split(" ");
  if (how === "named") heartbeat.set([requestId, PROBE], OWNER);
  if (what === "exit") process.exit(3);
  if (what === "throw") throw new Error("thrown on order");
  if (what === "fill-heap") for (const heap = []; ; ) heap.push(new Array(100_000).fill(heap.length));
  if (what === "hang") for (;;);
  // A suspect behaves like the culprit with others and well when isolated.
  if (what === "suspect" && probeCount > 1) return heartbeat.set([requestId, PROBE], OWNER);
  if (what === "wait" || how === "wait") return undefined;
  if (what === "fail") {
    const error = { code: "media-no-audio", message: "no audio", severity: "common", cause: "", causeStackTrace: "" };
    return say({ type: "replyError", requestId, error });
  }
  if (what === "route") return say({ type: "routeRequested", routeId: 5, families: [4] });
  if (what === "link") {
    const track = { sourceName: "site", encoded: "QAAA", userData: {} };
    return say({ type: "linkRequested", linkId: 6, track, reason: "start" });
  }
  if (what === "ban") say({ type: "routeFailed", address: "192.0.2.9", reason: "banned" });
  return say({ type: "reply", requestId, value: { kind: "empty" } });
}

function report(message, requestId) {
  say({ type: "log", level: "info", message, fields: { requestId } });
}

function say(event) {
  parentPort.postMessage(event);
}
