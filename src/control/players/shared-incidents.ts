// Groups the incidents of players that lost frames at the same time because an audio thread, or the whole machine, stood
// still: one log line and one entry for all of them. Incidents of one player alone are logged as its own. Main thread.

import type { Incident } from "../../bridge/audio-report.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { SharedIncidentJson } from "../protocol/node-load-json.ts";
import { IncidentLines } from "./incident-lines.ts";

/**
 * Players report an incident when their audio has been complete for a second, looked at and reported twice a second: at
 * most a second after the first.
 */
const GATHER_MS = 1500;
/** Threads that stand still together are not late by the same frames. */
const SAME_MOMENT_MS = 100;
const RECENT_MAX = 20;

interface Group {
  startEpochMs: number;
  endEpochMs: number;
  players: number;
  framesLost: number;
  /** Logs the first one as the incident of its player alone. */
  readonly logAlone: () => void;
  readonly timer: Timer;
}

/** One for the node. */
export class SharedIncidents {
  readonly #clock: Clock;
  readonly #lines: IncidentLines;
  /** The last one; undefined once it is logged. */
  #group: Group | undefined;
  #recent: readonly SharedIncidentJson[] = [];

  constructor(options: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = options.clock;
    this.#lines = new IncidentLines(options);
  }

  /** Incidents of two players and more, newest first, at most 20. */
  get recent(): readonly SharedIncidentJson[] {
    return this.#recent;
  }

  /** A player's incident of `workerLate` is over, or lasts. `logAlone` is called if no other player had one at that time. */
  add({ startEpochMs, lengthMs, framesLost }: Incident, logAlone: () => void): void {
    const endEpochMs = startEpochMs + lengthMs;
    const group = this.#group;
    if (group !== undefined && isSameMoment(group, { startEpochMs, endEpochMs })) {
      group.startEpochMs = Math.min(group.startEpochMs, startEpochMs);
      group.endEpochMs = Math.max(group.endEpochMs, endEpochMs);
      group.players += 1;
      group.framesLost += framesLost;
      return;
    }
    if (group !== undefined) this.#finish(group);
    const timer = this.#clock.after(GATHER_MS, () => this.#finish(next));
    const next = { startEpochMs, endEpochMs, players: 1, framesLost, logAlone, timer };
    this.#group = next;
  }

  #finish({ startEpochMs, endEpochMs, players, framesLost, logAlone, timer }: Group): void {
    timer.cancel();
    this.#group = undefined;
    if (players === 1) {
      logAlone();
      return;
    }
    const lengthMs = endEpochMs - startEpochMs;
    const entry = { start: startEpochMs, length: lengthMs, players, framesLost };
    // One that lasts is reported twice.
    const others = this.#recent.filter(({ start }) => start !== startEpochMs);
    this.#recent = [entry, ...others].slice(0, RECENT_MAX);
    this.#lines.reportShared({ cause: "workerLate", startEpochMs, lengthMs, framesLost, repair: undefined }, players);
  }
}

type Span = Pick<Group, "startEpochMs" | "endEpochMs">;

function isSameMoment(one: Span, other: Span): boolean {
  return one.startEpochMs <= other.endEpochMs + SAME_MOMENT_MS && other.startEpochMs <= one.endEpochMs + SAME_MOMENT_MS;
}
