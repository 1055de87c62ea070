// Bars of the frames that a player lost in each minute of the last hour. In the browser.

import type { PlayerDiagnosisJson } from "../../src/control/protocol/player-diagnosis-json.ts";

type LostMinute = PlayerDiagnosisJson["frames"]["lostMinutes"][number];

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** A minute with one lost frame is still seen beside one with thousands. */
const HEIGHT_MIN = 0.1;

/** A bar on a line of an hour: shares of its width and height. */
interface LostBar {
  readonly time: number;
  readonly start: number;
  readonly width: number;
  readonly height: number;
}

interface LostBars {
  readonly bars: readonly LostBar[];
  /** The minute with most; undefined: none was lost. */
  readonly worst: LostMinute | undefined;
  readonly total: number;
  /** The left end, epoch milliseconds. */
  readonly startMs: number;
}

/** The bars of the hour until `nowMs`, the highest for the minute with most. */
export function barsOf(minutes: readonly LostMinute[], nowMs: number): LostBars {
  const startMs = nowMs - HOUR_MS;
  const within = minutes.filter(({ time }) => time + MINUTE_MS > startMs && time <= nowMs);
  const worst = within.reduce<LostMinute | undefined>(
    (one, other) => (other.lost > (one?.lost ?? 0) ? other : one),
    undefined,
  );
  const bars = within.map(({ time, lost }) => {
    const start = Math.max(0, (time - startMs) / HOUR_MS);
    const end = Math.min(1, (time + MINUTE_MS - startMs) / HOUR_MS);
    return { time, start, width: end - start, height: Math.max(HEIGHT_MIN, lost / (worst?.lost ?? 1)) };
  });
  return { bars, worst, total: within.reduce((sum, { lost }) => sum + lost, 0), startMs };
}
