import { beforeEach, expect, test } from "vitest";
import { MachineReports } from "../../../../src/control/cluster/machine-reports.ts";
import { ClusterWorld, TestMachine } from "../../../support/clustered-machine.ts";

let world: ClusterWorld;
let a: TestMachine;
let b: TestMachine;
let c: TestMachine;

beforeEach(async () => {
  world = new ClusterWorld();
  a = await new TestMachine(world, "a").start();
  b = await new TestMachine(world, "b").start();
  c = await new TestMachine(world, "c").start();
  for (const { cluster, name } of [a, b, c]) cluster.reports.serve("rest", async (text) => `${name} on ${text}`);
});

/** What `a` learns, by the name of the machine. */
async function askFromA(): Promise<Record<string, string>> {
  const reports = await world.within(a.cluster.reports.askOthers("rest", "weather"));
  return Object.fromEntries(
    reports.map(({ machine, answer }) => [machine.name, answer.kind === "answered" ? answer.text : answer.reason]),
  );
}

test("every other machine is asked, and known with its load", async () => {
  b.load = { ...b.load, players: 12 };
  b.sessions.drain(true);
  await world.pass(3000);

  expect(await askFromA()).toEqual({ b: "b on weather", c: "c on weather" });
  const [ofB] = await world.within(a.cluster.reports.askOthers("rest", ""));
  expect(ofB?.machine).toMatchObject({ id: b.id, load: { players: 12, isDraining: true } });
  expect(a.cluster.reports.self).toMatchObject({ name: "a", id: a.id, load: { players: 0 } });
});

test("a machine that does not answer is reported as such after a second, and the others as ever", async () => {
  b.cluster.reports.serve("rest", () => new Promise(() => undefined));
  const startMs = world.clock.now();

  expect(await askFromA()).toEqual({ b: expect.stringContaining("answer"), c: "c on weather" });
  expect(world.clock.now() - startMs).toBeLessThan(1100);
});

test("a machine whose process has ended is reported as such until it is declared dead", async () => {
  c.kill();

  expect(await askFromA()).toEqual({ b: "b on weather", c: expect.any(String) });
  await world.pass(25_000);
  expect(Object.keys(await askFromA())).toEqual(["b"]);
});

test("a machine that fails to make its report is reported with the reason", async () => {
  b.cluster.reports.serve("rest", () => Promise.reject(new Error("no idea")));
  expect((await askFromA()).b).toContain("no idea");
});

test("a machine that does not know the question says that it has another version", async () => {
  const [ofB] = await world.within(a.cluster.reports.askOthers("metrics", ""));
  expect(ofB?.answer).toMatchObject({ kind: "silent", reason: expect.stringContaining("another version") });
});

test("a machine that is cut off from NATS reports itself, and nobody else", async () => {
  const { id } = a;
  a.bucket.cut();
  await world.pass(25_000);

  expect(a.cluster.reports.self).toMatchObject({ id, name: "a" });
  for (const reason of Object.values(await askFromA())) expect(reason).not.toContain("weather");
});

test("a machine that has gone is remembered for a day, until one of its name is back", async () => {
  const goneMs = world.clock.epochMs();
  await c.close();
  await world.pass(1000);
  expect(a.cluster.reports.gone).toMatchObject([{ machine: { name: "c" } }]);
  expect(a.cluster.reports.gone[0]?.sinceEpochMs).toBeGreaterThanOrEqual(goneMs);

  await new TestMachine(world, "c").start();
  expect(a.cluster.reports.gone).toEqual([]);

  await b.close();
  await world.pass(1000);
  expect(a.cluster.reports.gone.map(({ machine }) => machine.name)).toEqual(["b"]);
  world.clock.advance(24 * 60 * 60 * 1000);
  expect(a.cluster.reports.gone).toEqual([]);
});

test("questions beyond a number are refused, and asked again later", async () => {
  b.cluster.reports.serve("rest", () => new Promise(() => undefined));
  const asked = Array.from({ length: 32 }, () => a.cluster.reports.askOthers("rest", ""));
  await expect(a.cluster.reports.askOthers("rest", "")).rejects.toMatchObject({ code: "requests-busy" });
  for (const one of asked) await world.within(one);
  expect(await askFromA()).toMatchObject({ c: "c on weather" });
});

test("a node without a cluster has no other machine to ask", async () => {
  const reports = new MachineReports(undefined);
  expect(reports.self).toBeUndefined();
  expect(await reports.askOthers("rest", "")).toEqual([]);
  await expect(reports.act("b", "")).rejects.toMatchObject({ code: "machine-gone" });
});
