import { afterEach, describe, expect, test, vi } from "vitest";
import {
  clock,
  closePool,
  type FakePooledPlayer,
  lossLogged,
  orderOf,
  pool,
  setCurrentTask,
  settled,
  start,
} from "../../../support/obedient-pool.ts";

afterEach(closePool);

describe("a player that crashes a worker", () => {
  test("a suspect continues isolated, and the others continue together", async () => {
    start("obedient");
    const [culprit, bystander] = [await settled(), await settled()];
    await setCurrentTask(culprit, "read");
    await expect(orderOf(bystander, "exit")).rejects.toThrow();
    await culprit.next("position");
    expect(culprit.log).toContain("lost suspect");
    expect(bystander.log).toContain("lost");
    expect([culprit.handle?.isIsolated, bystander.handle?.isIsolated]).toEqual([true, false]);
    expect(await lossLogged()).toMatchObject({ attributedPlayer: 1, activity: "read" });
  });

  test("a player that crashes its isolated worker is notified as the culprit and stays isolated", async () => {
    start("obedient");
    const [culprit, bystander] = [await settled(), await settled()];
    await setCurrentTask(culprit, "prepare");
    await expect(orderOf(culprit, "exit")).rejects.toThrow();
    await culprit.next("position");
    await expect(orderOf(culprit, "exit")).rejects.toThrow();
    await culprit.next("position");
    expect(culprit.log.filter((entry) => entry.startsWith("lost"))).toEqual(["lost suspect", "lost culprit"]);
    expect(culprit.handle?.isIsolated).toBe(true);
    expect(bystander.log.filter((entry) => entry.startsWith("lost"))).toEqual(["lost"]);
  });

  test("a player whose isolated worker is lost after a minute is suspect again, unless its track was suspect", async () => {
    start("obedient");
    const player = await settled();
    pool.isolate(player);
    await player.next("position");
    for (const isSuspect of [false, true]) {
      player.isSuspect = isSuspect;
      clock.stall(60_000);
      await expect(orderOf(player, "exit")).rejects.toThrow();
      await player.next("position");
    }
    expect(player.log.filter((entry) => entry.startsWith("lost"))).toEqual([
      "lost suspect",
      "lost suspect",
      "lost culprit",
    ]);
  });

  test("players that share a worker with culprits are never attributed its losses, however often it is lost", async () => {
    start("obedient");
    const bystander = await settled();
    for (const restartMs of [0, 250]) {
      const culprit = await settled();
      await setCurrentTask(culprit, "read");
      await expect(orderOf(culprit, "exit")).rejects.toThrow();
      clock.advance(restartMs);
      await Promise.all([bystander.next("position"), culprit.next("position")]);
      pool.detach(culprit);
    }
    expect(new Set(bystander.log.filter((entry) => entry.startsWith("lost")))).toEqual(new Set(["lost"]));
    expect(bystander.handle?.isIsolated).toBe(false);
  });

  test("a player that is no longer suspect makes space for the next; without space, what a suspect did is given up at once", async () => {
    start("obedient");
    const culprits: FakePooledPlayer[] = [];
    for (let count = 0; count < 4; count++) {
      const culprit = await settled();
      culprits.push(culprit);
      culprit.isSuspect = true;
      expect(pool.isolate(culprit)).toBe(true);
      await culprit.next("position");
    }
    expect(culprits.map(({ handle }) => handle?.isIsolated)).toEqual([true, true, true, true]);
    const fifth = await settled();
    expect(pool.isolate(fifth)).toBe(false);
    expect(fifth.log).not.toContainEqual(expect.stringMatching(/^lost/));
    await setCurrentTask(fifth, "read");
    await expect(orderOf(fifth, "exit")).rejects.toThrow();
    expect(fifth.log).toContain("lost culprit");
    await fifth.next("position");
    expect(fifth.handle?.isIsolated).toBe(false);
    const [first, second] = culprits;
    if (first !== undefined) first.isSuspect = false;
    const sixth = await settled();
    pool.isolate(sixth);
    await sixth.next("position");
    expect([first?.handle?.isIsolated, second?.handle?.isIsolated, sixth.handle?.isIsolated]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test("a suspect finds space when another client has most isolated players: the last of those is given up", async () => {
    start("obedient");
    const greedy: FakePooledPlayer[] = [];
    for (let count = 0; count < 4; count++) {
      const player = await settled();
      player.owner = ["a", "a, 1"];
      player.isSuspect = true;
      greedy.push(player);
      pool.isolate(player);
      await player.next("position");
    }
    const fifth = await settled();
    fifth.owner = ["a", "a, 1"];
    expect(pool.isolate(fifth)).toBe(false);
    const others = [
      ["b", "b, 1"],
      ["a", "a, 2"],
    ];
    for (const [index, owner] of others.entries()) {
      const loser = greedy[3 - index];
      if (loser === undefined) continue;
      const other = await settled();
      other.owner = owner;
      other.isSuspect = true;
      expect(pool.isolate(other)).toBe(true);
      await other.next("position");
      expect(other.handle?.isIsolated).toBe(true);
      expect(loser.log).toContain("lost culprit");
      expect(loser.handle?.isIsolated).toBe(false);
    }
    for (const player of greedy.slice(0, 2)) {
      expect(player.handle?.isIsolated).toBe(true);
      expect(player.log).not.toContain("lost culprit");
    }
  });

  test("an isolated worker is closed when its player has left", async () => {
    start("obedient");
    const culprit = await settled();
    pool.isolate(culprit);
    await culprit.next("position");
    expect(pool.load.workers.length).toBe(2);
    pool.detach(culprit);
    expect(pool.load.workers.length).toBe(1);
  });
});

describe("isolated workers", () => {
  async function isolated(): Promise<FakePooledPlayer> {
    const player = await settled();
    pool.isolate(player);
    await player.next("position");
    return player;
  }

  /** Without checking the signs of life, which do not follow this clock. */
  function passSecond(): void {
    clock.stall(1000);
    clock.advance(0);
  }

  test("an isolated worker is closed and forgotten a second after its player has left", async () => {
    start("obedient");
    pool.detach(await isolated());
    expect(pool.closingCount).toBe(1);
    passSecond();
    await vi.waitFor(() => expect(pool.closingCount).toBe(0));
  });

  test("an isolated worker is forgotten when it is lost, however often", async () => {
    start("obedient");
    const player = await isolated();
    for (let loss = 0; loss < 3; loss++) {
      await expect(orderOf(player, "exit")).rejects.toMatchObject({ code: "worker-lost" });
      await player.next("position");
    }
    expect(pool.closingCount).toBe(0);
  });

  test("an isolated worker is forgotten when it is lost just after its player has left", async () => {
    start("obedient");
    const player = await isolated();
    const lost = orderOf(player, "exit");
    pool.detach(player);
    await expect(lost).rejects.toMatchObject({ code: "worker-lost" });
    expect(pool.closingCount).toBe(0);
  });
});
