// The output of `npm run bench -- sources` on its phases: the quiet ones next to the troubled ones, and the answers.

import type { ArrivalSummary } from "../discord/arrival-statistics.ts";
import { quantile } from "../report/statistics.ts";
import type { Phase, PhaseKind } from "./sources-phase.ts";

const MEGABYTE = 1024 * 1024;
const OUTCOME_LENGTH_MAX = 160;

interface Sums {
  readonly sums: Readonly<Record<PhaseKind, ArrivalSummary>>;
  readonly violations: readonly { readonly kind: string; readonly detail: string }[];
  readonly players: number;
}

/** A line of the table: of all phases of one kind. */
type Row = readonly [name: string, figureOf: (kind: PhaseKind) => number, digits: number];

export function printPhases(phases: readonly Phase[], { sums, violations, players }: Sums): void {
  const of = (kind: PhaseKind) => phases.filter((phase) => phase.kind === kind);
  const sum = (kind: PhaseKind, pick: (phase: Phase) => number) =>
    of(kind).reduce((total, phase) => total + pick(phase), 0);
  const readings = (kind: PhaseKind, pick: "waitsMs" | "heldMs") => of(kind).flatMap((phase) => phase.readings[pick]);
  const rows: Row[] = [
    ["packets", (kind) => sums[kind].packets, 0],
    ["late p50, ms", (kind) => sums[kind].latenessMsP50, 1],
    ["p99", (kind) => sums[kind].latenessMsP99, 1],
    ["p99.9", (kind) => sums[kind].latenessMsP999, 1],
    ["worst", (kind) => sums[kind].latenessMsMax, 1],
    ["later than 20 ms", (kind) => sums[kind].packetsLate20Ms, 0],
    ["later than 60 ms", (kind) => sums[kind].packetsLate60Ms, 0],
    ["longest gap, ms", (kind) => sums[kind].gapMsMax, 1],
    ["frames left out", (kind) => sum(kind, ({ skippedFrames }) => skippedFrames), 0],
    ["packets lost", (kind) => sum(kind, ({ lostPackets }) => lostPackets), 0],
    ["silent frames", (kind) => sum(kind, ({ silentFrames }) => silentFrames), 0],
    ...Object.keys(of("quiet")[0]?.asked ?? {}).flatMap((name) => answerRows(name, of)),
    ["main thread held p99, ms", (kind) => quantile(readings(kind, "heldMs"), 0.99), 1],
    ["main thread held, longest", (kind) => quantile(readings(kind, "heldMs"), 1), 1],
    ["the same with waits for a processor", (kind) => quantile(readings(kind, "waitsMs"), 1), 1],
    ["CPU of the node, %", (kind) => (100 * sum(kind, (phase) => phase.cpuSeconds)) / sum(kind, (p) => p.seconds), 0],
    ["memory, MB", (kind) => Math.max(...of(kind).map((phase) => phase.residentBytes)) / MEGABYTE, 0],
  ];
  console.log(`\n${players} players, ${of("quiet").length} phases of each kind, alternating\n`);
  console.log("| | A: quiet | B: troubled | B / A |\n| --- | --- | --- | --- |");
  for (const [name, figureOf, digits] of rows) {
    const [quiet, troubled] = [figureOf("quiet"), figureOf("troubled")];
    const ratio = quiet === 0 ? "" : (troubled / quiet).toFixed(2);
    console.log(`| ${[name, quiet.toFixed(digits), troubled.toFixed(digits), ratio].join(" | ")} |`);
  }
  for (const { kind, detail } of violations) console.log(`broke a rule of Discord's: ${kind}: ${detail}`);
}

function answerRows(name: string, of: (kind: PhaseKind) => readonly Phase[]): readonly Row[] {
  const answersMs = (kind: PhaseKind) => of(kind).flatMap(({ asked }) => asked[name]?.answersMs ?? []);
  return [
    [`${name}: p50, ms`, (kind) => quantile(answersMs(kind), 0.5), 1],
    [`${name}: p99`, (kind) => quantile(answersMs(kind), 0.99), 1],
    [`${name}: slowest`, (kind) => quantile(answersMs(kind), 1), 1],
  ];
}

/** Prints a phase when it is over: lateness, losses and answers. */
export function printPhase({ kind, lateness, skippedFrames, asked, losses }: Phase): void {
  const { latenessMsP99, latenessMsMax, gapMsMax } = lateness;
  const late = [latenessMsP99, latenessMsMax, gapMsMax].map((ms) => ms.toFixed(1));
  console.log(`${kind}: late p99 ${late[0]}, worst ${late[1]}, longest gap ${late[2]} ms; left out ${skippedFrames}`);
  for (const [name, { answersMs, outcomes }] of Object.entries(asked)) {
    const slowest = (quantile(answersMs, 1) / 1000).toFixed(2);
    const said = [...outcomes].map(([outcome, count]) => `${count} ${outcome.slice(0, OUTCOME_LENGTH_MAX)}`);
    console.log(`  ${name}: slowest answer after ${slowest} s; ${said.join(", ")}`);
  }
  for (const [name, count] of Object.entries(losses)) console.log(`  ${name}: ${count} threads lost`);
}
