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
  ["linux-x64-gnu", { platform: "linux", arch: "x64", maps: "" }],
  ["linux-arm64-musl", { platform: "linux", arch: "arm64", maps: "" }],
  ["linux-arm-gnueabihf", { platform: "linux", arch: "arm", maps: "" }],
  ["darwin-arm64", { platform: "darwin", arch: "arm64", maps: "" }],
  ["win32-x64-msvc", { platform: "win32", arch: "x64", maps: "" }],
] as const)(
  "AAC can be decoded where the package and its library %s for the machine are installed",
  (name, machine) => {
    mkdirSync(join(folder, `${AAC_PACKAGE}-${name}`));
    expect(isAacInstalled(resolve, machine)).toBe(true);
  },
);

test.each([
  ["darwin-x64", { platform: "linux", arch: "x64", maps: "" }],
  ["linux-x64-gnu", { platform: "linux", arch: "arm64", maps: "" }],
  ["linux-arm64-gnu", { platform: "linux", arch: "arm", maps: "" }],
] as const)("AAC cannot be decoded with the library %s of another machine", (name, machine) => {
  mkdirSync(join(folder, `${AAC_PACKAGE}-${name}`));
  expect(isAacInstalled(resolve, machine)).toBe(false);
});

const GLIBC = "7f01-7f02 r-xp 00000000 08:01 1319 /usr/lib/x86_64-linux-gnu/libc.so.6\n";
const OLD_GLIBC = "7f01-7f02 r-xp 00000000 08:01 1319 /lib/x86_64-linux-gnu/libc-2.31.so (deleted)\n7f03-7f04 rw-p 0\n";
const MUSL = "7f01-7f02 r-xp 00000000 08:01 1319 /lib/ld-musl-x86_64.so.1\n";
const OTHER_MUSL = "7f01-7f02 r-xp 00000000 08:01 1319 /usr/lib/libc.so\n";

test.each([
  ["gnu", GLIBC, true],
  ["gnu", OLD_GLIBC, true],
  ["gnu", MUSL, false],
  ["gnu", OTHER_MUSL, false],
  ["musl", GLIBC, false],
  ["musl", OLD_GLIBC, false],
  ["musl", MUSL, true],
  ["musl", OTHER_MUSL, true],
])("whether AAC can be decoded with a library for %s is up to the C library: %s", (name, maps, isInstalled) => {
  mkdirSync(join(folder, `${AAC_PACKAGE}-linux-x64-${name}`));
  expect(isAacInstalled(resolve, { platform: "linux", arch: "x64", maps })).toBe(isInstalled);
});

test.runIf(process.platform === "linux")("of libraries for both C libraries, this machine's is known", () => {
  const found = ["gnu", "musl"].filter((name) => {
    const library = join(folder, `${AAC_PACKAGE}-linux-${process.arch}-${name}`);
    mkdirSync(library);
    const isInstalled = isAacInstalled(resolve);
    rmSync(library, { recursive: true });
    return isInstalled;
  });
  expect(found).toHaveLength(1);
});

test("AAC cannot be decoded where the package has no library for the platform, or is missing", () => {
  expect(isAacInstalled(resolve)).toBe(false);
  const missing = (): string => {
    throw new Error("not found");
  };
  expect(isAacInstalled(missing)).toBe(false);
});
