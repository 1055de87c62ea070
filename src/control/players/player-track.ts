// The track side of one player: starts the track of the intent on the player's worker, follows it until its end, and
// reports both to the client. Decides what happens to a track that crashes workers or exceeds its CPU quota. Main
// thread; the actual playback is in the worker.

import type { EndReason } from "../../bridge/events.ts";
import type { OwnPlayerState, OwnTrackEvent } from "../../bridge/plugin-players.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import { toWireError, type WireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import type { EventMessage, TrackEndReasonJson } from "../protocol/outgoing-message.ts";
import { exceptionToJson } from "../sources/load-result.ts";
import type { PlayerEvent, WorkerHandle } from "../workers/worker-handle.ts";
import type { DeadlyTracks } from "./deadly-tracks.ts";
import { LoadedTrack } from "./loaded-track.ts";
import { type IntentHolder, trackIntentOf } from "./player-intent.ts";
import { type GroupOptions, type MarkerRequest, type OnMarker, PlayerMarkers } from "./player-markers.ts";
import type { MirrorProvider, TrackProvider } from "./player-providers.ts";
import { TrackMirrors } from "./track-mirrors.ts";

/** How long a player that has played needs no new admission: bots take their time between the tracks of a queue. */
const ADMITTED_MS = 60_000;

/** Events of the worker about the track of a player. */
type WorkerTrackEvent = Extract<
  PlayerEvent,
  { type: "trackEnded" | "trackOverQuota" | "trackException" | "trackStuck" | "markersPassed" }
>;

/** What is the same for all events of one playing. */
type OwnPlaying = Pick<OwnTrackEvent, "playId" | "track" | "mirror">;

/** The members of an event that only that type has. */
type TrackEventContent = OwnTrackEvent extends infer Event
  ? Event extends OwnTrackEvent
    ? Omit<Event, keyof OwnPlaying>
    : never
  : never;

/** An event for the client, without what is the same for all events of a player. */
export type EventContent = EventMessage extends infer Event
  ? Event extends EventMessage
    ? Omit<Event, "op" | "guildId">
    : never
  : never;

interface PlayerTrackOptions {
  readonly intent: IntentHolder;
  readonly owner: Owner;
  readonly tracks: Pick<TrackProvider, "playableInput">;
  readonly mirrors: MirrorProvider | undefined;
  /** Counts the memory of a mirror. Throws `memory-exhausted`. */
  readonly storeMirror: (track: Track) => void;
  readonly deadlyTracks: DeadlyTracks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The player's worker, while it has one. */
  readonly worker: () => WorkerHandle | undefined;
  /** Moves the player to its own worker. False, without any effect, when the maximum of isolated players is reached. */
  readonly isolate: () => boolean;
  /** A track is loaded; the client is notified next. */
  readonly onLoaded: () => void;
  /** Its position has jumped, or its rate has changed, other than by a request. */
  readonly onMoved: () => void;
  /** The track has ended; the client is notified next. */
  readonly onEnded: () => void;
  readonly sendEvent: (event: EventContent) => void;
  /** Something has happened to a track. Default: nobody is told. */
  readonly onTrackEvent?: ((event: OwnTrackEvent) => void) | undefined;
  readonly sendPlayerUpdate: () => void;
}

