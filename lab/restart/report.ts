// The results of the three ways in words: tables of percentiles, and what was lost. Pure. Lab only.

import { markdownTable } from "../report/markdown-table.ts";
import { quantile } from "../report/statistics.ts";
import type { MomentsResult } from "./moments.ts";
import type { PatchesResult } from "./patches.ts";
import type { RoundsResult } from "./rounds.ts";

const LOSSES_SHOWN = 40;

export function roundsText({ rounds, crowdControl, losses }: RoundsResult): string {
  const all = (pick: (round: RoundsResult["rounds"][number]) => readonly number[]): readonly number[] =>
    rounds.flatMap((round) => pick(round));
  const rows = [
    percentilesRow(
      "gap in audio",
      all(({ gapsMs }) => gapsMs),
    ),
    percentilesRow(
      "first packet after process start",
      all(({ startsMs }) => startsMs),
    ),
    percentilesRow(
      "listening after process start",
      all(({ listeningMs }) => [listeningMs]),
    ),
    percentilesRow(
      "client resumed after process start",
      all(({ readyMs }) => [readyMs]),
    ),
    percentilesRow(
      "control, one player: listening",
      all(({ control }) => [control.listeningMs]),
    ),
    percentilesRow(
      "control, one player: first packet",
      all(({ control }) => control.startsMs),
    ),
    percentilesRow("control, all players: first packet", crowdControl.startsMs),
    percentilesRow(
      "position reported − expected",
      all(({ positionErrorsMs }) => positionErrorsMs),
    ),
    percentilesRow(
      "position heard − expected",
      all(({ heardErrorsMs }) => heardErrorsMs),
    ),
  ];
  return [`${markdownTable(["ms", "n", "min", "p50", "p99", "max"], rows)}`, lossesText(losses)].join("\n\n");
}

export function momentsText({ moments, kinds, checks, losses, repeated }: MomentsResult): string {
  const counts = Object.entries(kinds).map(([kind, count]) => `${kind} ${count}`);
  const checked = Object.entries(checks).map(([kind, count]) => `${kind} ${count}`);
  const twice = repeated.length > 0 ? `; ${repeated.length} of them are events that came twice` : "";
  const [first = "", ...rest] = lossesText(losses).split("\n");
  const lines = [
    `${moments} moments (${counts.join(", ")}); checked: ${checked.join(", ")}`,
    "",
    first + twice,
    ...rest,
  ];
  return lines.join("\n");
}

export function patchesText({ onMs, offMs }: PatchesResult): string {
  const shares = [0.5, 0.9, 0.99];
  const cells = (values: readonly number[]): readonly string[] =>
    shares.map((share) => quantile(values, share).toFixed(3));
  const pairs = shares.map((share) => [quantile(onMs, share), quantile(offMs, share)] as const);
  return markdownTable(
    [`ms, ${onMs.length} requests each`, "p50", "p90", "p99"],
    [
      ["store on", ...cells(onMs)],
      ["store off", ...cells(offMs)],
      ["difference", ...pairs.map(([on, off]) => (on - off).toFixed(3))],
      ["ratio", ...pairs.map(([on, off]) => (on / off).toFixed(3))],
    ],
  );
}

/** A name, then n, min, p50, p99, max. */
export function percentilesRow(name: string, values: readonly number[]): readonly string[] {
  const at = (share: number): string => (values.length === 0 ? "–" : quantile(values, share).toFixed(0));
  return [name, String(values.length), at(0), at(0.5), at(0.99), at(1)];
}

/** The first losses, or that there were none. */
export function lossesText(losses: readonly string[]): string {
  if (losses.length === 0) return "nothing lost";
  const more = losses.length > LOSSES_SHOWN ? [`and ${losses.length - LOSSES_SHOWN} more`] : [];
  return [`${losses.length} losses`, ...losses.slice(0, LOSSES_SHOWN).map((loss) => `  ${loss}`), ...more].join("\n");
}
