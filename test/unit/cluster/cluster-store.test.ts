import { beforeEach, describe, expect, test } from "vitest";
import type { BucketGuard } from "../../../src/cluster/bucket.ts";
import { ClusterStore } from "../../../src/cluster/cluster-store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type MemoryBucket, MemoryNats } from "../../support/memory-bucket.ts";
import { untilSettled } from "../../support/until-settled.ts";

const STEP_MS = 50;

let clock: FakeClock;
let nats: MemoryNats;
let bucket: MemoryBucket;
let membership: { guard: BucketGuard | undefined; isNatsAway: boolean; lostCount: number; onFenced: () => void };
let fencedCount: number;
let store: ClusterStore;

beforeEach(async () => {
  clock = new FakeClock();
  nats = new MemoryNats(clock);
  bucket = nats.connect();
  fencedCount = 0;
  membership = { guard: undefined, isNatsAway: false, lostCount: 0, onFenced: () => fencedCount++ };
  store = new ClusterStore({ bucket, membership, clock });
  await join("one");
});

async function join(id: string): Promise<void> {
  const [revision = 0] = await bucket.write([{ key: `life/${id}`, value: id }], { timeoutMs: 1000 });
  membership.guard = { key: `life/${id}`, revision };
}

async function pass(durationMs: number): Promise<void> {
  await untilSettled();
  for (let passedMs = 0; passedMs < durationMs; passedMs += STEP_MS) {
    clock.advance(STEP_MS);
    await untilSettled();
  }
}

/** "waiting", "written", or the code of the error. */
function write(changes: Record<string, string | undefined>): { outcome: string } {
  const result = { outcome: "waiting" };
  const settle = async (): Promise<void> => {
    try {
      await store.write(Object.entries(changes).map(([key, value]) => ({ key, value })));
      result.outcome = "written";
    } catch (error) {
      result.outcome = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    }
  };
  void settle();
  return result;
}

describe("writing", () => {
  test("puts and removes records, and counts those that are there", async () => {
    const first = write({ "session/a": "1", "player/a/g": "2" });
    await pass(0);
    expect(first.outcome).toBe("written");
    expect(store.recordCount).toBe(2);
    write({ "session/a": "3", "player/a/g": undefined, "track/a/g": undefined });
    await pass(0);
    expect(nats.value("session/a")).toBe("3");
    expect(nats.value("player/a/g")).toBeUndefined();
    expect(store.recordCount).toBe(1);
  });

  test("the last change for a key counts", async () => {
    const changes = [
      { key: "session/a", value: "1" },
      { key: "session/a", value: "2" },
    ];
    await store.write(changes);
    expect(nats.value("session/a")).toBe("2");
    expect(store.recordCount).toBe(1);
  });

  test("is repeated until it is answered, also when it had been written", async () => {
    bucket.answersToLose = 2;
    const result = write({ "session/a": "1" });
    await pass(4000);
    expect(result.outcome).toBe("waiting");
    await pass(500);
    expect(result.outcome).toBe("written");
    expect(store.recordCount).toBe(1);
  });

  test("waits for NATS while the machine holds its lease, and fails when it has lost it", async () => {
    bucket.cut();
    const result = write({ "session/a": "1" });
    await pass(5000);
    expect(result.outcome).toBe("waiting");
    membership.lostCount++;
    membership.guard = undefined;
    await pass(250);
    expect(result.outcome).toBe("cluster-fenced");
    expect(fencedCount).toBe(0);
  });

  test("is not carried over to the next id of the machine", async () => {
    bucket.cut();
    const result = write({ "session/a": "1" });
    await pass(1000);
    bucket.restore();
    membership.lostCount++;
    await join("two");
    await pass(1000);
    expect(result.outcome).toBe("cluster-fenced");
    expect(nats.value("session/a")).toBeUndefined();
  });

  test("fails at once when the guard is void, after the membership was told", async () => {
    await nats.connect().write([{ key: "life/one", value: undefined }], { timeoutMs: 1000 });
    const result = write({ "session/a": "1" });
    await pass(0);
    expect(result.outcome).toBe("cluster-fenced");
    expect(fencedCount).toBe(1);
    expect(nats.value("session/a")).toBeUndefined();
  });

  test("waits for the machine to join", async () => {
    const { guard } = membership;
    membership.guard = undefined;
    const result = write({ "session/a": "1" });
    await pass(10_000);
    expect(result.outcome).toBe("waiting");
    membership.guard = guard;
    await pass(250);
    expect(result.outcome).toBe("written");
  });

  test("fails for now when NATS is away for all, and works when it is back", async () => {
    nats.goAway();
    const first = write({ "session/a": "1" });
    await pass(1000);
    membership.isNatsAway = true;
    await pass(250);
    expect(first.outcome).toBe("state-unwritable");
    nats.comeBack();
    membership.isNatsAway = false;
    const second = write({ "session/a": "1" });
    await pass(0);
    expect(second.outcome).toBe("written");
  });

  test("passes on that the bucket is full", async () => {
    nats.isFull = true;
    const result = write({ "session/a": "1" });
    await pass(0);
    expect(result.outcome).toBe("state-full");
    expect(store.recordCount).toBe(0);
  });

  test("ends when the store is closed", async () => {
    bucket.cut();
    const result = write({ "session/a": "1" });
    await store.close();
    await pass(250);
    expect(result.outcome).toBe("state-unwritable");
  });
});