export class PlayerTrack {
  /** Of the process: a plugin must not take the track of another player for its own. */
  static #playCount = 0;
  readonly #options: PlayerTrackOptions;
  readonly #clock: Clock;
  readonly #mirrors: TrackMirrors;
  readonly #markers: PlayerMarkers;
  #loaded: LoadedTrack | undefined;
  /** The exception of a track that cannot be started, until its end shows whether it is to be reported. */
  #heldException: WireError | undefined;
  #trackCount = 0;
  #playId = 0;
  /** When the last track ended. */
  #endedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PlayerTrackOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#markers = new PlayerMarkers(options);
    this.#mirrors = new TrackMirrors(options);
  }

  /** Undefined: the player is idle. */
  get loaded(): LoadedTrack | undefined {
    return this.#loaded;
  }

  /** What the player plays, with its position. */
  get playing(): OwnPlayerState["playing"] {
    const loaded = this.#loaded;
    if (loaded === undefined) return undefined;
    return { ...this.#playing(loaded), positionMs: loaded.positionMs(this.#clock.epochMs()) };
  }

  /** A track is loaded, or one has ended within the last minute. */
  get hasRecentTrack(): boolean {
    return this.#loaded !== undefined || this.#clock.now() - this.#endedMs < ADMITTED_MS;
  }

  /** Starts a track for the client, from `startMs` to `endMs` of track time. None is loaded. */
  play(track: Track, times: { readonly startMs: number; readonly endMs: number | undefined }): void {
    const { intent, sendEvent, sendPlayerUpdate } = this.#options;
    intent.replace({ track: trackIntentOf(track, { ...times, epochMs: this.#clock.epochMs() }) });
    const loaded = this.load();
    sendEvent({ type: "TrackStartEvent", track: this.#toJson(loaded) });
    // Two updates, as clients are used to: the first of the regular ones, and the one that follows every play.
    sendPlayerUpdate();
    sendPlayerUpdate();
    this.start();
    this.#tell(loaded, { type: "trackStarted" });
  }

  /** The track of the intent becomes the loaded one. */
  load(): LoadedTrack {
    if (this.#loaded === undefined) this.#playId = ++PlayerTrack.#playCount;
    const loaded = new LoadedTrack(++this.#trackCount, this.#options.intent);
    this.#loaded = loaded;
    this.#options.onLoaded();
    return loaded;
  }

  /** The track of a restored intent is loaded, and counts as playing on at `rate` since then. */
  restore(rate: number): void {
    this.load().runOn(rate);
  }

  /** Before the restored track, if any, is started on a worker: moves it on to where it would be by now, or ends it. */
  moveOn(): void {
    const epochMs = this.#clock.epochMs();
    this.#loaded?.moveOn(epochMs);
    if (this.#loaded?.isOver(epochMs)) this.end("finished");
  }

  /** The restored track plays on: for plugins it starts, for the client it does not. */
  tellStarted(): void {
    if (this.#loaded !== undefined) this.#tell(this.#loaded, { type: "trackStarted" });
  }

  /** Plays the loaded track, if any, on a worker that does not have it. */
  start(): void {
    const { worker, owner, deadlyTracks, isolate, tracks } = this.#options;
    const [loaded, handle] = [this.#loaded, worker()];
    if (loaded === undefined || handle === undefined || this.#mirrors.isSearching) return;
    this.#heldException = undefined;
    if (this.#mirrors.isNeeded(loaded)) {
      // The one before does not play on under its name.
      this.#sendStop();
      void this.#playElsewhere(loaded, undefined);
      return;
    }
    try {
      if (!handle.isIsolated && deadlyTracks.has(loaded.played)) {
        if (isolate()) return;
        const message =
          "the track has crashed audio workers before and may only play isolated, and the maximum of isolated players is reached; try again later";
        throw new NodeError("track-crashes-worker", message);
      }
      handle.send({ ...loaded.playCommand(tracks.playableInput(loaded.played), this.#clock.epochMs()), owner });
      if (this.#markers.areAny) this.#sendMarkers(loaded);
    } catch (error) {
      // The one before does not play on under its name.
      this.#sendStop();
      // After the answer, as a failure in the worker would come.
      this.#clock.after(0, () => {
        if (this.#loaded === loaded) this.#fail(toWireError(error));
      });
    }
  }

  seek(positionMs: number): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    const { worker, sendPlayerUpdate } = this.#options;
    if (loaded.seek(positionMs, this.#clock.epochMs())) {
      this.#markers.onSeek(positionMs);
      worker()?.send({ type: "seek", trackId: loaded.trackId, seekId: loaded.seekId, positionMs });
    }
    sendPlayerUpdate();
  }

  /** Undefined: the track plays to its own end. */
  setEnd(endMs: number | undefined): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    loaded.setEnd(endMs, this.#clock.epochMs());
    this.#options.worker()?.send({ type: "setEndTime", trackId: loaded.trackId, endMs: loaded.workerEndMs });
  }

  /** See Player.setMarkers. */
  setMarkers(group: string, markers: readonly MarkerRequest[], onMarker: OnMarker, options?: GroupOptions): boolean {
    const loaded = this.#loaded;
    if (loaded === undefined) return false;
    this.#markers.replace(group, markers, onMarker, options);
    if (this.#loaded === loaded) this.#sendMarkers(loaded);
    return true;
  }

  #sendMarkers({ trackId, offsetMs }: LoadedTrack): void {
    this.#options.worker()?.send({ type: "setMarkers", trackId, markers: this.#markers.forWorker(offsetMs) });
  }

  /** Stops the worker, also one that still plays a track that has ended here, and ends the track. */
  stop(reason: TrackEndReasonJson): void {
    this.#sendStop();
    this.end(reason);
  }

  /** Ends the track, if any, for the client; nothing is sent to the worker. */
  end(reason: TrackEndReasonJson): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    const track = this.#toJson(loaded);
    const playing = this.#playing(loaded);
    this.#loaded = undefined;
    this.#heldException = undefined;
    this.#mirrors.reset();
    this.#options.intent.replace({ track: undefined });
    this.#endedMs = this.#clock.now();
    this.#options.onEnded();
    this.#markers.clear();
    this.#options.sendEvent({ type: "TrackEndEvent", track, reason });
    this.#options.onTrackEvent?.({ ...playing, type: "trackEnded", reason });
  }

  /** It has crashed a second worker, one that it had to itself: there is no further attempt. */
  giveUp(): void {
    if (this.#loaded === undefined) return;
    this.#options.deadlyTracks.add(this.#loaded.played, this.#options.owner);
    const message = "the track was ended: it crashed an audio worker, and again when it played isolated";
    this.#fail(toWireError(new NodeError("track-crashes-worker", message)));
  }

  onPosition(report: PositionReport): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    const isExpected = loaded.report(this.#options.intent.value.isPaused ? { ...report, rate: 0 } : report);
    if (!isExpected) this.#options.onMoved();
    this.#mirrors.onPosition(loaded);
  }

  onWorkerEvent(event: WorkerTrackEvent): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    if (event.trackId !== loaded.trackId) {
      // A track that has been replaced or stopped in the meantime: its end has been reported.
    } else if (event.type === "trackEnded") {
      this.#onEnded(loaded, event.reason);
    } else if (event.type === "markersPassed") {
      this.#markers.onPassed(event.passed, { isBeforeSeek: event.seekId !== loaded.seekId });
    } else if (event.type === "trackOverQuota") {
      this.#onOverQuota(event.share);
    } else if (event.type === "trackException") {
      if (this.#mirrors.isFor(loaded, event.error)) this.#heldException ??= event.error;
      else this.#reportException(loaded, event.error);
    } else {
      const { sendEvent, sendPlayerUpdate } = this.#options;
      const { thresholdMs } = event;
      sendEvent({ type: "TrackStuckEvent", track: this.#toJson(loaded), thresholdMs });
      sendPlayerUpdate();
      this.#tell(loaded, { type: "trackStuck", thresholdMs });
    }
  }

  #onEnded(loaded: LoadedTrack, reason: EndReason): void {
    const held = this.#heldException;
    if (held === undefined) {
      this.end(reason);
    } else if (reason === "loadFailed" || (reason === "finished" && loaded.mirror !== undefined)) {
      void this.#playElsewhere(loaded, held);
    } else {
      this.#reportException(loaded, held);
      this.end(reason);
    }
  }

  /**
   * The track is played from elsewhere, from where it is, or the client is notified of its end. `cause`: why it ended;
   * undefined: it has no audio.
   */
  async #playElsewhere(loaded: LoadedTrack, cause: WireError | undefined): Promise<void> {
    if (cause !== undefined && loaded.mirror !== undefined && loaded.isAlmostOver(this.#clock.epochMs())) {
      this.#options.logger.info("mirror broke off at its end: the track is finished", { code: cause.code });
      this.#mirrors.forget(loaded);
      this.end("finished");
      return;
    }
    loaded.hold(this.#clock.epochMs());
    const { mirror, ...failed } = await this.#mirrors.next(loaded, cause);
    // It was stopped or replaced in the meantime.
    if (this.#loaded !== loaded) return;
    const { intent } = this.#options;
    const epochMs = this.#clock.epochMs();
    // Where a skip leads that was made before anything was heard does not count.
    const positionMs = loaded.hasBeenAudible ? loaded.resumeMs(epochMs) : intent.track.positionMs;
    intent.replaceTrack({ mirror, positionMs, epochMs });
    if (failed.error === undefined) {
      this.#markers.onMirrored(positionMs);
      const mirrored = this.load();
      this.start();
      this.#tell(mirrored, { type: "trackMirrored" });
      return;
    }
    const { error, wasAudible } = failed;
    const end = (): void => {
      if (this.#loaded !== loaded) return;
      this.#reportException(loaded, error);
      this.end(wasAudible ? "finished" : "loadFailed");
    };
    // After the answer, as a failure in the worker would come.
    if (cause === undefined) this.#clock.after(0, end);
    else end();
  }

  /** It takes so much of its worker that others are late. */
  #onOverQuota(share: number): void {
    const { worker, isolate, logger } = this.#options;
    const percent = Math.round(share * 100);
    if (worker()?.isIsolated !== true && isolate()) {
      logger.warn("track exceeds its CPU quota: it continues isolated", { percent });
      return;
    }
    this.#sendStop();
    const message = `the track was ended: it takes ${percent} % of a processor core, more than its CPU quota`;
    this.#fail(toWireError(new NodeError("track-too-costly", message)));
  }

  /** Ends the track for a reason on this side. */
  #fail(error: WireError): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    if (this.#mirrors.isFor(loaded, error)) {
      void this.#playElsewhere(loaded, error);
      return;
    }
    this.#options.logger.warn("track ended by the node", { code: error.code });
    this.#reportException(loaded, error);
    this.end(loaded.hasBeenAudible ? "finished" : "loadFailed");
  }

  #reportException(loaded: LoadedTrack, error: WireError): void {
    this.#mirrors.forget(loaded);
    const track = this.#toJson(loaded);
    const exception = exceptionToJson(error);
    this.#options.sendEvent({ type: "TrackExceptionEvent", track, exception });
    this.#tell(loaded, { type: "trackException", message: error.message, severity: error.severity });
  }

  #tell(loaded: LoadedTrack, event: TrackEventContent): void {
    this.#options.onTrackEvent?.({ ...this.#playing(loaded), ...event });
  }

  #playing({ track, mirror }: LoadedTrack): OwnPlaying {
    // What a client has stored with it may be large, and is nobody's business.
    return { playId: this.#playId, track: { ...track, userData: {} }, mirror: mirror?.track };
  }

  #sendStop(): void {
    this.#options.worker()?.send({ type: "stop" });
  }

  #toJson(loaded: LoadedTrack): ReturnType<LoadedTrack["toJson"]> {
    return loaded.toJson(this.#clock.epochMs());
  }
}
