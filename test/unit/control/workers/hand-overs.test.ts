import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WorkerCommand } from "../../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import { packWorkerReport } from "../../../../src/bridge/worker-report.ts";
import { WorkerPool } from "../../../../src/control/workers/worker-pool.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeThread, FakeThreads } from "../../../support/fake-thread.ts";
import { idleWorker } from "../../../support/idle-worker.ts";
import { FakePooledPlayer, SETTINGS } from "../../../support/obedient-pool.ts";

type Start = { readonly heartbeatMemory: SharedArrayBuffer };

class FakeWorker extends FakeThread<Start> {
  readonly commands: WorkerCommand[] = [];

  postMessage(message: unknown): void {
    this.commands.push(message as WorkerCommand);
  }

  say(event: WorkerEvent): void {
    this.emit("message", event);
  }

  /** The commands of a hand-over, with the player's number here. */
  get handOvers(): readonly (readonly [string, number])[] {
    return this.commands.flatMap((command) =>
      command.type === "handOver" || command.type === "renderRemotePlayer" || command.type === "destroyPlayer"
        ? [[command.type, command.playerId] as const]
        : [],
    );
  }

  report(load: number, heaviestPlayer?: number): void {
    const worker = { ...idleWorker(), playingCount: 1, tickLoad: load, threadLoad: load, heaviestPlayer };
    for (let count = 0; count < 4; count++) this.say(packWorkerReport({ epochMs: 0, worker, players: [] }));
  }
}

let clock: FakeClock;
let pool: WorkerPool;
let busy: FakeWorker;
let free: FakeWorker;
let player: FakePooledPlayer;

/** Two workers; the first has a player and so much to do that its audio is worth moving. */
beforeEach(() => {
  clock = new FakeClock();
  const threads = new FakeThreads((_entry, { workerData }) => new FakeWorker(workerData as Start, clock));
  pool = new WorkerPool({
    threads: Object.assign(threads, { createChannel: () => new MessageChannel() }),
    entry: new URL("file:///worker.js"),
    count: 2,
    settings: SETTINGS,
    clock,
    logger: createLogger(() => undefined),
  });
  player = new FakePooledPlayer();
  pool.attach(player);
  [busy] = threads.started as [FakeWorker];
  busy.say({ type: "ready" });
  busy.report(0.45);
  [, free] = threads.started as [FakeWorker, FakeWorker];
  free.say({ type: "ready" });
  free.report(0.1);
  busy.report(0.55, player.handle?.playerId);
});

afterEach(async () => {
  const closed = pool.close();
  clock.advance(2000);
  await closed;
});

describe("a hand-over", () => {
  test("a busy worker's heaviest player is rendered on the freest worker, once", () => {
    expect(busy.handOvers).toEqual([["handOver", 1]]);
    expect(free.handOvers).toEqual([["renderRemotePlayer", 2]]);
    expect(pool.placementOf(player)?.renderWorker).toBeUndefined();
    expect(pool.load.movedCount).toBe(0);
    busy.say({ type: "handedOver", playerId: 1 });
    expect(pool.placementOf(player)).toMatchObject({ ownerWorker: { index: 0 }, renderWorker: { index: 1 } });
    expect(pool.load.movedCount).toBe(1);
    busy.report(0.55, 1);
    expect(busy.handOvers).toHaveLength(1);
  });

  test("a failed hand-over destroys the copy on the render worker", () => {
    busy.say({ type: "handOverFailed", playerId: 1 });
    expect(free.handOvers).toEqual([
      ["renderRemotePlayer", 2],
      ["destroyPlayer", 2],
    ]);
    expect(pool.load.movedCount).toBe(0);
  });

  test("events of the render worker reach the player only once its audio is audible", () => {
    const end: WorkerEvent = { type: "trackEnded", playerId: 2, trackId: 1, reason: "finished" };
    free.say(end);
    expect(player.log).not.toContain("trackEnded");
    busy.say({ type: "handedOver", playerId: 1 });
    free.say(end);
    expect(player.log).toContain("trackEnded");
  });

  test("a render worker that is lost before it is audible costs the player nothing", () => {
    free.exit(1);
    expect(player.log).not.toContain("lost");
    expect(busy.handOvers).toEqual([["handOver", 1]]);
  });

  test("a render worker that is lost while it is audible takes the player off both workers", () => {
    busy.say({ type: "handedOver", playerId: 1 });
    free.exit(1);
    expect(player.log).toContain("lost");
    expect(busy.handOvers).toEqual([
      ["handOver", 1],
      ["destroyPlayer", 1],
    ]);
  });

  test("a player that leaves is destroyed on its render worker", () => {
    busy.say({ type: "handedOver", playerId: 1 });
    pool.detach(player);
    expect(free.handOvers).toContainEqual(["destroyPlayer", 2]);
  });
});
