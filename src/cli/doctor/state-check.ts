// The doctor's check of what outlives the process: whether sessions are to be stored, and can be. It does not open the
// database, which a running node has locked. Main thread.

import { access, constants, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { NodeConfig } from "../../config/node-config.ts";
import type { Variables } from "../../config/reading/placeholders.ts";
import { stateDirectoryOf } from "../../config/service-variables.ts";
import type { Check, CheckResult } from "./check.ts";

const ADVICE =
  "set tonearm.state.path to a folder that the node may write to, or tonearm.state.enabled to false; " +
  "until then a restart ends all sessions";

export interface StateCheckOptions {
  /** Default: that of this process. */
  readonly cwd?: string;
  /** Default: that of this process. */
  readonly env?: Variables;
  /** Replaced in tests; rejects when the package of the database cannot be loaded. */
  readonly loadDatabase?: () => Promise<unknown>;
}

/** Whether the state can be stored where this process would store it. */
export function stateCheck(
  { isEnabled, path }: NodeConfig["state"],
  { cwd = process.cwd(), env, loadDatabase = () => import("classic-level") }: StateCheckOptions = {},
): Check {
  return {
    name: "state",
    async run() {
      if (!isEnabled) return { status: "ok", found: "not stored, as tonearm.state.enabled is false" };
      try {
        await loadDatabase();
      } catch {
        // The advice is the same for every reason why a native package does not load.
        const advice = "install it again, without --omit=optional; until then a restart ends all sessions";
        return { status: "warn", found: "the optional package classic-level cannot be loaded", advice };
      }
      const result = await checkFolder(path);
      // The service of systemd has a variable that a shell has not, and so another folder.
      const isOfShell = path === join(cwd, "state") && stateDirectoryOf(env) === undefined;
      return isOfShell ? { ...result, found: `${result.found} (STATE_DIRECTORY of systemd is not set here)` } : result;
    },
  };
}

async function checkFolder(path: string): Promise<CheckResult> {
  const existing = await existingPartOf(path);
  try {
    // A new folder is left for the node, whose user may be another one.
    if (existing !== path) await access(`${existing}/.`, constants.W_OK);
    else await tryWriting(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return { status: "warn", found: `${existing} cannot be written to (${code})`, advice: ADVICE };
  }
  return { status: "ok", found: existing === path ? `stored in ${path}` : `${path} will be created` };
}

/** The path, or the nearest folder above it that exists. */
async function existingPartOf(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch {
    // Without the right to see it, it cannot be written to either, which the caller finds out.
    const parent = dirname(path);
    return parent === path ? path : await existingPartOf(parent);
  }
}

/** Permissions do not tell of a full or read-only disk. */
async function tryWriting(folder: string): Promise<void> {
  const file = join(folder, `doctor-${process.pid}`);
  try {
    await writeFile(file, "x", { mode: 0o600, flush: true });
  } finally {
    await rm(file, { force: true });
  }
}
