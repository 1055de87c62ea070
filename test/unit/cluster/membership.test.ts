import { beforeEach, describe, expect, test } from "vitest";
import { ASK_AFTER_MS, DEAD_MS, GRACE_MS, LEASE_MS, RENEW_MS } from "../../../src/cluster/lease-times.ts";
import type { Machine } from "../../../src/cluster/machine.ts";
import { idOf, MembershipBench, STEP_MS } from "../../support/membership-bench.ts";
import type { MemoryNats } from "../../support/memory-bucket.ts";
import { untilSettled } from "../../support/until-settled.ts";

let bench: MembershipBench;
let nats: MemoryNats;

beforeEach(() => {
  bench = new MembershipBench();
  ({ nats } = bench);
});

describe("joining", () => {
  test("a machine that has joined has both records, a guard, and knows itself", async () => {
    const a = bench.create("a");
    expect(a.membership.status).toMatchObject({ kind: "joining" });
    expect(a.membership.self).toBeUndefined();
    await bench.pass(0);
    const id = idOf(a);
    expect(a.joined).toEqual([id]);
    expect(a.membership.status).toEqual({ kind: "joined" });
    expect(a.membership.machines).toEqual([
      { id, name: "a", roles: ["gateway", "audio"], regions: [], version: "1.0.0", contract: 1 },
    ]);
    expect(a.membership.guard).toEqual({ key: `life/${id}`, revision: nats.records.get(`life/${id}`)?.revision });
    expect(nats.value(`machine/${id}`)).toContain(`"name":"a"`);
  });

  test("while NATS is away it keeps trying, and joins when NATS is there", async () => {
    nats.goAway();
    const a = bench.create("a");
    a.bucket.disconnect();
    await bench.pass(60_000);
    expect(a.membership.status).toMatchObject({ kind: "joining", reason: "no server answers" });
    expect(a.membership.isNatsAway).toBe(true);
    nats.comeBack();
    await bench.pass(1000);
    expect(a.joined).toEqual([idOf(a)]);
    expect(a.membership.isNatsAway).toBe(false);
  });

  test("a first write whose answer is lost is found again: the machine has one id, and one pair of records", async () => {
    const a = bench.create("a", { isStarted: false });
    a.bucket.answersToLose = 1;
    a.membership.start();
    await bench.pass(3000);
    expect(a.joined).toEqual([idOf(a)]);
    expect([...nats.records.keys()].toSorted()).toEqual([`life/${idOf(a)}`, `machine/${idOf(a)}`]);
    expect(a.membership.guard?.revision).toBe(nats.records.get(`life/${idOf(a)}`)?.revision);
  });

  test("machines see each other, by name, and are told of who comes", async () => {
    const b = bench.create("b");
    await bench.pass(0);
    const a = bench.create("a", { contract: 2 });
    await bench.pass(1000);
    const names = (machines: readonly Machine[]): string[] => machines.map(({ name }) => name);
    expect(names(a.membership.machines)).toEqual(["a", "b"]);
    expect(names(b.membership.machines)).toEqual(["a", "b"]);
    expect(b.machinesCount).toBe(2);
    expect(names(b.membership.peers())).toEqual(["b"]);
    expect(names(a.membership.peers())).toEqual(["a"]);
  });
});

describe("the load of a machine", () => {
  const LOAD = { players: 3, load: 0.25, loadPerPlayer: 0.01, hasCapacity: true, isDraining: false };

  test("is known to the others with each renewal, and to itself at once", async () => {
    const a = bench.create("a", { load: LOAD });
    const b = bench.create("b");
    await bench.pass(0);
    expect(b.membership.loadOf(idOf(a))).toEqual(LOAD);
    a.load = { ...LOAD, players: 4, isDraining: true };
    await bench.pass(RENEW_MS - STEP_MS);
    expect(b.membership.loadOf(idOf(a))).toEqual(LOAD);
    expect(a.membership.loadOf(idOf(a))).toEqual(a.load);
    await bench.pass(STEP_MS);
    expect(b.membership.loadOf(idOf(a))).toEqual(a.load);
  });

  test("is not known of one that says nothing, nor of one that has gone", async () => {
    const a = bench.create("a");
    const b = bench.create("b", { load: LOAD });
    await bench.pass(0);
    const id = idOf(b);
    expect([b.membership.loadOf(idOf(a)), a.membership.loadOf(id)]).toEqual([undefined, LOAD]);
    await b.membership.leave();
    await bench.pass(STEP_MS);
    expect([a.membership.loadOf(id), b.membership.loadOf(id)]).toEqual([undefined, undefined]);
  });
});

