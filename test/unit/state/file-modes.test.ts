import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tightenModes } from "../../../src/state/file-modes.ts";

let path: string;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "tonearm-modes-"));
  await mkdir(join(path, "records"));
  await writeFile(join(path, "key"), "x");
  await chmod(path, 0o750);
  await chmod(join(path, "records"), 0o701);
  await chmod(join(path, "key"), 0o644);
});

afterEach(() => rm(path, { recursive: true }));

async function modes(): Promise<readonly number[]> {
  const names = ["", "records", "key"];
  return await Promise.all(names.map(async (name) => (await stat(join(path, name))).mode & 0o777));
}

test("records and key are closed to group and others; the folder around them is left as it is", async () => {
  expect(await tightenModes(path)).toEqual([]);
  expect(await modes()).toEqual([0o750, 0o700, 0o600]);
});

test.each([
  ["refuses", () => Promise.reject(new Error("EPERM"))],
  ["ignores", () => Promise.resolve()],
])("what stays open is told where the file system %s the change", async (_, change) => {
  expect(await tightenModes(path, change)).toEqual([join(path, "records"), join(path, "key")]);
});

test("what is closed already is left alone, and a missing key is none that is open", async () => {
  await tightenModes(path);
  await rm(join(path, "key"));
  const changed: string[] = [];
  expect(await tightenModes(path, async (one) => void changed.push(one))).toEqual([]);
  expect(changed).toEqual([]);
});
