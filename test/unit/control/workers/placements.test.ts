import { afterEach, describe, expect, test } from "vitest";
import {
  attach,
  clock,
  closePool,
  FakePooledPlayer,
  lines,
  onTwoWorkers,
  orderOf,
  pool,
  setLoad,
  settled,
  start,
  until,
} from "../../../support/obedient-pool.ts";

afterEach(closePool);

describe("placements of players", () => {
  test("fills one worker before the next gets players, and all alike when each has some, also before they are ready", () => {
    start("obedient", 2);
    const indexes = Array.from({ length: 120 }, () => attach().handle?.workerIndex);
    const counts = [indexes, indexes.slice(0, 40), indexes.slice(40, 80)].map((some) =>
      [0, 1].map((index) => some.filter((other) => other === index).length),
    );
    expect(counts).toEqual([
      [60, 60],
      [40, 0],
      [0, 40],
    ]);
  });

  test("starts the next worker when the first has no room, not before", () => {
    start("obedient", 2);
    const started = Array.from({ length: 41 }, () => {
      attach();
      return pool.load.workers.length;
    });
    expect(started).toEqual([...Array.from({ length: 40 }, () => 1), 2]);
  });

  test("gives players to the worker with less to do, not the one with fewer players", async () => {
    const [first, second] = await onTwoWorkers();
    await setLoad(first, 0.5);
    await setLoad(second, 0.1);
    const players = [attach(), attach(), attach()];
    for (const { handle } of players) expect(handle?.workerIndex).toBe(second.handle?.workerIndex);
    expect(pool.load.workers.map(({ metrics }) => metrics?.tickLoad).sort()).toEqual([0.1, 0.5]);
  });

  test("players that come at once count with what the others cost, before they are measured", async () => {
    const [light, heavy] = await onTwoWorkers();
    await setLoad(light, 0.3);
    await setLoad(heavy, 0.5);
    const indexes = Array.from({ length: 30 }, () => attach().handle?.workerIndex);
    // 0.3 and 20 times 0.01 are as much as 0.5.
    expect(indexes.indexOf(heavy.handle?.workerIndex)).toBe(20);
    expect(indexes.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => light.handle?.workerIndex));
  });

  test("a player that has left receives no more events", async () => {
    start("obedient");
    const player = await settled();
    pool.detach(player);
    const { length } = player.log;
    const other = await settled();
    expect(other.handle?.playerId).toBe(2);
    expect(player.log).toHaveLength(length);
  });

  test("one player's mistake does not keep the others from their events", async () => {
    start("obedient");
    const clumsy = new FakePooledPlayer();
    clumsy.onWorkerEvent = () => {
      throw new Error("mistake");
    };
    pool.attach(clumsy);
    await settled();
    expect(lines.map(({ message }) => message)).toContain("player failed to handle an event of its worker");
  });

  test("a closed pool gives no player a worker any more", async () => {
    start("obedient");
    await settled();
    await pool.close();
    const late = new FakePooledPlayer();
    pool.attach(late);
    expect([late.log, pool.placementOf(late)]).toEqual([[], undefined]);
  });

  test("many players move in batches, five for each worker every 50 ms", async () => {
    start("obedient");
    const first = await settled();
    const players = [first, ...Array.from({ length: 11 }, attach)];
    const countMoved = () => players.filter(({ log }) => log.includes("lost") && log.at(-1) !== "lost").length;
    await expect(orderOf(first, "exit")).rejects.toThrow();
    expect(countMoved()).toBe(5);
    clock.advance(50);
    expect(countMoved()).toBe(10);
    clock.advance(50);
    expect(countMoved()).toBe(12);
  });

  test("a silent player whose worker has no capacity plays on another that has", async () => {
    const [first, second] = await onTwoWorkers();
    await setLoad(first, 0.95);
    await until(() => pool.load.workers.some(({ metrics }) => metrics?.tickLoad === 0.95));
    await pool.admit(first, { onAdmitted: () => undefined, signal: new AbortController().signal });
    expect(first.handle?.workerIndex).toBe(second.handle?.workerIndex);
    expect(first.log).toContain("lost");
    expect(second.log).not.toContain("lost");
  });
});
