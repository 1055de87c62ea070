import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Learnt, PersistedValue } from "../../../../src/bridge/plugin-messages.ts";
import { SharedKnowledge } from "../../../../src/control/cluster/shared-knowledge.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { type BenchMachine, MembershipBench } from "../../../support/membership-bench.ts";
import { untilSettled } from "../../../support/until-settled.ts";

const HOUR_MS = 60 * 60_000;
const NAME_KEY = new Uint8Array(32).fill(7);

interface Sharer {
  readonly machine: BenchMachine;
  readonly knowledge: SharedKnowledge;
  readonly learnt: Learnt[];
  readonly lines: string[];
}

let bench: MembershipBench;
let all: SharedKnowledge[];

beforeEach(() => {
  bench = new MembershipBench();
  all = [];
});

afterEach(() => {
  for (const knowledge of all) knowledge.close();
});

/** Its wall clock is ahead of the servers' by `aheadMs`, which its membership has found out. */
async function sharer(name: string, aheadMs = 0): Promise<Sharer> {
  const machine = bench.create(name);
  const { clock, membership } = machine;
  const lines: string[] = [];
  const learnt: Learnt[] = [];
  const knowledge = new SharedKnowledge({
    ...{ bucket: machine.bucket, nameKey: NAME_KEY },
    clock: {
      now: () => clock.now(),
      epochMs: () => clock.epochMs() + aheadMs,
      after: (delayMs, callback) => clock.after(delayMs, callback),
    },
    membership: {
      get self() {
        return membership.self;
      },
      get guard() {
        return membership.guard;
      },
      onFenced: (guard) => membership.onFenced(guard),
      clockOffsetMs: -aheadMs,
    },
    logger: createLogger((level, message, fields) => lines.push(`${level} ${message} ${JSON.stringify(fields)}`)),
  });
  knowledge.onLearnt = (_plugin, one) => learnt.push(one);
  knowledge.start();
  all.push(knowledge);
  await pass(3000);
  return { machine, knowledge, learnt, lines };
}

async function pass(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    bench.clock.advance(500);
    await untilSettled();
  }
}

function portable(scope = "scope") {
  return { scope, isPersisted: false };
}

function value(text: string, { key = "read", lifeMs = HOUR_MS } = {}): PersistedValue {
  return { cache: "ids", key, json: JSON.stringify(text), untilMs: bench.clock.epochMs() + lifeMs };
}

function known({ knowledge }: Sharer, scope = "scope"): string[] {
  return knowledge.valuesOf("songs", scope).map(({ json }) => JSON.parse(json));
}

function shared(): string[] {
  return [...bench.nats.records.keys()].filter((key) => key.startsWith("shared/"));
}

const refusedOf = ({ learnt }: Sharer) => learnt.filter(({ kind }) => kind === "refused");

describe("a value that one machine gets", () => {
  test("serves all, also machines that come later, and nobody is told of what it has itself", async () => {
    const [a, b] = [await sharer("a"), await sharer("b")];
    a.knowledge.set("songs", portable(), value("1"));
    await pass(500);
    expect(b.learnt).toMatchObject([
      { kind: "value", scope: "scope", value: { cache: "ids", key: "read", json: '"1"' } },
    ]);
    const c = await sharer("c");
    expect([known(a), known(b), known(c), a.learnt]).toEqual([["1"], ["1"], ["1"], []]);
  });

  test("is for plugins with the same options only, whose order says nothing", async () => {
    const { knowledge } = await sharer("a");
    const scope = knowledge.scopeOf("songs", { id: "x", more: { a: "1", b: "2" } }, {});
    expect(knowledge.scopeOf("songs", { more: { b: "2", a: "1" }, id: "x" }, {})).toBe(scope);
    expect(knowledge.scopeOf("songs", { more: { b: "2", a: "1" }, id: "y" }, {})).not.toBe(scope);
    expect(knowledge.scopeOf("tunes", { more: { b: "2", a: "1" }, id: "x" }, {})).not.toBe(scope);
    knowledge.set("songs", portable(scope), value("1"));
    expect(knowledge.valuesOf("songs", "another")).toEqual([]);
    expect(knowledge.valuesOf("tunes", scope)).toEqual([]);
  });

  test("has a name that shows neither its key nor its plugin's options", async () => {
    const a = await sharer("a");
    const scope = a.knowledge.scopeOf("songs", { refreshToken: "the-secret" }, {});
    a.knowledge.set("songs", portable(scope), value("1", { key: "the-secret" }));
    await pass(500);
    expect(shared()).toEqual([expect.stringMatching(/^shared\/songs\/[\w-]{32}$/)]);
  });

  test("ends everywhere when its time is over, also on machines whose clocks are wrong", async () => {
    const a = await sharer("a");
    const b = await sharer("b", HOUR_MS);
    a.knowledge.set("songs", portable(), value("1", { lifeMs: 60_000 }));
    await pass(30_000);
    expect(known(b)).toEqual(["1"]);
    await pass(30_000);
    expect([known(a), known(b)]).toEqual([[], []]);
    b.knowledge.set("songs", portable(), { ...value("2"), untilMs: bench.clock.epochMs() + HOUR_MS + 60_000 });
    await pass(30_000);
    expect(known(a)).toEqual(["2"]);
    await pass(30_000);
    expect(known(a)).toEqual([]);
  });

  test("stays when its record is gone", async () => {
    const [a, b] = [await sharer("a"), await sharer("b")];
    a.knowledge.set("songs", portable(), value("1"));
    await pass(500);
    const [key = ""] = shared();
    await a.machine.bucket.write([{ key, value: undefined }], { timeoutMs: 1000 });
    await pass(500);
    expect([known(a), known(b), refusedOf(b)]).toEqual([["1"], ["1"], []]);
  });

  test("is written once more in the second half of its life only, and then lasts longer for all", async () => {
    const [a, b] = [await sharer("a"), await sharer("b")];
    a.knowledge.set("songs", portable(), value("1"));
    await pass(500);
    const written = a.machine.bucket.writeCount;
    for (let count = 0; count < 10; count++) a.knowledge.set("songs", portable(), value("1"));
    expect(a.machine.bucket.writeCount).toBe(written);
    await pass(0.6 * HOUR_MS);
    a.knowledge.set("songs", portable(), value("1"));
    await pass(0.6 * HOUR_MS);
    expect(known(b)).toEqual(["1"]);
  });
});

