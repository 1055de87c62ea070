import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { syncLogs } from "../../../src/state/log-sync.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tonearm-logs-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function put(...names: readonly string[]): Promise<void> {
  for (const name of names) await writeFile(join(folder, name), "x");
}

test("every log is synced, the oldest first, one after the other, and nothing else is", async () => {
  await put("1000000.log", "000010.log", "999999.log", "000011.ldb", "LOG", "LOCK", "MANIFEST-000008");
  const calls: string[] = [];
  await syncLogs(folder, async (path) => {
    calls.push(basename(path));
    await Promise.resolve();
    calls.push("done");
  });
  expect(calls).toEqual(["000010.log", "done", "999999.log", "done", "1000000.log", "done"]);
});

test("a log that is removed meanwhile is passed over", async () => {
  await put("000010.log");
  await symlink(join(folder, "gone"), join(folder, "000009.log"));
  await syncLogs(folder);
});

test("a log that cannot be synced rejects, and no newer one is synced", async () => {
  await mkdir(join(folder, "000009.log"));
  await expect(syncLogs(folder)).rejects.toThrow(/EISDIR|EPERM/);
  await put("000010.log");
  const calls: string[] = [];
  const failing = async (path: string): Promise<void> => {
    calls.push(basename(path));
    throw new Error("EIO");
  };
  await expect(syncLogs(folder, failing)).rejects.toThrow("EIO");
  expect(calls).toEqual(["000009.log"]);
});

test("a folder that cannot be read rejects", async () => {
  await expect(syncLogs(join(folder, "missing"))).rejects.toThrow("ENOENT");
});
