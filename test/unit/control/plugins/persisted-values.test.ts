import { beforeEach, describe, expect, test } from "vitest";
import type { PersistedValue } from "../../../../src/bridge/plugin-messages.ts";
import { PersistedValues } from "../../../../src/control/plugins/persisted-values.ts";
import { createLogger } from "../../../../src/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";

let clock: FakeClock;
let lines: string[];
let written: (readonly PersistedValue[])[];
let onDisk: readonly PersistedValue[];
/** Waited for by whoever writes. */
let disk: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  [lines, written, onDisk] = [[], [], []];
  disk = Promise.resolve();
});

function create({ hasFile = true } = {}): PersistedValues {
  const file = {
    read: async () => onDisk,
    write: (values: readonly PersistedValue[]) => {
      written.push(values);
      return disk;
    },
  };
  const logger = createLogger((_level, message) => lines.push(message));
  return new PersistedValues({ name: "songs", file: hasFile ? file : undefined, clock, logger });
}

function value(key: string, json = '"x"', untilMs = Number.POSITIVE_INFINITY): PersistedValue {
  return { cache: "ids", key, json, untilMs };
}

const keysOf = (values: readonly PersistedValue[]) => values.map(({ key }) => key);

describe("persisted values", () => {
  test("is there until its time is over", () => {
    const persisted = create();
    persisted.persist(value("a", "1", clock.epochMs() + 100));
    persisted.persist(value("b"));
    expect(keysOf(persisted.all)).toEqual(["a", "b"]);
    clock.advance(100);
    expect(keysOf(persisted.all)).toEqual(["b"]);
  });

  test("is what came last under a name, and nothing once it is forgotten", () => {
    const persisted = create();
    persisted.persist(value("a", "1"));
    persisted.persist(value("a", "2"));
    persisted.persist({ ...value("a", "3"), cache: "others" });
    expect(persisted.all.map(({ json }) => json)).toEqual(["2", "3"]);
    persisted.forget({ cache: "ids", key: "a" });
    expect(persisted.all.map(({ json }) => json)).toEqual(["3"]);
  });

  test("has 64 KiB a value at most: a larger one is left out, which is logged once", () => {
    const persisted = create();
    const largest = "x".repeat(64 * 1024 - "idsa".length);
    persisted.persist(value("a", largest));
    for (const key of ["b", "c"]) persisted.persist(value(key, `${largest}x`));
    expect(keysOf(persisted.all)).toEqual(["a"]);
    expect(lines).toEqual(["value of a plugin is too large to be persisted"]);
  });

  test("has 1 MiB and 2,000 values in all: the oldest go", () => {
    const persisted = create();
    for (let index = 0; index < 20; index++) persisted.persist(value(`large ${index}`, "x".repeat(60_000)));
    expect(keysOf(persisted.all)).toEqual(Array.from({ length: 17 }, (_, index) => `large ${index + 3}`));
    for (let index = 0; index < 2001; index++) persisted.persist(value(`${index}`, "1"));
    expect(persisted.all).toHaveLength(2000);
    expect(persisted.all[0]?.key).toBe("1");
  });
});

describe("the file", () => {
  test("is read into it, but nothing that is newer is replaced", async () => {
    onDisk = [value("a", "old"), value("b", "old")];
    const persisted = create();
    persisted.persist(value("a", "new"));
    await persisted.read();
    expect(persisted.all.map(({ key, json }) => [key, json])).toEqual([
      ["a", "new"],
      ["b", "old"],
    ]);
  });

  test("is written once for what comes within a second", async () => {
    const persisted = create();
    persisted.persist(value("a"));
    clock.advance(999);
    persisted.persist(value("b"));
    persisted.forget({ cache: "ids", key: "a" });
    expect(written).toHaveLength(0);
    clock.advance(1);
    await settle();
    expect(written.map(keysOf)).toEqual([["b"]]);
    persisted.persist(value("c"));
    clock.advance(1000);
    await settle();
    expect(written.map(keysOf)).toEqual([["b"], ["b", "c"]]);
  });

  test("is not written where nothing has changed", async () => {
    const persisted = create();
    persisted.forget({ cache: "ids", key: "a" });
    persisted.persist(value("a", "x".repeat(100_000)));
    clock.advance(5000);
    await persisted.close();
    expect(written).toEqual([]);
  });

  test("is written by one at a time, and at the end what was not written yet", async () => {
    let finish = (): void => undefined;
    disk = new Promise((resolve) => {
      finish = resolve;
    });
    const persisted = create();
    persisted.persist(value("a"));
    clock.advance(1000);
    await settle();
    persisted.persist(value("b"));
    const closed = persisted.close();
    await settle();
    expect(written.map(keysOf)).toEqual([["a"]]);
    finish();
    await closed;
    expect(written.map(keysOf)).toEqual([["a"], ["a", "b"]]);
    expect(clock.pendingCount).toBe(0);
  });

  test("need not be there", async () => {
    const persisted = create({ hasFile: false });
    await persisted.read();
    persisted.persist(value("a"));
    expect(clock.pendingCount).toBe(0);
    await persisted.close();
    expect(keysOf(persisted.all)).toEqual(["a"]);
  });
});