describe("a value that a site refuses", () => {
  test("is dropped by all", async () => {
    const [a, b] = [await sharer("a"), await sharer("b")];
    a.knowledge.set("songs", portable(), value("1"));
    await pass(500);
    b.knowledge.refuse("songs", "scope", { cache: "ids", key: "read", json: '"1"' });
    await pass(500);
    expect(refusedOf(a)).toEqual([{ kind: "refused", scope: "scope", cache: "ids", key: "read", json: '"1"' }]);
    expect([known(a), known(b), known(await sharer("c"))]).toEqual([[], [], []]);
  });

  test("takes no newer one with it", async () => {
    const [a, b] = [await sharer("a"), await sharer("b")];
    a.knowledge.set("songs", portable(), value("1"));
    await pass(500);
    a.knowledge.set("songs", portable(), value("2"));
    // It does not know of the second one yet.
    b.knowledge.refuse("songs", "scope", { cache: "ids", key: "read", json: '"1"' });
    await pass(500);
    expect([known(a), known(b), known(await sharer("c")), refusedOf(a)]).toEqual([["2"], ["2"], ["2"], []]);
    b.knowledge.refuse("songs", "scope", { cache: "ids", key: "read", json: '"1"' });
    await pass(500);
    expect(known(a)).toEqual(["2"]);
  });

  test("is taken from the others a few times only by a machine that is refused with each", async () => {
    const [good, bad] = [await sharer("a"), await sharer("b")];
    for (let count = 0; count < 60; count++) {
      const next = `${count}`;
      if (known(good).length === 0) good.knowledge.set("songs", portable(), value(next));
      await pass(1000);
      for (const json of known(bad)) {
        bad.knowledge.refuse("songs", "scope", { cache: "ids", key: "read", json: JSON.stringify(json) });
      }
      await pass(1000);
    }
    expect(refusedOf(good).length).toBeLessThanOrEqual(4);
    expect(known(good)).toHaveLength(1);
    expect(known(bad)).toEqual([]);
    expect(bad.lines.filter((line) => line.includes("warn")).length).toBeLessThanOrEqual(1);
  });
});

describe("while NATS is away", () => {
  test("values are read, and those of now are shared on its return", async () => {
    const [a, b] = [await sharer("a"), await sharer("b")];
    a.knowledge.set("songs", portable(), value("1"));
    await pass(500);
    bench.nats.goAway();
    a.knowledge.set("songs", portable(), value("2"));
    await pass(10_000);
    expect([known(a), known(b)]).toEqual([["2"], ["1"]]);
    bench.nats.comeBack();
    await pass(20_000);
    expect([known(a), known(b)]).toEqual([["2"], ["2"]]);
  });
});

describe("bounds", () => {
  test("a plugin that sets values in a loop writes few of them, and the log says so once", async () => {
    const a = await sharer("a");
    const before = a.machine.bucket.writeCount;
    for (let count = 0; count < 1000; count++) {
      a.knowledge.set("songs", portable(), value(`${count}`, { key: `${count % 20}` }));
      await untilSettled();
    }
    expect(a.machine.bucket.writeCount - before).toBeLessThanOrEqual(8);
    expect(a.lines.filter((line) => line.startsWith("warn"))).toHaveLength(1);
    expect(a.lines.join()).not.toContain("999");
  });

  test("a plugin has no more than 32 values, and all plugins 256", async () => {
    const a = await sharer("a");
    const fill = (plugin: string): void => {
      for (let count = 0; count < 100; count++) a.knowledge.set(plugin, portable(), value("x", { key: `${count}` }));
    };
    fill("songs");
    for (let plugin = 0; plugin < 20; plugin++) fill(`p${plugin}`);
    expect(known(a)).toHaveLength(32);
    const counts = Array.from({ length: 20 }, (_, plugin) => a.knowledge.valuesOf(`p${plugin}`, "scope").length);
    expect(counts.reduce((sum, count) => sum + count, 32)).toBe(256);
  });

  test("a value that is too large, or has hardly any time left, stays on its machine", async () => {
    const a = await sharer("a");
    a.knowledge.set("songs", portable(), value("x".repeat(17_000)));
    a.knowledge.set("songs", portable(), value("x", { lifeMs: 1000 }));
    await pass(500);
    expect([known(a), shared()]).toEqual([[], []]);
  });

  test("what is no such record is ignored", async () => {
    const a = await sharer("a");
    for (const value of ["", "{}", '{"kind":"value","scope":"scope","cache":"ids","key":"read","json":"{"}']) {
      await a.machine.bucket.write([{ key: "shared/songs/x", value }], { timeoutMs: 1000 });
      await pass(500);
    }
    expect([known(a), a.learnt]).toEqual([[], []]);
  });
});
