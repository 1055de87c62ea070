import { cp, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CLOSE_MS_MAX, SYNC_DELAY_MS } from "../../../src/state/state-store.ts";
import { FaultyLevel } from "../../support/faulty-level.ts";
import { StateFolder } from "../../support/state-folder.ts";

/** Syncs of the store's logs. */
class Syncs {
  /** What the next ones wait for, and end with. */
  outcome: Promise<void> = Promise.resolve();
  readonly folders: string[] = [];
  /** Ends those that hang. */
  release = (): void => undefined;

  readonly sync = (path: string): Promise<void> => {
    this.folders.push(path);
    return this.outcome;
  };

  hang(): void {
    this.outcome = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  get count(): number {
    return this.folders.length;
  }
}

let folder: StateFolder;
let level: FaultyLevel;
let syncs: Syncs;

beforeEach(async () => {
  folder = await StateFolder.create();
  level = new FaultyLevel();
  syncs = new Syncs();
});

afterEach(() => {
  syncs.release();
  return folder.close();
});

function openStore() {
  return folder.store({ openDatabase: level.open, syncLogs: syncs.sync });
}

describe("writing", () => {
  test("records are read in the order of their keys, whatever the order of writes", async () => {
    const store = await openStore();
    await store.write([
      { key: "b", value: "two" },
      { key: "a/2", value: "" },
    ]);
    await store.write([{ key: "a/1", value: "é 🎵" }]);
    const expected = [
      { key: "a/1", value: "é 🎵" },
      { key: "a/2", value: "" },
      { key: "b", value: "two" },
    ];
    expect(await store.readAll()).toEqual(expected);
    expect(await store.readAll()).toEqual(expected);
  });

  test("the last change of a key counts, and removals remove", async () => {
    const store = await openStore();
    await store.write([
      { key: "a", value: "first" },
      { key: "a", value: "last" },
      { key: "b", value: "gone" },
      { key: "c", value: "gone, too" },
    ]);
    await store.write([
      { key: "b", value: undefined },
      { key: "never", value: undefined },
      { key: "c", value: undefined },
    ]);
    expect(await store.readAll()).toEqual([{ key: "a", value: "last" }]);
    await store.close();
    expect(await folder.find()).toEqual({ records: [{ key: "a", value: "last" }], setAside: undefined });
  });

  test("calls that overlap are carried out one after the other", async () => {
    const store = await openStore();
    const writes = Array.from({ length: 20 }, (_, index) => store.write([{ key: "a", value: `${index}` }]));
    await Promise.all([...writes, store.close()]);
    expect((await folder.find()).records).toEqual([{ key: "a", value: "19" }]);
  });

  test("equal values do not look equal on disk", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "x".repeat(64) }]);
    await store.write([{ key: "b", value: "x".repeat(64) }]);
    const log = (await folder.files()).find((path) => path.endsWith(".log")) ?? "";
    const content = await readFile(log);
    const sealed = (key: string) => content.subarray(content.indexOf(`r${key}`) + 3).subarray(28, 28 + 64);
    expect(sealed("a").equals(sealed("b"))).toBe(false);
  });
});

describe("memory", () => {
  test("records are released when they have been read", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    await folder.fill([{ key: "a", value: "1" }]);
    const store = await openStore();
    const read = async () => new WeakRef(await store.readAll());
    const records = await read();
    await new Promise(setImmediate);
    collect();
    expect(records.deref()).toBeUndefined();
  });
});

