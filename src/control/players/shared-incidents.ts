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
/** Moments whose reports come interleaved; of more, the oldest is logged as it is. */
const GROUPS_MAX = 3;
const RECENT_MAX = 20;

interface Group {
  startEpochMs: number;
  endEpochMs: number;
  framesLost: number;
  /** The newest incident of each player. */
  readonly newest: Map<object, Incident>;
  /** Log the incidents of its only player; those of several have one line. */
  readonly logsAlone: (() => void)[];
  readonly timer: Timer;
}

/** One for the node. */
export class SharedIncidents {
  readonly #clock: Clock;
  readonly #lines: IncidentLines;
  /** Those that are not logged yet, oldest first. */
  readonly #groups = new Set<Group>();
  #recent: readonly SharedIncidentJson[] = [];

  constructor(options: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = options.clock;
    this.#lines = new IncidentLines(options);
  }

  /** Incidents of two players and more, newest first, at most 20. */
  get recent(): readonly SharedIncidentJson[] {
    return this.#recent;
  }

  /**
   * An incident of `workerLate` of `player` is over, or lasts: then it comes again when it is over. `logAlone` is called
   * if no other player had one at that time.
   */
  add(player: object, incident: Incident, logAlone: () => void): void {
    const group = this.#groupOf(incident);
    const last = group.newest.get(player);
    const counted = last?.startEpochMs === incident.startEpochMs ? last.framesLost : 0;
    group.framesLost += incident.framesLost - counted;
    group.newest.set(player, incident);
    if (group.newest.size === 1) group.logsAlone.push(logAlone);
  }

  /** The open group of that moment, extended by it, or a new one. */
  #groupOf({ startEpochMs, lengthMs }: Incident): Group {
    const endEpochMs = startEpochMs + lengthMs;
    for (const group of this.#groups) {
      if (!isSameMoment(group, { startEpochMs, endEpochMs })) continue;
      group.startEpochMs = Math.min(group.startEpochMs, startEpochMs);
      group.endEpochMs = Math.max(group.endEpochMs, endEpochMs);
      return group;
    }
    const [oldest] = this.#groups;
    if (oldest !== undefined && this.#groups.size >= GROUPS_MAX) this.#finish(oldest);
    const timer = this.#clock.after(GATHER_MS, () => this.#finish(next));
    const next: Group = { startEpochMs, endEpochMs, framesLost: 0, newest: new Map(), logsAlone: [], timer };
    this.#groups.add(next);
    return next;
  }

  /** Logs what is not logged yet: the node ends, and its players are closed. */
  close(): void {
    for (const group of this.#groups) this.#finish(group);
  }

  #finish(group: Group): void {
    const { startEpochMs, endEpochMs, framesLost, newest, logsAlone, timer } = group;
    timer.cancel();
    this.#groups.delete(group);
    const players = newest.size;
    if (players === 1) {
      for (const logAlone of logsAlone) logAlone();
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
