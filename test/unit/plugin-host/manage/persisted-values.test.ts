import { beforeEach, describe, expect, test } from "vitest";
import type { PersistedValue } from "../../../../src/bridge/plugin-messages.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { PersistedValues } from "../../../../src/plugin-host/manage/persisted-values.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";

let clock: FakeClock;
let lines: string[];
let written: (readonly PersistedValue[])[];
let onDisk: readonly PersistedValue[];
/** Awaited by writers. */
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
  test("a persisted value exists until it expires", () => {
    const persisted = create();
    persisted.persist(value("a", "1", clock.epochMs() + 100));
    persisted.persist(value("b"));
    expect(keysOf(persisted.all)).toEqual(["a", "b"]);
    clock.advance(100);
    expect(keysOf(persisted.all)).toEqual(["b"]);
  });

  test("a persisted value is the last one under its name, and none once deleted", () => {
    const persisted = create();
    persisted.persist(value("a", "1"));
    persisted.persist(value("a", "2"));
    persisted.persist({ ...value("a", "3"), cache: "others" });
    expect(persisted.all.map(({ json }) => json)).toEqual(["2", "3"]);
    persisted.forget({ cache: "ids", key: "a" });
    expect(persisted.all.map(({ json }) => json)).toEqual(["3"]);
  });

  test("a persisted value of more than 64 KiB is left out, which is logged once", () => {
    const persisted = create();
    const largest = "x".repeat(64 * 1024 - "idsa".length);
    persisted.persist(value("a", largest));
    for (const key of ["b", "c"]) persisted.persist(value(key, `${largest}x`));
    expect(keysOf(persisted.all)).toEqual(["a"]);
    expect(lines).toEqual(["value of a plugin is too large to be persisted"]);
  });

  test("persisted values beyond 1 MiB or 2,000 in all evict the oldest", () => {
    const persisted = create();
    for (let index = 0; index < 20; index++) persisted.persist(value(`large ${index}`, "x".repeat(60_000)));
    expect(keysOf(persisted.all)).toEqual(Array.from({ length: 17 }, (_, index) => `large ${index + 3}`));
    for (let index = 0; index < 2001; index++) persisted.persist(value(`${index}`, "1"));
    expect(persisted.all).toHaveLength(2000);
    expect(persisted.all[0]?.key).toBe("1");
  });

  test("large persisted values have 2 MiB, and leave the others theirs", () => {
    const persisted = create();
    const large = (key: string, sizeBytes: number): PersistedValue => {
      return { ...value(key, "x".repeat(sizeBytes)), cache: "scripts", isLarge: true };
    };
    persisted.persist(value("login"));
    persisted.persist(large("a", 1_500_000));
    expect(keysOf(persisted.all)).toEqual(["login", "a"]);
    persisted.persist(large("b", 1_500_000));
    expect(keysOf(persisted.all)).toEqual(["login", "b"]);
    persisted.persist(large("c", 2 * 1024 * 1024));
    expect(keysOf(persisted.all)).toEqual(["login", "b"]);
    for (let index = 0; index < 20; index++) persisted.persist(value(`usual ${index}`, "x".repeat(60_000)));
    expect(keysOf(persisted.all)).toContain("b");
  });

  test("persisted values of one cache evict none of another, however many or large they are", () => {
    const persisted = create();
    persisted.persist({ ...value("login"), cache: "logins" });
    for (let index = 0; index < 20; index++) persisted.persist(value(`large ${index}`, "x".repeat(60_000)));
    for (let index = 0; index < 2001; index++) persisted.persist(value(`${index}`, "1"));
    expect(persisted.all[0]?.key).toBe("login");
    expect(persisted.all).toHaveLength(2000);
  });
});

describe("the file", () => {
  test("the file is loaded, but replaces no newer values", async () => {
    onDisk = [value("a", "old"), value("b", "old")];
    const persisted = create();
    persisted.persist(value("a", "new"));
    await persisted.read();
    expect(persisted.all.map(({ key, json }) => [key, json])).toEqual([
      ["a", "new"],
      ["b", "old"],
    ]);
  });

  test("the file is written once for all changes within a second", async () => {
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

  test("the file is not written without changes", async () => {
    const persisted = create();
    persisted.forget({ cache: "ids", key: "a" });
    persisted.persist(value("a", "x".repeat(100_000)));
    clock.advance(5000);
    await persisted.close();
    expect(written).toEqual([]);
  });

  test("the file is written by one writer at a time, and pending changes at the end", async () => {
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

  test("the file need not exist", async () => {
    const persisted = create({ hasFile: false });
    await persisted.read();
    persisted.persist(value("a"));
    expect(clock.pendingCount).toBe(0);
    await persisted.close();
    expect(keysOf(persisted.all)).toEqual(["a"]);
  });
});
