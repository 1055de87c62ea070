import { beforeEach, describe, expect, test } from "vitest";
import type { KeptValue } from "../../../../src/bridge/plugin-messages.ts";
import { KeptValues } from "../../../../src/control/plugins/kept-values.ts";
import { createLogger } from "../../../../src/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";

let clock: FakeClock;
let lines: string[];
let written: (readonly KeptValue[])[];
let onDisk: readonly KeptValue[];
/** Waited for by whoever writes. */
let disk: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  [lines, written, onDisk] = [[], [], []];
  disk = Promise.resolve();
});

function create({ hasFile = true } = {}): KeptValues {
  const file = {
    read: async () => onDisk,
    write: (values: readonly KeptValue[]) => {
      written.push(values);
      return disk;
    },
  };
  const logger = createLogger((_level, message) => lines.push(message));
  return new KeptValues({ name: "songs", file: hasFile ? file : undefined, clock, logger });
}

function value(key: string, json = '"x"', untilMs = Number.POSITIVE_INFINITY): KeptValue {
  return { cache: "ids", key, json, untilMs };
}

const keysOf = (values: readonly KeptValue[]) => values.map(({ key }) => key);

describe("what is kept", () => {
  test("is there until its time is over", () => {
    const kept = create();
    kept.keep(value("a", "1", clock.epochMs() + 100));
    kept.keep(value("b"));
    expect(keysOf(kept.all)).toEqual(["a", "b"]);
    clock.advance(100);
    expect(keysOf(kept.all)).toEqual(["b"]);
  });

  test("is what came last under a name, and nothing once it is forgotten", () => {
    const kept = create();
    kept.keep(value("a", "1"));
    kept.keep(value("a", "2"));
    kept.keep({ ...value("a", "3"), cache: "others" });
    expect(kept.all.map(({ json }) => json)).toEqual(["2", "3"]);
    kept.forget({ cache: "ids", key: "a" });
    expect(kept.all.map(({ json }) => json)).toEqual(["3"]);
  });

  test("has 64 KiB a value at most: a larger one is left out, which is told once", () => {
    const kept = create();
    const largest = "x".repeat(64 * 1024 - "idsa".length);
    kept.keep(value("a", largest));
    for (const key of ["b", "c"]) kept.keep(value(key, `${largest}x`));
    expect(keysOf(kept.all)).toEqual(["a"]);
    expect(lines).toEqual(["a value of a plugin is too large to be kept"]);
  });

  test("has 1 MiB and 2,000 values in all: the oldest go", () => {
    const kept = create();
    for (let index = 0; index < 20; index++) kept.keep(value(`large ${index}`, "x".repeat(60_000)));
    expect(keysOf(kept.all)).toEqual(Array.from({ length: 17 }, (_, index) => `large ${index + 3}`));
    for (let index = 0; index < 2001; index++) kept.keep(value(`${index}`, "1"));
    expect(kept.all).toHaveLength(2000);
    expect(kept.all[0]?.key).toBe("1");
  });
});

describe("the file", () => {
  test("is read into it, but nothing that is newer is replaced", async () => {
    onDisk = [value("a", "old"), value("b", "old")];
    const kept = create();
    kept.keep(value("a", "new"));
    await kept.read();
    expect(kept.all.map(({ key, json }) => [key, json])).toEqual([
      ["a", "new"],
      ["b", "old"],
    ]);
  });

  test("is written once for what comes within a second", async () => {
    const kept = create();
    kept.keep(value("a"));
    clock.advance(999);
    kept.keep(value("b"));
    kept.forget({ cache: "ids", key: "a" });
    expect(written).toHaveLength(0);
    clock.advance(1);
    await settle();
    expect(written.map(keysOf)).toEqual([["b"]]);
    kept.keep(value("c"));
    clock.advance(1000);
    await settle();
    expect(written.map(keysOf)).toEqual([["b"], ["b", "c"]]);
  });

  test("is not written where nothing has changed", async () => {
    const kept = create();
    kept.forget({ cache: "ids", key: "a" });
    kept.keep(value("a", "x".repeat(100_000)));
    clock.advance(5000);
    await kept.close();
    expect(written).toEqual([]);
  });

  test("is written by one at a time, and at the end what was not written yet", async () => {
    let finish = (): void => undefined;
    disk = new Promise((resolve) => {
      finish = resolve;
    });
    const kept = create();
    kept.keep(value("a"));
    clock.advance(1000);
    await settle();
    kept.keep(value("b"));
    const closed = kept.close();
    await settle();
    expect(written.map(keysOf)).toEqual([["a"]]);
    finish();
    await closed;
    expect(written.map(keysOf)).toEqual([["a"], ["a", "b"]]);
    expect(clock.pendingCount).toBe(0);
  });

  test("need not be there", async () => {
    const kept = create({ hasFile: false });
    await kept.read();
    kept.keep(value("a"));
    expect(clock.pendingCount).toBe(0);
    await kept.close();
    expect(keysOf(kept.all)).toEqual(["a"]);
  });
});
