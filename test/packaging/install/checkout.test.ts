// A checkout as an operator installs it without development packages: real npm, offline, on a copy whose package.json
// names no packages, as npm would have to fetch them.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../support/project-files.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** The files that an install and a start read. */
function copyCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-checkout-"));
  folders.push(folder);
  for (const path of ["bin", ".ci", "tsconfig.json", "tsconfig.build.json"]) {
    cpSync(join(PROJECT_ROOT, path), join(folder, path), { recursive: true });
  }
  // Our own file.
  const { name, version, type, bin, scripts } = JSON.parse(readFileSync(`${PROJECT_ROOT}package.json`, "utf8")) as {
    readonly [name: string]: unknown;
  };
  const root = { name, version, type, bin, scripts };
  writeFileSync(join(folder, "package.json"), JSON.stringify(root));
  const lock = { name, version, lockfileVersion: 3, packages: { "": { name, version, bin } } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  return folder;
}

function run(command: string, args: readonly string[], cwd: string): { status: number | null; reported: string[] } {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { status, reported: stderr.split("\n").filter((line) => line !== "" && !/^npm (warn|notice)/.test(line)) };
}

test("npm ci --omit=dev succeeds and prints one line on how to build; a start without a build prints it too, and fails", () => {
  const checkout = copyCheckout();
  const install = run("npm", ["ci", "--omit=dev", "--offline"], checkout);
  expect(install).toEqual({
    status: 0,
    reported: [expect.stringMatching(/^tonearm: nothing was built.*`npm ci --include=dev`/)],
  });
  const start = run("npm", ["start"], checkout);
  expect(start).toEqual({
    status: 1,
    reported: [expect.stringMatching(/has not been built yet. Run `npm ci --include=dev`/)],
  });
});

test("with a compiler, a build that fails fails the install", () => {
  const checkout = copyCheckout();
  // Stands for the real one, which is resolved by this file and run as a command; there is nothing for it to compile.
  cpSync(
    join(PROJECT_ROOT, "node_modules/typescript/package.json"),
    join(checkout, "node_modules/typescript/package.json"),
  );
  expect(run("npm", ["run", "prepare"], checkout).status).not.toBe(0);
});
