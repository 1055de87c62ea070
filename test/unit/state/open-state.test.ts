import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Secret } from "../../../src/config/keys/secret.ts";
import { type Database, missing, type OpenDatabase, openLevel } from "../../../src/state/database.ts";
import type { StateRecord } from "../../../src/state/state-store.ts";
import { StateFolder } from "../../support/state-folder.ts";
import { type StateProcess, StateProgram } from "../../support/state-process.ts";

const RECORDS: readonly StateRecord[] = Array.from({ length: 40 }, (_, index) => ({
  key: `player/${10 + index}`,
  value: `the token of ${index}: ${"secret ".repeat(20)}`,
}));

let folder: StateFolder;

beforeEach(async () => {
  folder = await StateFolder.create();
});

afterEach(() => folder.close());

describe("a folder of the state", () => {
  test("a new one is empty, and only its owner may read it or its key", async () => {
    const store = await folder.store();
    expect(await store.readAll()).toEqual([]);
    const modes = await Promise.all(
      ["", "records", "key", "holder"].map(async (name) => (await stat(join(folder.path, name))).mode & 0o777),
    );
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
    expect((await readFile(join(folder.path, "key"))).length).toBe(32);
    expect(folder.lines).toEqual([]);
  });

  test("modes that let others in are tightened, also those of a copy from a backup", async () => {
    await folder.fill(RECORDS);
    const paths = ["records", "key"].map((name) => join(folder.path, name));
    await Promise.all(paths.map((path) => chmod(path, 0o777)));
    expect((await folder.find()).records).toEqual(RECORDS);
    const modes = await Promise.all(paths.map(async (path) => (await stat(path)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o600]);
    expect(folder.lines).toEqual([]);
  });

  test("what was written is found after the store was closed, and by every later start", async () => {
    await folder.fill(RECORDS);
    expect(await folder.find()).toEqual({ records: RECORDS, setAside: undefined });
    expect(await folder.find()).toEqual({ records: RECORDS, setAside: undefined });
    expect(folder.lines).toEqual([]);
  });

  test("values are nowhere on disk in plain text, keys are", async () => {
    await folder.fill(RECORDS);
    await folder.find();
    const content = await folder.content();
    expect(content).not.toContain("secret");
    expect(content).not.toContain("token");
    expect(content).toContain("player/10");
  });

  test("with a configured key no key is on disk, and only that key opens the state", async () => {
    const key = new Secret("a long text of an operator");
    await folder.fill(RECORDS, { key });
    expect(await readdir(folder.path)).not.toContain("key");
    expect(await folder.content()).not.toContain("operator");
    expect((await folder.find({ key })).records).toEqual(RECORDS);
    expect(await folder.find({ key: new Secret("another text") })).toMatchObject({
      records: [],
      setAside: { reason: "other-key" },
    });
  });
});

describe("state that cannot be used", () => {
  beforeEach(async () => {
    await folder.fill(RECORDS.slice(0, 20));
    // A second start writes the first records into a table, and later ones into a log.
    await folder.fill(RECORDS.slice(20));
  });

  /** Expects an empty store, the old files under another name, and one line about it. */
  async function expectSetAside(reason: string): Promise<void> {
    const { records, setAside } = await folder.find();
    expect(records).toEqual([]);
    expect(setAside?.reason).toBe(reason);
    expect(await readdir(folder.path)).toContain(basename(setAside?.path ?? ""));
    expect(folder.lines).toEqual([expect.stringMatching(/^error: state could not be read: .*; starting without it$/)]);
    await folder.fill(RECORDS);
    expect(await folder.find()).toEqual({ records: RECORDS, setAside: undefined });
  }

  async function file(suffix: string): Promise<string> {
    const found = (await folder.files()).find((path) => path.endsWith(suffix));
    if (found === undefined) throw new Error(`there is no file ${suffix}`);
    return found;
  }

  async function flip(path: string, share: number): Promise<void> {
    const bytes = await readFile(path);
    const at = Math.floor(bytes.length * share);
    bytes.writeUInt8((bytes[at] ?? 0) ^ 0xff, at);
    await writeFile(path, bytes);
  }

  test("that of a newer version is set aside", async () => {
    const database = await openLevel(join(folder.path, "records"));
    await database.write([{ key: "!version", value: Buffer.from('{"version":2}') }], { isSynced: true });
    await database.close();
    await expectSetAside("newer");
  });

  test.each([0.2, 0.5, 0.8])("a flipped byte at %d of a table sets all of it aside", async (share) => {
    await flip(await file(".ldb"), share);
    await expectSetAside("damaged");
  });

  test("a flipped byte in the middle of a log sets all of it aside", async () => {
    const store = await folder.store();
    for (const record of RECORDS) await store.write([{ ...record, value: "x".repeat(2000) }]);
    await store.close();
    await flip(await file(".log"), 0.5);
    await expectSetAside("damaged");
  });

  test.each([".ldb", ".log", "CURRENT", "MANIFEST-"])("a deleted file *%s sets all of it aside", async (name) => {
    const path = (await folder.files()).find((one) => one.includes(name));
    await rm(path ?? "");
    await expectSetAside("damaged");
  });

  test("a table that was cut sets all of it aside", async () => {
    const path = await file(".ldb");
    await truncate(path, Math.floor((await stat(path)).size / 2));
    await expectSetAside("damaged");
  });

  test("a missing record sets all of it aside", async () => {
    const database = await openLevel(join(folder.path, "records"));
    await database.write([{ key: "rplayer/15", value: undefined }], { isSynced: true });
    await database.close();
    await expectSetAside("damaged");
  });

  test("a record that is older than the others sets all of it aside", async () => {
    const database = await openLevel(join(folder.path, "records"));
    let before: Uint8Array | undefined;
    for await (const entries of database.entries()) before ??= entries.find(([key]) => key === "rplayer/15")?.[1];
    await database.close();
    await folder.fill([{ key: "player/15", value: "newer" }]);
    const again = await openLevel(join(folder.path, "records"));
    await again.write([{ key: "rplayer/15", value: before }], { isSynced: true });
    await again.close();
    await expectSetAside("damaged");
  });

  test("a value under another record's key sets all of it aside", async () => {
    const database = await openLevel(join(folder.path, "records"));
    const values = new Map<string, Uint8Array>();
    for await (const entries of database.entries()) for (const [key, value] of entries) values.set(key, value);
    const swapped = [
      { key: "rplayer/15", value: values.get("rplayer/16") },
      { key: "rplayer/16", value: values.get("rplayer/15") },
    ];
    await database.write(swapped, { isSynced: true });
    await database.close();
    await expectSetAside("damaged");
  });

  test("records are decrypted while they are read: a damaged one ends the reading", async () => {
    const database = await openLevel(join(folder.path, "records"));
    await database.write([{ key: "rplayer/12", value: Buffer.alloc(100) }], { isSynced: true });
    await database.close();
    const read: string[] = [];
    // Entries one by one.
    const openDatabase: OpenDatabase = async (path) => {
      const level = await openLevel(path);
      async function* entries(): ReturnType<Database["entries"]> {
        for await (const some of level.entries()) {
          for (const entry of some) {
            read.push(entry[0]);
            yield [entry];
          }
        }
      }
      return { entries, write: (...args) => level.write(...args), close: () => level.close() };
    };
    expect(await folder.find({ openDatabase })).toMatchObject({ records: [], setAside: { reason: "damaged" } });
    expect(read).toEqual(["!total", "!version", "rplayer/10", "rplayer/11", "rplayer/12"]);
  });

  test("without its key file all of it is set aside, and a new key is made", async () => {
    await rm(join(folder.path, "key"));
    await expectSetAside("other-key");
  });

  test("with a key file of another length all of it is set aside, and the file is kept", async () => {
    await writeFile(join(folder.path, "key"), "short");
    await expectSetAside("other-key");
    expect(await readFile(join(folder.path, "key.broken"), "utf8")).toBe("short");
  });

  test("without any of its records, which an operator may remove, it starts empty and says nothing", async () => {
    await rm(join(folder.path, "records"), { recursive: true });
    expect(await folder.find()).toEqual({ records: [], setAside: undefined });
    expect(folder.lines).toEqual([]);
  });

  test("the last three sets of files that could not be used are kept, and every copy of the operator", async () => {
    const paths = ["records-2026-11-20"];
    await mkdir(join(folder.path, "records-2026-11-20"));
    for (let round = 0; round < 5; round++) {
      folder.clock.advance(60_000);
      await rm(await file("CURRENT"));
      paths.push(basename((await folder.find()).setAside?.path ?? ""));
    }
    const names = (await readdir(folder.path)).filter((name) => name.startsWith("records-"));
    expect(names.toSorted()).toEqual([paths[0], ...paths.slice(3)]);
  });
});

describe("a folder in which nothing can be stored", () => {
  async function expectOff(reason: RegExp): Promise<void> {
    expect(await folder.open()).toEqual({ kind: "off", reason: expect.stringMatching(reason) });
    expect(folder.lines).toEqual([expect.stringMatching(/^warn: state cannot be stored: .*tonearm\.state\.enabled/)]);
  }

  test("one below a file is off, with the reason", async () => {
    await writeFile(folder.path, "");
    await expectOff(/ENOTDIR|EEXIST/);
  });

  test("one on a disk that takes no folders is off, with the reason", async () => {
    const path = "/proc/tonearm-state";
    const opened = await folder.open({ path });
    expect(opened).toEqual({ kind: "off", reason: expect.stringContaining(path) });
    expect(folder.lines).toHaveLength(1);
  });

  const asUser = test.skipIf(process.getuid?.() === 0); // root may write everywhere
  asUser("one that is read-only is off, and stays as it is", async () => {
    await folder.fill(RECORDS);
    await chmod(join(folder.path, "records"), 0o500);
    await expectOff(/Permission denied/);
    await chmod(join(folder.path, "records"), 0o700);
    expect((await folder.find()).records).toEqual(RECORDS);
  });

  test.each([
    [{ code: "ERR_MODULE_NOT_FOUND" }, "is not installed (`npm install classic-level` in the node's folder)"],
    [{ message: "No native build was found\nmore" }, "cannot be loaded: No native build was found"],
  ])("a database that does not load (%j) is off, with the reason", async (cause, reason) => {
    expect(await folder.open({ openDatabase: () => Promise.reject(missing(cause)) })).toEqual({
      kind: "off",
      reason: `the optional package classic-level ${reason}`,
    });
  });
});

describe("a folder that another process has", () => {
  let program: StateProgram;

  beforeAll(async () => {
    program = await StateProgram.build();
  });

  afterAll(() => program.close());

  async function holding(): Promise<StateProcess> {
    return await program.start(folder.path);
  }

  test("the start fails, and names the process and the key to change", async () => {
    const { pid } = await holding();
    const error = await folder.open().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "state-in-use" });
    expect(String(error)).toMatch(new RegExp(`in use by process ${pid} on \\S+, since .*tonearm\\.state\\.path`));
    expect(folder.lines).toEqual([]);
  });

  test("without the file `holder` the message does without a name", async () => {
    await holding();
    await rm(join(folder.path, "holder"));
    await expect(folder.open()).rejects.toThrow(/in use by another process: stop/);
    await writeFile(join(folder.path, "holder"), '{"pid":1,"host":"\\u001b[31m","since":"2026"}');
    await expect(folder.open()).rejects.toThrow(/in use by another process: stop/);
  });

  test("it is free as soon as that process is killed", async () => {
    const other = await holding();
    await other.kill();
    expect(await folder.find()).toEqual({ records: [], setAside: undefined });
  });

  test("a process that is killed while it writes loses nothing that was acknowledged, and leaves nothing by halves", async () => {
    let next = 0;
    for (const writes of [1, 7, 40, 130, 300, 77]) {
      const writer = await program.start(folder.path, next);
      await writer.writes(writes);
      await writer.kill();
      const { records, setAside } = await folder.find();
      expect(setAside).toBeUndefined();
      const values = new Map(records.map(({ key, value }) => [key, Number(value.split(" ")[0])]));
      for (const [key, count] of values) expect(values.get(key.replace(/^\w+/, "other"))).toBe(count);
      const newest = Math.max(...values.values());
      expect(newest).toBeGreaterThanOrEqual(writer.acknowledged);
      for (let count = newest; count > Math.max(-1, newest - 50); count--) {
        expect(values.get(`one/${count % 50}`)).toBe(count);
      }
      next = newest + 1;
    }
    expect(next).toBeGreaterThan(500);
  });

  test("a copy of the folder opens elsewhere: nothing binds it to its place", async () => {
    await folder.fill(RECORDS);
    const copy = await StateFolder.create();
    await mkdir(join(copy.path, "records"), { recursive: true });
    await copyFile(join(folder.path, "key"), join(copy.path, "key"));
    for (const path of await folder.files()) await copyFile(path, join(copy.path, "records", basename(path)));
    expect((await copy.find()).records).toEqual(RECORDS);
    await copy.close();
  });
});
