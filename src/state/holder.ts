// The file that says which process has the state's folder. It holds no lock, the database does; it is there to be named
// in a message. It stays when the process ends: a folder with it has held a database. Main thread.

import { open, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";

const FILE_NAME = "holder";
const FILE_BYTES_MAX = 1024;

/** Writes that this process has the folder. Throws what the file system throws. */
export async function writeHolder(folder: string, clock: Clock): Promise<void> {
  const holder = { pid: process.pid, host: hostname(), since: new Date(clock.epochMs()).toISOString() };
  await writeFile(join(folder, FILE_NAME), `${JSON.stringify(holder)}\n`, { mode: 0o600 });
}

/** After it, the folder counts as one that has held no database. */
export async function removeHolder(folder: string): Promise<void> {
  await rm(join(folder, FILE_NAME), { force: true });
}

/** True when the folder has held a database. */
export async function hasHolder(folder: string): Promise<boolean> {
  return await stat(join(folder, FILE_NAME)).then(
    () => true,
    () => false,
  );
}

/** The process that has the folder, in words. Never rejects. */
export async function describeHolder(folder: string): Promise<string> {
  try {
    const { pid, host, since } = JSON.parse(await readStart(join(folder, FILE_NAME)));
    const isPlain = Number.isSafeInteger(pid) && /^[\w.-]{1,255}$/.test(host) && /^[\d:.TZ-]{1,30}$/.test(since);
    return isPlain ? `process ${pid} on ${host}, since ${since}` : "another process";
  } catch {
    // Not written yet, or by hand: the message does without.
    return "another process";
  }
}

async function readStart(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FILE_BYTES_MAX), 0, FILE_BYTES_MAX, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
