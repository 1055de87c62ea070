// The table people read.

import type { CheckResult } from "./run-checks.ts";

const SIGNS = { pass: "pass", fail: "FAIL", skip: "skip" } as const;

/** One line per check under its group; failures show the expected and the received value. The last line counts. */
export function formatResults(results: readonly CheckResult[]): string {
  const lines: string[] = [];
  const width = Math.max(0, ...results.map(({ name }) => name.length));
  let group = "";
  for (const result of results) {
    if (result.group !== group) lines.push("", result.group);
    group = result.group;
    lines.push(`  ${SIGNS[result.outcome]}  ${result.name.padEnd(width)}  ${result.rule}`);
    if (result.outcome === "fail") {
      lines.push(`          expected ${shorten(result.expected)}`, `          received ${shorten(result.actual)}`);
    }
    if (result.outcome === "skip") lines.push(`          ${result.reason}`);
  }
  const count = (outcome: CheckResult["outcome"]) => results.filter((one) => one.outcome === outcome).length;
  lines.push("", `${count("pass")} passed, ${count("fail")} failed, ${count("skip")} skipped`, "");
  return lines.join("\n");
}

function shorten(text = ""): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