describe("the disk", () => {
  test("a write is followed by one sync, a second after the first write that it covers", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "1" }]);
    folder.clock.advance(SYNC_DELAY_MS - 1);
    await store.write([{ key: "a", value: "2" }]);
    expect(syncs.count).toBe(0);
    folder.clock.advance(1);
    expect(syncs.folders).toEqual([join(folder.path, "records")]);
    folder.clock.advance(10 * SYNC_DELAY_MS);
    await store.readAll();
    expect(syncs.count).toBe(1);
    await store.write([{ key: "a", value: "3" }]);
    folder.clock.advance(SYNC_DELAY_MS);
    expect(syncs.count).toBe(2);
  });

  test("writes do not wait for a sync, and the next sync begins a second after it", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "1" }]);
    syncs.hang();
    folder.clock.advance(SYNC_DELAY_MS);
    for (const value of ["2", "3"]) {
      await store.write([{ key: "a", value }]);
      folder.clock.advance(10 * SYNC_DELAY_MS);
    }
    expect(syncs.count).toBe(1);
    syncs.release();
    await new Promise(setImmediate);
    folder.clock.advance(SYNC_DELAY_MS - 1);
    expect(syncs.count).toBe(1);
    folder.clock.advance(1);
    expect(syncs.count).toBe(2);
  });

  test("a new database is on disk before anything is written to it", async () => {
    await openStore();
    expect(level.syncCount).toBe(1);
  });

  test("closing syncs what is not synced yet, also a write that is still under way", async () => {
    const store = await openStore();
    const write = store.write([{ key: "a", value: "1" }]);
    await store.close();
    await store.close();
    await write;
    expect(syncs.count).toBe(1);
    expect(folder.clock.pendingCount).toBe(0);
    await expect(store.write([{ key: "a", value: "2" }])).rejects.toMatchObject({ code: "state-unwritable" });
  });

  test("closing waits two seconds for a disk that hangs, and releases the folder when it no longer does", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "1" }]);
    syncs.hang();
    let isClosed = false;
    const closed = store.close().then(() => {
      isClosed = true;
    });
    folder.clock.advance(CLOSE_MS_MAX - 1);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    folder.clock.advance(1);
    await closed;
    await expect(folder.open()).rejects.toMatchObject({ code: "state-in-use" });
    syncs.release();
    await expect(store.readAll()).rejects.toMatchObject({ code: "state-unwritable" });
    expect((await folder.find()).records).toEqual([{ key: "a", value: "1" }]);
  });

  test.each(["lost", "written"] as const)(
    "after a failed write whose data was %s, the same changes can be written",
    async (fault) => {
      const store = await openStore();
      await store.write([{ key: "a", value: "1" }]);
      level.fault = fault;
      for (let attempt = 0; attempt < 3; attempt++) {
        await expect(store.write([{ key: "b", value: "2" }])).rejects.toMatchObject({
          code: "state-unwritable",
          message: expect.stringContaining("No space left on device"),
        });
      }
      level.fault = "none";
      await store.write([{ key: "b", value: "2" }]);
      const records = [
        { key: "a", value: "1" },
        { key: "b", value: "2" },
      ];
      expect(await store.readAll()).toEqual(records);
      await store.close();
      expect(await folder.find()).toEqual({ records, setAside: undefined });
    },
  );

  test("after a failed write the files are opened again, once", async () => {
    const store = await openStore();
    level.fault = "lost";
    await store.write([{ key: "a", value: "1" }]).catch(() => undefined);
    level.fault = "none";
    expect(level.openCount).toBe(1);
    for (let count = 0; count < 3; count++) await store.write([{ key: "a", value: "1" }]);
    expect(level.openCount).toBe(2);
  });

  test("while the files cannot be opened every write fails, and a later one succeeds", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "1" }]);
    level.fault = "lost";
    await store.write([{ key: "b", value: "2" }]).catch(() => undefined);
    level.isClosedOff = true;
    await expect(store.write([{ key: "b", value: "2" }])).rejects.toMatchObject({ code: "state-unwritable" });
    await expect(store.readAll()).rejects.toMatchObject({ code: "state-unwritable" });
    level.isClosedOff = false;
    level.fault = "none";
    await store.write([{ key: "b", value: "2" }]);
    expect(await store.readAll()).toHaveLength(2);
  });

  test("a failed sync is noticed by the next write, which opens the files again", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "1" }]);
    syncs.outcome = Promise.reject(new Error("EIO"));
    folder.clock.advance(SYNC_DELAY_MS);
    await syncs.outcome.catch(() => undefined);
    await store.write([{ key: "b", value: "2" }]);
    expect(level.openCount).toBe(2);
    expect(await store.readAll()).toHaveLength(2);
  });

  test("what was lost during a failure is reported, and the store is empty and works", async () => {
    const store = await openStore();
    await store.write([{ key: "a", value: "1" }]);
    level.fault = "lost";
    await store.write([{ key: "b", value: "2" }]).catch(() => undefined);
    level.fault = "none";
    await rm(folder.path, { recursive: true });
    await expect(store.write([{ key: "b", value: "2" }])).rejects.toMatchObject({ code: "state-damaged" });
    expect(await store.readAll()).toEqual([]);
    await store.write([{ key: "b", value: "2" }]);
    await store.close();
    expect((await folder.find()).records).toEqual([{ key: "b", value: "2" }]);
  });
});

