// One playback of one track as the control side knows it: everything needed to start it again in another worker, and
// its position. Main thread; the worker holds the actual playback.

import type { PlayCommand, SeekId, TrackId } from "../../bridge/commands.ts";
import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Track, trackAtPosition, trackToJson } from "../../track/track.ts";
import type { TrackJson } from "../../track/track-info.ts";
import { PositionClock } from "./position-clock.ts";

/**
 * Worker losses in a row, each soon after the track started there, after which the track is suspected without further
 * evidence.
 */
const WORKER_LOSSES_MAX = 3;
/** A track that ran this long on a worker is not what made it stop. */
const HARMLESS_AFTER_MS = 10_000;

export type TrackState = { readonly kind: "idle" } | { readonly kind: "loaded"; readonly playing: LoadedTrack };

export class LoadedTrack {
  readonly trackId: TrackId;
  readonly #clock: PositionClock;
  #track: Track;
  #endMs: number | undefined;
  #seekId: SeekId = 0;
  /** Added to what the worker reports: a stream that was started again counts from 0 there. */
  #offsetMs = 0;
  #hasBeenAudible = false;
  #startedEpochMs = 0;
  #workerLossCount = 0;
  #isSuspect = false;

  constructor(options: {
    trackId: TrackId;
    track: Track;
    startMs: number;
    endMs: number | undefined;
  }) {
    const { info } = options.track;
    const startMs = info.isStream ? 0 : Math.max(0, options.startMs);
    this.trackId = options.trackId;
    this.#track = options.track;
    this.#clock = new PositionClock(startMs, info.isStream ? Number.POSITIVE_INFINITY : Number(info.length));
    this.setEnd(options.endMs, startMs);
  }

  get track(): Track {
    return this.#track;
  }

  get seekId(): SeekId {
    return this.#seekId;
  }

  /** The end time as its worker counts. */
  get workerEndMs(): number | undefined {
    return this.#endMs === undefined ? undefined : this.#endMs - this.#offsetMs;
  }

  /** True once the worker has moved on from where it started: a failure is no longer a failure to load. */
  get hasBeenAudible(): boolean {
    return this.#hasBeenAudible;
  }

  set userData(userData: JsonObject) {
    this.#track = { ...this.#track, userData };
  }

  positionMs(epochMs: number): number {
    return this.#clock.at(epochMs);
  }

  /** Takes over a report unless it is of another playing or from before the last seek. */
  report(report: PositionReport): void {
    if (report.trackId !== this.trackId || report.seekId !== this.#seekId) return;
    if (report.rate > 0) this.#hasBeenAudible = true;
    this.#clock.report({ ...report, positionMs: report.positionMs + this.#offsetMs });
  }

  /** Stands still at the position of `epochMs` until the worker reports again. */
  hold(epochMs: number): void {
    this.#clock.holdAt(epochMs);
  }

  /** Moves to `positionMs`; false for streams, which ignore seeks. */
  seek(positionMs: number): boolean {
    if (this.#track.info.isStream) return false;
    this.#seekId++;
    this.#clock.jumpTo(positionMs);
    return true;
  }

  /** An end time that is not ahead of `positionMs` is ignored: the track then plays to its own end. */
  setEnd(endMs: number | undefined, positionMs: number): void {
    this.#endMs = endMs !== undefined && endMs > positionMs ? endMs : undefined;
    this.#clock.setEnd(this.#endMs);
  }

  /** The command that starts it on a worker, from where it is. */
  playCommand(input: PlayableInput, options: { isPaused: boolean; epochMs: number }): Omit<PlayCommand, "playerId"> {
    const positionMs = this.positionMs(options.epochMs);
    this.#seekId = 0;
    this.#startedEpochMs = options.epochMs;
    this.#offsetMs = this.#track.info.isStream ? positionMs : 0;
    const { isStream, length } = this.#track.info;
    return {
      type: "play",
      trackId: this.trackId,
      input,
      startMs: positionMs - this.#offsetMs,
      endMs: this.workerEndMs,
      lengthMs: isStream ? undefined : Number(length),
      isPaused: options.isPaused,
    };
  }

  /** Its worker is lost. `isAttributed`: the worker was processing this track at that moment. */
  onWorkerLost(epochMs: number, { isAttributed }: { readonly isAttributed: boolean }): void {
    this.hold(epochMs);
    const isSoon = epochMs - this.#startedEpochMs < HARMLESS_AFTER_MS;
    this.#workerLossCount = isSoon ? this.#workerLossCount + 1 : 1;
    if (isAttributed || this.#workerLossCount >= WORKER_LOSSES_MAX) this.#isSuspect = true;
  }

  /** It has probably cost a worker. */
  get isSuspect(): boolean {
    return this.#isSuspect;
  }

  toJson(epochMs: number): TrackJson {
    return trackToJson(trackAtPosition(this.#track, this.positionMs(epochMs)));
  }
}
