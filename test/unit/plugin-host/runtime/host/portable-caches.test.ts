import { beforeEach, expect, test } from "vitest";
import type { Learnt, PersistedValue, PluginEvent } from "../../../../../src/bridge/plugin-messages.ts";
import type { CacheOptions } from "../../../../../src/plugin-api/plugin.ts";
import { MemoryCache } from "../../../../../src/plugin-host/runtime/host/memory-cache.ts";
import { PersistedCaches } from "../../../../../src/plugin-host/runtime/host/persisted-caches.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const PORTABLE = { isPortable: true };
const SCOPE = "of these options";

let clock: FakeClock;
let sent: PluginEvent[];
let caches: PersistedCaches;

beforeEach(() => {
  clock = new FakeClock();
  sent = [];
  start();
});

/** A new thread, which is given these values. */
function start(values: readonly PersistedValue[] = [], { isAlone = false } = {}): void {
  const shared = isAlone ? undefined : { scope: SCOPE, values };
  caches = new PersistedCaches({ values: [], shared, clock, send: (event) => sent.push(event) });
}

function open(options: Pick<CacheOptions, "persist" | "isPortable">, entriesMax = 2): MemoryCache<string> {
  return new MemoryCache({ ttlMs: 1000, entriesMax }, clock, caches.persistenceOf("ids", options));
}

function valueOfOther(json: string, key = "a"): PersistedValue {
  return { cache: "ids", key, json, untilMs: clock.epochMs() + 500 };
}

function learnt(json: string, scope = SCOPE): Learnt {
  return { kind: "value", scope, isPersisted: false, value: valueOfOther(json) };
}

function refused(json: string): Learnt {
  return { kind: "refused", scope: SCOPE, cache: "ids", key: "a", json };
}

test("a value of a portable cache is sent with its scope, and says whether it is persisted", () => {
  open(PORTABLE).set("a", "1");
  open({ ...PORTABLE, persist: true }).set("a", "2");
  open({ persist: true }).set("a", "3");
  const portable = (isPersisted: boolean) => ({ portable: { scope: SCOPE, isPersisted } });
  expect(sent).toMatchObject([{ type: "persist", ...portable(false) }, portable(true), { type: "persist" }]);
  expect(sent[2]).not.toHaveProperty("portable");
});

test("without a cluster a portable cache sends nothing", () => {
  start([], { isAlone: true });
  const cache = open(PORTABLE);
  cache.set("a", "1");
  cache.delete("a");
  expect(sent).toEqual([]);
});

test("a value of another machine is found from then on, for the rest of its time, and is not sent again", () => {
  const cache = open(PORTABLE);
  cache.set("a", "old");
  sent = [];
  caches.learn(learnt('"new"'));
  expect(cache.get("a")).toBe("new");
  clock.advance(500);
  expect([cache.get("a"), sent]).toEqual([undefined, []]);
});

test("values of other machines are found by a new thread, also those that come before its cache is created", () => {
  start([valueOfOther('"given"')]);
  expect(open(PORTABLE).get("a")).toBe("given");
  start();
  caches.learn(learnt('"early"'));
  expect(open(PORTABLE).get("a")).toBe("early");
});

test("a value for other options, and one for a cache that is not portable, is ignored", () => {
  const cache = open(PORTABLE);
  caches.learn(learnt('"x"', "of others"));
  expect(cache.get("a")).toBeUndefined();
  const own = open({ persist: true });
  caches.learn(learnt('"x"'));
  expect(own.get("a")).toBeUndefined();
});

test("a value that another machine was refused with is gone, and another one stays", () => {
  const cache = open(PORTABLE);
  cache.set("a", "1");
  sent = [];
  caches.learn(refused('"2"'));
  expect(cache.get("a")).toBe("1");
  caches.learn(refused('"1"'));
  expect([cache.get("a"), sent]).toEqual([undefined, []]);
});

test("only a value that the plugin has deleted is refused, not one that makes room or has no time to live", () => {
  const cache = open(PORTABLE);
  for (const key of ["a", "b", "c"]) cache.set(key, `${key}!`);
  cache.set("b", "x", 0);
  cache.delete("c");
  cache.delete("unknown");
  const forgotten = sent.flatMap((event) => (event.type === "forget" ? [[event.key, event.refused?.json]] : []));
  expect(forgotten).toEqual([
    ["a", undefined],
    ["b", undefined],
    ["c", '"c!"'],
    ["unknown", undefined],
  ]);
});