test("whole files of an earlier moment are recognised after a failure, too", async () => {
  const store = await openStore();
  const [records, copy] = [join(folder.path, "records"), join(folder.path, "copy")];
  await store.write([{ key: "a", value: "1" }]);
  await cp(records, copy, { recursive: true });
  await store.write([{ key: "a", value: "2" }]);
  level.fault = "lost";
  await store.write([{ key: "a", value: "3" }]).catch(() => undefined);
  level.fault = "none";
  await rm(records, { recursive: true });
  await cp(copy, records, { recursive: true });
  await expect(store.write([{ key: "a", value: "3" }])).rejects.toMatchObject({ code: "state-damaged" });
  await store.write([{ key: "a", value: "3" }]);
  expect(await store.readAll()).toEqual([{ key: "a", value: "3" }]);
});

describe("bounds", () => {
  const limits = { recordsMax: 3, bytesMax: 1000, valueBytesMax: 400 };
  const full = { code: "state-full" };
  const value = "x".repeat(100);

  test("more records than allowed are refused as a whole, and the store works", async () => {
    const store = await folder.store({ limits });
    const three = ["a", "b", "c"].map((key) => ({ key, value }));
    await store.write(three);
    await expect(
      store.write([
        { key: "a", value: "new" },
        { key: "d", value },
      ]),
    ).rejects.toMatchObject(full);
    expect(await store.readAll()).toEqual(three);
    await store.write([
      { key: "d", value },
      { key: "a", value: undefined },
    ]);
    expect(await store.readAll()).toHaveLength(3);
  });

  test("the bytes of all records and of one value are bounded, to the byte", async () => {
    const store = await folder.store({ limits });
    await store.write([{ key: "a", value: "é".repeat(200) }]);
    await expect(store.write([{ key: "b", value: `${"é".repeat(200)}x` }])).rejects.toMatchObject(full);
    // A key of 1 and a seal of 28 bytes each.
    await store.write([{ key: "b", value: "x".repeat(400) }]);
    await expect(store.write([{ key: "c", value: "x".repeat(114) }])).rejects.toMatchObject(full);
    await store.write([{ key: "c", value: "x".repeat(113) }]);
    await store.write([{ key: "c", value: "y".repeat(113) }]);
    await store.close();
    expect((await folder.find({ limits })).records).toHaveLength(3);
  });

  test("files with more than is ever written are set aside", async () => {
    await folder.fill(["a", "b", "c", "d"].map((key) => ({ key, value })));
    expect(await folder.find({ limits })).toMatchObject({ records: [], setAside: { reason: "damaged" } });
    await folder.fill([{ key: "a", value: "x".repeat(401) }]);
    expect(await folder.find({ limits })).toMatchObject({ records: [], setAside: { reason: "damaged" } });
  });

  test.each(["", "a b", "ä", "x".repeat(501)])("the key %j is refused", async (key) => {
    const store = await openStore();
    await expect(store.write([{ key, value: "1" }])).rejects.toMatchObject({ code: "internal" });
    await store.write([{ key: "x".repeat(500), value: "1" }]);
  });

  test("days of writing the same records leave no more on disk than some megabytes", async () => {
    const store = await openStore();
    let largestBytes = 0;
    for (let round = 0; round < 400; round++) {
      const batch = Array.from({ length: 50 }, (_, index) => ({
        key: `player/${index}`,
        value: `${round}`.repeat(700),
      }));
      await store.write(batch);
      if (round % 20 === 0) largestBytes = Math.max(largestBytes, await usedBytes());
    }
    // 40 MB were written. Writers wait for LevelDB to merge its tables at twelve of them, of 1 MB each.
    expect(largestBytes).toBeLessThan(24 * 1024 * 1024);
  });

  async function usedBytes(): Promise<number> {
    const names = await readdir(join(folder.path, "records"));
    const sizes = names.map((name) =>
      stat(join(folder.path, "records", name)).then(
        ({ size }) => size,
        () => 0, // compacted away
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }
});
