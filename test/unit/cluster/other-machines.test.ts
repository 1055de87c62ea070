import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS, GAP_MS_MAX, RENEW_MS } from "../../../src/cluster/lease-times.ts";
import { idOf, MembershipBench } from "../../support/membership-bench.ts";
import type { MemoryNats } from "../../support/memory-bucket.ts";

let bench: MembershipBench;
let nats: MemoryNats;

beforeEach(() => {
  bench = new MembershipBench();
  ({ nats } = bench);
});

describe("other machines", () => {
  test("one that is dead is declared so after the time without a change that they all wait", async () => {
    const a = bench.create("a");
    const b = bench.create("b");
    const c = bench.create("c");
    await bench.pass(10_000);
    const id = idOf(b);
    b.clock.kill();
    b.bucket.cut();
    await bench.pass(DEAD_MS - 100);
    expect(nats.value(`life/${id}`)).toBeDefined();
    expect(a.membership.isAlive(id)).toBe(true);
    await bench.pass(700);
    expect(nats.value(`life/${id}`)).toBeUndefined();
    expect(nats.value(`machine/${id}`)).toBeUndefined();
    for (const { membership, lost } of [a, c]) {
      expect(membership.isAlive(id)).toBe(false);
      expect(membership.machines).toHaveLength(2);
      expect(lost).toEqual([]);
    }
  });

  test("an observer that was disconnected waits all its time again", async () => {
    const a = bench.create("a");
    const b = bench.create("b");
    await bench.pass(10_000);
    const id = idOf(b);
    b.clock.kill();
    b.bucket.cut();
    await bench.pass(DEAD_MS - 2000);
    a.bucket.disconnect();
    a.bucket.connect();
    await bench.pass(DEAD_MS - 500);
    expect(a.membership.isAlive(id)).toBe(true);
    await bench.pass(1000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("an observer whose own renewals do not come back declares nobody dead", async () => {
    const a = bench.create("a");
    const b = bench.create("b");
    await bench.pass(10_000);
    const id = idOf(b);
    b.clock.kill();
    b.bucket.cut();
    // Each comes back, and so late that a time without quorum could have been before it.
    const watchMs = GAP_MS_MAX - RENEW_MS + 200;
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0, watchMs });
    await bench.pass(30_000);
    expect(a.lost).toEqual([]);
    expect(a.membership.isAlive(id)).toBe(true);
    a.bucket.transit = () => ({ requestMs: 0, answerMs: 0 });
    await bench.pass(DEAD_MS + 3000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("one that was removed while the observer was away, and forgotten, is gone for the observer, too", async () => {
    const a = bench.create("a");
    const b = bench.create("b");
    await bench.pass(10_000);
    const id = idOf(b);
    a.bucket.cut();
    await b.membership.leave();
    nats.forgetRemoved();
    a.bucket.restore();
    await bench.pass(1000);
    expect(a.membership.isAlive(id)).toBe(true);
    await bench.pass(DEAD_MS + 2000);
    expect(a.membership.isAlive(id)).toBe(false);
  });

  test("an id that was never seen is alive until it could have been seen", async () => {
    const a = bench.create("a", { isStarted: false });
    expect(a.membership.isAlive("unknown")).toBe(true);
    await bench.pass(60_000);
    expect(a.membership.isAlive("unknown")).toBe(true);
    a.membership.start();
    await bench.pass(20_000);
    expect(a.membership.isCaughtUp).toBe(true);
    expect(a.membership.isAlive("unknown")).toBe(true);
    await bench.pass(DEAD_MS - 100);
    expect(a.membership.isAlive("unknown")).toBe(true);
    await bench.pass(100);
    expect(a.membership.isAlive("unknown")).toBe(false);
    a.bucket.disconnect();
    expect(a.membership.isAlive("unknown")).toBe(true);
  });

  test("two machines of one name are warned of once, with both ids; a past life of the machine is not", async () => {
    const past = bench.create("a");
    await bench.pass(1000);
    past.clock.kill();
    past.bucket.cut();
    const a = bench.create("a");
    await bench.pass(20_000);
    expect(a.warnings.filter((warning) => warning.includes("one name"))).toEqual([]);
    const other = bench.create("a");
    await bench.pass(20_000);
    const warnings = a.warnings.filter((warning) => warning.includes("one name"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(idOf(a));
    expect(warnings[0]).toContain(idOf(other));
  });

  test("records that no machine has written are ignored with one line", async () => {
    const a = bench.create("a");
    const client = nats.connect();
    await bench.pass(0);
    for (const key of ["machine/x y", "machine/ok", "machine/later"]) {
      await client.write([{ key, value: "[" }], { timeoutMs: 1000 });
    }
    await bench.pass(1000);
    expect(a.membership.machines).toHaveLength(1);
    expect(a.membership.isAlive("ok")).toBe(true);
    expect(a.warnings).toHaveLength(1);
    await bench.pass(DEAD_MS + 2000);
    expect(a.membership.isAlive("ok")).toBe(false);
  });

  test("of more than a thousand records the others are ignored, and nobody counts as dead for that", async () => {
    const a = bench.create("a");
    await bench.pass(0);
    const changes = Array.from({ length: 1001 }, (_, index) => ({
      key: `machine/m${index}`,
      value: JSON.stringify({ id: `m${index}`, name: "m", version: "1", contract: 1, beat: 1 }),
    }));
    await nats.connect().write(changes, { timeoutMs: 1000 });
    await bench.pass(1000);
    expect(a.membership.machines).toHaveLength(1001);
    expect(a.membership.isAlive("m1000")).toBe(true);
    expect(a.warnings).toHaveLength(1);
    const { writeCount } = a.bucket;
    await bench.pass(DEAD_MS + 500);
    expect(a.bucket.writeCount - writeCount).toBeLessThan(60);
    expect(a.membership.isAlive("m0")).toBe(false);
    expect(a.membership.isAlive("m1000")).toBe(true);
  });
});
