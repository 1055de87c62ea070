// Groups the missing frames of one player into incidents: one per stutter that a listener would notice. An incident
// begins with the first missing frame and ends when audio has been complete for a second, or is no longer requested.
// Held by audio-watch.ts; `add` is called in the tick and allocates nothing. Audio thread.

import {
  INCIDENTS_PER_REPORT,
  type Incident,
  LOSS_CAUSES,
  type LossCause,
  noLosses,
  type RepairKind,
  sumOf,
} from "../../bridge/audio-report.ts";
import type { Clock } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";

/** Complete audio that ends an incident: listeners perceive closer gaps as one stutter. */
const WHOLE_MS = 1000;

export class IncidentLog {
  readonly #clock: Clock;
  /** Losses of the open incident; all 0 without one. */
  readonly #lost = noLosses();
  #isOpen = false;
  #startMs = 0;
  #startEpochMs = 0;
  /** The end of the last missing frame. */
  #endMs = 0;
  #repair: RepairKind | undefined;
  #over: Incident[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `frames` frames are missing, the last of which is due now. */
  add(cause: LossCause, frames: number): void {
    const nowMs = this.#clock.now();
    this.#endMs = nowMs + FRAME_MS;
    this.#lost[cause] += frames;
    if (this.#isOpen) return;
    const agoMs = (frames - 1) * FRAME_MS;
    this.#isOpen = true;
    this.#startMs = nowMs - agoMs;
    this.#startEpochMs = this.#clock.epochMs() - agoMs;
  }

  /** Records a repair in the open incident, if there is one. */
  noteRepair(kind: RepairKind): void {
    if (this.#isOpen) this.#repair ??= kind;
  }

  /** Called twice a second. */
  check(): void {
    if (this.#isOpen && this.#clock.now() - this.#endMs >= WHOLE_MS) this.end();
  }

  /** Audio is no longer requested: closes the open incident. */
  end(): void {
    const incident = this.open;
    if (incident === undefined) return;
    if (this.#over.length < INCIDENTS_PER_REPORT) this.#over.push(incident);
    this.#isOpen = false;
    this.#repair = undefined;
    for (const cause of LOSS_CAUSES) this.#lost[cause] = 0;
  }

  /** The open incident so far. */
  get open(): Incident | undefined {
    if (!this.#isOpen) return undefined;
    return {
      cause: mainCause(this.#lost),
      startEpochMs: this.#startEpochMs,
      lengthMs: Math.round(this.#endMs - this.#startMs),
      framesLost: sumOf(this.#lost),
      repair: this.#repair,
    };
  }

  /** Returns the incidents that have ended since the last call. */
  takeOver(): readonly Incident[] {
    if (this.#over.length === 0) return this.#over;
    const over = this.#over;
    this.#over = [];
    return over;
  }
}

/** The cause with the most frames; of equal ones the first in the table. */
function mainCause(lost: Readonly<Record<LossCause, number>>): LossCause {
  let main: LossCause = LOSS_CAUSES[0];
  for (const cause of LOSS_CAUSES) if (lost[cause] > lost[main]) main = cause;
  return main;
}
