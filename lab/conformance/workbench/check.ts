// A conformance check: a rule of the protocol under a name, where it is written, and how to see whether a node follows
// it.

import type { Workbench } from "./workbench.ts";

/** What the node must be able to reach for a check, which is skipped otherwise. */
export type Need = "media" | "voice" | "v3";

export interface Check {
  readonly group: string;
  readonly name: string;
  /** Where the rule stands: `spec`, a section of the protocol sheet, or `recording` and its name. */
  readonly rule: string;
  readonly needs: readonly Need[];
  /** Resolves when the node keeps the rule, throws a Mismatch (or whatever went wrong) otherwise. */
  readonly run: (bench: Workbench) => Promise<void>;
}

/** `[name, rule, run]`. */
type CheckLine = readonly [name: string, rule: string, run: Check["run"], ...needs: Need[]];

export function checksOf(group: string, lines: readonly CheckLine[]): readonly Check[] {
  return lines.map(([name, rule, run, ...needs]) => ({ group, name, rule, needs, run }));
}
