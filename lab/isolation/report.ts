// The report for people: one line per case, its problems below it, and a summary.

import { gapLimitOf, longestGapMs, missingShare } from "./harness/verdict.ts";
import type { Attempt, CaseResult } from "./run-cases.ts";

export const HEADER = [
  "gap: the longest time without audio of a control player, control / attack (allowed), ms; missing: share of",
  "the audio of the player that lost most; version: slowest GET /version, control / attack, ms; memory: before / " +
    "after, MB",
  "",
].join("\n");

/** What is about to be run, and whether the machine is quiet enough. `load`: running processes, on average. */
export function formatPlan(plan: {
  readonly cases: number;
  readonly seconds: number;
  readonly load: number;
  readonly cores: number;
}): string {
  const { cases, seconds, load, cores } = plan;
  const minutes = Math.max(1, Math.round(seconds / 60));
  const busy =
    load > cores / 2 ? `\nThis machine is busy (load average ${load.toFixed(1)}): delays may not be the node's.` : "";
  return `${cases} cases, about ${minutes} min on a quiet machine with ${cores} cores${busy}\n`;
}

export function formatResult({ layer, name, outcome, attempts }: CaseResult): string {
  const sign = outcome === "fail" ? "FAIL" : attempts.length > 1 ? "pass*" : "pass";
  const lines = attempts.map((attempt) => `        ${figures(attempt)}`);
  const problems = attempts.map(({ problems }) => problems.map((problem) => `        ! ${shorten(problem)}`));
  const detail = lines.flatMap((line, index) => [line, ...(problems[index] ?? [])]);
  return [`${sign.padEnd(6)}${layer} / ${name}`, ...detail, `        ${shorten(attempts.at(-1)?.answer ?? "")}`].join(
    "\n",
  );
}

export function formatSummary(results: readonly CaseResult[]): string {
  const failed = results.filter(({ outcome }) => outcome === "fail");
  const twice = results.filter(({ outcome, attempts }) => outcome === "pass" && attempts.length > 1);
  const memory = results.flatMap(({ attempts }) => attempts).map((attempt) => attempt.memory);
  return [
    "",
    `${results.length - failed.length} passed (${twice.length} of them at a further try, marked *), ` +
      `${failed.length} failed`,
    `memory at the start ${megabytes(memory[0]?.beforeBytes)} MB, at the end ` +
      `${megabytes(memory.at(-1)?.afterBytes)} MB`,
    ...failed.map(({ layer, name }) => `  FAIL ${layer} / ${name}`),
  ].join("\n");
}

function figures(attempt: Attempt): string {
  const { control, attack, memory } = attempt;
  const gap =
    `${longestGapMs(control).toFixed(0)} / ${longestGapMs(attack).toFixed(0)} ` +
    `(${gapLimitOf(control, attack).toFixed(0)})`;
  const version = `${control.versionMsMax.toFixed(0)} / ${attack.versionMsMax.toFixed(0)}`;
  const missing = `${(Math.max(0, missingShare(control, attack)) * 100).toFixed(1)} %`;
  return (
    `gap ${gap}  missing ${missing}  version ${version}  memory ${megabytes(memory.beforeBytes)} / ` +
    `${megabytes(memory.afterBytes)}`
  );
}

function megabytes(bytes = 0): string {
  return (bytes / 1e6).toFixed(0);
}

function shorten(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
