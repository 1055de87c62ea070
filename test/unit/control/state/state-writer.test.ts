import { beforeEach, describe, expect, test } from "vitest";
import type { StateWriter } from "../../../../src/control/state/state-writer.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { STATE_LIMITS } from "../../../../src/state/state-store.ts";
import type { FakeClock } from "../../../support/fake-clock.ts";
import type { MemoryStateStore } from "../../../support/memory-state-store.ts";
import { hasResolved, StateWriterBench } from "../../../support/state-writer-bench.ts";
import { untilSettled } from "../../../support/until-settled.ts";

let bench: StateWriterBench;
let clock: FakeClock;
let store: MemoryStateStore;
let writer: StateWriter;

beforeEach(() => {
  bench = new StateWriterBench();
  ({ clock, store, writer } = bench);
});

const mark = (key: string, value: string | undefined): void => bench.mark(key, value);
const flow = (): Promise<void> => bench.flow();

describe("the last write", () => {
  test("is nothing of what was taken for it before a reset", async () => {
    store.hold();
    mark("a", "1");
    await flow();
    mark("b", "2");

    const stopped = writer.stop();
    writer.reset();
    store.release();
    await stopped;

    expect(store.batches.flat().map(({ key }) => key)).toEqual(["a"]);
  });

  test("is what those wait for that wait for an earlier one", async () => {
    store.hold();
    mark("a", "1");
    await flow();
    mark("b", "2");
    const flushed = writer.flushed();

    const stopped = writer.stop();
    store.release();
    store.hold();
    await untilSettled();
    expect(store.batches).toHaveLength(2);
    expect(await hasResolved(flushed)).toBe(false);

    store.release();
    await stopped;
    expect(await hasResolved(flushed)).toBe(true);
  });
});

describe("writing", () => {
  test("what is marked together is one batch, with the values of the moment of writing", async () => {
    let value = "before";
    writer.mark("a", () => [{ key: "a", value }]);
    mark("b", "2");
    value = "after";
    await flow();
    expect(store.batches).toEqual([
      [
        { key: "a", value: "after" },
        { key: "b", value: "2" },
      ],
    ]);
    expect(writer.counts).toEqual({ writes: 1, failedWrites: 0, writtenBytes: 6 });
  });

  test("while a write is under way the next waits, and an entry that is marked twice is written once", async () => {
    store.hold();
    mark("a", "1");
    await flow();
    mark("b", "1");
    mark("b", "2");
    await flow();
    expect(store.batches).toHaveLength(1);
    store.release();
    await flow();
    expect(store.batches[1]).toEqual([{ key: "b", value: "2" }]);
  });

  test("much at once is written in several batches, in the order in which it was marked", async () => {
    const keys = Array.from({ length: 450 }, (_, index) => `key${index}`);
    for (const key of keys) mark(key, "x");
    for (let step = 0; step < 5; step++) await flow();
    expect(store.batches.map((batch) => batch.length)).toEqual([200, 200, 50]);
    expect(store.batches.flat().map(({ key }) => key)).toEqual(keys);
  });

  test("the changes of one entry are in one batch", async () => {
    for (let index = 0; index < 199; index++) mark(`key${index}`, "x");
    writer.mark("pair", () => [
      { key: "one", value: "1" },
      { key: "two", value: "2" },
    ]);
    await flow();
    expect(store.batches[0]?.slice(-2).map(({ key }) => key)).toEqual(["one", "two"]);
  });

  test("a record that is too large is removed, the others are written", async () => {
    store.records.set("a", "small");
    mark("a", "x".repeat(STATE_LIMITS.valueBytesMax + 1));
    mark("b", "2");
    await flow();
    expect([...store.records]).toEqual([["b", "2"]]);
  });

  test("an entry with a record that is too large is removed whole", async () => {
    store.records.set("one", "small");
    writer.mark("pair", () => [
      { key: "one", value: "1" },
      { key: "two", value: "x".repeat(STATE_LIMITS.valueBytesMax + 1) },
    ]);
    await flow();
    expect(store.records.size).toBe(0);
  });

  test("what cannot be read is left out, the others are written", async () => {
    writer.mark("a", () => {
      throw new Error("broken");
    });
    mark("b", "2");
    await flow();
    expect([...store.records]).toEqual([["b", "2"]]);
  });

  test("stop writes what is marked, and nothing that is marked later", async () => {
    mark("a", "1");
    await writer.stop();
    mark("b", "2");
    await flow();
    expect([...store.records.keys()]).toEqual(["a"]);
  });
});

