// Groups the missing frames of one player into incidents: one per stutter that a listener would notice. An incident
// begins with the first missing frame and ends when audio has been complete for a second, or is no longer requested.
// Held by audio-watch.ts; `add` is called in the tick and allocates nothing. Audio thread.

import {
  INCIDENTS_PER_REPORT,
  type Incident,
  LASTING_MS,
  LOSS_CAUSES,
  type LossCause,
  noLosses,
  type RepairKind,
  type SlowServer,
  sumOf,
} from "../../bridge/audio-report.ts";
import type { Clock } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { Upstream } from "../quota/upstream.ts";

/** Complete audio that ends an incident: listeners perceive closer gaps as one stutter. */
const WHOLE_MS = 1000;
/** A rate over less than this says little. */
const RATE_MS_MIN = 2000;

export class IncidentLog {
  readonly #clock: Clock;
  readonly #upstream: () => Upstream | undefined;
  /** Losses of the open incident; all 0 without one. */
  readonly #lost = noLosses();
  #isOpen = false;
  #startMs = 0;
  #startEpochMs = 0;
  /** The end of the last missing frame. */
  #endMs = 0;
  #repair: RepairKind | undefined;
  #wasLasting: true | undefined;
  /** The input that was waited for, and what it had received at the incident's start and at its last missing frame. */
  #awaited: Upstream | undefined;
  #bytesAtStart = 0;
  #bytesAtEnd = 0;
  /** Frames sent since its start, and until its last missing frame. */
  #sent = 0;
  #sentAtEnd = 0;
  #over: Incident[] = [];

  /** `upstream` gives the input of what is played now. */
  constructor(clock: Clock, upstream: () => Upstream | undefined = () => undefined) {
    this.#clock = clock;
    this.#upstream = upstream;
  }

  /** A frame was sent. */
  addSent(): void {
    this.#sent += 1;
  }

  /** `frames` frames are missing, the last of which is due now. */
  add(cause: LossCause, frames: number): void {
    const nowMs = this.#clock.now();
    this.#endMs = nowMs + FRAME_MS;
    this.#lost[cause] += frames;
    if (!this.#isOpen) this.#open(nowMs, frames);
    if (cause === "network") this.#noteServer();
  }

  #open(nowMs: number, frames: number): void {
    const agoMs = (frames - 1) * FRAME_MS;
    this.#isOpen = true;
    this.#startMs = nowMs - agoMs;
    this.#startEpochMs = this.#clock.epochMs() - agoMs;
    this.#sent = 0;
    this.#awaited = undefined;
  }

  /** Another track's input starts its own count. */
  #noteServer(): void {
    const upstream = this.#upstream();
    if (upstream?.isAwaited !== true) return;
    if (this.#awaited === undefined) {
      this.#awaited = upstream;
      this.#bytesAtStart = upstream.receivedBytes;
    }
    this.#bytesAtEnd = this.#awaited.receivedBytes;
    this.#sentAtEnd = this.#sent;
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
    this.#wasLasting = undefined;
    this.#awaited = undefined;
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
      server: this.#server,
      wasLasting: this.#wasLasting,
    };
  }

  get #server(): SlowServer | undefined {
    const host = this.#awaited?.host;
    if (host === undefined) return undefined;
    const seconds = (this.#endMs - this.#startMs) / 1000;
    const bytes = this.#bytesAtEnd - this.#bytesAtStart;
    const isKnown = seconds * 1000 >= RATE_MS_MIN;
    const sentSeconds = (this.#sentAtEnd * FRAME_MS) / 1000;
    return {
      host,
      receivedRate: isKnown ? Math.round(bytes / seconds) : undefined,
      // All that came was played: nothing was read ahead.
      neededRate: isKnown && sentSeconds > 0 ? Math.round(bytes / sentSeconds) : undefined,
    };
  }

  /** True once for an open incident that has lasted `LASTING_MS`. */
  takeLasting(): true | undefined {
    if (!this.#isOpen || this.#wasLasting || this.#endMs - this.#startMs < LASTING_MS) return undefined;
    this.#wasLasting = true;
    return true;
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
