import { afterEach, beforeEach, expect, test } from "vitest";
import { openBackends, SharedHealth } from "../../../../src/control/cluster/shared-health.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { type BenchMachine, MembershipBench } from "../../../support/membership-bench.ts";
import { untilSettled } from "../../../support/until-settled.ts";

interface Healthy {
  readonly machine: BenchMachine;
  readonly lines: string[];
  open: readonly string[];
  readonly health: SharedHealth;
}

let bench: MembershipBench;
let all: Healthy[];

beforeEach(() => {
  bench = new MembershipBench();
  all = ["a", "b", "c"].map((name) => {
    const machine = bench.create(name);
    const lines: string[] = [];
    const logger = createLogger((_level, message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`));
    const { bucket, membership, clock } = machine;
    const health = new SharedHealth({ bucket, membership, clock, logger });
    const one: Healthy = { machine, lines, open: [], health };
    health.start(() => one.open);
    return one;
  });
});

afterEach(() => {
  for (const { health } of all) health.close();
});

async function pass(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    bench.clock.advance(500);
    await untilSettled();
  }
}

test("the log says once whether a backend fails on this machine only, on some, or on all", async () => {
  const [a, b, c] = all as [Healthy, Healthy, Healthy];
  await pass(3000);
  a.open = ["songs/api"];
  await pass(60_000);
  expect(a.lines).toEqual([expect.stringContaining("songs/api fails on this machine only")]);
  b.open = ["songs/api"];
  await pass(60_000);
  expect(b.lines).toEqual([expect.stringMatching(/songs\/api fails on other machines, too .*"a"/)]);
  c.open = ["songs/api"];
  await pass(60_000);
  expect(c.lines).toEqual([expect.stringContaining("songs/api fails on all machines")]);
  expect(a.lines).toHaveLength(1);
  a.open = [];
  await pass(20_000);
  a.open = ["songs/api"];
  await pass(60_000);
  expect(a.lines).toEqual([expect.anything(), expect.stringContaining("songs/api fails on all machines")]);
});

test("a machine on which all works writes nothing, and one with open breakers once in half a minute", async () => {
  const [a, b] = all as [Healthy, Healthy, Healthy];
  const written = (): string[] => [...bench.nats.records.keys()].filter((key) => key.startsWith("health/"));
  await pass(60_000);
  expect(written()).toEqual([]);
  a.open = ["songs/api"];
  let count = 0;
  bench.nats.onWritten = (changes) => {
    count += changes.filter(({ key }) => key.startsWith("health/")).length;
  };
  await pass(120_000);
  expect(written()).toEqual([`health/${a.machine.membership.self?.id}`]);
  expect(count).toBeLessThanOrEqual(5);
  expect(b.lines).toEqual([]);
});

test("backends whose breakers are not closed are named once, whichever sources share them", () => {
  const backend = (name: string, state: "closed" | "open" | "halfOpen") => {
    return { name, state, succeeded: 0, failed: 0, lastError: null, openUntilMs: null };
  };
  const backends = [backend("web", "open"), backend("api", "halfOpen"), backend("app", "closed")];
  const sources = [
    { plugin: "songs", backends },
    { plugin: "songs", backends },
    { plugin: null, backends: [] },
  ];
  expect(openBackends(sources)).toEqual(["songs/api", "songs/web"]);
});
