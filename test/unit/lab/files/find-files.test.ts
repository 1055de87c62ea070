import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { drawFiles, findFiles } from "../../../../lab/files/find-files.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-find-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

test("files are found below the folder in the order of their paths, without links and hidden files", async () => {
  mkdirSync(join(folder, "b"));
  for (const name of ["c.mp3", "b/z.ogg", "b/a.flac", ".hidden", "a b.wav"]) writeFileSync(join(folder, name), "");
  symlinkSync(folder, join(folder, "b", "loop"));
  symlinkSync(join(folder, "c.mp3"), join(folder, "d.mp3"));
  expect(await findFiles(folder)).toEqual(["a b.wav", "b/a.flac", "b/z.ogg", "c.mp3"]);
});

test("a seed draws the same files again, in their order, and another seed others", () => {
  const files = Array.from({ length: 100 }, (_, index) => `file ${String(index).padStart(2, "0")}`);
  const drawn = drawFiles(files, { count: 10, seed: 1 });
  expect(new Set(drawn).size).toBe(10);
  expect(drawn).toEqual(drawn.toSorted());
  expect(drawFiles(files, { count: 10, seed: 1 })).toEqual(drawn);
  expect(drawFiles(files, { count: 10, seed: 2 })).not.toEqual(drawn);
  expect(drawFiles(files, { count: 100, seed: 2 })).toEqual(files);
});
