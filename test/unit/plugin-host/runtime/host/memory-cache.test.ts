import { beforeEach, describe, expect, test } from "vitest";
import { Owners } from "../../../../../src/lib/owners.ts";
import { currentOwners, runWork } from "../../../../../src/plugin-host/runtime/current-work.ts";
import { MemoryCache } from "../../../../../src/plugin-host/runtime/host/memory-cache.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { settle } from "../../../../support/fake-workers.ts";

const TTL_MS = 10_000;

let clock: FakeClock;
let cache: MemoryCache<string>;
/** Values being made, in order. */
let made: Making[];

interface Making {
  readonly signal: AbortSignal;
  readonly resolve: (value: string | { value: string; ttlMs: number }) => void;
  readonly reject: (error: Error) => void;
}

beforeEach(() => {
  clock = new FakeClock();
  cache = new MemoryCache({ ttlMs: TTL_MS, entriesMax: 3 }, clock);
  made = [];
});

function make(signal: AbortSignal): Promise<string | { value: string; ttlMs: number }> {
  return new Promise((resolve, reject) => {
    made.push({ signal, resolve, reject });
  });
}

/** Waits as a caller with that signal. */
function ask(options: { key?: string; signal?: AbortSignal; isKeptFresh?: boolean } = {}): Promise<string> {
  const { key = "a", signal = new AbortController().signal, isKeptFresh = false } = options;
  return cache.getOrMake(key, { signal, make, isKeptFresh });
}

describe("values", () => {
  test("a cached value is valid for exactly its time to live", () => {
    cache.set("a", "1");
    cache.set("b", "2", 1000);
    clock.advance(999);
    expect(cache.get("b")).toBe("2");
    clock.advance(1);
    expect([cache.get("a"), cache.get("b")]).toEqual(["1", undefined]);
    clock.advance(TTL_MS - 1001);
    expect(cache.get("a")).toBe("1");
    clock.advance(1);
    expect(cache.get("a")).toBeUndefined();
  });

  test.each([0, -1, Number.NaN])("a value cached for %s ms is dropped, and removes the previous one", (ttlMs) => {
    cache.set("a", "1");
    cache.set("a", "2", ttlMs);
    expect(cache.get("a")).toBeUndefined();
  });

  test("the least recently used values are evicted when there are too many", () => {
    for (const key of ["a", "b", "c"]) cache.set(key, key);
    cache.get("a");
    cache.set("d", "d");
    expect(["a", "b", "c", "d"].map((key) => cache.get(key))).toEqual(["a", undefined, "c", "d"]);
  });
});

