import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import { KeyedSemaphore, type Permit } from "../../../src/lib/keyed-semaphore.ts";
import { Owners } from "../../../src/lib/owners.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const WAIT_MS = 60_000;
const NEVER = new AbortController().signal;

interface Caller {
  readonly keys: Readonly<Record<string, number>>;
  readonly accountMax?: number;
  readonly owners?: Owners;
  readonly signal?: AbortSignal;
}

interface Options {
  readonly permitsMax?: number;
  readonly waitingMax?: number;
  readonly yieldAfterMs?: number;
}

function start({ yieldAfterMs, ...options }: Options = {}) {
  const clock = new FakeClock();
  const semaphore = new KeyedSemaphore({
    waitingMax: 10,
    ...options,
    ...(yieldAfterMs !== undefined && { yieldAfter: { clock, ms: yieldAfterMs } }),
  });
  const order: string[] = [];
  /** Notes its name once it has its permit. */
  const acquire = (name: string, { keys, accountMax, owners, signal = NEVER }: Caller): Promise<Permit> => {
    const permit = semaphore.acquire({
      limits: Object.entries(keys).map(([key, max]) => ({ key, max, ...(accountMax !== undefined && { accountMax }) })),
      ...(owners !== undefined && { owners }),
      signal,
      timeout: { clock, delayMs: WAIT_MS },
      busy: () => new Error(`${name} is refused`),
    });
    void permit.then(
      () => order.push(name),
      () => undefined,
    );
    return permit;
  };
  return { clock, order, acquire };
}

const of = (...owner: string[]) => new Owners(owner);

