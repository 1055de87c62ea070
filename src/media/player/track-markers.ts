// The timed markers of one playing track: reports each when listeners hear its position, or when a seek or a skip
// passes over it, and knows the jumps that its skips are. A marker counts as passed exactly when it lies before the
// position, so nothing is remembered about one but where the position is. Held by playing-track.ts; described in
// docs/internals/markers.md. Audio thread; called with every frame while a marker is ahead, without allocating.

import type { Marker, PassedMarker } from "../../bridge/markers.ts";
import type { Clock } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import { REST_MS_MIN } from "../pipeline/jump-list.ts";
import type { Jump } from "../pipeline/prepared-jump.ts";

/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

interface TrackMarkersOptions {
  readonly clock: Clock;
  readonly report: (passed: readonly PassedMarker[]) => void;
}

/** Positions are track time in milliseconds. */
export class TrackMarkers {
  readonly #options: TrackMarkersOptions;
  /** In the order of their positions. */
  #markers: readonly Marker[] = [];
  /** Index of the first that has not been passed. */
  #next = 0;

  constructor(options: TrackMarkersOptions) {
    this.#options = options;
  }

  /** A marker is ahead. */
  get areAhead(): boolean {
    return this.#next < this.#markers.length;
  }

  get jumps(): Jump[] {
    return this.#markers.flatMap(({ positionMs: fromMs, skipToMs: toMs }) =>
      toMs === undefined ? [] : { fromMs, toMs },
    );
  }

  /** As they are for another worker that continues at a position. */
  continuedAt(positionMs: number): Marker[] {
    return this.#markers.map((marker) => ({ ...marker, isDone: marker.positionMs < positionMs - SAME_MOMENT_MS }));
  }

  /**
   * Replaces all; those before the position that have not been reported are late. Returns where to go when the
   * position lies in a segment that is to be skipped.
   */
  replace(markers: readonly Marker[], positionMs: number): number | undefined {
    this.#markers = [...markers].sort((one, other) => one.positionMs - other.positionMs);
    this.#next = this.#indexOf(positionMs);
    const late = this.#markers.slice(0, this.#next).filter(({ isDone }) => !isDone);
    const nowMs = this.#options.clock.epochMs();
    this.#report(late.map(({ id }) => ({ id, outcome: "late", epochMs: nowMs })));
    let landingMs = positionMs;
    for (const { positionMs: fromMs, skipToMs } of [...late, ...this.#markers.slice(this.#next)]) {
      const restMsMax = landingMs > positionMs ? REST_MS_MIN : SAME_MOMENT_MS;
      if (fromMs <= landingMs + restMsMax && skipToMs !== undefined) landingMs = Math.max(landingMs, skipToMs);
    }
    return landingMs > positionMs ? landingMs : undefined;
  }

  /** Listeners are at a position now, in audio that runs at `rate`. */
  onHeard(positionMs: number, rate: number): void {
    const next = this.#markers[this.#next];
    if (next === undefined || next.positionMs > positionMs) return;
    const nowMs = this.#options.clock.epochMs();
    const passed: PassedMarker[] = [];
    for (
      let marker = next;
      marker !== undefined && marker.positionMs <= positionMs;
      marker = this.#markers[this.#next]!
    ) {
      passed.push({ id: marker.id, outcome: "reached", epochMs: nowMs - (positionMs - marker.positionMs) / rate });
      this.#next += 1;
    }
    this.#report(passed);
  }

  /** Playback jumps at `epochMs` from one position to another, over segments that are skipped. */
  onJump({ fromMs, toMs }: Jump, { epochMs, rate }: { readonly epochMs: number; readonly rate: number }): void {
    const reachedMs = fromMs + (FRAME_MS / 2) * rate;
    this.#pass(toMs, ({ id, positionMs, skipToMs }) => {
      const outcome = positionMs <= reachedMs || skipToMs !== undefined ? "reached" : "bypassed";
      return { id, outcome, epochMs: epochMs - Math.max(0, fromMs - positionMs) / rate };
    });
  }

  /** Playback goes to `landingMs`: a seek to `targetMs`, or where a segment that is skipped leads from there. */
  onSeek(targetMs: number, landingMs: number): void {
    const epochMs = this.#options.clock.epochMs();
    this.#next = Math.min(this.#next, this.#indexOf(targetMs));
    this.#pass(landingMs, ({ id, positionMs, skipToMs }) => {
      const isSkipped = positionMs >= targetMs - SAME_MOMENT_MS && skipToMs !== undefined;
      return { id, outcome: isSkipped ? "reached" : "bypassed", epochMs };
    });
  }

  /** Passes those before a position. */
  #pass(positionMs: number, judge: (marker: Marker) => PassedMarker): void {
    const end = this.#indexOf(positionMs);
    if (end <= this.#next) return;
    const passed = this.#markers.slice(this.#next, end).map(judge);
    this.#next = end;
    this.#report(passed);
  }

  #report(passed: readonly PassedMarker[]): void {
    if (passed.length > 0) this.#options.report(passed);
  }

  /** Index of the first at a position or behind it. */
  #indexOf(positionMs: number): number {
    const index = this.#markers.findIndex((marker) => marker.positionMs >= positionMs - SAME_MOMENT_MS);
    return index === -1 ? this.#markers.length : index;
  }
}