describe("the lease", () => {
  test("is renewed every two seconds", async () => {
    const a = bench.create("a");
    await bench.pass(60_000);
    expect(a.bucket.writeCount).toBe(31);
    expect(a.lost).toEqual([]);
    expect(a.bucket.questionCount).toBe(0);
  });

  test("ends when its time since sending the last renewal that was written is over", async () => {
    const a = bench.create("a");
    bench.create("b");
    await bench.pass(10_000);
    const id = idOf(a);
    a.bucket.cut();
    await bench.pass(LEASE_MS - STEP_MS);
    expect(a.lost).toEqual([]);
    expect(a.membership.status).toMatchObject({ kind: "away", reason: "no server answers" });
    await bench.pass(STEP_MS);
    expect(a.lost).toEqual(["cut-off"]);
    expect(a.membership.status).toMatchObject({ kind: "cut-off" });
    expect(a.membership.lostCount).toBe(1);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("counts from sending a renewal, not from its answer", async () => {
    const a = bench.create("a");
    await bench.pass(1950);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 900 });
    // Sent after 2 s, answered after 2.9 s.
    await bench.pass(1000);
    a.bucket.cut();
    await bench.pass(LEASE_MS - 1000);
    expect(a.lost).toEqual([]);
    await bench.pass(100);
    expect(a.lost).toEqual(["cut-off"]);
  });

  test("goes on when answers to renewals are lost, as the record tells what was written", async () => {
    const a = bench.create("a");
    await bench.pass(1000);
    for (let round = 0; round < 10; round++) {
      a.bucket.answersToLose = 1;
      await bench.pass(6000);
    }
    expect(a.lost).toEqual([]);
    expect(a.joined).toHaveLength(1);
  });

  test("is not given by a replica that is behind", async () => {
    const a = bench.create("a");
    await bench.pass(5000);
    a.bucket.answersToLose = 1;
    a.bucket.isBehind = true;
    await bench.pass(3000);
    expect(a.lost).toEqual([]);
    a.bucket.isBehind = false;
    await bench.pass(10_000);
    expect(a.lost).toEqual([]);
  });

  test("a machine that was cut off joins again under another id, and its old records are gone at once", async () => {
    const a = bench.create("a");
    await bench.pass(0);
    const before = idOf(a);
    a.bucket.cut();
    await bench.pass(20_000);
    a.bucket.restore();
    await bench.pass(300);
    const after = idOf(a);
    expect(after).not.toBe(before);
    expect(a.joined).toEqual([before, after]);
    expect(nats.matching(["life/*"]).filter(({ value }) => value !== undefined)).toHaveLength(1);
    expect(a.membership.status).toEqual({ kind: "joined" });
    expect(a.membership.isAlive(before)).toBe(false);
  });

  test("a machine that stood still holds nothing when it goes on, whatever timer fires first", async () => {
    const a = bench.create("a");
    await bench.pass(2000);
    a.clock.pause();
    await bench.pass(20_000);
    const seen: unknown[] = [];
    a.clock.resume((due) => [
      () => seen.push(a.membership.holdsLease, a.membership.self, a.membership.guard, a.lost.length),
      ...due.toReversed(),
    ]);
    expect(seen).toEqual([false, undefined, undefined, 0]);
    expect(a.lost).toEqual(["cut-off"]);
    expect(a.bucket.writeCount).toBe(2);
  });

  test("a machine that stands still may send sound until its lease ends, with its main thread or without", async () => {
    const a = bench.create("a");
    expect(a.maySend()).toBe(false);
    await bench.pass(2000);
    const { maySend } = a;
    a.clock.pause();
    await bench.pass(LEASE_MS - STEP_MS);
    expect(maySend()).toBe(true);
    await bench.pass(STEP_MS);
    expect(maySend()).toBe(false);
    a.clock.resume();
    await bench.pass(1000);
    // What is begun under the next id may be sent.
    expect([maySend(), a.maySend()]).toEqual([false, true]);
  });

  test("a machine whose records others have removed is lost as soon as it sees that", async () => {
    const a = bench.create("a");
    await bench.pass(1000);
    const removal = [`life/${idOf(a)}`, `machine/${idOf(a)}`].map((key) => ({ key, value: undefined }));
    await nats.connect().write(removal, { timeoutMs: 1000 });
    await untilSettled();
    expect(a.lost).toEqual(["declared-dead"]);
  });

  test("a renewal that is refused for its guard is the loss, too", async () => {
    const a = bench.create("a");
    await bench.pass(1000);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 500 });
    await nats.connect().write([{ key: `life/${idOf(a)}`, value: undefined }], { timeoutMs: 1000 });
    await bench.pass(1500);
    expect(a.lost).toEqual(["declared-dead"]);
  });

  test("a listener that throws does not keep the machine from joining again", async () => {
    const a = bench.create("a");
    await bench.pass(1000);
    const { membership } = a;
    a.lost.push = () => {
      throw new Error("broken");
    };
    membership.onFenced({ key: `life/${idOf(a)}`, revision: 1 });
    await bench.pass(1000);
    expect(a.joined).toHaveLength(2);
  });
});

