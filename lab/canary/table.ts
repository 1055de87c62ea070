// The canary's table: a line for each thing that was tried, written as soon as it is known. Everything that a site has
// said is one line of plain text here, whatever was in it.

import type { Tried } from "./canary.ts";

const WIDTHS = [14, 8, 52, 8, 9] as const;
const IDENTIFIER_LENGTH = 50;
const FOUND_LENGTH = 400;

export const TABLE_HEAD = line(["SOURCE", "TRIED", "", "RESULT", "TIME", "BACKENDS"]);

/** What was tried, and below it what was found or is wrong. */
export function tableLines({ source, what, identifier, outcome, found, tookMs, backends }: Tried): string {
  const result = outcome === "failed" ? "FAILED" : outcome;
  const time = tookMs === undefined ? "" : `${Math.round(tookMs)} ms`;
  const cells = [source, what, cut(identifier, IDENTIFIER_LENGTH), result, time, plain(backends.join(", "))];
  return `${line(cells)}    ${cut(found, FOUND_LENGTH)}\n`;
}

/** The last line. */
export function lastLine(all: readonly Tried[]): string {
  const failed = all.filter(({ outcome }) => outcome === "failed");
  if (all.every(({ outcome }) => outcome === "skipped")) return "Nothing was tried.\n";
  if (failed.length === 0) return "Nothing failed.\n";
  return `FAILED: ${failed.map(({ source, what }) => `${source} (${what})`).join(", ")}\n`;
}

function line(cells: readonly string[]): string {
  return `${cells
    .map((cell, index) => cell.padEnd((WIDTHS[index] ?? 1) - 1))
    .join(" ")
    .trimEnd()}\n`;
}

function cut(text: string, length: number): string {
  const shown = plain(text);
  return shown.length <= length ? shown : `${shown.slice(0, length - 1)}…`;
}

/** Signs that steer terminals stay here. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ");
}
