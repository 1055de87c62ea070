// The rooms of the house as ARCHITECTURE.md lists them. For the tidy tests.

import { readFileSync } from "node:fs";
import { PROJECT_ROOT } from "../../support/project-files.ts";

/** From the roof down; a folder ends with a slash. */
export const ROOMS: readonly string[] = Array.from(
  readFileSync(`${PROJECT_ROOT}ARCHITECTURE.md`, "utf8").matchAll(/^\| `((?:src|lab|plugins|dashboard)\/[^`]*)` \|/gm),
  ([, room = ""]) => room,
);

/** The innermost room that a file is in: its own row, or that of the nearest folder around it. */
export function roomOf(path: string): string | undefined {
  const around = ROOMS.filter((room) => room === path || (room.endsWith("/") && path.startsWith(room)));
  return around.toSorted((a, b) => b.length - a.length)[0];
}
