// One playback of the track in a player's intent: its position, and the command that starts it, or starts it again in
// another worker. Main thread; the worker holds the actual playback.

import type { PlayCommand, SeekId, TrackId } from "../../bridge/commands.ts";
import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Track, trackAtPosition, trackToJson } from "../../track/track.ts";
import type { TrackJson } from "../../track/track-info.ts";
import { endAhead, type IntentHolder, intendedRate, type TrackMirror } from "./player-intent.ts";
import { PositionClock } from "./position-clock.ts";

/**
 * Worker losses in a row, each soon after the track started there, after which the track is suspected without further
 * evidence.
 */
const WORKER_LOSSES_MAX = 3;
/** A track that breaks off this soon before its end is not played from elsewhere. */
const REST_MAX_MS = 5000;
/** A track that ran this long on a worker is not what made it stop. */
const HARMLESS_AFTER_MS = 10_000;

/** Only while its track is the one in the intent. */
export class LoadedTrack {
  readonly trackId: TrackId;
  readonly #intent: IntentHolder;
  readonly #clock: PositionClock;
  #seekId: SeekId = 0;
  /** Added to what the worker reports: a stream that was started again counts from 0 there. */
  #offsetMs = 0;
  #hasBeenAudible = false;
  /** Where the worker started it, or the last seek led. */
  #fromMs = 0;
  #startedEpochMs = 0;
  #workerLossCount = 0;
  #isSuspect = false;

  /** Stands still at the position of the intent. */
  constructor(trackId: TrackId, intent: IntentHolder) {
    this.trackId = trackId;
    this.#intent = intent;
    const { track, positionMs, endMs } = intent.track;
    const { isStream, length } = track.info;
    this.#clock = new PositionClock(positionMs, isStream ? Number.POSITIVE_INFINITY : Number(length));
    this.#clock.setEnd(endMs);
  }

  get track(): Track {
    return this.#intent.track.track;
  }

  /** What plays in its place, if anything does. */
  get mirror(): TrackMirror | undefined {
    return this.#intent.track.mirror;
  }

  /** The track whose audio plays: the client's own, or its mirror. */
  get played(): Track {
    const { track, mirror } = this;
    // It may hold a token that decides what its client can play.
    return mirror === undefined ? track : { ...mirror.track, userData: track.userData };
  }

  get seekId(): SeekId {
    return this.#seekId;
  }

  /** Where in the track its worker starts counting. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** The end time as its worker counts. */
  get workerEndMs(): number | undefined {
    const { endMs } = this.#intent.track;
    return endMs === undefined ? undefined : endMs - this.#offsetMs;
  }

  /** True once the worker has moved on from where it started: a failure is no longer a failure to load. */
  get hasBeenAudible(): boolean {
    return this.#hasBeenAudible;
  }

  /** Only its last seconds have not been played at `epochMs`, and no more than were played in one go before them. */
  isAlmostOver(epochMs: number): boolean {
    const positionMs = this.positionMs(epochMs);
    return this.#hasBeenAudible && this.#endMs - positionMs <= Math.min(REST_MAX_MS, positionMs - this.#fromMs);
  }

  /** Nothing of it is left to be played at `epochMs`, and it is not paused. */
  isOver(epochMs: number): boolean {
    return !this.#intent.value.isPaused && this.positionMs(epochMs) >= this.#endMs;
  }

  /** Where it ends as far as is known, Infinity for streams. */
  get #endMs(): number {
    const { endMs = Number.POSITIVE_INFINITY } = this.#intent.track;
    if (this.track.info.isStream) return endMs;
    const lengths = [this.track, this.played].map(({ info }) => Number(info.length)).filter((ms) => ms > 0);
    return Math.min(endMs, ...lengths);
  }

  set userData(userData: JsonObject) {
    this.#intent.replaceTrack({ track: { ...this.track, userData } });
  }

  positionMs(epochMs: number): number {
    return this.#clock.at(epochMs);
  }

  /** From where it is to be started again, so that nothing is left out. */
  resumeMs(epochMs: number): number {
    return this.#clock.heardAt(epochMs);
  }

  /** Track milliseconds a millisecond, as last reported or, before that, as it should be. */
  get rate(): number {
    return this.#clock.rate ?? intendedRate(this.#intent.value);
  }

  /**
   * Takes over a report unless it is of another playing or from before the last seek. Returns true when it was expected:
   * the position has only moved on, or stands still.
   */
  report(report: PositionReport): boolean {
    if (report.trackId !== this.trackId || report.seekId !== this.#seekId) return true;
    if (report.rate > 0) this.#hasBeenAudible = true;
    const ofTrack = { ...report, positionMs: report.positionMs + this.#offsetMs };
    const isExpected = this.#clock.expects(ofTrack);
    this.#clock.report(ofTrack);
    return isExpected;
  }

  /**
   * It counts as playing on at `rate` since the position of the intent was valid, without a worker. What cannot be
   * skipped stands still.
   */
  runOn(rate: number): void {
    const { positionMs, epochMs } = this.#intent.track;
    const canSkip = [this.track, this.played].every(({ info }) => info.isSeekable && !info.isStream);
    this.#clock.assume({ positionMs, epochMs, rate: canSkip ? rate : 0 });
  }

  /** Ends that at `epochMs`: the track is to be started from where it is then. */
  moveOn(epochMs: number): void {
    this.hold(epochMs);
    this.#intent.replaceTrack({ positionMs: this.resumeMs(epochMs), epochMs });
  }

  /** Stands still at the position of `epochMs` until the worker reports again. */
  hold(epochMs: number): void {
    this.#clock.holdAt(epochMs);
  }

  /** Moves to `positionMs` at `epochMs`; false for streams, which ignore seeks. */
  seek(positionMs: number, epochMs: number): boolean {
    if (this.track.info.isStream) return false;
    this.#seekId++;
    this.#clock.jumpTo(positionMs);
    this.#fromMs = positionMs;
    this.#intent.replaceTrack({ positionMs, epochMs });
    return true;
  }

  /** An end time that is not ahead of the position at `epochMs` is ignored. */
  setEnd(endMs: number | undefined, epochMs: number): void {
    const end = endAhead(endMs, this.positionMs(epochMs));
    this.#clock.setEnd(end);
    this.#intent.replaceTrack({ endMs: end });
  }

  /** The command that starts it on a worker, from where it is. */
  playCommand(input: PlayableInput, epochMs: number): Omit<PlayCommand, "playerId" | "owner"> {
    const positionMs = this.resumeMs(epochMs);
    const { isStream, length } = this.played.info;
    this.#seekId = 0;
    this.#startedEpochMs = epochMs;
    this.#fromMs = positionMs;
    this.#offsetMs = isStream ? positionMs : 0;
    return {
      type: "play",
      trackId: this.trackId,
      input,
      startMs: positionMs - this.#offsetMs,
      endMs: this.workerEndMs,
      lengthMs: isStream ? undefined : Number(length),
      isPaused: this.#intent.value.isPaused,
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
    const json = trackToJson(trackAtPosition(this.track, this.positionMs(epochMs)));
    if (this.mirror === undefined) return json;
    return { ...json, pluginInfo: { ...json.pluginInfo, ...mirrorJson(this.mirror) } };
  }
}

function mirrorJson({ track, provider, score, reasons, failure }: TrackMirror): JsonObject {
  const { sourceName, identifier, title, author, length, uri } = track.info;
  const mirror = { sourceName, identifier, title, author, length, uri, provider, score, reasons };
  return failure === undefined ? { mirror } : { fallback: { ...mirror, reason: failure } };
}
