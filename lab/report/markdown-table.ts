// Tables as the bench prints them and docs/benchmarks.md has them. Pure.

import type { Spread } from "./statistics.ts";

/** Lines of a table; a `|` within a cell would end it. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

/** `1.23 (1.20 to 1.31)`, or the figure alone where all rounds gave the same. */
export function spreadText(spread: Spread | undefined, digits: number): string {
  if (spread === undefined) return "not measured";
  const [median, low, high] = [spread.median, spread.low, spread.high].map((value) => value.toFixed(digits));
  return low === high ? `${median}` : `${median} (${low} to ${high})`;
}
