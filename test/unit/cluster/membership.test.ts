import { beforeEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import type { LostReason } from "../../../src/cluster/lease.ts";
import { ASK_AFTER_MS, DEAD_MS, GAP_MS_MAX, GRACE_MS, LEASE_MS, RENEW_MS } from "../../../src/cluster/lease-times.ts";
import type { Machine } from "../../../src/cluster/machine.ts";
import { Membership } from "../../../src/cluster/membership.ts";
import { createLogger } from "../../../src/log/log.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type MemoryBucket, MemoryNats } from "../../support/memory-bucket.ts";
import { PausableClock } from "../../support/pausable-clock.ts";
import { untilSettled } from "../../support/until-settled.ts";

const STEP_MS = 50;

interface TestMachine {
  readonly membership: Membership;
  readonly bucket: MemoryBucket;
  readonly clock: PausableClock;
  readonly joined: string[];
  readonly lost: LostReason[];
  /** Warnings, with their fields. */
  readonly warnings: string[];
  machinesCount: number;
}

let clock: FakeClock;
let nats: MemoryNats;
let seed: number;

beforeEach(() => {
  clock = new FakeClock();
  nats = new MemoryNats(clock);
  seed = 0;
});

function create(name: string, { contract = 1, isStarted = true } = {}): TestMachine {
  const ownClock = new PausableClock(clock);
  const bucket = nats.connect(ownClock);
  const random = seededRandom(++seed);
  const warnings: string[] = [];
  const membership = new Membership({
    bucket,
    link: bucket,
    self: { name, region: undefined, version: "1.0.0", contract },
    clock: ownClock,
    random: {
      bytes: (length) => Uint8Array.from({ length }, () => random() * 256),
      uint32: () => random() * 2 ** 32,
      unit: random,
    },
    logger: createLogger((level, message, fields) => {
      if (level === "warn") warnings.push(`${message} ${JSON.stringify(fields)}`);
    }),
    onJoined: (id) => machine.joined.push(id),
    onLost: (reason) => {
      // The order of things: nothing counts any more when the node is told.
      expect(membership.guard).toBeUndefined();
      machine.lost.push(reason);
    },
    onMachines: () => machine.machinesCount++,
  });
  const machine: TestMachine = {
    membership,
    bucket,
    clock: ownClock,
    joined: [],
    lost: [],
    warnings,
    machinesCount: 0,
  };
  if (isStarted) membership.start();
  return machine;
}

async function pass(durationMs: number): Promise<void> {
  await untilSettled();
  for (let passedMs = 0; passedMs < durationMs; passedMs += STEP_MS) {
    clock.advance(STEP_MS);
    await untilSettled();
  }
}

function idOf({ membership }: TestMachine): string {
  return membership.self?.id ?? "";
}

describe("joining", () => {
  test("a machine that has joined has both records, a guard, and knows itself", async () => {
    const a = create("a");
    expect(a.membership.status).toMatchObject({ kind: "joining" });
    expect(a.membership.self).toBeUndefined();
    await pass(0);
    const id = idOf(a);
    expect(a.joined).toEqual([id]);
    expect(a.membership.status).toEqual({ kind: "joined" });
    expect(a.membership.machines).toEqual([{ id, name: "a", region: undefined, version: "1.0.0", contract: 1 }]);
    expect(a.membership.guard).toEqual({ key: `life/${id}`, revision: nats.records.get(`life/${id}`)?.revision });
    expect(nats.value(`machine/${id}`)).toContain(`"name":"a"`);
  });

  test("while NATS is away it keeps trying, and joins when NATS is there", async () => {
    nats.goAway();
    const a = create("a");
    a.bucket.disconnect();
    await pass(60_000);
    expect(a.membership.status).toMatchObject({ kind: "joining", reason: "no server answers" });
    expect(a.membership.isNatsAway).toBe(true);
    nats.comeBack();
    await pass(1000);
    expect(a.joined).toEqual([idOf(a)]);
    expect(a.membership.isNatsAway).toBe(false);
  });

  test("a first write whose answer is lost is found again: the machine has one id, and one pair of records", async () => {
    const a = create("a", { isStarted: false });
    a.bucket.answersToLose = 1;
    a.membership.start();
    await pass(3000);
    expect(a.joined).toEqual([idOf(a)]);
    expect([...nats.records.keys()].toSorted()).toEqual([`life/${idOf(a)}`, `machine/${idOf(a)}`]);
    expect(a.membership.guard?.revision).toBe(nats.records.get(`life/${idOf(a)}`)?.revision);
  });

  test("machines see each other, by name, and are told of who comes", async () => {
    const b = create("b");
    await pass(0);
    const a = create("a", { contract: 2 });
    await pass(1000);
    const names = (machines: readonly Machine[]): string[] => machines.map(({ name }) => name);
    expect(names(a.membership.machines)).toEqual(["a", "b"]);
    expect(names(b.membership.machines)).toEqual(["a", "b"]);
    expect(b.machinesCount).toBe(2);
    expect(names(b.membership.peers())).toEqual(["b"]);
    expect(names(a.membership.peers())).toEqual(["a"]);
  });
});

describe("the lease", () => {
  test("is renewed every two seconds", async () => {
    const a = create("a");
    await pass(60_000);
    expect(a.bucket.writeCount).toBe(31);
    expect(a.lost).toEqual([]);
    expect(a.bucket.questionCount).toBe(0);
  });

  test("ends when its time since sending the last renewal that was written is over", async () => {
    const a = create("a");
    create("b");
    await pass(10_000);
    const id = idOf(a);
    a.bucket.cut();
    await pass(LEASE_MS - STEP_MS);
    expect(a.lost).toEqual([]);
    expect(a.membership.status).toMatchObject({ kind: "away", reason: "no server answers" });
    await pass(STEP_MS);
    expect(a.lost).toEqual(["cut-off"]);
    expect(a.membership.status).toMatchObject({ kind: "cut-off" });
    expect(a.membership.lostCount).toBe(1);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("counts from sending a renewal, not from its answer", async () => {
    const a = create("a");
    await pass(1950);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 900 });
    // Sent after 2 s, answered after 2.9 s.
    await pass(1000);
    a.bucket.cut();
    await pass(LEASE_MS - 1000);
    expect(a.lost).toEqual([]);
    await pass(100);
    expect(a.lost).toEqual(["cut-off"]);
  });

  test("goes on when answers to renewals are lost, as the record tells what was written", async () => {
    const a = create("a");
    await pass(1000);
    for (let round = 0; round < 10; round++) {
      a.bucket.answersToLose = 1;
      await pass(6000);
    }
    expect(a.lost).toEqual([]);
    expect(a.joined).toHaveLength(1);
  });

  test("is not given by a replica that is behind", async () => {
    const a = create("a");
    await pass(5000);
    a.bucket.answersToLose = 1;
    a.bucket.isBehind = true;
    await pass(3000);
    expect(a.lost).toEqual([]);
    a.bucket.isBehind = false;
    await pass(10_000);
    expect(a.lost).toEqual([]);
  });

  test("a machine that was cut off joins again under another id, and its old records are gone at once", async () => {
    const a = create("a");
    await pass(0);
    const before = idOf(a);
    a.bucket.cut();
    await pass(20_000);
    a.bucket.restore();
    await pass(300);
    const after = idOf(a);
    expect(after).not.toBe(before);
    expect(a.joined).toEqual([before, after]);
    expect(nats.matching(["life/*"]).filter(({ value }) => value !== undefined)).toHaveLength(1);
    expect(a.membership.status).toEqual({ kind: "joined" });
    expect(a.membership.isAlive(before)).toBe(false);
  });

  test("a machine that stood still holds nothing when it goes on, whatever timer fires first", async () => {
    const a = create("a");
    await pass(2000);
    a.clock.pause();
    await pass(20_000);
    const seen: unknown[] = [];
    a.clock.resume((due) => [
      () => seen.push(a.membership.holdsLease, a.membership.self, a.membership.guard, a.lost.length),
      ...due.toReversed(),
    ]);
    expect(seen).toEqual([false, undefined, undefined, 0]);
    expect(a.lost).toEqual(["cut-off"]);
    expect(a.bucket.writeCount).toBe(2);
  });

  test("a machine whose records others have removed is lost as soon as it sees that", async () => {
    const a = create("a");
    await pass(1000);
    const removal = [`life/${idOf(a)}`, `machine/${idOf(a)}`].map((key) => ({ key, value: undefined }));
    await nats.connect().write(removal, { timeoutMs: 1000 });
    await untilSettled();
    expect(a.lost).toEqual(["declared-dead"]);
  });

  test("a renewal that is refused for its guard is the loss, too", async () => {
    const a = create("a");
    await pass(1000);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 500 });
    await nats.connect().write([{ key: `life/${idOf(a)}`, value: undefined }], { timeoutMs: 1000 });
    await pass(1500);
    expect(a.lost).toEqual(["declared-dead"]);
  });

  test("a listener that throws does not keep the machine from joining again", async () => {
    const a = create("a");
    await pass(1000);
    const { membership } = a;
    a.lost.push = () => {
      throw new Error("broken");
    };
    membership.onFenced({ key: `life/${idOf(a)}`, revision: 1 });
    await pass(1000);
    expect(a.joined).toHaveLength(2);
  });
});

