import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { KeyedSemaphore, type Permit } from "../../../src/lib/keyed-semaphore.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const NEVER = new AbortController().signal;

interface Caller {
  readonly keys: Readonly<Record<string, number>>;
  readonly signal?: AbortSignal;
}

function start(options: { readonly permitsMax?: number; readonly waitingMax?: number } = {}) {
  const clock = new FakeClock();
  const semaphore = new KeyedSemaphore({ waitingMax: 10, ...options });
  const order: string[] = [];
  /** Notes its name once it has its permit. */
  const acquire = (name: string, { keys, signal = NEVER }: Caller): Promise<Permit> => {
    const permit = semaphore.acquire({
      limits: Object.entries(keys).map(([key, max]) => ({ key, max })),
      signal,
      timeout: { clock, delayMs: 1_000 },
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
    else clock.advance(1_000);
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
