// The result of the cluster lab in words: a table of percentiles, counts, and what was lost. Pure. Lab only.

import { markdownTable } from "../report/markdown-table.ts";
import { lossesText, percentilesRow } from "../restart/report.ts";
import type { Round } from "./round.ts";
import type { ClusterRoundsResult } from "./rounds.ts";

export function clusterText({ rounds, events, violations, losses }: ClusterRoundsResult): string {
  const all = (pick: (round: Round) => readonly number[]): readonly number[] => rounds.flatMap((round) => pick(round));
  const sum = (pick: (round: Round) => number): number => rounds.reduce((total, round) => total + pick(round), 0);
  const rows = [
    percentilesRow(
      "session resumed after the end",
      all(({ resumedMs }) => resumedMs),
    ),
    percentilesRow(
      "gap in audio",
      all(({ gapsMs }) => gapsMs),
    ),
    percentilesRow(
      "gap in audio on other machines",
      all(({ gapsElsewhereMs }) => gapsElsewhereMs),
    ),
    percentilesRow(
      "position reported − expected",
      all(({ positionErrorsMs }) => positionErrorsMs),
    ),
    percentilesRow(
      "position heard − expected",
      all(({ heardErrorsMs }) => heardErrorsMs),
    ),
    percentilesRow(
      "two connections sent to a guild",
      all(({ overlapsMs }) => overlapsMs),
    ),
  ];
  const sessions = sum((round) => round.sessions);
  const resumed = all(({ resumedMs }) => resumedMs).length;
  const joins = all((round) => round.joins);
  const counts = [
    `${sessions} sessions: ${resumed} resumed, ${sessions - resumed} lost`,
    `${joins.length} players, ${joins.reduce((total, count) => total + count, 0)} voice handshakes`,
    `${events} events of short songs compared`,
    `sent by woken machines while another one sent: ${sum((round) => round.wokenPackets)} packets, ` +
      `at most ${Math.max(0, ...all((round) => round.overlapPackets))} for a player, the last ` +
      `${Math.round(Math.max(0, ...rounds.map((round) => round.wokenForMs)))} ms after waking`,
    `failed attempts to connect again: ${listOf(countsOf(rounds.flatMap(({ failures }) => failures)))}`,
    `refused by Discord: ${listOf(countsOf(violations))}`,
  ];
  const table = markdownTable(["ms", "n", "min", "p50", "p99", "max"], rows);
  return [table, counts.join("\n"), lossesText(losses)].join("\n\n");
}

/** How often each is there. */
export function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Counts in words. */
export function listOf(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([what, count]) => `${what} (${count})`);
  return parts.length === 0 ? "none" : parts.join(", ");
}
