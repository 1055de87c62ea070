import { afterEach, beforeEach, expect, test } from "vitest";
import { noLosses } from "../../../../src/bridge/audio-report.ts";
import { packWorkerReport } from "../../../../src/bridge/worker-report.ts";
import { WorkerPool } from "../../../../src/control/workers/worker-pool.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { loadToJson } from "../../../../src/observability/status/node-load.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeThread, FakeThreads } from "../../../support/fake-thread.ts";
import { idleWorker } from "../../../support/idle-worker.ts";
import { increasesOf } from "../../../support/increases.ts";
import { SETTINGS } from "../../../support/obedient-pool.ts";

type Start = { readonly heartbeatMemory: SharedArrayBuffer };

class FakeWorker extends FakeThread<Start> {
  postMessage(): void {}

  report(framesSent: number): void {
    const increases = increasesOf({ framesSent, lostFrames: { ...noLosses(), network: 1, nobodyThere: 2 } });
    const worker = { ...idleWorker(), lateness: [0.5, framesSent] };
    this.emit("message", packWorkerReport({ epochMs: 0, worker, players: [{ playerId: 1, increases }] }));
  }
}

let clock: FakeClock;
let threads: FakeThreads<FakeWorker>;
let pool: WorkerPool;

beforeEach(() => {
  clock = new FakeClock();
  threads = new FakeThreads((_entry, { workerData }) => new FakeWorker(workerData as Start, clock));
  const entry = new URL("file:///worker.js");
  pool = new WorkerPool({ threads, entry, count: 1, settings: SETTINGS, clock, logger: createLogger(() => undefined) });
  threads.last.emit("message", { type: "ready" });
});

afterEach(async () => {
  const closed = pool.close();
  clock.advance(2000);
  await closed;
});

test("the counts of a lost worker stay in the totals, and those of its replacement are added", () => {
  const lost = threads.last;
  lost.report(100);
  lost.report(25);
  lost.exit(1);
  lost.report(7);
  expect(pool.totals.counts).toMatchObject({ framesSent: 125, lostFrames: { network: 2 }, workersLost: 1 });
  threads.last.emit("message", { type: "ready" });
  threads.last.report(10);
  expect(pool.totals.counts).toMatchObject({ framesSent: 135, lostFrames: { network: 3 } });
  expect(pool.totals.counts.lateness.slice(0, 2)).toEqual([1.5, 135]);
});

test("the load of a worker has the frames of all its players since it started, and 0 before its first report", () => {
  threads.last.report(100);
  threads.last.report(25);
  expect(loadToJson(pool.load).workers).toMatchObject([{ framesSent: 125, framesLost: 6 }]);
  threads.last.exit(1);
  expect(loadToJson(pool.load).workers).toMatchObject([{ framesSent: 0, framesLost: 0, load: 0 }]);
});
