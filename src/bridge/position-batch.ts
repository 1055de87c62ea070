// Many position reports in one flat list of numbers: twice a second a worker reports all its playing players, and
// objects would cost more to copy between threads than to make.

import type { PositionReport } from "./position-report.ts";

/** playerId, trackId, seekId, positionMs, rate. The time is one for all. */
const FIELDS = 5;

/** `PositionReport`s of one moment, five numbers each. */
export interface PositionBatch {
  /** When the positions were so, Unix epoch milliseconds. */
  readonly epochMs: number;
  /** Made by `packPositions`, read by `unpackPositions`; only they know the order. */
  readonly values: readonly number[];
}

/** On the audio thread, twice a second. */
export function packPositions(reports: readonly PositionReport[], epochMs: number): PositionBatch {
  const values: number[] = [];
  for (const { playerId, trackId, seekId, positionMs, rate } of reports) {
    values.push(playerId, trackId, seekId, positionMs, rate);
  }
  return { epochMs, values };
}

/** Called on the main thread. The incomplete rest of a list that is cut off is dropped. */
export function unpackPositions({ epochMs, values }: PositionBatch): PositionReport[] {
  const reports: PositionReport[] = [];
  for (let at = 0; at + FIELDS <= values.length; at += FIELDS) {
    const [playerId = 0, trackId = 0, seekId = 0, positionMs = 0, rate = 0] = values.slice(at, at + FIELDS);
    reports.push({ playerId, trackId, seekId, positionMs, epochMs, rate });
  }
  return reports;
}
