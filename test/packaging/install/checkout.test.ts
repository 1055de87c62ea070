// A checkout as an operator installs it without development packages: real npm, offline, on a copy whose package.json
// names no packages, as npm would have to fetch them.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const { name, version, type, bin, scripts, workspaces } = manifestIn("");
  const root = { name, version, type, bin, scripts, workspaces };
  writeFileSync(join(folder, "package.json"), JSON.stringify(root));
  const packages: Record<string, object> = { "": { name, version, bin, workspaces } };
  for (const path of workspaces ?? []) {
    const { name, version, bin, scripts } = manifestIn(`${path}/`);
    mkdirSync(join(folder, path));
    writeFileSync(join(folder, path, "package.json"), JSON.stringify({ name, version, bin, scripts }));
    packages[path] = { name, version, bin };
    packages[`node_modules/${name}`] = { resolved: path, link: true };
  }
  const lock = { name, version, lockfileVersion: 3, packages };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  return folder;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly type?: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly workspaces?: readonly string[];
}

function manifestIn(folder: string): Manifest {
  // Our own files.
  return JSON.parse(readFileSync(`${PROJECT_ROOT}${folder}package.json`, "utf8")) as Manifest;
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