describe("NATS away for all", () => {
  test("machines go on for as long as it takes, and nobody is lost when NATS comes back", async () => {
    const machines = ["a", "b", "c"].map((name) => create(name));
    await pass(10_000);
    nats.goAway();
    await pass(600_000);
    for (const { membership } of machines) {
      expect(membership.isNatsAway).toBe(true);
      expect(membership.holdsLease).toBe(true);
      expect(membership.status).toMatchObject({ kind: "away" });
    }
    nats.comeBack();
    await pass(60_000);
    for (const { membership, lost } of machines) {
      expect(lost).toEqual([]);
      expect(membership.isNatsAway).toBe(false);
      expect(membership.status).toEqual({ kind: "joined" });
      expect(membership.machines).toHaveLength(3);
    }
  });

  test("it is asked once a second, only while renewals fail", async () => {
    const a = create("a");
    await pass(10_000);
    expect(a.bucket.questionCount).toBe(0);
    nats.goAway();
    await pass(60_000);
    const secondsMax = (60_000 - ASK_AFTER_MS) / 1000 + 3;
    expect(a.bucket.questionCount).toBeGreaterThan(secondsMax - 4);
    expect(a.bucket.questionCount).toBeLessThan(secondsMax);
  });

  test("a machine that cannot reach NATS when it is back has the time of a lease from the last proof", async () => {
    const a = create("a");
    const b = create("b");
    await pass(10_000);
    const id = idOf(a);
    nats.goAway();
    await pass(30_000);
    a.bucket.cut();
    nats.comeBack();
    await pass(LEASE_MS - 2000);
    expect(a.membership.holdsLease).toBe(true);
    await pass(2500);
    expect(a.lost).toEqual(["cut-off"]);
    expect(b.membership.isAlive(id)).toBe(true);
    await pass(DEAD_MS - LEASE_MS + 2500);
    expect(b.membership.isAlive(id)).toBe(false);
  });

  test("a proof that is too short for others to notice gives no more than a grace", async () => {
    const a = create("a");
    await pass(10_000);
    a.bucket.cut({ canAsk: true });
    await pass(LEASE_MS - 1500);
    nats.goAway();
    // The lease has ended.
    await pass(1700);
    expect(a.lost).toEqual([]);
    expect(a.membership.isNatsAway).toBe(false);
    nats.comeBack();
    await pass(GRACE_MS - 150);
    expect(a.lost).toEqual(["cut-off"]);
  });
});

