import { describe, expect, test } from "vitest";
import { PendingRequests } from "../../../src/bridge/pending-requests.ts";
import { FakeClock } from "../../support/fake-clock.ts";

interface Replies {
  readonly count: number;
  readonly name: string;
}

function create({ pendingMax }: { readonly pendingMax?: number } = {}) {
  const clock = new FakeClock();
  const sent: number[] = [];
  const abandoned: number[] = [];
  let idleCount = 0;
  const bound = pendingMax === undefined ? {} : { bound: { pendingMax, error: () => new Error("busy") } };
  const requests = new PendingRequests<Replies>({ clock, ...bound, onIdle: () => idleCount++ });
  const timeLimit = { ms: 100, error: () => new Error("late") };
  const onAbandoned = (id: number): unknown => abandoned.push(id);
  const send = (id: number): unknown => sent.push(id);
  const ask = (signal?: AbortSignal): Promise<number> =>
    requests.request("count", { timeLimit, onAbandoned, ...(signal && { signal }) }, send);
  return { clock, sent, abandoned, requests, ask, send, readIdleCount: () => idleCount };
}

describe("pending requests", () => {
  test("a reply settles the request of its number, and is ignored the second time", async () => {
    const { requests, ask, send, sent } = create();
    const [first, second] = [ask(), requests.request("name", {}, send)];
    expect(sent).toEqual([1, 2]);
    requests.resolve(2, "two");
    requests.resolve(1, 1);
    requests.reject(1, new Error("too late"));
    requests.resolve(3, 3);
    expect(await first).toBe(1);
    expect(await second).toBe("two");
  });

  test("a request over its time limit is abandoned, then rejected, and its late reply ignored", async () => {
    const { clock, requests, ask, abandoned } = create();
    const late = ask();
    clock.advance(99);
    expect(abandoned).toEqual([]);
    clock.advance(1);
    expect(abandoned).toEqual([1]);
    await expect(late).rejects.toThrow("late");
    requests.resolve(1, 1);
    expect(requests.count).toBe(0);
  });

  test("a request without a time limit waits until its reply or a loss", async () => {
    const { clock, requests, send } = create();
    const lasting = requests.request("count", {}, send);
    clock.advance(1_000_000);
    expect(requests.count).toBe(1);
    requests.rejectAll(new Error("lost"));
    await expect(lasting).rejects.toThrow("lost");
  });

  test("a signal that fires rejects the request with its reason and abandons it", async () => {
    const { clock, ask, abandoned } = create();
    const abort = new AbortController();
    const aborted = ask(abort.signal);
    abort.abort(new Error("left"));
    await expect(aborted).rejects.toThrow("left");
    expect(abandoned).toEqual([1]);
    expect(clock.pendingCount).toBe(0);
  });

  test("a signal that has fired or fires after the reply sends and abandons nothing", async () => {
    const { requests, ask, sent, abandoned } = create();
    await expect(ask(AbortSignal.abort(new Error("left")))).rejects.toThrow("left");
    expect(sent).toEqual([]);
    const abort = new AbortController();
    const answered = ask(abort.signal);
    requests.resolve(1, 5);
    abort.abort();
    expect(await answered).toBe(5);
    expect(abandoned).toEqual([]);
  });

  test("one request more than the bound is refused unsent, and admitted after a reply", async () => {
    const { requests, ask, sent } = create({ pendingMax: 2 });
    const pending = Promise.all([ask(), ask()]);
    await expect(ask()).rejects.toThrow("busy");
    expect(sent).toEqual([1, 2]);
    requests.resolve(1, 1);
    const third = ask();
    requests.resolve(2, 2);
    requests.resolve(3, 3);
    expect([await pending, await third]).toEqual([[1, 2], 3]);
  });

  test("a loss rejects every pending request without abandoning it, and leaves no timer", async () => {
    const { clock, requests, ask, abandoned, readIdleCount } = create();
    const lost = Promise.allSettled([ask(), ask()]);
    requests.reject(1, new Error("lost"));
    expect(readIdleCount()).toBe(0);
    requests.rejectAll(new Error("lost"));
    expect((await lost).map((result) => result.status)).toEqual(["rejected", "rejected"]);
    expect(abandoned).toEqual([]);
    expect(clock.pendingCount).toBe(0);
    expect(readIdleCount()).toBe(1);
  });

  test("a message that cannot be sent abandons and rejects its request", async () => {
    const { clock, requests, abandoned } = create();
    const timeLimit = { ms: 100, error: () => new Error("late") };
    const unsendable = requests.request("count", { timeLimit, onAbandoned: (id) => abandoned.push(id) }, () => {
      throw new Error("cannot be cloned");
    });
    await expect(unsendable).rejects.toThrow("cannot be cloned");
    expect(abandoned).toEqual([1]);
    expect(requests.count).toBe(0);
    expect(clock.pendingCount).toBe(0);
  });
});
