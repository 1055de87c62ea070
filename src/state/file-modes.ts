// Takes from other users of the machine what they may do with the files of the state: a copy from a backup may have any
// modes. The folder around them may be shared with others. Once at the start, when it is held by this process. Main
// thread.

import { chmod, stat } from "node:fs/promises";
import { recordsFolder } from "./open-records.ts";
import { keyFile } from "./state-key.ts";

type ChangeMode = (path: string, mode: number) => Promise<void>;

/** Resolves with the paths that other users may still use. Never rejects. `change` is replaced in tests. */
export async function tightenModes(path: string, change: ChangeMode = chmod): Promise<readonly string[]> {
  // Windows has no modes.
  if (process.platform === "win32") return [];
  const open: string[] = [];
  for (const [one, mode] of [
    [recordsFolder(path), 0o700],
    [keyFile(path), 0o600],
  ] as const) {
    if (!(await isOpen(one))) continue;
    // Some file systems refuse it, others do nothing.
    await change(one, mode).catch(() => undefined);
    if (await isOpen(one)) open.push(one);
  }
  return open;
}

async function isOpen(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined); // there is no key file with a configured key
  return found !== undefined && (found.mode & 0o077) !== 0;
}