describe("making a value", () => {
  test("a value is made once for all concurrent callers, and cached for later ones", async () => {
    const asked = [ask(), ask(), ask()];
    await settle();
    expect(made).toHaveLength(1);
    made[0]?.resolve("1");
    expect(await Promise.all(asked)).toEqual(["1", "1", "1"]);
    expect(await ask()).toBe("1");
    expect(made).toHaveLength(1);
  });

  test("values of different keys are made separately", async () => {
    void ask({ key: "a" });
    void ask({ key: "b" });
    await settle();
    expect(made).toHaveLength(2);
  });

  test("a maker may set the value's time to live", async () => {
    const asked = ask();
    await settle();
    made[0]?.resolve({ value: "1", ttlMs: 50 });
    expect(await asked).toBe("1");
    clock.advance(49);
    expect(cache.get("a")).toBe("1");
    clock.advance(1);
    expect(cache.get("a")).toBeUndefined();
  });

  test("a failed value rejects all callers, and is not cached", async () => {
    const asked = Promise.allSettled([ask(), ask()]);
    await settle();
    const trouble = new Error("no");
    made[0]?.reject(trouble);
    expect(await asked).toEqual([
      { status: "rejected", reason: trouble },
      { status: "rejected", reason: trouble },
    ]);
    const again = ask();
    await settle();
    made[1]?.resolve("2");
    expect(await again).toBe("2");
  });

  test("making a value continues while one caller waits, and is aborted with the last", async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const asked = [ask({ signal: first.signal }), ask({ signal: second.signal })];
    await settle();
    first.abort(new Error("gone"));
    await expect(asked[0]).rejects.toThrow("gone");
    expect(made[0]?.signal.aborted).toBe(false);
    second.abort(new Error("gone, too"));
    await expect(asked[1]).rejects.toThrow("gone, too");
    expect(made[0]?.signal.aborted).toBe(true);
    // Nothing that counts as trouble with the site (backends.ts).
    expect(made[0]?.signal.reason).toMatchObject({ name: "AbortError" });
  });

  test("making a value starts again for a caller after the abort, and the late result is discarded", async () => {
    const abort = new AbortController();
    const first = ask({ signal: abort.signal });
    await settle();
    abort.abort();
    await expect(first).rejects.toThrow();
    const second = ask();
    await settle();
    expect(made).toHaveLength(2);
    made[0]?.resolve("late");
    await settle();
    expect(cache.get("a")).toBeUndefined();
    made[1]?.resolve("2");
    expect(await second).toBe("2");
  });

  test("making a value does not start for an aborted caller", async () => {
    await expect(ask({ signal: AbortSignal.abort(new Error("gone")) })).rejects.toThrow("gone");
    expect(made).toHaveLength(0);
  });

  test("a value being made when its key is deleted is given only to callers that already waited", async () => {
    const before = ask();
    await settle();
    cache.delete("a");
    const after = ask();
    await settle();
    expect(made).toHaveLength(2);
    made[0]?.resolve("old");
    expect(await before).toBe("old");
    expect(cache.get("a")).toBeUndefined();
    made[1]?.resolve("new");
    expect(await after).toBe("new");
    expect(cache.get("a")).toBe("new");
  });
});

describe("a value that is kept fresh", () => {
  beforeEach(() => cache.set("a", "old"));
  const askFresh = () => ask({ isKeptFresh: true });

  test("a value that is kept fresh is renewed at 90 % of its life, while the old one is returned", async () => {
    clock.advance(8999);
    expect(await askFresh()).toBe("old");
    await settle();
    expect(made).toHaveLength(0);
    clock.advance(1);
    expect([await askFresh(), await askFresh()]).toEqual(["old", "old"]);
    await settle();
    expect(made).toHaveLength(1);
    made[0]?.resolve("new");
    await settle();
    expect(await askFresh()).toBe("new");
    expect(clock.pendingCount).toBe(0);
  });

  test("a value whose renewal fails stays, and the renewal is retried", async () => {
    clock.advance(9000);
    await askFresh();
    await settle();
    made[0]?.reject(new Error("no"));
    await settle();
    expect(await askFresh()).toBe("old");
    await settle();
    expect(made).toHaveLength(2);
  });

  test("a renewal that hangs is given up when the old value expires", async () => {
    clock.advance(9000);
    await askFresh();
    await settle();
    clock.advance(1000);
    expect(made[0]?.signal.aborted).toBe(true);
    const again = askFresh();
    await settle();
    expect(made).toHaveLength(2);
    made[1]?.resolve("new");
    expect(await again).toBe("new");
  });
});

test("a caller that no longer waits for a value is no longer one of its owners, however many come and go", async () => {
  const as = (name: string, task: () => Promise<string>) =>
    runWork({ depth: 0, owners: new Owners([name]), route: undefined }, task);
  let owners: Owners | undefined;
  const makeOwned = () => {
    owners = currentOwners();
    return new Promise<string>(() => undefined);
  };
  const wait = (signal: AbortSignal) => cache.getOrMake("a", { signal, make: makeOwned });
  void as("first", () => wait(new AbortController().signal));
  await settle();
  void as("joined", () => wait(new AbortController().signal));
  for (let count = 0; count < 9; count++) {
    const abort = new AbortController();
    const left = as("gone", () => wait(abort.signal));
    abort.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
  }
  expect(owners?.all).toEqual([["first"], ["joined"]]);
});
