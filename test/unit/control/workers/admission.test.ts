import { MessageChannel } from "node:worker_threads";
import { beforeEach, expect, test } from "vitest";
import { packWorkerReport } from "../../../../src/bridge/worker-report.ts";
import { WorkerPool } from "../../../../src/control/workers/worker-pool.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeThread, FakeThreads } from "../../../support/fake-thread.ts";
import { idleWorker } from "../../../support/idle-worker.ts";
import { FakePooledPlayer, SETTINGS } from "../../../support/obedient-pool.ts";

type Start = { readonly heartbeatMemory: SharedArrayBuffer };

class FakeWorker extends FakeThread<Start> {
  postMessage(): void {}

  /** One report, of half a second. */
  report(load: number, playingCount: number): void {
    const worker = { ...idleWorker(), playingCount, tickLoad: load, threadLoad: load };
    this.emit("message", packWorkerReport({ epochMs: 0, worker, players: [] }));
  }
}

class Asking extends FakePooledPlayer {
  outcome: unknown;
  readonly leave = new AbortController();
}

let clock: FakeClock;
let pool: WorkerPool;
let workers: FakeWorker[];

beforeEach(() => startPool({ count: 1 }));

function startPool({ count }: { readonly count: number }): void {
  clock = new FakeClock();
  workers = [];
  const threads = new FakeThreads((_entry, { workerData }) => {
    const worker = new FakeWorker(workerData as Start, clock);
    workers.push(worker);
    return worker;
  });
  pool = new WorkerPool({
    threads: Object.assign(threads, { createChannel: () => new MessageChannel() }),
    entry: new URL("file:///worker.js"),
    count,
    settings: { ...SETTINGS, opus: { ...SETTINGS.opus, encoder: "tonearm" } },
    clock,
    logger: createLogger(() => undefined),
  });
  workers[0]?.emit("message", { type: "ready" });
}

/** Players that ask at once to play. */
async function ask(count: number): Promise<readonly Asking[]> {
  const players = Array.from({ length: count }, () => {
    const player = new Asking();
    player.owner = [`${Math.random()}`];
    pool.attach(player);
    const onAdmitted = (): void => {
      player.needsCapacity = true;
    };
    pool.admit(player, { onAdmitted, signal: player.leave.signal }).then(
      () => {
        player.outcome = "plays";
      },
      (error) => {
        player.outcome = error.code ?? error.message;
      },
    );
    return player;
  });
  await settle();
  return players;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

function countOf(players: readonly Asking[], outcome: string | undefined): number {
  return players.filter((player) => player.outcome === outcome).length;
}

/** Everybody who plays costs this much, in as many reports. */
async function report(loadPerTrack: number, playing: number, count = 4): Promise<void> {
  for (let round = 0; round < count; round++) workers[0]?.report(loadPerTrack * playing, playing);
  await settle();
}

test("of many that come at once, those that fit by the estimate begin, the others when those are measured", async () => {
  const players = await ask(130);
  // 0.7 / 0.01
  expect([countOf(players, "plays"), countOf(players, undefined)]).toEqual([70, 60]);
  await report(0.005, 70, 1);
  expect(countOf(players, undefined)).toBeGreaterThan(0);
  await report(0.005, 70);
  expect(countOf(players, "plays")).toBe(130);
});

test("none is admitted beyond what they were measured to cost", async () => {
  const players = await ask(200);
  for (let round = 0; round < 5; round++) await report(0.008, countOf(players, "plays"));
  // 0.7 / 0.008 are 87.5.
  expect([countOf(players, "plays"), countOf(players, "node-overloaded")]).toEqual([88, 112]);
  expect(pool.load).toMatchObject({ refusedCount: 112, hasCapacity: false });
});

test("a worker that is measured to be full refuses at once", async () => {
  await ask(40);
  await report(0.02, 40);
  const [late] = await ask(1);
  expect(late?.outcome).toBe("node-overloaded");
});

test("a worker whose players have just left is not refused for what they cost", async () => {
  const players = await ask(40);
  await report(0.02, 40);
  for (const player of players.slice(0, 30)) player.needsCapacity = false;
  const [next] = await ask(1);
  expect(next?.outcome).toBe(undefined);
  await report(0.02, 10);
  expect(next?.outcome).toBe("plays");
});

test("players that begin do not count with the half second in which they began", async () => {
  await ask(40);
  workers[0]?.report(0.01, 2);
  workers[0]?.report(0.6, 20);
  workers[0]?.report(0.3, 40);
  expect(pool.load.loadPerPlayer).toBe(0.01);
  workers[0]?.report(0.3, 40);
  expect(pool.load.loadPerPlayer).toBeCloseTo(0.0075, 4);
});

test("who waits is refused after four seconds without a report", async () => {
  const players = await ask(80);
  clock.advance(3999);
  await settle();
  expect(countOf(players, undefined)).toBe(10);
  clock.advance(1);
  await settle();
  expect(countOf(players, "node-overloaded")).toBe(10);
});

test("who comes later waits behind the others", async () => {
  const first = await ask(80);
  for (const player of first.slice(0, 5)) player.needsCapacity = false;
  const [later] = await ask(1);
  await report(0.01, 65, 1);
  expect([countOf(first, "plays"), later?.outcome]).toEqual([75, undefined]);
});

test("a player that is destroyed while it waits rejects at once and takes no room", async () => {
  const players = await ask(72);
  const [gone, next] = players.filter(({ outcome }) => outcome === undefined);
  gone?.leave.abort(new Error("destroyed"));
  await settle();
  expect(gone?.outcome).toBe("destroyed");
  await report(0.001, 70);
  expect([gone?.needsCapacity, next?.outcome]).toEqual([false, "plays"]);
});

test("what one worker has no room for goes to the next", async () => {
  startPool({ count: 2 });
  const players = await ask(130);
  expect(countOf(players, "plays")).toBe(130);
  expect(pool.load.workers.map(({ playerCount }) => playerCount)).toEqual([65, 65]);
});
