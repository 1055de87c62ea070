// The report of a run: one table by format, and the failures by cause. Pure.

import { markdownTable } from "../report/markdown-table.ts";
import type { Check, Verdict } from "./judge-file.ts";
import type { Failure, KnownFailure } from "./known-failures.ts";

/** Files that are named for a cause. */
const FILES_SHOWN = 5;
const CAUSE_LENGTH_MAX = 200;

const HEADER = ["format", "files", "loads", "title", "length", "heard right", "seeks right"];

export function formatTable(verdicts: readonly Verdict[]): string {
  const formats = groupBy(verdicts, ({ format }) => format);
  const rows = [...formats]
    .toSorted(([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1))
    .map(([format, group]) => rowOf(format, group));
  return markdownTable(HEADER, [...rows, rowOf("all", verdicts)]);
}

function rowOf(format: string, verdicts: readonly Verdict[]): string[] {
  const cells = (["loads", "title", "length", "heard", "seeks"] as const).map((check) => cellOf(check, verdicts));
  return [format, String(verdicts.length), ...cells];
}

/** `12`, `12 of 14`, `12 of 14, 3 s`: right ones of those that are judged, and streams. */
function cellOf(check: Check, verdicts: readonly Verdict[]): string {
  const outcomes = verdicts.map(({ outcomes }) => outcomes[check]).filter((outcome) => outcome !== undefined);
  const streams = outcomes.filter((outcome) => outcome === "stream").length;
  const right = outcomes.filter((outcome) => outcome === "right").length;
  const judged = outcomes.length - streams;
  const share =
    judged === 0 ? "–" : right === judged && judged === verdicts.length ? `${right}` : `${right} of ${judged}`;
  return streams === 0 ? share : `${judged === 0 ? "" : `${share}, `}${streams} s`;
}

/** Equal causes are listed once, those of most files first; numbers in them do not matter. */
export function formatFailures(failures: readonly Failure[]): string[] {
  const kindOf = ({ check, cause, reason }: Failure) => `${check} ${reason ?? ""} ${cause.replaceAll(/[\d.]+/g, "#")}`;
  const kinds = [...groupBy(failures, kindOf).values()].toSorted((a, b) => b.length - a.length);
  return kinds.map((group) => {
    const [first] = group;
    const files = group.slice(0, FILES_SHOWN).map(({ file }) => oneLine(file));
    const more = group.length > FILES_SHOWN ? ` and ${group.length - FILES_SHOWN} more` : "";
    const mark = first?.reason === undefined ? "" : ` (known: ${first.reason})`;
    const others = group.some(({ cause }) => cause !== first?.cause) ? ", and the like" : "";
    return `${group.length} ${first?.check}: ${oneLine(first?.cause ?? "")}${others}${mark}\n    ${files.join(", ")}${more}`;
  });
}

export function formatStale(stale: readonly KnownFailure[]): string[] {
  return stale.map(({ pattern, checks, reason }) => `no longer fails: ${pattern} ${checks.join(",")} ${reason}`);
}

/** Errors quote what they found in a file, and names are anything: no control characters reach the terminal. */
function oneLine(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\s]+/gu, " ");
  return clean.length > CAUSE_LENGTH_MAX ? `${clean.slice(0, CAUSE_LENGTH_MAX)}…` : clean;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
