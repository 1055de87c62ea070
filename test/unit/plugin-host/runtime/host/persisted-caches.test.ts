import { beforeEach, expect, test } from "vitest";
import type { PersistedValue, PluginEvent } from "../../../../../src/bridge/plugin-messages.ts";
import { MemoryCache } from "../../../../../src/plugin-host/runtime/host/memory-cache.ts";
import { PersistedCaches } from "../../../../../src/plugin-host/runtime/host/persisted-caches.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

let clock: FakeClock;
let sent: PluginEvent[];

beforeEach(() => {
  clock = new FakeClock();
  sent = [];
});

/** A cache of that name in a new thread, which is given these values. */
function cacheOf<Value>(name: string, values: readonly PersistedValue[] = [], entriesMax = 3): MemoryCache<Value> {
  const persisted = new PersistedCaches({ values, clock, send: (event) => sent.push(event) });
  return new MemoryCache<Value>({ ttlMs: 1000, entriesMax }, clock, persisted.persistenceOf(name, { persist: true }));
}

/** The values stored by the main thread. */
function persistedNow(): PersistedValue[] {
  return sent.flatMap((event) => (event.type === "persist" ? [event.value] : []));
}

test("a value that a cache persists is found by the next thread, for the rest of its time", () => {
  const first = cacheOf<{ readonly id: string }>("ids");
  first.set("a", { id: "1" });
  first.set("b", { id: "2" }, Number.POSITIVE_INFINITY);
  clock.advance(600);
  const next = cacheOf<{ readonly id: string }>("ids", persistedNow());
  expect([next.get("a"), next.get("b")]).toEqual([{ id: "1" }, { id: "2" }]);
  clock.advance(399);
  expect(next.get("a")).toEqual({ id: "1" });
  clock.advance(1);
  expect([next.get("a"), next.get("b")]).toEqual([undefined, { id: "2" }]);
});

test("a value that was made is persisted, too", async () => {
  const { signal } = new AbortController();
  await cacheOf<string>("ids").getOrMake("a", { signal, make: async () => ({ value: "made", ttlMs: 50 }) });
  expect(persistedNow()).toEqual([{ cache: "ids", key: "a", json: '"made"', untilMs: clock.epochMs() + 50 }]);
});

test("a cache finds only its own values, and does not persist them again", () => {
  const value = { cache: "ids", key: "a", json: "1", untilMs: clock.epochMs() + 10 };
  expect(cacheOf("others", [value]).get("a")).toBeUndefined();
  expect(cacheOf("ids", [value]).get("a")).toBe(1);
  expect(sent).toEqual([]);
});

test("a value that is deleted, evicted, or has no time to live is forgotten", () => {
  const cache = cacheOf<string>("ids", [], 2);
  for (const key of ["a", "b", "c"]) cache.set(key, key);
  cache.delete("b");
  cache.set("c", "x", 0);
  const forgotten = sent.flatMap((event) => (event.type === "forget" ? [event.key] : []));
  expect(forgotten).toEqual(["a", "b", "c"]);
});

test("a value that is not JSON is refused", () => {
  const message = "the cache ids is persisted, so its values must be JSON";
  expect(() => cacheOf<unknown>("ids").set("a", () => undefined)).toThrow(message);
  expect(() => cacheOf<unknown>("ids").set("a", undefined)).toThrow(message);
});
