import { beforeEach, expect, test } from "vitest";
import type { Learnt, PersistedValue } from "../../../../src/bridge/plugin-messages.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { PluginValues, type SharedValues } from "../../../../src/plugin-host/manage/plugin-values.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const SET_UP = { options: { id: "1" }, changes: {} };
const VALUE: PersistedValue = { cache: "ids", key: "a", json: '"1"', untilMs: Number.POSITIVE_INFINITY };

let calls: unknown[][];
let told: unknown[][];
let shared: SharedValues;
let values: PluginValues;

beforeEach(() => {
  [calls, told] = [[], []];
  shared = {
    scopeOf: (...parts) => JSON.stringify(parts),
    valuesOf: () => [VALUE],
    set: (...call) => void calls.push(["set", ...call]),
    refuse: (...call) => void calls.push(["refuse", ...call]),
    onLearnt: () => undefined,
    close: () => void calls.push(["close"]),
  };
  values = create(shared);
});

function create(with_: SharedValues | undefined): PluginValues {
  const onLearnt = (...news: unknown[]): void => void told.push(news);
  return new PluginValues({ folder: undefined, shared: with_, clock: new FakeClock(), logger: silentLogger, onLearnt });
}

async function scope(): Promise<string> {
  return (await values.open("songs", SET_UP)).shared?.scope ?? "none";
}

test("a new thread gets the values of its plugin, and those that the machines share for its options", async () => {
  const opened = await values.open("songs", SET_UP);
  expect(opened).toEqual({ persisted: [], shared: { scope: '["songs",{"id":"1"},{}]', values: [VALUE] } });
  expect(await create(undefined).open("songs", SET_UP)).toEqual({ persisted: [] });
});

test("a portable value is shared, and persisted only if its cache is", async () => {
  const portable = { scope: await scope(), isPersisted: false };
  values.onEvent("songs", { type: "persist", value: VALUE, portable });
  expect((await values.open("songs", SET_UP)).persisted).toEqual([]);
  values.onEvent("songs", { type: "persist", value: VALUE, portable: { ...portable, isPersisted: true } });
  expect((await values.open("songs", SET_UP)).persisted).toEqual([VALUE]);
  values.onEvent("songs", { type: "persist", value: { ...VALUE, key: "b" } });
  expect(calls.map(([what, plugin]) => [what, plugin])).toEqual([
    ["set", "songs"],
    ["set", "songs"],
  ]);
});

test("a refused value is forgotten here and refused for all; one that made room is forgotten here only", async () => {
  const ofScope = await scope();
  values.onEvent("songs", { type: "forget", cache: "ids", key: "a" });
  expect(calls).toEqual([]);
  values.onEvent("songs", { type: "forget", cache: "ids", key: "a", refused: { scope: ofScope, json: '"1"' } });
  expect(calls).toEqual([["refuse", "songs", ofScope, { cache: "ids", key: "a", json: '"1"' }]]);
});

test("what other machines find out is persisted as far as its cache is, and threads are told", async () => {
  const ofScope = await scope();
  const found: Learnt = { kind: "value", scope: ofScope, isPersisted: true, value: VALUE };
  const refused = { kind: "refused", scope: ofScope, cache: "ids", key: "a" } as const;
  shared.onLearnt("songs", { ...found, isPersisted: false });
  expect((await values.open("songs", SET_UP)).persisted).toEqual([]);
  shared.onLearnt("songs", found);
  expect((await values.open("songs", SET_UP)).persisted).toEqual([VALUE]);
  shared.onLearnt("songs", { ...refused, json: '"another"' });
  expect((await values.open("songs", SET_UP)).persisted).toEqual([VALUE]);
  shared.onLearnt("songs", { ...refused, json: '"1"' });
  expect((await values.open("songs", SET_UP)).persisted).toEqual([]);
  expect(told).toHaveLength(4);
});

test("what is for other options of a plugin, or for one that does not run here, changes nothing", async () => {
  await scope();
  shared.onLearnt("songs", { kind: "value", scope: "another", isPersisted: true, value: VALUE });
  shared.onLearnt("tunes", { kind: "value", scope: "another", isPersisted: true, value: VALUE });
  expect([(await values.open("songs", SET_UP)).persisted, told]).toEqual([[], []]);
});

test("closing it ends what is shared", async () => {
  await values.close();
  expect(calls).toEqual([["close"]]);
});