describe("NATS away for all", () => {
  test("machines go on for as long as it takes, and nobody is lost when NATS comes back", async () => {
    const machines = ["a", "b", "c"].map((name) => bench.create(name));
    await bench.pass(10_000);
    nats.goAway();
    await bench.pass(600_000);
    for (const { membership } of machines) {
      expect(membership.isNatsAway).toBe(true);
      expect(membership.holdsLease).toBe(true);
      expect(membership.status).toMatchObject({ kind: "away" });
    }
    expect(machines.map(({ maySend }) => maySend())).toEqual([true, true, true]);
    nats.comeBack();
    await bench.pass(60_000);
    for (const { membership, lost } of machines) {
      expect(lost).toEqual([]);
      expect(membership.isNatsAway).toBe(false);
      expect(membership.status).toEqual({ kind: "joined" });
      expect(membership.machines).toHaveLength(3);
    }
  });

  test("it is asked once a second, only while renewals fail", async () => {
    const a = bench.create("a");
    await bench.pass(10_000);
    expect(a.bucket.questionCount).toBe(0);
    nats.goAway();
    await bench.pass(60_000);
    const secondsMax = (60_000 - ASK_AFTER_MS) / 1000 + 3;
    expect(a.bucket.questionCount).toBeGreaterThan(secondsMax - 4);
    expect(a.bucket.questionCount).toBeLessThan(secondsMax);
  });

  test("a machine that cannot reach NATS when it is back has the time of a lease from the last proof", async () => {
    const a = bench.create("a");
    const b = bench.create("b");
    await bench.pass(10_000);
    const id = idOf(a);
    nats.goAway();
    await bench.pass(30_000);
    a.bucket.cut();
    nats.comeBack();
    await bench.pass(LEASE_MS - 2000);
    expect(a.membership.holdsLease).toBe(true);
    await bench.pass(2500);
    expect(a.lost).toEqual(["cut-off"]);
    expect(b.membership.isAlive(id)).toBe(true);
    await bench.pass(DEAD_MS - LEASE_MS + 2500);
    expect(b.membership.isAlive(id)).toBe(false);
  });

  test("a proof that is too short for others to notice gives no more than a grace", async () => {
    const a = bench.create("a");
    await bench.pass(10_000);
    a.bucket.cut({ canAsk: true });
    await bench.pass(LEASE_MS - 1500);
    nats.goAway();
    // The lease has ended.
    await bench.pass(1700);
    expect([a.lost, a.maySend()]).toEqual([[], true]);
    expect(a.membership.isNatsAway).toBe(false);
    nats.comeBack();
    await bench.pass(GRACE_MS - 150);
    expect(a.lost).toEqual(["cut-off"]);
  });
});

describe("leaving", () => {
  test("removes both records, so that others see it at once", async () => {
    const a = bench.create("a");
    const b = bench.create("b");
    await bench.pass(5000);
    const id = idOf(a);
    const left = a.membership.leave();
    expect([a.membership.holdsLease, a.maySend()]).toEqual([false, false]);
    await bench.pass(0);
    await left;
    expect(b.membership.isAlive(id)).toBe(false);
    await bench.pass(20_000);
    expect(nats.matching(["machine/*"]).filter(({ value }) => value !== undefined)).toHaveLength(1);
    expect(a.lost).toEqual([]);
  });

  test("takes two seconds at most", async () => {
    const a = bench.create("a");
    await bench.pass(5000);
    a.bucket.cut({ isNoticed: false });
    let hasLeft = false;
    void a.membership.leave().then(() => {
      hasLeft = true;
    });
    await bench.pass(1900);
    expect(hasLeft).toBe(false);
    await bench.pass(100);
    expect(hasLeft).toBe(true);
  });
});
