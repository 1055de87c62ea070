import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FileWatch, type FileWatchOptions } from "../../../src/lib/file-watch.ts";
import { FakeClock } from "../../support/fake-clock.ts";

let folder: string;
let clock: FakeClock;
let changes: number;
let watch: FileWatch | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-watch-"));
  clock = new FakeClock();
  changes = 0;
});

afterEach(() => {
  watch?.close();
  rmSync(folder, { recursive: true });
});

function observe(path: string, options: Partial<FileWatchOptions> = {}): void {
  watch = new FileWatch({ paths: [path], clock, onChange: () => changes++, ...options });
}

/** Advances the time until there are that many changes; each poll of the disk takes real time. */
async function untilChanged(count: number): Promise<void> {
  const observe = () => {
    clock.advance(2000);
    return changes;
  };
  await expect.poll(observe).toBe(count);
}

test("a folder of secrets that an orchestrator swaps by a link is noticed", async () => {
  for (const version of ["1", "2"]) {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, "key"), "same");
  }
  symlinkSync("1", join(folder, "..data"));
  symlinkSync("..data/key", join(folder, "key"));
  observe(join(folder, "key"));
  symlinkSync("2", join(folder, "..fresh"));
  renameSync(join(folder, "..fresh"), join(folder, "..data"));
  await untilChanged(1);
});

test("a file that becomes readable is noticed, though its content is the same", async () => {
  const path = join(folder, "key");
  writeFileSync(path, "x", { mode: 0o000 });
  observe(path);
  chmodSync(path, 0o600);
  await untilChanged(1);
});

test("a file that cannot be accessed is treated like a missing one", async () => {
  const path = join(folder, "loop");
  symlinkSync(path, path);
  observe(path);
  rmSync(path);
  writeFileSync(path, "x");
  await untilChanged(1);
});

test("a share that does not answer is asked once, and its files one after the other", async () => {
  const asked: string[] = [];
  const stat = (path: string) => {
    asked.push(path);
    return new Promise<never>(() => undefined);
  };
  observe("", { paths: [join(folder, "a"), join(folder, "b")], stat });
  for (let count = 0; count < 5; count++) clock.advance(2000);
  expect(asked).toEqual([join(folder, "a")]);
});
