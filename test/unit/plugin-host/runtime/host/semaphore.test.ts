import { expect, test } from "vitest";
import { Owners } from "../../../../../src/lib/owners.ts";
import { unlessAborted } from "../../../../../src/lib/unless-aborted.ts";
import { runWork } from "../../../../../src/plugin-host/runtime/current-work.ts";
import { Semaphore } from "../../../../../src/plugin-host/runtime/host/semaphore.ts";

import { FakeClock } from "../../../../support/fake-clock.ts";

type SemaphoreOptions = ConstructorParameters<typeof Semaphore>[1];

const NEVER = new AbortController().signal;

/** Resolves when all pending continuations have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

function start(bounds: Pick<SemaphoreOptions, "runningMax"> & Partial<SemaphoreOptions>) {
  const clock = new FakeClock();
  const semaphore = new Semaphore(clock, { waitingMax: 10, yieldAfterMs: 1000, what: "programs", ...bounds });
  const order: string[] = [];
  /** Notes its name when it has its permit, and holds that until it leaves. */
  const visit = (name: string, { signal = NEVER, ...options }: Visit = {}) => {
    let leave: () => void = () => undefined;
    const isOver = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const work = async (permitted: AbortSignal): Promise<void> => {
      order.push(name);
      await unlessAborted(isOver, permitted);
    };
    const visited = semaphore.run(work, { signal, ...options });
    visited.catch(() => undefined);
    let hasLeft = false;
    return {
      name,
      isOver: () => hasLeft,
      visited,
      leave: async () => {
        hasLeft = true;
        leave();
        await visited;
      },
    };
  };
  return { clock, order, visit };
}

interface Visit {
  readonly signal?: AbortSignal;
  readonly runningMax?: number;
}

/** As a part of the work of this account. */
function as<Value>(account: string, task: () => Value): Value {
  let value: Value | undefined;
  void runWork({ depth: 0, owners: new Owners([account]), route: undefined }, async () => {
    value = task();
  });
  return value as Value; // the task has run: it is not waited for
}

test("a semaphore grants its permits, and the next caller waits until one is released", async () => {
  const { order, visit } = start({ runningMax: 2, waitingMax: 10 });
  const [first] = ["first", "second", "third"].map((name) => visit(name));
  await settled();
  expect(order).toEqual(["first", "second"]);
  await first?.leave();
  await settled();
  expect(order).toEqual(["first", "second", "third"]);
});

test("a waiting caller is served before one that arrives when a permit is released", async () => {
  const { order, visit } = start({ runningMax: 1, waitingMax: 1 });
  const first = visit("first");
  const waited = visit("waited");
  await first.leave();
  const late = visit("late");
  await waited.leave();
  await late.leave();
  expect(order).toEqual(["first", "waited", "late"]);
});

test("a full queue refuses the next caller with its reason", async () => {
  const { visit } = start({ runningMax: 1, waitingMax: 2 });
  for (const name of ["first", "second", "third"]) visit(name);
  await expect(visit("fourth").visited).rejects.toMatchObject({
    kind: "busy",
    message: expect.stringMatching(/more than 2 programs/),
  });
});

test("a caller that is aborted while it waits takes no permit", async () => {
  const { order, visit } = start({ runningMax: 1, waitingMax: 1 });
  const first = visit("first");
  const abort = new AbortController();
  const { visited } = visit("aborted", { signal: abort.signal });
  abort.abort(new Error("gone"));
  await expect(visited).rejects.toThrow("gone");
  visit("next");
  await first.leave();
  await settled();
  expect(order).toEqual(["first", "next"]);
});

test("a caller's own lower limit is kept, and does not delay callers with a higher one", async () => {
  const { order, visit } = start({ runningMax: 2, waitingMax: 10 });
  const [first, second] = ["first", "second"].map((name) => visit(name));
  const alone = visit("alone", { runningMax: 1 });
  visit("usual");
  await first?.leave();
  await settled();
  expect(order).toEqual(["first", "second", "usual"]);
  await second?.leave();
  await settled();
  expect(order).not.toContain("alone");
  void alone;
});

test.each([0, -1, Number.NaN])("a limit of %s means one permit, neither none nor all", async (runningMax) => {
  const { order, visit } = start({ runningMax: 2, waitingMax: 10 });
  const first = visit("first", { runningMax });
  visit("second", { runningMax });
  await settled();
  expect(order).toEqual(["first"]);
  await first.leave();
  await settled();
  expect(order).toEqual(["first", "second"]);
});

test("an account holds three quarters of the permits at most", async () => {
  const { order, visit } = start({ runningMax: 4 });
  as("greedy", () => ["1", "2", "3", "4"].map((name) => visit(name)));
  as("honest", () => visit("honest"));
  await settled();
  expect(order).toEqual(["1", "2", "3", "honest"]);
});

test("a permit that others need is taken from the account with most of them after a while, with its reason", async () => {
  const { clock, order, visit } = start({ runningMax: 2 });
  const [first] = as("greedy", () => ["1", "2"].map((name) => visit(name)));
  as("honest", () => visit("honest"));
  clock.advance(1000);
  await expect(first?.visited).rejects.toMatchObject({
    kind: "busy",
    message: expect.stringContaining("took more than 1 s"),
  });
  await settled();
  expect(order).toEqual(["1", "2", "honest"]);
});

test("a semaphore without a time to yield sets no timer, however long others wait", async () => {
  const { clock, order, visit } = start({ runningMax: 1, waitingMax: 10, yieldAfterMs: Number.POSITIVE_INFINITY });
  const first = as("greedy", () => visit("first"));
  void as("honest", () => visit("second"));
  await settled();
  expect(clock.pendingCount).toBe(0);
  await first.leave();
  expect(order).toContain("second");
});

test("in a pool of one permit accounts take turns, then the clients of one, however many calls one has waiting", async () => {
  const { order, visit } = start({ runningMax: 1, waitingMax: 100 });
  const of = (account: string, client: string, name: string) => {
    let visited: ReturnType<typeof visit> | undefined;
    const owners = new Owners([account, `${account}, ${client}`]);
    void runWork({ depth: 0, owners, route: undefined }, async () => {
      visited = visit(name);
    });
    return visited as ReturnType<typeof visit>; // the task has run
  };
  const visits = [
    ...Array.from({ length: 5 }, (_, index) => of("a", "1", `greedy ${index}`)),
    of("a", "2", "client"),
    // Other names of the client get it nothing that the account does not have.
    ...Array.from({ length: 5 }, (_, index) => of("a", `fake ${index}`, "fake")),
    of("b", "1", "honest 0"),
    of("b", "1", "honest 1"),
  ];
  for (let turn = 0; turn < 5; turn++) {
    await settled();
    const current = visits.find(({ name, isOver }) => name === order.at(-1) && !isOver());
    await current?.leave();
  }
  await settled();
  expect(order.slice(0, 6)).toEqual(["greedy 0", "honest 0", "client", "honest 1", "fake", "fake"]);
});
