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

test.each([
  ["linux-x64-gnu", { platform: "linux", arch: "x64" }],
  ["linux-arm64-musl", { platform: "linux", arch: "arm64" }],
  ["linux-arm-gnueabihf", { platform: "linux", arch: "arm" }],
  ["darwin-arm64", { platform: "darwin", arch: "arm64" }],
  ["win32-x64-msvc", { platform: "win32", arch: "x64" }],
] as const)(
  "AAC can be decoded where the package and its library %s for the machine are installed",
  (name, machine) => {
    mkdirSync(join(folder, `${AAC_PACKAGE}-${name}`));
    expect(isAacInstalled(resolve, machine)).toBe(true);
  },
);

test.each([
  ["darwin-x64", { platform: "linux", arch: "x64" }],
  ["linux-x64-gnu", { platform: "linux", arch: "arm64" }],
  ["linux-arm64-gnu", { platform: "linux", arch: "arm" }],
] as const)("AAC cannot be decoded with the library %s of another machine", (name, machine) => {
  mkdirSync(join(folder, `${AAC_PACKAGE}-${name}`));
  expect(isAacInstalled(resolve, machine)).toBe(false);
});

test("AAC cannot be decoded where the package has no library for the platform, or is missing", () => {
  expect(isAacInstalled(resolve)).toBe(false);
  const missing = (): string => {
    throw new Error("not found");
  };
  expect(isAacInstalled(missing)).toBe(false);
});
