// How the membership uses what it sees of other processes.

import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS } from "../../../src/cluster/lease-times.ts";
import { type BenchMachine, idOf, MembershipBench } from "../../support/membership-bench.ts";

let bench: MembershipBench;

beforeEach(() => {
  bench = new MembershipBench();
});

async function machines(count: number): Promise<readonly BenchMachine[]> {
  const created = Array.from({ length: count }, (_, index) => bench.create(`m${index}`, { isWatching: true }));
  await bench.pass(10_000);
  return created;
}

function lineCounts(all: readonly BenchMachine[]): readonly number[] {
  return all.map(({ process }) => process.lineCount);
}

describe("a machine whose process has ended", () => {
  test("is declared dead by the others within a second", async () => {
    const [a, b, c] = (await machines(3)) as [BenchMachine, BenchMachine, BenchMachine];
    const id = idOf(b);
    bench.kill(b);
    await bench.pass(1000);
    expect(bench.nats.value(`life/${id}`)).toBeUndefined();
    for (const { membership, lost } of [a, c]) {
      expect(membership.isAlive(id)).toBe(false);
      expect(membership.machines).toHaveLength(2);
      expect(lost).toEqual([]);
    }
    expect([...a.warnings, ...c.warnings].join()).toContain("the process of a machine has ended: it is declared dead");
  });

  test("is declared dead also when its last renewal is seen afterwards", async () => {
    const [a, b] = (await machines(2)) as [BenchMachine, BenchMachine];
    const id = idOf(b);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0, watchMs: 1500 });
    // After its next renewal, which is still on its way then.
    await bench.pass(2000);
    bench.kill(b);
    await bench.pass(3000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("is declared dead when NATS is there again, if it was away then", async () => {
    const [a, b] = (await machines(2)) as [BenchMachine, BenchMachine];
    const id = idOf(b);
    bench.nats.goAway();
    bench.kill(b);
    await bench.pass(10_000);
    expect(a.membership.isAlive(id)).toBe(true);
    bench.nats.comeBack();
    await bench.pass(3000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("is not declared dead by a machine that has lost its lease meanwhile", async () => {
    const [a, b] = (await machines(2)) as [BenchMachine, BenchMachine];
    const id = idOf(b);
    a.bucket.cut();
    bench.kill(b);
    await bench.pass(25_000);
    expect(a.lost).toEqual(["cut-off"]);
    expect(bench.nats.value(`life/${id}`)).toBeDefined();
    a.bucket.restore();
    await bench.pass(DEAD_MS + 1000);
    expect(bench.nats.value(`life/${id}`)).toBeUndefined();
  });

  test("that goes on renewing its lease is left to it, however it seemed to have ended", async () => {
    const [a, b] = (await machines(2)) as [BenchMachine, BenchMachine];
    const id = idOf(b);
    // Nothing that is written by `a` arrives, and all of `b`.
    a.bucket.transit = () => ({ requestMs: 60_000, answerMs: 0 });
    bench.links.handlers.clear();
    b.process.end();
    await bench.pass(5000);
    expect(a.warnings.join()).toContain("renewals of a machine whose process seemed to have ended");
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0 });
    await bench.pass(120_000);
    expect(b.lost).toEqual([]);
    expect(bench.nats.value(`life/${id}`)).toBeDefined();
  });
});

describe("machines", () => {
  test("watch all others while they are few", async () => {
    expect(lineCounts(await machines(4))).toEqual([3, 3, 3, 3]);
  });

  test("that are many are watched by three each, also after one has gone and one has come", async () => {
    const all = await machines(7);
    expect(lineCounts(all)).toEqual([3, 3, 3, 3, 3, 3, 3]);
    const [first, ...others] = all as [BenchMachine, ...BenchMachine[]];
    bench.kill(first);
    const last = bench.create("last", { isWatching: true });
    await bench.pass(10_000);
    expect(lineCounts([...others, last])).toEqual([3, 3, 3, 3, 3, 3, 3]);
  });

  test("that leave, or take another id, are not taken for dead by their connections", async () => {
    const [a, b] = (await machines(2)) as [BenchMachine, BenchMachine];
    const left = b.membership.leave();
    await bench.pass(0);
    await left;
    await bench.pass(3000);
    expect([a.membership.machines.length, a.process.lineCount, b.process.lineCount]).toEqual([1, 0, 0]);
    expect(a.warnings).toEqual([]);
  });

  test("watch each other again under the next id", async () => {
    const [a, b] = (await machines(2)) as [BenchMachine, BenchMachine];
    const id = idOf(b);
    b.bucket.cut();
    await bench.pass(25_000);
    b.bucket.restore();
    await bench.pass(5000);
    expect(b.joined).toHaveLength(2);
    expect(a.membership.isAlive(id)).toBe(false);
    expect(lineCounts([a, b])).toEqual([1, 1]);
  });
});