describe("other machines", () => {
  test("one that is dead is declared so after the time without a change that they all wait", async () => {
    const a = create("a");
    const b = create("b");
    const c = create("c");
    await pass(10_000);
    const id = idOf(b);
    b.clock.kill();
    b.bucket.cut();
    await pass(DEAD_MS - 100);
    expect(nats.value(`life/${id}`)).toBeDefined();
    expect(a.membership.isAlive(id)).toBe(true);
    await pass(700);
    expect(nats.value(`life/${id}`)).toBeUndefined();
    expect(nats.value(`machine/${id}`)).toBeUndefined();
    for (const { membership, lost } of [a, c]) {
      expect(membership.isAlive(id)).toBe(false);
      expect(membership.machines).toHaveLength(2);
      expect(lost).toEqual([]);
    }
  });

  test("an observer that was disconnected waits all its time again", async () => {
    const a = create("a");
    const b = create("b");
    await pass(10_000);
    const id = idOf(b);
    b.clock.kill();
    b.bucket.cut();
    await pass(DEAD_MS - 2000);
    a.bucket.disconnect();
    a.bucket.connect();
    await pass(DEAD_MS - 500);
    expect(a.membership.isAlive(id)).toBe(true);
    await pass(1000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("an observer whose own renewals do not come back declares nobody dead", async () => {
    const a = create("a");
    const b = create("b");
    await pass(10_000);
    const id = idOf(b);
    b.clock.kill();
    b.bucket.cut();
    // Each comes back, and so late that a time without quorum could have been before it.
    const watchMs = GAP_MS_MAX - RENEW_MS + 200;
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0, watchMs });
    await pass(30_000);
    expect(a.lost).toEqual([]);
    expect(a.membership.isAlive(id)).toBe(true);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0 });
    await pass(DEAD_MS + 3000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("one that was removed while the observer was away, and forgotten, is gone for the observer, too", async () => {
    const a = create("a");
    const b = create("b");
    await pass(10_000);
    const id = idOf(b);
    a.bucket.cut();
    await b.membership.leave();
    nats.forgetRemoved();
    a.bucket.restore();
    await pass(1000);
    expect(a.membership.isAlive(id)).toBe(true);
    await pass(DEAD_MS + 2000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("an id that was never seen is alive until it could have been seen", async () => {
    const a = create("a", { isStarted: false });
    expect(a.membership.isAlive("unknown")).toBe(true);
    await pass(60_000);
    expect(a.membership.isAlive("unknown")).toBe(true);
    a.membership.start();
    await pass(20_000);
    expect(a.membership.isCaughtUp).toBe(true);
    expect(a.membership.isAlive("unknown")).toBe(true);
    await pass(DEAD_MS - 100);
    expect(a.membership.isAlive("unknown")).toBe(true);
    await pass(100);
    expect(a.membership.isAlive("unknown")).toBe(false);
    a.bucket.disconnect();
    expect(a.membership.isAlive("unknown")).toBe(true);
  });

  test("two machines of one name are warned of once, with both ids; a past life of the machine is not", async () => {
    const past = create("a");
    await pass(1000);
    past.clock.kill();
    past.bucket.cut();
    const a = create("a");
    await pass(20_000);
    expect(a.warnings.filter((warning) => warning.includes("one name"))).toEqual([]);
    const other = create("a");
    await pass(20_000);
    const warnings = a.warnings.filter((warning) => warning.includes("one name"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(idOf(a));
    expect(warnings[0]).toContain(idOf(other));
  });

  test("records that no machine has written are ignored with one line", async () => {
    const a = create("a");
    const client = nats.connect();
    await pass(0);
    for (const key of ["machine/x y", "machine/ok", "machine/later"]) {
      await client.write([{ key, value: "[" }], { timeoutMs: 1000 });
    }
    await pass(1000);
    expect(a.membership.machines).toHaveLength(1);
    expect(a.membership.isAlive("ok")).toBe(true);
    expect(a.warnings).toHaveLength(1);
    await pass(DEAD_MS + 2000);
    expect(a.membership.isAlive("ok")).toBe(false);
  });

  test("of more than a thousand records the others are ignored, and nobody counts as dead for that", async () => {
    const a = create("a");
    await pass(0);
    const changes = Array.from({ length: 1001 }, (_, index) => ({
      key: `machine/m${index}`,
      value: JSON.stringify({ id: `m${index}`, name: "m", version: "1", contract: 1, beat: 1 }),
    }));
    await nats.connect().write(changes, { timeoutMs: 1000 });
    await pass(1000);
    expect(a.membership.machines).toHaveLength(1001);
    expect(a.membership.isAlive("m1000")).toBe(true);
    expect(a.warnings).toHaveLength(1);
    const { writeCount } = a.bucket;
    await pass(DEAD_MS + 500);
    expect(a.bucket.writeCount - writeCount).toBeLessThan(60);
    expect(a.membership.isAlive("m0")).toBe(false);
    expect(a.membership.isAlive("m1000")).toBe(true);
  });
});

describe("leaving", () => {
  test("removes both records, so that others see it at once", async () => {
    const a = create("a");
    const b = create("b");
    await pass(5000);
    const id = idOf(a);
    const left = a.membership.leave();
    expect(a.membership.holdsLease).toBe(false);
    await pass(0);
    await left;
    expect(b.membership.isAlive(id)).toBe(false);
    await pass(20_000);
    expect(nats.matching(["machine/*"]).filter(({ value }) => value !== undefined)).toHaveLength(1);
    expect(a.lost).toEqual([]);
  });

  test("takes two seconds at most", async () => {
    const a = create("a");
    await pass(5000);
    a.bucket.cut({ isNoticed: false });
    let hasLeft = false;
    void a.membership.leave().then(() => {
      hasLeft = true;
    });
    await pass(1900);
    expect(hasLeft).toBe(false);
    await pass(100);
    expect(hasLeft).toBe(true);
  });
});
