// The result of a run of the chaos lab in words: tables of gaps and of packets beside undisturbed seconds, counts, and
// what was lost. Pure. Lab only.

import { countsOf, listOf } from "../cluster/report.ts";
import { markdownTable } from "../report/markdown-table.ts";
import { lossesText, percentilesRow } from "../restart/report.ts";
import type { ChaosResult } from "./run.ts";
import type { Steadiness } from "./sound.ts";

export function chaosText(result: ChaosResult): string {
  const { sound, doubleSendings, outcomes, labDelayMs } = result;
  const hit = [...sound.hit].map(([name, gapsMs]) => {
    const gaps = gapsMs.filter((gapMs) => gapMs > 0);
    return [...percentilesRow(`gap of struck players: ${name}`, gaps), String(gapsMs.length - gaps.length)];
  });
  const times = [
    percentilesRow("client resumed after the end of its connection", result.returnsMs),
    percentilesRow(
      "PATCH answered with 200",
      result.answers.flatMap(({ status, tookMs }) => (status === 200 ? [tookMs] : [])),
    ),
    percentilesRow("position heard − reported, in the end", result.heardErrorsMs),
    percentilesRow("position reported − undisturbed, in the end", result.positionErrorsMs),
    percentilesRow(
      "loudness heard / asked for, in the end (%)",
      result.levelRatios.map((ratio) => ratio * 100),
    ),
  ].map((row) => [...row, ""]);
  const beside = [...sound.beside].map(([name, steadiness]) => steadinessRow(`beside ${name}`, steadiness));
  const packets = doubleSendings.reduce((sum, overlap) => sum + overlap.packets, 0);
  const counts = [
    `${outcomes.length} players: ${outcomes.filter((outcome) => outcome === "plays").length} play, ` +
      `${outcomes.filter((outcome) => outcome === "told").length} do not and their client was told once`,
    `${result.events} events compared; ${result.visits} players were made and destroyed`,
    `sent by two voice connections at once: ${doubleSendings.length} times, ${packets} packets`,
    `answers to PATCH: ${listOf(countsOf(result.answers.map(({ status }) => (status === 0 ? "none" : String(status)))))}`,
    `failed attempts to connect again: ${listOf(countsOf(result.failures))}`,
    `refused by Discord: ${listOf(countsOf(result.violations))}`,
    ...(sound.isStarved ? ["this machine was starved: run it again without other programs for figures"] : []),
    `${result.packets} packets heard; the lab read them up to ${labDelayMs.p99.toFixed(0)} ms late ` +
      `(99 %), ${labDelayMs.max.toFixed(0)} ms at most`,
  ];
  return [
    markdownTable(["ms", "n", "min", "p50", "p99", "max", "without"], [...hit, ...times]),
    markdownTable(
      ["players that no event struck", "guild seconds", "missing / 1000", "late / 1000", "new streams", "longest ms"],
      [steadinessRow("undisturbed", sound.undisturbed), ...beside],
    ),
    counts.join("\n"),
    lossesText(result.losses),
  ].join("\n\n");
}

const FRAMES_PER_SECOND = 50;

function steadinessRow(name: string, steadiness: Steadiness): readonly string[] {
  const { guildSeconds, missing, late, newStreams, longestMs } = steadiness;
  const frames = guildSeconds * FRAMES_PER_SECOND;
  const perThousand = (count: number): string => (frames === 0 ? "–" : ((count / frames) * 1000).toFixed(3));
  return [
    name,
    guildSeconds.toFixed(0),
    `${perThousand(missing)} (${missing})`,
    `${perThousand(late)} (${late})`,
    String(newStreams),
    longestMs.toFixed(0),
  ];
}
