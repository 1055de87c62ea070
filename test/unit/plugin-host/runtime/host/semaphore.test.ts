import { expect, test } from "vitest";
import { Semaphore } from "../../../../../src/plugin-host/runtime/host/semaphore.ts";

const NEVER = new AbortController().signal;

/** Resolves when all pending continuations have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Notes in `order` when it gets its permit, and releases it on `leave`. */
function visitor(semaphore: Semaphore, name: string, order: string[], runningMax?: number) {
  const taken = semaphore.take(NEVER, runningMax).then((release) => {
    order.push(name);
    return release;
  });
  return { leave: async () => (await taken)() };
}

test("a semaphore grants its permits, and the next caller waits until one is released", async () => {
  const semaphore = new Semaphore({ runningMax: 2, waitingMax: 10, what: "programs" });
  const order: string[] = [];
  const [first] = ["first", "second", "third"].map((name) => visitor(semaphore, name, order));
  await settled();
  expect(order).toEqual(["first", "second"]);
  await first?.leave();
  await settled();
  expect(order).toEqual(["first", "second", "third"]);
});

test("a permit that is released twice counts once", async () => {
  const semaphore = new Semaphore({ runningMax: 1, waitingMax: 10, what: "programs" });
  const order: string[] = [];
  const release = await semaphore.take(NEVER);
  visitor(semaphore, "second", order);
  visitor(semaphore, "third", order);
  release();
  release();
  await settled();
  expect(order).toEqual(["second"]);
});

test("a waiting caller is served before one that arrives when a permit is released", async () => {
  const semaphore = new Semaphore({ runningMax: 1, waitingMax: 1, what: "programs" });
  const order: string[] = [];
  const release = await semaphore.take(NEVER);
  const waited = visitor(semaphore, "waited", order);
  release();
  const late = visitor(semaphore, "late", order);
  await waited.leave();
  await late.leave();
  expect(order).toEqual(["waited", "late"]);
});

test("a full queue refuses the next caller with its reason", async () => {
  const semaphore = new Semaphore({ runningMax: 1, waitingMax: 2, what: "programs" });
  await semaphore.take(NEVER);
  void semaphore.take(NEVER);
  void semaphore.take(NEVER);
  await expect(semaphore.take(NEVER)).rejects.toMatchObject({
    kind: "busy",
    message: expect.stringMatching(/more than 2 programs/),
  });
});

test("a caller that is aborted while it waits takes no permit", async () => {
  const semaphore = new Semaphore({ runningMax: 1, waitingMax: 1, what: "programs" });
  const order: string[] = [];
  const release = await semaphore.take(NEVER);
  const abort = new AbortController();
  const aborted = semaphore.take(abort.signal);
  abort.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  visitor(semaphore, "next", order);
  release();
  await settled();
  expect(order).toEqual(["next"]);
});

test("a caller's own lower limit is kept, and does not delay callers with a higher one", async () => {
  const semaphore = new Semaphore({ runningMax: 2, waitingMax: 10, what: "programs" });
  const order: string[] = [];
  const [first, second] = ["first", "second"].map((name) => visitor(semaphore, name, order));
  const alone = visitor(semaphore, "alone", order, 1);
  visitor(semaphore, "usual", order);
  await first?.leave();
  await settled();
  expect(order).toEqual(["first", "second", "usual"]);
  await second?.leave();
  await settled();
  expect(order).not.toContain("alone");
  void alone;
});

test.each([0, -1, Number.NaN])("a limit of %s means one permit, neither none nor all", async (runningMax) => {
  const semaphore = new Semaphore({ runningMax: 2, waitingMax: 10, what: "programs" });
  const order: string[] = [];
  const first = visitor(semaphore, "first", order, runningMax);
  visitor(semaphore, "second", order, runningMax);
  await settled();
  expect(order).toEqual(["first"]);
  await first.leave();
  await settled();
  expect(order).toEqual(["first", "second"]);
});
