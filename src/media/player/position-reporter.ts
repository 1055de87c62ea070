// Tracks a player's position and decides when to report it to the main thread: whenever time starts or stops running,
// and when the sent position differs from the one computed there. In between the main thread computes the position
// itself. Audio thread.

import type { PlayerId, SeekId, TrackId } from "../../bridge/commands.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { Clock } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";

/** The main thread's computed position may be this far off before it is corrected. */
const DRIFT_MS_MAX = 15;
/** Drift alone is reported no more often than this: a late thread has no time for a report with every frame. */
const DRIFT_REPORT_MS = 100;

/** What the reporter reads of the playing track. */
interface LocatedTrack {
  readonly trackId: TrackId;
  readonly seekId: SeekId;
  /** Added to the pipeline's track times. */
  readonly offsetMs: number;
  /** The pipeline's run (see `Pipeline.runNumber`) of the frame sent last. */
  readonly sentRun: number;
  readonly pipeline: Pick<Pipeline, "runNumber" | "seekTargetMs" | "landedMs" | "hasJumped">;
}

interface PositionReporterOptions {
  readonly playerId: PlayerId;
  readonly clock: Clock;
  /** The track that plays, if any. */
  readonly locate: () => LocatedTrack | undefined;
  readonly send: (report: PositionReport) => void;
}

export class PositionReporter {
  readonly #options: PositionReporterOptions;
  /** Track time that has been sent, and the deadline of its last frame. */
  #sentUntilMs = 0;
  #sentAtMs = 0;
  /** The same before the last jump within the track: frames from before it are sent ahead, too. */
  #jumpUntilMs = 0;
  #jumpAtMs = Number.NEGATIVE_INFINITY;
  /** The rate last reported to the main thread. */
  #reportedRate = 0;
  #reportedMs = 0;
  #reportedAtMs = 0;

  constructor(options: PositionReporterOptions) {
    this.#options = options;
  }

  /** Position in the track; undefined without one. */
  get position(): PositionReport | undefined {
    const { playerId, clock, locate } = this.#options;
    const track = locate();
    if (track === undefined) return undefined;
    const { trackId, seekId, offsetMs } = track;
    const landingMs = landingOf(track);
    const agoMs = this.#reportedRate === 0 ? 0 : Math.max(0, clock.now() - this.#sentAtMs);
    return {
      playerId,
      trackId,
      seekId,
      positionMs: landingMs === undefined ? this.#heardMs : landingMs + offsetMs,
      epochMs: clock.epochMs() - agoMs,
      rate: this.#reportedRate,
    };
  }

  /** What listeners hear now; undefined without a track, and until the first frame behind a seek has been sent. */
  get heardMs(): number | undefined {
    const track = this.#options.locate();
    return track === undefined || landingOf(track) !== undefined ? undefined : this.#heardMs;
  }

  /** Frames sent ahead have not been played yet. */
  get #heardMs(): number {
    if (this.#reportedRate === 0) return this.#sentUntilMs;
    const nowMs = this.#options.clock.now();
    // Until the first frame behind the jump is due.
    if (nowMs < this.#jumpAtMs + FRAME_MS)
      return this.#jumpUntilMs - Math.max(0, this.#jumpAtMs - nowMs) * this.#reportedRate;
    return this.#sentUntilMs - Math.max(0, this.#sentAtMs - nowMs) * this.#reportedRate;
  }

  /** How far the track has been sent, and when its last frame is over, Unix epoch milliseconds. */
  get sent(): { readonly untilMs: number; readonly epochMs: number } {
    const { clock } = this.#options;
    return { untilMs: this.#sentUntilMs, epochMs: clock.epochMs() + this.#sentAtMs - clock.now() };
  }

  /** The next frame is behind a jump within the track; those sent so far are played. */
  turn(): void {
    this.#jumpUntilMs = this.#sentUntilMs;
    this.#jumpAtMs = this.#sentAtMs;
  }

  /** A track begins; the main thread assumes that it stands still at its start. */
  begin(startMs: number): void {
    this.#sentUntilMs = startMs;
    this.#jumpAtMs = Number.NEGATIVE_INFINITY;
    this.#reportedRate = 0;
  }

  /** A seek has been requested. */
  jump(): void {
    this.#jumpAtMs = Number.NEGATIVE_INFINITY;
    this.#reportedRate = 0;
    this.#send();
  }

  /** The track has been sent up to a track time; its last frame is due at `dueMs`. */
  advance(untilMs: number, { rate, dueMs }: { readonly rate: number; readonly dueMs: number }): void {
    this.#sentUntilMs = untilMs;
    this.#sentAtMs = dueMs;
    this.run(rate);
    // Frames that go out late, or close together behind a stall, are not where the main thread expects them.
    const sinceReportMs = this.#sentAtMs - this.#reportedAtMs;
    const expectedMs = this.#reportedMs + sinceReportMs * this.#reportedRate;
    if (sinceReportMs >= DRIFT_REPORT_MS && Math.abs(this.#sentUntilMs - expectedMs) > DRIFT_MS_MAX) this.#send();
  }

  /** `frames` frames were revoked: the track has been sent only up to `untilMs`. */
  retreat(untilMs: number, frames: number): void {
    this.#sentUntilMs = untilMs;
    this.#sentAtMs -= frames * FRAME_MS;
  }

  /** Track time runs at this rate, 0 for not at all. */
  run(rate: number): void {
    if (this.#reportedRate === rate) return;
    this.#reportedRate = rate;
    this.#send();
  }

  #send(): void {
    const report = this.position;
    if (report === undefined) return;
    this.#reportedMs = report.positionMs;
    this.#reportedAtMs = Math.min(this.#sentAtMs, this.#options.clock.now());
    this.#options.send(report);
  }
}

/** Where it is about to be, after a seek; undefined: it is where it was sent to. */
function landingOf({ sentRun, pipeline }: LocatedTrack): number | undefined {
  const { seekTargetMs, runNumber, landedMs, hasJumped } = pipeline;
  return seekTargetMs ?? (runNumber === sentRun || hasJumped ? undefined : landedMs);
}
