// The canary's table: a line per request, written as soon as its result is known. Text from a site is printed as one
// line of plain text, whatever it contains.

import type { Tried } from "./canary.ts";

const WIDTHS = [14, 8, 52, 8, 9] as const;
const IDENTIFIER_LENGTH = 50;
const FOUND_LENGTH = 400;

export const TABLE_HEAD = line(["SOURCE", "TRIED", "", "RESULT", "TIME", "BACKENDS"]);

/** The request, and below it what was found or what failed. */
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