describe("bounds", () => {
  beforeEach(() => {
    store = new ClusterStore({ bucket, membership, clock, limits: { recordsMax: 2, bytesMax: 40, valueBytesMax: 20 } });
  });

  test("a value that is too large is refused, one of just that size is not", async () => {
    const small = write({ "session/a": "x".repeat(20) });
    await pass(0);
    const large = write({ "session/a": "x".repeat(21) });
    await pass(0);
    expect([small.outcome, large.outcome]).toEqual(["written", "state-full"]);
  });

  test("too many records and bytes are refused, removals are not", async () => {
    write({ "session/a": "1", "session/b": "2" });
    await pass(0);
    const third = write({ "session/c": "3" });
    await pass(0);
    expect(third.outcome).toBe("state-full");
    const large = write({ "session/a": "x".repeat(15), "session/b": "x".repeat(15) });
    await pass(0);
    expect(large.outcome).toBe("state-full");
    const exchange = write({ "session/a": undefined, "session/c": "3" });
    await pass(0);
    expect(exchange.outcome).toBe("written");
  });

  test("records of a session that is given away, or of a lost id, no longer count", async () => {
    write({ "session/a": "1", "session/b": "2" });
    await pass(0);
    store.forget(["session/a"]);
    expect(store.recordCount).toBe(1);
    membership.lostCount++;
    expect(store.recordCount).toBe(0);
    const result = write({ "session/c": "3", "session/d": "4" });
    await pass(0);
    expect(result.outcome).toBe("written");
  });
});

describe("reading", () => {
  const atLeast = { key: "owner/a", revision: 1 };

  test("a session has all its records by key, without that of its owner and those of other sessions", async () => {
    const keys = [
      "owner/a",
      "session/a",
      "message/a/2",
      "message/a/1",
      "kept/a/g/p",
      "session/b",
      "player/b/a",
      "life/a",
    ];
    await bucket.write(
      [...keys, "track/a/g"].map((key) => ({ key, value: key })),
      { timeoutMs: 1000 },
    );
    await bucket.write([{ key: "track/a/g", value: undefined }], { timeoutMs: 1000 });
    const read = ["kept/a/g/p", "message/a/1", "message/a/2", "session/a"];
    expect(await store.readSession("a", atLeast)).toEqual(read.map((key) => ({ key, value: key })));
    expect(await store.readAll()).toEqual([]);
  });

  test("an id that is a pattern reads nothing", async () => {
    await bucket.write([{ key: "session/a", value: "1" }], { timeoutMs: 1000 });
    for (const id of ["*", ">", "a/>", ""]) expect(await store.readSession(id, atLeast)).toEqual([]);
  });
});

describe("reading a session", () => {
  test("waits for what this machine has written last, which may be newer than what is asked for", async () => {
    const asked: BucketGuard[] = [];
    const read = bucket.read.bind(bucket);
    bucket.read = (patterns: readonly string[], options?: { readonly atLeast: BucketGuard }) => {
      if (options !== undefined) asked.push(options.atLeast);
      return read(patterns);
    };
    write({ "session/a": "1" });
    await pass(0);
    const revision = nats.records.get("session/a")?.revision ?? 0;
    const older = { key: "life/one", revision: 1 };
    const newer = { key: "life/one", revision: revision + 7 };

    void store.readSession("a", older).catch(() => undefined);
    void store.readSession("a", newer).catch(() => undefined);
    await pass(31_000);
    void store.readSession("a", older).catch(() => undefined);
    await pass(0);

    expect(asked).toEqual([{ key: "session/a", revision }, newer, older]);
  });
});
