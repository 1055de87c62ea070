import { expect, test } from "vitest";
import { expectedSeconds, parseBenchOptions, USAGE, WrongArgument } from "../../../../lab/bench/compare/options.ts";
import { WORKLOADS } from "../../../../lab/bench/compare/workloads.ts";

test("our node runs every workload alone without arguments", () => {
  const options = parseBenchOptions([]);
  expect(options.plans.map(({ name }) => name)).toEqual(["tonearm"]);
  expect(options.workloads).toEqual(WORKLOADS);
  expect(options).toMatchObject({ rounds: 6, seconds: 10, daveVersion: 1, ramp: undefined });
});

test("--against with a URL is a running node, and anything else a command", () => {
  const [, running] = parseBenchOptions(["--against", "http://127.0.0.1:2333/", "--password", "p", "--pid", "7"]).plans;
  expect(running).toEqual({ name: "other", url: "http://127.0.0.1:2333", password: "p", pid: 7 });
  const [, started] = parseBenchOptions(["--against", "java -jar Lavalink.jar", "--name", "lavalink"]).plans;
  expect(started).toMatchObject({ name: "lavalink", command: { args: ["-c", "java -jar Lavalink.jar"] } });
});

test("--quick measures four workloads against another node within ten minutes, and says so", () => {
  const quick = parseBenchOptions(["--quick", "--against", "java -jar Lavalink.jar"]);
  expect(quick.workloads.map(({ name }) => name)).toEqual(["idle", "passthrough", "mp3", "filters"]);
  expect(quick).toMatchObject({ rounds: 4, seconds: 4, settleSeconds: 2 });
  const seconds = expectedSeconds(quick) ?? 0;
  expect(seconds).toBeGreaterThan(4 * 2 * 4 * 6);
  expect(seconds).toBeLessThan(600);
  expect(parseBenchOptions(["--quick", "--rounds", "6", "--only", "flac"])).toMatchObject({ rounds: 6, seconds: 4 });
  expect(parseBenchOptions(["--quick", "--ramp"]).workloads.map(({ name }) => name)).toEqual(["passthrough", "mp3"]);
});

test("a longer run is expected to take longer, and a ramp until a node fails", () => {
  const of = (...args: string[]) => expectedSeconds(parseBenchOptions(args)) ?? 0;
  expect(of("--seconds", "11") - of()).toBe(6 * WORKLOADS.length);
  expect(of("--against", "x")).toBeGreaterThan(of());
  expect(expectedSeconds(parseBenchOptions(["--ramp"]))).toBeUndefined();
});

test("the ramp accepts steady workloads only", () => {
  expect(parseBenchOptions(["--ramp"]).workloads.map(({ name }) => name)).toEqual(["passthrough", "mp3"]);
  expect(() => parseBenchOptions(["--ramp", "--only", "seeks"])).toThrow(/no workload "seeks" for --ramp/);
});

test.each([
  [["--only", "mp3,mp4"], /no workload "mp4", but idle, passthrough/],
  [["--rounds", "0"], /--rounds is 0, and may be 1 to 100/],
  [["--seconds", "soon"], /--seconds is soon/],
  [["--players", "1e9"], /--players is 1e9/],
  [["--against", "http://example.org:2333"], /example\.org is not this machine/],
  [["--against", "http://"], /no URL/],
  [["--against", "http://127.0.0.1", "--pid", "me"], /--pid is me/],
  [["--media", "/nowhere"], /\/nowhere is not a folder/],
  [["--loudly"], /--loudly/],
])("the bench refuses %s with a message", (args, words) => {
  expect(() => parseBenchOptions(args)).toThrow(WrongArgument);
  expect(() => parseBenchOptions(args)).toThrow(words);
});

test("the help of the bench names every workload", () => {
  for (const { name } of WORKLOADS) expect(USAGE).toContain(name);
});
