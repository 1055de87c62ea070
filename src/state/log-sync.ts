// Has the disk write what LevelDB has logged. LevelDB itself syncs only its newest log, and does so before any other write;
// an older one lacks its end after a loss of power, until its content is in a table. Below the store; libuv's threads.

import { open, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Resolves when the disk has all logs of the database in the folder. Throws what the file system throws. */
export type SyncLogs = (folder: string) => Promise<void>;

/** Through separate descriptors, so that no write waits. `sync` is replaced in tests. */
export async function syncLogs(folder: string, sync: (path: string) => Promise<void> = syncFile): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^\d+\.log$/.test(name));
  // Oldest first: a newer log without the end of an older one would be a set of records that never was.
  names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  for (const name of names) await sync(join(folder, name));
}

async function syncFile(path: string): Promise<void> {
  try {
    const file = await open(path, "r+");
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  } catch (error) {
    // It is removed when a table on disk has its content.
    if (Object(error).code !== "ENOENT") throw error;
  }
}
