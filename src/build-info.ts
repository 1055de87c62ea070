// The build of the node: its compile time and its commit. Main thread, once at start.

import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { programEnvironment } from "./lib/program-environment.ts";

/** This file lies at most two folders below the package's own: dist/src when compiled. */
const PARENTS_MAX = 3;
const GIT_TIMEOUT_MS = 2000;

/** The result of `readBuildInfo`. */
export interface BuildInfo {
  /** Epoch milliseconds, -1 if unknown. */
  readonly buildTimeMs: number;
  /** Empty texts and 0 outside of a git work tree. */
  readonly git: { readonly branch: string; readonly commit: string; readonly commitTimeMs: number };
}

/** Never rejects: fields that cannot be determined are left unknown. */
export async function readBuildInfo(): Promise<BuildInfo> {
  const path = fileURLToPath(import.meta.url);
  const [buildTimeMs, git] = await Promise.all([modifiedMs(path), readGit(path)]);
  return { buildTimeMs: buildTimeMs ?? -1, git };
}

async function readGit(path: string): Promise<BuildInfo["git"]> {
  const folder = await findPackage(path);
  const unknown = { branch: "", commit: "", commitTimeMs: 0 };
  // An installed package may lie inside the work tree of another project.
  if (folder === undefined || (await modifiedMs(join(folder, ".git"))) === undefined) return unknown;
  const options = { cwd: folder, timeout: GIT_TIMEOUT_MS, env: programEnvironment() };
  const git = (...args: string[]) => promisify(execFile)("git", args, options);
  try {
    const [head, branch] = await Promise.all([
      git("log", "--max-count=1", "--format=%h %ct"),
      git("rev-parse", "--abbrev-ref", "HEAD"),
    ]);
    const [commit = "", commitTime = "0"] = head.stdout.trim().split(" ");
    return { branch: branch.stdout.trim(), commit, commitTimeMs: Number(commitTime) * 1000 };
  } catch {
    // No git on this machine, or a repository without commits: the fields stay unknown.
    return unknown;
  }
}

async function findPackage(path: string): Promise<string | undefined> {
  let folder = dirname(path);
  for (let level = 0; level < PARENTS_MAX; level++) {
    if ((await modifiedMs(join(folder, "package.json"))) !== undefined) return folder;
    folder = dirname(folder);
  }
  return undefined;
}

async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return Math.round((await stat(path)).mtimeMs);
  } catch {
    // The file does not exist.
    return undefined;
  }
}