describe("what comes in bulk", () => {
  test("is written after all other entries, and no answer waits for it", async () => {
    for (let index = 0; index < 250; index++)
      writer.mark(`bulk${index}`, () => [{ key: `bulk${index}`, value: "x" }], { isBulk: true });
    expect(writer.written()).toBeUndefined();
    mark("a", "1");
    await flow();
    const keys = store.batches.flat().map(({ key }) => key);
    expect(keys).toHaveLength(251);
    expect(keys[0]).toBe("a");
  });

  test("is written with its last mark: in bulk, it stays where it was; otherwise it goes first", async () => {
    const read = (value: string) => () => [{ key: "a", value }];
    writer.mark("a", read("1"), { isBulk: true });
    writer.mark("a", read("2"));
    writer.mark("a", read("3"), { isBulk: true });
    expect(writer.written()).toBeInstanceOf(Promise);
    await flow();
    expect(store.batches).toEqual([[{ key: "a", value: "3" }]]);
  });
});

describe("answers", () => {
  test("there is nothing to wait for when all is written", async () => {
    expect(writer.written()).toBeUndefined();
    mark("a", "1");
    expect(writer.written()).toBeInstanceOf(Promise);
    await flow();
    expect(writer.written()).toBeUndefined();
  });

  test("an answer waits for what is marked before it, not for what is marked later", async () => {
    store.hold();
    mark("a", "1");
    const first = writer.written();
    await flow();
    mark("b", "2");
    const second = writer.written();
    expect(await hasResolved(first)).toBe(false);
    store.release();
    store.hold();
    await flow();
    expect(await hasResolved(first)).toBe(true);
    expect(await hasResolved(second)).toBe(false);
    store.release();
    await flow();
    expect(await hasResolved(second)).toBe(true);
  });

  test("an answer waits for the batch that its own change is in", async () => {
    for (let index = 0; index < 450; index++) mark(`key${index}`, "x");
    const written = writer.written();
    store.hold();
    clock.advance(0);
    await untilSettled();
    expect(store.batches).toHaveLength(1);
    store.release();
    store.hold();
    await flow();
    expect(store.batches).toHaveLength(2);
    expect(await hasResolved(written)).toBe(false);
    store.release();
    await flow();
    await flow();
    expect(await hasResolved(written)).toBe(true);
  });

  test("an answer waits a quarter of a second for a disk that hangs, the next ones not at all until it goes on", async () => {
    store.hold();
    mark("a", "1");
    const written = writer.written();
    clock.advance(249);
    expect(await hasResolved(written)).toBe(false);
    clock.advance(1);
    expect(await hasResolved(written)).toBe(true);
    mark("b", "1");
    expect(writer.written()).toBeUndefined();
    store.release();
    await flow();
    mark("c", "1");
    expect(writer.written()).toBeInstanceOf(Promise);
  });
});

