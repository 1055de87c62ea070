// Positions of incidents on a time line, and which of them are shown. In the browser.

import type { SharedIncidentJson } from "../../src/control/protocol/node-load-json.ts";
import type { IncidentJson } from "../../src/control/protocol/player-diagnosis-json.ts";

/** The node's definition of trouble: an incident within the last ten minutes. */
const TROUBLE_MS = 600_000;

const SPANS_MS = [600_000, 1_800_000, 3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000];
/** A short one is still seen: 1 of 200. */
const WIDTH_MIN = 0.005;

/** A mark on the line; `start` and `width` are shares of it. */
interface TimeLineMark {
  readonly incident: IncidentJson;
  readonly start: number;
  readonly width: number;
}

/** How long ago its last missing frame was, 0 while it lasts. */
export function sinceIncidentMs(incident: IncidentJson, nowMs: number): number {
  return incident.isOver ? Math.max(0, nowMs - incident.start - incident.length) : 0;
}

/** Whether the incident is ongoing or ended within the last ten minutes. */
export function isTrouble(incident: IncidentJson | null, nowMs: number): incident is IncidentJson {
  return incident !== null && sinceIncidentMs(incident, nowMs) <= TROUBLE_MS;
}

/** How many other players lost frames at the same time because a thread or the machine stood still. */
export function othersIn(incident: IncidentJson, shared: readonly SharedIncidentJson[]): number {
  if (incident.cause !== "workerLate") return 0;
  const found = shared.find(({ start, length }) => incident.start >= start && incident.start <= start + length);
  return found === undefined ? 0 : found.players - 1;
}

/** The least span, from ten minutes to a day, that has all incidents in it; the longest when none does. */
export function spanOf(incidents: readonly IncidentJson[], nowMs: number): number {
  const oldest = Math.min(nowMs, ...incidents.map(({ start }) => start));
  return SPANS_MS.find((spanMs) => nowMs - oldest <= spanMs) ?? SPANS_MS.at(-1) ?? 0;
}

/** The marks of the incidents within the span, oldest first. */
export function marksOf(incidents: readonly IncidentJson[], nowMs: number, spanMs: number): TimeLineMark[] {
  const from = nowMs - spanMs;
  return incidents
    .flatMap((incident) => {
      const end = incident.isOver ? incident.start + incident.length : nowMs;
      if (end < from || incident.start > nowMs) return [];
      const start = Math.max(0, (incident.start - from) / spanMs);
      const width = Math.max(WIDTH_MIN, Math.min(1, (end - from) / spanMs) - start);
      return [{ incident, start: Math.min(start, 1 - width), width }];
    })
    .toSorted((one, other) => one.start - other.start);
}
