import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AAC_PACKAGE, isAacInstalled } from "../../../src/lib/aac-package.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "aac-"));
  mkdirSync(join(folder, AAC_PACKAGE), { recursive: true });
  writeFileSync(join(folder, AAC_PACKAGE, "index.js"), "");
});

afterEach(() => rmSync(folder, { recursive: true }));

const resolve = (name: string): string => pathToFileURL(join(folder, name, "index.js")).href;

test("AAC can be decoded where the package and its library for the platform are installed", () => {
  mkdirSync(join(folder, `${AAC_PACKAGE}-plan9-mips`));
  expect(isAacInstalled(resolve)).toBe(true);
});

test("AAC cannot be decoded where the package has no library for the platform, or is missing", () => {
  expect(isAacInstalled(resolve)).toBe(false);
  const missing = (): string => {
    throw new Error("not found");
  };
  expect(isAacInstalled(missing)).toBe(false);
});