describe("a store that fails", () => {
  test("a batch that failed is written again before anything else, and status and counts say so", async () => {
    store.failure = "state-unwritable";
    mark("a", "1");
    const written = writer.written();
    await flow();
    expect(await hasResolved(written)).toBe(true);
    expect(writer.status).toEqual({
      kind: "failing",
      reason: "no: state-unwritable",
      sinceEpochMs: clock.epochMs(),
    });
    mark("a", "2");
    mark("b", "1");
    expect(writer.written()).toBeUndefined();
    clock.advance(4999);
    await untilSettled();
    expect(store.batches).toHaveLength(1);
    store.failure = undefined;
    clock.advance(1);
    await flow();
    expect(store.batches.slice(1)).toEqual([
      [{ key: "a", value: "1" }],
      [
        { key: "a", value: "2" },
        { key: "b", value: "1" },
      ],
    ]);
    expect(writer.status).toEqual({ kind: "working" });
    expect(writer.counts).toMatchObject({ writes: 2, failedWrites: 1 });
  });

  test("while it fails the log has one line, and one more when it works again", async () => {
    const lines: string[] = [];
    const log = (message: string): void => void lines.push(message);
    const logger = { ...silentLogger, warn: log, info: log };
    bench = new StateWriterBench({ logger });
    ({ clock, store, writer } = bench);
    store.failure = "state-unwritable";
    mark("a", "1");
    await flow();
    for (let step = 0; step < 3; step++) {
      clock.advance(5000);
      await flow();
    }
    store.failure = undefined;
    clock.advance(5000);
    await flow();
    expect(store.batches).toHaveLength(5);
    expect(lines).toEqual([expect.stringContaining("no: state-unwritable"), "state: writing works again"]);
  });

  test("a full store gets what removes records first, and what it refused when there is room", async () => {
    store.records.set("old", "1");
    store.failure = "state-full";
    mark("old", undefined);
    mark("new", "1");
    await flow();
    expect(bench.refusedCount).toBe(1);
    expect(writer.status.kind).toBe("failing");
    clock.advance(5000);
    await untilSettled();
    expect(store.batches[1]).toEqual([{ key: "old", value: undefined }]);
    store.failure = undefined;
    clock.advance(5000);
    await flow();
    expect([...store.records.keys()]).toEqual(["new"]);
    expect(writer.status).toEqual({ kind: "working" });
  });

  test("it is failing until all that a full store refused is written", async () => {
    store.failure = "state-full";
    mark("refused", "1");
    await flow();
    store.failure = undefined;
    store.hold();
    clock.advance(5000);
    await flow();
    expect(writer.status.kind).toBe("failing");
    store.release();
    await flow();
    expect(writer.status).toEqual({ kind: "working" });
    expect([...store.records.keys()]).toEqual(["refused"]);
  });

  test("a full store still gets changes of what is there", async () => {
    store.recordsMax = 1;
    mark("there", "1");
    await flow();
    mark("new", "1");
    await flow();
    mark("there", "2");
    for (let step = 0; step < 2; step++) {
      clock.advance(5000);
      await flow();
    }
    expect([...store.records]).toEqual([["there", "2"]]);
    expect(writer.status.kind).toBe("failing");
  });

  test("what was marked while its batch was under way is not undone by its refusal", async () => {
    store.recordsMax = 0;
    store.hold();
    mark("message", "text");
    await flow();
    mark("message", undefined);
    store.release();
    await flow();
    store.recordsMax = 10;
    clock.advance(5000);
    await flow();
    expect(store.records.size).toBe(0);
    expect(writer.status).toEqual({ kind: "working" });
  });

  test("what is unmarked does not count as refused any more", async () => {
    store.recordsMax = 0;
    mark("a", "1");
    await flow();
    writer.unmark("a");
    store.recordsMax = 10;
    mark("b", "1");
    clock.advance(5000);
    await flow();
    expect(writer.status).toEqual({ kind: "working" });
  });

  test("stop writes nothing into a store that lost everything with the write under way", async () => {
    store.hold();
    mark("a", "1");
    await flow();
    mark("b", "1");
    store.failure = "state-damaged";
    const stopped = writer.stop();
    store.release();
    await stopped;
    expect(store.batches).toHaveLength(1);
  });

  test("a store that has lost everything is told of, and gets what is marked then", async () => {
    mark("a", "1");
    await flow();
    store.failure = "state-damaged";
    mark("b", "2");
    await flow();
    expect(bench.emptiedCount).toBe(1);
    mark("a", "1");
    store.failure = undefined;
    clock.advance(5000);
    await flow();
    expect(store.records).toEqual(
      new Map([
        ["b", "2"],
        ["a", "1"],
      ]),
    );
  });

  test("what never reached the store needs no removal", async () => {
    mark("a", "1");
    expect(writer.isKnown("a")).toBe(false);
    writer.unmark("a");
    await flow();
    expect(store.batches).toEqual([]);
    mark("b", "1");
    await flow();
    expect(writer.isKnown("b")).toBe(true);
    mark("b", undefined);
    await flow();
    expect(writer.isKnown("b")).toBe(false);
  });

  test("stop writes nothing more after a batch that failed: the rest would be a part of it all", async () => {
    store.failure = "state-damaged";
    for (let index = 0; index < 250; index++) mark(`key${index}`, "x");
    await writer.stop();
    expect(store.batches).toHaveLength(1);
  });

  test("stop ends while it fails", async () => {
    store.failure = "state-unwritable";
    mark("a", "1");
    await writer.stop();
    expect(store.batches).toHaveLength(1);
  });
});
