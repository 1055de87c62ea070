import { beforeEach, expect, test } from "vitest";
import type { FilterManifest } from "../../../../src/bridge/plugin-messages.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { type OfferedFilters, PluginFilters } from "../../../../src/plugin-host/manage/plugin-filters.ts";

const WOBBLE: FilterManifest = {
  name: "wobble",
  module: "file:///w.mjs?version=1",
  settings: {
    depth: { type: "number", default: 0.5, min: 0, max: 1, meaning: "x" },
    steps: { type: "integer", default: 3, min: 1, max: 9, meaning: "x" },
    isWide: { type: "flag", default: true, meaning: "x" },
    shape: { type: "choice", names: ["sine", "square"], default: "sine", meaning: "x" },
  },
};
const FAULT = { filter: "wobble", reason: "failed", message: "Error: x", guildId: "1" } as const;

let offered: OfferedFilters[];
let logged: object[];
let filters: PluginFilters;

beforeEach(() => {
  offered = [{ plugin: "one", filters: [WOBBLE], trouble: undefined }];
  logged = [];
  const logger = createLogger((level, message, fields) => logged.push({ level, message, ...fields }));
  filters = new PluginFilters({ list: () => offered, logger });
});

test("a filter is found with its settings as members, its module goes to the workers, its name to clients", () => {
  expect(filters.find("wobble")).toMatchObject({
    plugin: "one",
    trouble: undefined,
    entry: {
      kind: "object",
      members: {
        depth: { numberType: "double", defaultValue: 0.5, min: 0, max: 1 },
        steps: { numberType: "integer", defaultValue: 3, min: 1, max: 9 },
        isWide: { defaultValue: true },
        shape: { defaultValue: "sine", choices: ["sine", "square"] },
      },
    },
  });
  expect(filters.find("other")).toBeUndefined();
  expect(filters.names).toEqual(["wobble"]);
  expect(filters.modules).toEqual([{ name: "wobble", url: WOBBLE.module }]);
});

test("a plugin that is off has filters that cannot be set, and the first plugin has a name", () => {
  offered = [
    { plugin: "one", filters: [WOBBLE], trouble: "the plugin one is off: x" },
    { plugin: "two", filters: [{ ...WOBBLE, module: "file:///2.mjs" }], trouble: undefined },
  ];
  expect(filters.find("wobble")).toMatchObject({ plugin: "one", trouble: "the plugin one is off: x" });
  expect(filters.names).toEqual([]);
  expect(filters.modules).toEqual([{ name: "wobble", url: WOBBLE.module }]);
});

test("a kind of fault is logged once for each version of a filter", () => {
  for (const guildId of ["1", "2"]) filters.onFault({ ...FAULT, guildId });
  filters.onFault({ ...FAULT, reason: "tooSlow" });
  offered = [{ plugin: "one", filters: [{ ...WOBBLE, module: "file:///w.mjs?version=2" }], trouble: undefined }];
  filters.onFault(FAULT);
  const line = { level: "error", plugin: "one", filter: "wobble" };
  expect(logged).toMatchObject([
    { ...line, reason: "failed", message: "Error: x", guildId: "1" },
    { ...line, reason: "tooSlow" },
    { ...line, reason: "failed" },
  ]);
});

test("a filter that has stopped three workers cannot be set until its module is another, and workers are told", () => {
  const told: unknown[] = [];
  filters.onRefused = () => told.push(filters.modules);
  for (const losses of [1, 2, 3]) {
    filters.onFault({ ...FAULT, reason: "workerLost" });
    expect(filters.find("wobble")?.trouble === undefined).toBe(losses < 3);
  }
  expect(filters.names).toEqual([]);
  const refusal =
    "it has stopped 3 audio workers; it can be set again once its module has changed and its plugin is reloaded";
  expect(filters.find("wobble")?.trouble).toBe(refusal);
  expect(told).toEqual([[{ name: "wobble", url: WOBBLE.module, refusal }]]);
  filters.onFault({ ...FAULT, reason: "workerLost" });
  expect(told).toHaveLength(1);
  offered = [{ plugin: "one", filters: [{ ...WOBBLE, module: "file:///w.mjs?version=2" }], trouble: undefined }];
  expect(filters.find("wobble")?.trouble).toBeUndefined();
});

test("what was known of a module that is offered no more is forgotten", () => {
  const other = { ...WOBBLE, module: "file:///w.mjs?version=2" };
  for (let loss = 0; loss < 3; loss++) filters.onFault({ ...FAULT, reason: "workerLost" });
  offered = [{ plugin: "one", filters: [other], trouble: undefined }];
  filters.onFault(FAULT);
  offered = [{ plugin: "one", filters: [WOBBLE], trouble: undefined }];
  expect(filters.find("wobble")?.trouble).toBeUndefined();
});

test("a filter that clients set while its plugin is off is in the log once, with the reason and what to do", () => {
  filters.onLeftOut("wobble");
  expect(logged).toEqual([]);
  offered = [{ plugin: "one", filters: [WOBBLE], trouble: "the plugin one is off: no key" }];
  filters.onLeftOut("wobble");
  filters.onLeftOut("wobble");
  expect(logged).toMatchObject([
    {
      level: "warn",
      message: expect.stringContaining("reload its plugin once the reason is gone"),
      ...{ plugin: "one", filter: "wobble", reason: "the plugin one is off: no key" },
    },
  ]);
});
