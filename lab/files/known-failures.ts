// The list of failures that are known: `PATTERN CHECK[,CHECK] REASON` a line, `#` begins a comment. Pure.

import { CHECKS, type Check, isWrong, type Verdict } from "./judge-file.ts";

export interface KnownFailure {
  /** A path below the folder; `*` is anything, `/` included. */
  readonly pattern: string;
  readonly checks: readonly Check[];
  /** Why, and what will end it. */
  readonly reason: string;
}

/** Throws with the number of the first line that is not understood. */
export function parseKnownFailures(text: string): KnownFailure[] {
  return text.split("\n").flatMap((line, index) => {
    const [pattern = "", list = "", ...reason] = line.trim().split(/\s+/);
    if (pattern === "" || pattern.startsWith("#")) return [];
    const checks = list.split(",").filter((name): name is Check => (CHECKS as readonly string[]).includes(name));
    if (checks.length < list.split(",").length || reason.length === 0) {
      throw new Error(
        `line ${index + 1}: write PATTERN, then some of ${CHECKS.join(",")}, then a reason: ${line.trim()}`,
      );
    }
    return [{ pattern, checks, reason: reason.join(" ") }];
  });
}

/** The path is this pattern, in which `*` is anything. */
export function isLike(path: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(path);
}

export interface Failure {
  readonly file: string;
  readonly check: Check;
  readonly cause: string;
  /** Of the known failure that it is. */
  readonly reason: string | undefined;
}

/** All failures in the order of the files, and the entries of the list of which nothing failed. */
export function compareWithKnown(
  verdicts: readonly Verdict[],
  known: readonly KnownFailure[],
): { readonly failures: readonly Failure[]; readonly stale: readonly KnownFailure[] } {
  const failures = verdicts.flatMap(({ file, outcomes }) =>
    CHECKS.flatMap((check): Failure[] => {
      const outcome = outcomes[check];
      if (!isWrong(outcome)) return [];
      const entry = known.find(({ pattern, checks }) => checks.includes(check) && isLike(file, pattern));
      return [{ file, check, cause: outcome.wrong, reason: entry?.reason }];
    }),
  );
  const stale = known.flatMap((entry): KnownFailure[] => {
    const tried = verdicts.filter(({ file }) => isLike(file, entry.pattern));
    const fails = (check: Check) => tried.some(({ outcomes }) => isWrong(outcomes[check]));
    const rightNow = tried.length === 0 ? [] : entry.checks.filter((check) => !fails(check));
    return rightNow.length === 0 ? [] : [{ ...entry, checks: rightNow }];
  });
  return { failures, stale };
}
