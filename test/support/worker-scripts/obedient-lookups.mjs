// A look-up thread without a network for tests: does what the URL of a probe orders, and tells in the log what it is
// asked. Plain JavaScript: threads load it without a compiler.

import { parentPort, workerData } from "node:worker_threads";

/** Fields and codes of src/bridge/work-mark.ts. */
const [BEATS, OWNER, LOOKUP] = [0, 1, 7];
const mark = new Int32Array(workerData.markMemory);
let probeCount = 0;

setInterval(() => Atomics.add(mark, BEATS, 1), 10);
say({ type: "ready" });
parentPort.on("message", (command) => {
  tell(`asked ${command.type}`, command.requestId);
  if (command.type === "probe") obey(command.input.url, command.requestId);
});

function obey(order, requestId) {
  probeCount++;
  const [what, how] = order.split(" ");
  if (how === "named") mark.set([requestId, LOOKUP], OWNER);
  if (what === "exit") process.exit(3);
  if (what === "throw") throw new Error("thrown on order");
  if (what === "fill-heap") for (const heap = []; ; ) heap.push(new Array(100_000).fill(heap.length));
  if (what === "hang") for (;;);
  // A suspect looks guilty in company and is innocent alone.
  if (what === "suspect" && probeCount > 1) return mark.set([requestId, LOOKUP], OWNER);
  if (what === "wait" || how === "wait") return undefined;
  if (what === "fail") {
    const error = { code: "media-no-audio", message: "no sound", severity: "common", cause: "", causeStackTrace: "" };
    return say({ type: "replyError", requestId, error });
  }
  if (what === "route") return say({ type: "routeWanted", routeId: 5, families: [4] });
  if (what === "link") {
    const track = { sourceName: "site", encoded: "QAAA", userData: {} };
    return say({ type: "linkWanted", linkId: 6, track, reason: "start" });
  }
  if (what === "ban") say({ type: "routeFailed", address: "192.0.2.9", reason: "banned" });
  return say({ type: "reply", requestId, value: { kind: "empty" } });
}

function tell(message, requestId) {
  say({ type: "log", level: "info", message, fields: { requestId } });
}

function say(event) {
  parentPort.postMessage(event);
}
