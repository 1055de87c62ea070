import { beforeEach, describe, expect, test } from "vitest";
import type { StateWriter } from "../../../../src/control/state/state-writer.ts";
import type { FakeClock } from "../../../support/fake-clock.ts";
import type { MemoryStateStore } from "../../../support/memory-state-store.ts";
import { hasResolved, StateWriterBench } from "../../../support/state-writer-bench.ts";
import { untilSettled } from "../../../support/until-settled.ts";

let bench: StateWriterBench;
let clock: FakeClock;
let store: MemoryStateStore;
let writer: StateWriter;

beforeEach(() => {
  bench = new StateWriterBench({ answerMsMax: Number.POSITIVE_INFINITY });
  ({ clock, store, writer } = bench);
});

const mark = (key: string, value: string | undefined): void => bench.mark(key, value);
const flow = (): Promise<void> => bench.flow();

describe("answers that wait as long as it takes", () => {
  test("an answer waits until its write is done", async () => {
    store.hold();
    mark("a", "1");
    const first = writer.written();
    await flow();
    clock.advance(60_000);
    expect(await hasResolved(first)).toBe(false);
    mark("b", "1");
    expect(writer.written()).toBeInstanceOf(Promise);
    store.release();
    await flow();
    expect(await hasResolved(first)).toBe(true);
  });

  test("an answer waits until its write has failed", async () => {
    store.hold();
    mark("a", "1");
    const written = writer.written();
    await flow();
    store.failure = "state-unwritable";
    store.release();
    expect(await hasResolved(written)).toBe(true);
    expect(writer.status.kind).toBe("failing");
  });
});

describe("a flush", () => {
  test("waits for all that is marked, what comes in bulk too, and for nothing that is marked later", async () => {
    for (let index = 0; index < 250; index++)
      writer.mark(`bulk${index}`, () => [{ key: `bulk${index}`, value: "1" }], { isBulk: true });
    mark("a", "1");
    const flushed = writer.flushed();
    store.hold();
    await flow();
    expect(await hasResolved(flushed)).toBe(false);
    store.release();
    store.hold();
    await flow();
    expect(store.records.size).toBe(200);
    for (let index = 0; index < 250; index++) mark(`later${index}`, "1");
    expect(await hasResolved(flushed)).toBe(false);
    store.release();
    store.hold();
    await flow();
    expect(await hasResolved(flushed)).toBe(true);
    expect([...store.records.keys()].filter((key) => !key.startsWith("later"))).toHaveLength(251);
    store.release();
  });

  test("waits for a batch of the bulk that is under way", async () => {
    store.hold();
    writer.mark("bulk", () => [{ key: "bulk", value: "1" }], { isBulk: true });
    await flow();
    const flushed = writer.flushed();
    clock.advance(60_000);
    expect(await hasResolved(flushed)).toBe(false);
    store.release();
    expect(await hasResolved(flushed)).toBe(true);
  });

  test("of nothing takes no time, and of a store that fails neither", async () => {
    expect(await hasResolved(writer.flushed())).toBe(true);
    store.failure = "state-unwritable";
    mark("a", "1");
    const flushed = writer.flushed();
    await flow();
    expect(await hasResolved(flushed)).toBe(true);
    expect(await hasResolved(writer.flushed())).toBe(true);
    expect(writer.status.kind).toBe("failing");
  });
});

describe("a machine that has lost its place", () => {
  test("a write that is fenced is neither a failure nor tried again", async () => {
    store.failure = "cluster-fenced";
    mark("a", "1");
    const written = writer.written();
    await flow();
    expect(await hasResolved(written)).toBe(true);
    expect(writer.status).toEqual({ kind: "working" });
    clock.advance(60_000);
    await flow();
    expect(store.batches).toHaveLength(1);
  });

  test("a reset forgets all that was marked, failed, refused and known, and lets answers go", async () => {
    writer.learn(["known"]);
    store.failure = "state-unwritable";
    mark("failed", "1");
    await flow();
    mark("a", "1");
    writer.mark("bulk", () => [{ key: "bulk", value: "1" }], { isBulk: true });
    writer.reset();
    expect(writer.status).toEqual({ kind: "working" });
    expect([writer.isKnown("known"), writer.isKnown("failed")]).toEqual([false, false]);
    store.failure = undefined;
    clock.advance(60_000);
    await flow();
    expect(store.records.size).toBe(0);
    mark("b", "1");
    const written = writer.written();
    writer.reset();
    expect(await hasResolved(written)).toBe(true);
  });

  test.each(["state-unwritable", "state-full", "state-damaged"] as const)(
    "a write that was under way at a reset and fails with %s leaves nothing behind",
    async (failure) => {
      store.hold();
      mark("a", "1");
      await flow();
      writer.reset();
      mark("b", "1");
      store.failure = failure;
      store.release();
      await untilSettled();
      store.failure = undefined;
      await flow();
      expect([...store.records.keys()]).toEqual(["b"]);
      expect(writer.status).toEqual({ kind: "working" });
      expect([bench.refusedCount, bench.emptiedCount]).toEqual([0, 0]);
    },
  );
});
