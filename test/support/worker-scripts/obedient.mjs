// An audio worker without audio for tests of the pool: says ready, sends reports, answers requests, and does what the
// URL of a probe, or the endpoint of a voice connection, orders. Plain JavaScript: workers load it without a compiler.

import { parentPort, workerData } from "node:worker_threads";

let tickLoad = 0;
/** The bits of a player's changes and frame minute, as bridge/worker-report.ts has them. */
const [CHANGES_PART, MINUTE_PART] = [8, 16];
// As bridge/heartbeat.ts has it: heartbeats, owner, activity.
const heartbeat = new Int32Array(workerData.heartbeatMemory);

setInterval(() => Atomics.add(heartbeat, 0, 1), 5);

parentPort.postMessage({ type: "ready" });
setInterval(() => sendReport(), 10);

parentPort.on("message", (command) => {
  if (command.type === "close") process.exit(0);
  if (command.type === "createPlayer") sendPosition(command.playerId);
  if (command.type === "route") sayRoute(command);
  if (command.type === "link" || command.type === "linkError") sayLink(command);
  if (command.type === "setComplexity") sayComplexity(command);
  if (command.type === "setFilterModules") sayModules(command);
  if (!("requestId" in command) || obey(command.input?.url ?? command.credentials?.endpoint, command.requestId)) return;
  parentPort.postMessage({ type: "reply", requestId: command.requestId, value: { kind: "empty" } });
});

/** Returns true when the request must not be answered as usual. */
function obey(order, requestId) {
  if (order === "exit") process.exit(3);
  if (order === "throw") {
    setImmediate(() => {
      throw new Error("thrown on order");
    });
    return true;
  }
  if (order === "hang") {
    Atomics.add(heartbeat, 0, 1);
    parentPort.postMessage({ type: "log", level: "warn", message: "hangs", fields: {} });
    for (;;);
  }
  if (order === "fill-heap") for (const heap = []; ; ) heap.push(new Array(100_000).fill(heap.length));
  if (order === "fail") {
    const error = { code: "worker-busy", message: "refused", severity: "common", cause: "", causeStackTrace: "" };
    parentPort.postMessage({ type: "replyError", requestId, error });
    return true;
  }
  if (order?.startsWith("mark ")) {
    const [owner, activity] = order.slice(5).split(" ").map(Number);
    Atomics.store(heartbeat, 1, owner);
    Atomics.store(heartbeat, 2, activity);
  }
  if (order?.startsWith("load ")) {
    tickLoad = Number(order.slice(5));
    sendReport();
  }
  if (order === "log") {
    parentPort.postMessage({ type: "log", level: "warn", message: "from the worker", fields: { n: 1 } });
  }
  if (order?.startsWith("route ")) {
    const families = order.slice(6).split(",").map(Number);
    parentPort.postMessage({ type: "routeRequested", routeId: 5, families });
  }
  if (order?.startsWith("link ")) {
    const track = { sourceName: order.slice(5), encoded: "QAAA", userData: {} };
    parentPort.postMessage({ type: "linkRequested", linkId: 6, track, reason: "refused", status: 403, variant: "r" });
  }
  if (order?.startsWith("ban ")) {
    parentPort.postMessage({ type: "routeFailed", address: order.slice(4), reason: "banned" });
  }
  if (order === "minute") {
    const lostFrames = { inputStarved: 0 };
    sendReport({ minutes: [{ minute: 5, sentFrames: 3000, lostFrames, isWholeMinute: true }] });
  }
  if (order === "late.example") {
    const incident = { cause: "workerLate", startEpochMs: 0, lengthMs: 80, framesLost: 4 };
    sendReport({ changes: [{ incidents: [incident], repairs: [] }] });
  }
  return false;
}

/** As bridge/worker-report.ts packs it: player 1 has changes or frame minutes, or there is no player. */
function sendReport({ changes = [], minutes = [] } = {}) {
  const worker = {
    threadLoad: tickLoad,
    tickLoad,
    playerCount: 0,
    playingCount: 0,
    latenessMsP99: 0,
    latenessMsMax: 0,
    lateness: [],
  };
  const parts = [...changes.map(() => CHANGES_PART), ...minutes.map(() => MINUTE_PART)];
  const values = Float64Array.from(parts.flatMap((part) => [1, part]));
  parentPort.postMessage({ type: "workerReport", epochMs: 0, worker, values, changes, minutes });
}

function sendPosition(playerId) {
  const report = { playerId, trackId: 1, seekId: 0, positionMs: 1234, epochMs: 0, rate: 1 };
  parentPort.postMessage({ type: "position", report });
}

function sayModules({ modules }) {
  const message = `modules ${modules.map(({ name }) => name)}`;
  parentPort.postMessage({ type: "log", level: "info", message, fields: {} });
}

function sayComplexity({ complexity }) {
  parentPort.postMessage({ type: "log", level: "info", message: `complexity ${complexity}`, fields: {} });
}

function sayLink({ type, linkId, link, error }) {
  const fields = { type, linkId, link, code: error?.code };
  parentPort.postMessage({ type: "log", level: "info", message: "received a link", fields });
}

function sayRoute({ routeId, address }) {
  parentPort.postMessage({ type: "log", level: "info", message: "received a route", fields: { routeId, address } });
}