/** Resolves when all pending continuations have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("callers with different keys do not wait for each other", async () => {
  const { order, acquire } = start();
  for (const name of ["first", "second"]) void acquire(name, { keys: { a: 1 } });
  void acquire("third", { keys: { b: 1 } });
  await settled();
  expect(order).toEqual(["first", "third"]);
});

test("callers of all keys together have a limit, and are served in order", async () => {
  const { order, acquire } = start({ permitsMax: 2 });
  const first = await acquire("first", { keys: { a: 9 } });
  await acquire("second", { keys: { b: 9 } });
  void acquire("third", { keys: { c: 9 } });
  void acquire("fourth", { keys: { a: 9 } });
  first.release();
  await settled();
  expect(order).toEqual(["first", "second", "third"]);
});

test("callers with different keys are served in order, also once the first of a key has given up", async () => {
  const { order, acquire } = start({ permitsMax: 1 });
  const abort = new AbortController();
  const first = await acquire("first", { keys: { a: 1 } });
  void acquire("gone", { keys: { a: 1 }, signal: abort.signal }).catch(() => undefined);
  for (const [name, key] of [
    ["second", "b"],
    ["third", "a"],
    ["fourth", "b"],
  ] as const) {
    void acquire(name, { keys: { [key]: 1 } }).then((permit) => permit.release());
  }
  abort.abort();
  first.release();
  await settled();
  expect(order).toEqual(["first", "second", "third", "fourth"]);
});

test("a thousand callers that wait for the same are not looked at one by one", async () => {
  const { acquire } = start({ waitingMax: 2_000 });
  const first = await acquire("first", { keys: { a: 1 } });
  for (let caller = 0; caller < 1_000; caller++) {
    void acquire(String(caller), { keys: { a: 1 }, owners: of("bots", `bot ${caller % 2}`) });
  }
  await settled();
  const looks = vi.spyOn(Map.prototype, "get");
  const reads = vi.spyOn(Owners.prototype, "all", "get");
  first.release();
  const count = looks.mock.calls.length + reads.mock.calls.length;
  vi.restoreAllMocks();
  expect(count).toBeLessThan(50);
});

test("a caller needs a free permit of each of its keys, and frees one of them before the others", async () => {
  const { order, acquire } = start();
  const first = await acquire("first", { keys: { opening: 1, open: 2 } });
  void acquire("second", { keys: { opening: 1, open: 2 } });
  void acquire("third", { keys: { opening: 1, open: 2 } });
  await settled();
  expect(order).toEqual(["first"]);
  first.releaseKey("opening");
  first.releaseKey("opening");
  await settled();
  expect(order).toEqual(["first", "second"]);
  first.release();
  await settled();
  expect(order).toEqual(["first", "second"]);
});

test("a waiting caller is served before one that arrives when the permit is released", async () => {
  const { order, acquire } = start();
  const first = await acquire("first", { keys: { a: 1 } });
  void acquire("waited", { keys: { a: 1 } });
  first.release();
  void acquire("late", { keys: { a: 1 } });
  await settled();
  expect(order).toEqual(["first", "waited"]);
});

test("a caller whose limit is reached does not delay those behind it", async () => {
  const { order, acquire } = start();
  const first = await acquire("first", { keys: { a: 2 } });
  await acquire("second", { keys: { a: 2 } });
  void acquire("alone", { keys: { a: 1 } });
  void acquire("usual", { keys: { a: 2 } });
  first.release();
  await settled();
  expect(order).toEqual(["first", "second", "usual"]);
});

test.each([
  ["of a key", {}, { a: 1 }],
  ["of all keys", { permitsMax: 1 }, {}],
])("a permit %s that is released twice counts once", async (_what, options, keys) => {
  const { order, acquire } = start(options);
  const first = await acquire("first", { keys });
  for (const name of ["second", "third"]) void acquire(name, { keys });
  first.release();
  first.release();
  await settled();
  expect(order).toEqual(["first", "second"]);
});

test("a full queue refuses the next caller at once", async () => {
  const { acquire } = start({ permitsMax: 1, waitingMax: 1 });
  await acquire("first", { keys: {} });
  void acquire("second", { keys: {} }).catch(() => undefined);
  await expect(acquire("third", { keys: {} })).rejects.toThrow("third is refused");
});

test.each(["is aborted", "waits too long"])(
  "a caller that %s takes no permit and leaves nothing behind",
  async (how) => {
    const { clock, order, acquire } = start();
    const abort = new AbortController();
    const first = await acquire("first", { keys: { a: 1 } });
    const second = acquire("second", { keys: { a: 1 }, signal: abort.signal });
    if (how === "is aborted") abort.abort(new Error("gone"));
    else clock.advance(WAIT_MS);
    await expect(second).rejects.toThrow(how === "is aborted" ? "gone" : "second is refused");
    void acquire("third", { keys: { a: 1 } });
    first.release();
    await settled();
    expect(order).toEqual(["first", "third"]);
    expect(clock.pendingCount).toBe(0);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  },
);

test("a caller whose signal has aborted already takes no permit, though one is free", async () => {
  const { order, acquire } = start();
  await expect(acquire("first", { keys: { a: 1 }, signal: AbortSignal.abort(new Error("gone")) })).rejects.toThrow(
    "gone",
  );
  await acquire("second", { keys: { a: 1 } });
  expect(order).toEqual(["second"]);
});

test("the account with the fewest permits is served first", async () => {
  const { order, acquire } = start({ permitsMax: 3 });
  const greedy = of("greedy");
  const held = await Promise.all(
    ["first", "second", "third"].map((name) => acquire(name, { keys: {}, owners: greedy })),
  );
  void acquire("greedy again", { keys: {}, owners: greedy });
  void acquire("honest", { keys: {}, owners: of("honest") });
  await settled();
  held[0]?.release();
  await settled();
  expect(order).toEqual(["first", "second", "third", "honest"]);
});

test("within an account the client with the fewest permits is served first", async () => {
  const { order, acquire } = start({ permitsMax: 2 });
  const [first] = await Promise.all(
    ["first", "second"].map((name) => acquire(name, { keys: {}, owners: of("bots", "bot 1") })),
  );
  void acquire("bot 1 again", { keys: {}, owners: of("bots", "bot 1") });
  void acquire("bot 2", { keys: {}, owners: of("bots", "bot 2") });
  first?.release();
  await settled();
  expect(order).toEqual(["first", "second", "bot 2"]);
});

test("an account holds its part of a key's permits only, though others are free", async () => {
  const { order, acquire } = start();
  for (const name of ["first", "second", "third"]) {
    void acquire(name, { keys: { a: 3 }, accountMax: 2, owners: of("greedy") });
  }
  void acquire("honest", { keys: { a: 3 }, accountMax: 2, owners: of("honest") });
  await settled();
  expect(order).toEqual(["first", "second", "honest"]);
});

test("a full queue refuses the last caller of the account with most of them, not the newcomer", async () => {
  const { acquire, order } = start({ permitsMax: 2, waitingMax: 2 });
  const running = await Promise.all(["1", "2"].map((name) => acquire(name, { keys: {}, owners: of("greedy") })));
  void acquire("3", { keys: {}, owners: of("greedy") });
  const last = acquire("4", { keys: {}, owners: of("greedy") });
  void acquire("honest", { keys: {}, owners: of("honest") });
  await expect(last).rejects.toThrow("4 is refused");
  running[0]?.release();
  await settled();
  expect(order).toEqual(["1", "2", "honest"]);
});

test("shared work is served as the one of its owners with the fewest permits, also who joins while it waits", async () => {
  const { acquire, order } = start();
  const shared = of("greedy");
  await acquire("first", { keys: { a: 2 }, accountMax: 1, owners: of("greedy") });
  void acquire("shared", { keys: { a: 2 }, accountMax: 1, owners: new Owners(shared) });
  await settled();
  expect(order).toEqual(["first"]);
  shared.join(of("honest"));
  await settled();
  expect(order).toEqual(["first", "shared"]);
});

test("a permit is asked back after its time while an account with fewer waits, from the account with most", async () => {
  const { clock, acquire, order } = start({ permitsMax: 2, yieldAfterMs: 1_000 });
  const oldest = await acquire("oldest", { keys: {}, owners: of("greedy") });
  const second = await acquire("second", { keys: {}, owners: of("greedy") });
  oldest.signal.addEventListener("abort", () => oldest.release());
  clock.advance(900);
  void acquire("honest", { keys: {}, owners: of("honest") });
  clock.advance(99);
  expect(oldest.signal.aborted).toBe(false);
  clock.advance(1);
  expect(oldest.signal.reason).toEqual(new Error("oldest is refused"));
  await settled();
  expect(order).toEqual(["oldest", "second", "honest"]);
  expect(second.signal.aborted).toBe(false);
});

test("a permit is asked back from nobody who holds as little as those who wait", async () => {
  const { clock, acquire } = start({ permitsMax: 2, yieldAfterMs: 1_000 });
  const first = await acquire("first", { keys: {}, owners: of("one") });
  const second = await acquire("second", { keys: {}, owners: of("two") });
  void acquire("again", { keys: {}, owners: of("one") });
  clock.advance(30_000);
  expect([first, second].map(({ signal }) => signal.aborted)).toEqual([false, false]);
  first.release();
  second.release();
  await settled();
  expect(clock.pendingCount).toBe(0);
});

test("a permit is asked back from nobody who would hold less than those who wait then", async () => {
  const { clock, acquire } = start({ permitsMax: 2, yieldAfterMs: 1_000 });
  const held = [
    await acquire("first", { keys: {}, owners: of("one") }),
    await acquire("second", { keys: {}, owners: of("two") }),
  ];
  void acquire("third", { keys: {}, owners: of("three") });
  clock.advance(30_000);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([false, false]);
});

test("an account that holds all permits is asked for one back, also where there is only one", async () => {
  const { clock, acquire } = start({ permitsMax: 1, yieldAfterMs: 1_000 });
  const only = await acquire("only", { keys: {}, owners: of("greedy") });
  void acquire("honest", { keys: {}, owners: of("honest") });
  // Later than one of several, so that its work can end.
  clock.advance(2_999);
  expect(only.signal.aborted).toBe(false);
  clock.advance(1);
  expect(only.signal.aborted).toBe(true);
});

test("no more permits are asked back than there are callers with fewer, while those asked end their work", async () => {
  const { clock, acquire } = start({ permitsMax: 3, yieldAfterMs: 1_000 });
  const held = [];
  for (const name of ["1", "2", "3"]) held.push(await acquire(name, { keys: {}, owners: of("greedy") }));
  for (const name of ["4", "5"]) void acquire(name, { keys: {}, owners: of("greedy") });
  void acquire("honest", { keys: {}, owners: of("honest") });
  clock.advance(1_000);
  clock.advance(500);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  // Work that does not end keeps nobody waiting for ever.
  clock.advance(500);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
});

test("who comes after a permit was given back does not wait longer than the first did", async () => {
  const { clock, acquire, order } = start({ permitsMax: 4, yieldAfterMs: 1_000 });
  for (const name of ["1", "2", "3", "4"]) {
    const permit = await acquire(name, { keys: {}, owners: of("greedy") });
    permit.signal.addEventListener("abort", () => permit.release());
  }
  void acquire("5", { keys: {}, owners: of("greedy") });
  void acquire("honest", { keys: {}, owners: of("honest") });
  clock.advance(1_000);
  void acquire("other", { keys: {}, owners: of("other") });
  clock.advance(1);
  await settled();
  expect(order).toEqual(["1", "2", "3", "4", "honest", "other"]);
});

test("nobody is asked for a permit once the caller with fewer has left", async () => {
  const { clock, acquire } = start({ permitsMax: 2, yieldAfterMs: 1_000 });
  const held = [
    await acquire("1", { keys: {}, owners: of("greedy") }),
    await acquire("2", { keys: {}, owners: of("greedy") }),
  ];
  void acquire("3", { keys: {}, owners: of("greedy") });
  const abort = new AbortController();
  acquire("honest", { keys: {}, owners: of("honest"), signal: abort.signal }).catch(() => undefined);
  abort.abort(new Error("gone"));
  clock.advance(5_000);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([false, false]);
});
