import { beforeEach, expect, test } from "vitest";
import { StereoFifo } from "../../../../../src/lib/stereo-fifo.ts";
import { EffectChain } from "../../../../../src/media/effects/effect-chain.ts";
import { FilterModules } from "../../../../../src/media/effects/filters/filter-modules.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { settle } from "../../../../support/fake-workers.ts";

const FRAME = 960;
const heartbeat = { enter: () => undefined, leave: () => undefined };
/** CPU time so far. */
let cpuMs = 0;
const meter = { nowMs: () => 0, cpuMs: () => cpuMs };

/** By the URLs of the modules; others cannot be imported. */
const GAINS: Readonly<Record<string, number>> = { "file:///half": 0.5, "file:///quarter": 0.25 };
const TROUBLE = { name: "trouble", url: "file:///half" };
const SETTINGS = { pluginFilters: { trouble: {} } } as object;

let clock: FakeClock;
let imported: string[];
let changed: string[];
let removed: string[];
let warnings: string[];
/** CPU time of each import. */
let importMs: number;
let modules: FilterModules;
let chain: EffectChain;

function importModule(url: string): Promise<unknown> {
  imported.push(url);
  cpuMs += importMs;
  if (url === "file:///never") return new Promise(() => undefined);
  const gain = GAINS[url];
  if (gain === undefined) return Promise.reject(new Error("no such file"));
  const process = (left: Float32Array): void => left.set(left.map((value) => value * gain));
  return Promise.resolve({ default: () => ({ process }) });
}

beforeEach(() => {
  clock = new FakeClock();
  [imported, changed, removed, warnings] = [[], [], [], []];
  importMs = 50;
  const logger = { warn: (message: string) => void warnings.push(message) };
  modules = new FilterModules({ heartbeat, clock, logger, importModule, meter });
  chain = new EffectChain(
    modules.definitionsFor(1, (name, { reason, message }) => removed.push(`${name} ${reason}: ${message}`)),
  );
  modules.onChanged = (name) => {
    changed.push(name);
    chain.setFilters(SETTINGS);
  };
  chain.setFilters(SETTINGS);
  chain.begin();
});

/** What becomes of ones, once a change has ended. */
function heard(): number {
  let last = 0;
  for (let frame = 0; frame < 2; frame++) {
    const fifo = new StereoFifo();
    const ones = new Float32Array(FRAME).fill(1);
    fifo.append(ones, ones, 0, FRAME);
    const left = new Float32Array(FRAME);
    chain.prepare(fifo, FRAME);
    chain.render(fifo, left, new Float32Array(FRAME), FRAME);
    last = left.at(-1)!;
  }
  return last;
}

test("a module is imported once by its URL, and a new URL replaces it when filters are set again", async () => {
  expect(heard()).toBe(1);
  for (const url of ["file:///half", "file:///half", "file:///quarter"]) {
    modules.set([{ name: "trouble", url }]);
    await settle();
    expect(heard()).toBe(GAINS[url]);
  }
  expect(imported).toEqual(Object.keys(GAINS));
  expect(changed).toEqual(["trouble", "trouble"]);
  chain.setFilters({});
  expect(heard()).toBe(1);
  expect(chain.areSettingsNeutral).toBe(true);
});

test("other modules that come, change or go do not concern a filter", async () => {
  modules.set([TROUBLE]);
  await settle();
  modules.set([{ name: "other", url: "file:///quarter" }, TROUBLE]);
  await settle();
  modules.set([TROUBLE]);
  await settle();
  expect(changed).toEqual(["trouble", "other", "other"]);
  expect(heard()).toBe(0.5);
});

test("a module that is set no more has no filter", async () => {
  modules.set([TROUBLE]);
  await settle();
  modules.set([]);
  expect(changed).toEqual(["trouble", "trouble"]);
  expect(heard()).toBe(1);
  expect(removed).toEqual([]);
});

test("a module that cannot be imported is a filter that fails at once", async () => {
  modules.set([{ name: "trouble", url: "file:///gone" }]);
  await settle();
  expect(heard()).toBe(1);
  expect(removed).toEqual(["trouble failed: Error: no such file"]);
});

test("a module that does not end importing holds up no other, and counts as failed after 10 s", async () => {
  modules.set([{ name: "other", url: "file:///never" }, TROUBLE]);
  await settle();
  expect(heard()).toBe(0.5);
  modules.set([{ name: "trouble", url: "file:///never" }]);
  await settle();
  expect(heard()).toBe(0.5);
  clock.advance(10_000);
  await settle();
  expect(heard()).toBe(1);
  expect(removed).toEqual(["trouble failed: Error: importing its module took more than 10000 ms"]);
});

test("a module that is refused is not imported, and fails where it is in use", async () => {
  modules.set([TROUBLE]);
  await settle();
  expect(heard()).toBe(0.5);
  modules.set([{ ...TROUBLE, refusal: "it has stopped 3 audio workers" }]);
  await settle();
  expect(heard()).toBe(1);
  expect(removed).toEqual(["trouble failed: Error: it has stopped 3 audio workers"]);
  expect(imported).toHaveLength(1);
});

test("a module whose import takes more than 50 ms of CPU time is used, with one warning", async () => {
  modules.set([TROUBLE]);
  await settle();
  expect(warnings).toEqual([]);
  importMs = 83;
  modules.set([{ name: "slow", url: "file:///quarter" }, TROUBLE]);
  await settle();
  modules.set([TROUBLE]);
  await settle();
  expect(warnings).toEqual([
    expect.stringMatching(/^importing the module of the filter slow held up audio for up to 83 ms, /),
  ]);
});
