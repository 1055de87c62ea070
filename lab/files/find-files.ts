// The files below a folder, in an order that does not depend on the machine. Lab only.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { seededRandom } from "../seeded-random.ts";

const DEPTH_MAX = 32;
/** Names looked at: a folder may be anything. */
const ENTRIES_MAX = 1_000_000;

/** Paths below `root` with `/`, sorted; links are not followed, hidden files are left out. */
export async function findFiles(root: string): Promise<string[]> {
  const found: string[] = [];
  let entryCount = 0;
  const walk = async (folder: string, depth: number): Promise<void> => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      if (++entryCount > ENTRIES_MAX) throw new Error(`${root}: more than ${ENTRIES_MAX} files; try a part of it`);
      if (entry.name.startsWith(".")) continue;
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) found.push(path);
      else if (entry.isDirectory() && depth < DEPTH_MAX) await walk(path, depth + 1);
    }
  };
  await walk("", 0);
  return found.toSorted(byName);
}

/** At most `count` of them, drawn by the seed, in their order. */
export function drawFiles(files: readonly string[], { count, seed }: { count: number; seed: number }): string[] {
  if (files.length <= count) return [...files];
  const random = seededRandom(seed);
  const shuffled = [...files];
  for (let index = 0; index < count; index++) {
    const other = index + Math.floor(random() * (shuffled.length - index));
    [shuffled[index], shuffled[other]] = [shuffled[other]!, shuffled[index]!];
  }
  return shuffled.slice(0, count).toSorted(byName);
}

function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
