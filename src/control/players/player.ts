// The requested state of one guild: the track and its position, pause, volume, filters and voice, enough to create the
// player again on any worker at any moment. Applies updates in the order of protocol-v4.md section 2.7, but a refused
// update changes nothing, and sends the client every event in the order of section 4.6. Main thread; the audio itself
// is rendered in the worker.

import type { Activity } from "../../bridge/heartbeat.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { toWireError, type WireError } from "../../bridge/wire-error.ts";
import type { FrameMinute, PlayerReport } from "../../bridge/worker-report.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import type { EventMessage, TrackEndReasonJson } from "../protocol/outgoing-message.ts";
import type { PlayerDiagnosisJson } from "../protocol/player-diagnosis-json.ts";
import type { PlayerJson, PlayerStateJson } from "../protocol/player-json.ts";
import { exceptionToJson } from "../sources/load-result.ts";
import type {
  CrashAttribution,
  PlayerEvent,
  PlayerNotice,
  PooledPlayer,
  WorkerHandle,
} from "../workers/worker-handle.ts";
import type { DeadlyTracks } from "./deadly-tracks.ts";
import { LoadedTrack, type TrackState } from "./loaded-track.ts";
import { diagnosedTrack, PlayerDiagnosis } from "./player-diagnosis.ts";
import { IntentHolder, type PlayerIntent, trackIntentOf } from "./player-intent.ts";
import { PlayerMemory, type ReservedSizes } from "./player-memory.ts";
import type { PlayerOverview } from "./player-overview.ts";
import type { EventSink, PlayerOwner } from "./player-owner.ts";
import type { TrackProvider, WorkerProvider } from "./player-providers.ts";
import type { PlayerUpdate } from "./player-update.ts";
import { PlayerVoice } from "./player-voice.ts";
import { type CheckedChange, TrackChecks } from "./track-checks.ts";
import { UpdateQueue } from "./update-queue.ts";
import type { UpdateTarget, UpdateTimer } from "./update-timer.ts";

/** How long DELETE waits for the worker to have closed the voice connection. */
const DESTROY_TIMEOUT_MS = 1000;
/** How long a player that has played needs no new admission: bots take their time between the tracks of a queue. */
const ADMITTED_MS = 60_000;
/** The worker reports a minute once it is over; the one asked for is the last or the one before. */
const FRAME_MINUTES_MAX = 2;

interface PlayerOptions extends PlayerOwner {
  readonly workers: WorkerProvider;
  readonly tracks: TrackProvider;
  readonly updateTimer: UpdateTimer;
  readonly deadlyTracks: DeadlyTracks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an update waits for the voice connection before it is answered all the same. */
  readonly voiceConnectTimeoutMs: number;
}

/** control/sessions/session-player.ts documents the methods that a session calls, and when. */
export class Player implements PooledPlayer, UpdateTarget {
  readonly guildId: string;
  readonly #options: PlayerOptions;
  readonly #sink: EventSink;
  readonly #clock: Clock;
  readonly #memory: PlayerMemory;
  readonly #intent = new IntentHolder();
  readonly #voice: PlayerVoice;
  readonly #diagnosis: PlayerDiagnosis;
  readonly #updates = new UpdateQueue();
  readonly #trackChecks: TrackChecks;
  readonly #destruction = new AbortController();
  #destroyed: Promise<void> | undefined;
  #handle: WorkerHandle | undefined;
  #state: TrackState = { kind: "idle" };
  #trackCount = 0;
  /** A track has been admitted and starts as soon as its update has been applied. */
  #isStarting = false;
  /** When its last track ended. */
  #endedMs = Number.NEGATIVE_INFINITY;
  #frameMinutes: FrameMinute[] = [];

  /** Throws `memory-exhausted`. */
  constructor(options: PlayerOptions) {
    this.#memory = new PlayerMemory(options.memory);
    this.guildId = options.guildId;
    this.#options = options;
    this.#sink = options.sink;
    this.#clock = options.clock;
    this.#trackChecks = new TrackChecks({
      tracks: options.tracks,
      userId: options.userId,
      memory: this.#memory,
      clock: options.clock,
      seekAdmission: () => this.#seekAdmission(),
      signal: this.#destruction.signal,
    });
    const logger = options.logger.child({ guildId: options.guildId });
    this.#diagnosis = new PlayerDiagnosis({
      clock: options.clock,
      logger,
      onIncident: (incident) => options.workers.addIncident(incident),
    });
    this.#voice = new PlayerVoice({
      intent: this.#intent,
      clock: options.clock,
      logger,
      connectTimeoutMs: options.voiceConnectTimeoutMs,
      onClosed: (code, reason, isByRemote) => this.#onVoiceClosed(code, reason, isByRemote),
      onReady: () => this.sendPlayerUpdate(),
    });
    options.workers.attach(this);
  }

  get isPlaying(): boolean {
    return this.#state.kind === "loaded" && !this.#intent.value.isPaused;
  }

  get needsCapacity(): boolean {
    return this.isPlaying || this.#isStarting;
  }

  get isUnused(): boolean {
    return this.#updates.isUnused;
  }

  async update(update: PlayerUpdate, { isReplacing }: { readonly isReplacing: boolean }): Promise<void> {
    const reserved = this.#memory.admit(update);
    try {
      await this.#updates.run(() => this.#apply(update, { reserved, isReplacing }));
    } finally {
      this.#memory.release(reserved);
    }
  }

  toJson(): PlayerJson {
    const state = this.#stateJson();
    const { volume, isPaused, filters } = this.#intent.value;
    return {
      guildId: this.guildId,
      track: this.#state.kind === "loaded" ? this.#state.playing.toJson(state.time) : null,
      volume,
      paused: isPaused,
      state,
      voice: this.#voice.toJson(),
      filters,
    };
  }

  diagnose(): PlayerDiagnosisJson {
    const { guildId } = this;
    const { sessionId, workers } = this.#options;
    const { position } = this.#stateJson();
    const track = this.#state.kind === "loaded" ? diagnosedTrack(this.#state.playing.track.info) : null;
    const own = { guildId, sessionId, track, position, paused: this.#intent.value.isPaused };
    return this.#diagnosis.toJson(own, workers.placementOf(this));
  }

  get lastTroubleEpochMs(): number {
    return this.#diagnosis.lastTroubleEpochMs;
  }

  overview(): PlayerOverview {
    const { position, connected } = this.#stateJson();
    const placement = this.#options.workers.placementOf(this);
    return {
      track: this.#state.kind === "loaded" ? this.#state.playing.track : undefined,
      positionMs: position,
      isPaused: this.#intent.value.isPaused,
      isConnected: connected,
      worker: (placement?.renderWorker ?? placement?.ownerWorker)?.index,
      isIsolated: placement?.ownerWorker.isIsolated ?? false,
      audio: this.#diagnosis.overview,
    };
  }

  skip(): Promise<void> {
    return this.#updates.run(async () => {
      if (this.#state.kind === "idle") return;
      this.#send({ type: "stop" });
      this.#end("finished");
    });
  }

  /** The intent, with the track's position of this moment. */
  snapshot(): PlayerIntent {
    if (this.#state.kind === "idle") return this.#intent.value;
    const epochMs = this.#clock.epochMs();
    const { track } = this.#intent;
    return { ...this.#intent.value, track: { ...track, positionMs: this.#state.playing.positionMs(epochMs), epochMs } };
  }

  /**
   * Makes this player, to which nothing has been sent so far, do what another one did when it gave `snapshot`. The
   * track continues at its position then; the client gets no message. Throws `memory-exhausted`.
   */
  restore(snapshot: PlayerIntent): void {
    if (!this.#intent.isNew || !this.isUnused) throw new Error("only a new player can be restored");
    this.#memory.keepAll(snapshot);
    this.#updates.markUsed();
    this.#intent.replace(snapshot);
    if (snapshot.track !== undefined) this.#load();
    if (this.#handle === undefined) return;
    this.#send({ type: "setVolume", volume: snapshot.volume });
    this.#send({ type: "setFilters", filters: snapshot.filters });
    this.#startRequested(this.#handle);
  }

  frameMinute(minute: number): FrameMinute | undefined {
    return this.#frameMinutes.find((entry) => entry.minute === minute);
  }

  sendPlayerUpdate(): void {
    this.#sink.send({ op: "playerUpdate", state: this.#stateJson(), guildId: this.guildId });
  }

  /** TrackEnd (stopped), WebSocketClosed (1000) and a last playerUpdate, each only where there is something to end. */
  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  }

  onWorkerAssigned(handle: WorkerHandle): void {
    const { guildId, userId } = this.#options;
    this.#handle = handle;
    const { volume, filters } = this.#intent.value;
    handle.send({ type: "createPlayer", guildId, userId, volume, filters });
    this.#startRequested(handle);
  }

  onWorkerLost(attribution: CrashAttribution): void {
    this.#handle = undefined;
    this.#voice.onWorkerLost();
    const isAudible = this.isPlaying && this.#state.kind === "loaded" && this.#state.playing.hasBeenAudible;
    this.#diagnosis.onWorkerLost({ isAudible });
    if (this.#state.kind === "loaded") {
      this.#state.playing.onWorkerLost(this.#clock.epochMs(), { isAttributed: attribution.kind === "suspect" });
    }
    if (attribution.kind === "culprit") this.#giveUp(attribution.activity);
  }

  get isSuspect(): boolean {
    return this.#state.kind === "loaded" && this.#state.playing.isSuspect;
  }

  onWorkerEvent(event: PlayerEvent): void {
    if (event.type === "playerReport") this.#onReport(event.report);
    else if (event.type === "voiceState" || event.type === "voiceClosed") this.#voice.onWorkerEvent(event);
    else if (this.#state.kind === "loaded") this.#onTrackEvent(this.#state.playing, event);
  }

  #onReport(report: PlayerReport): void {
    const { position, minute } = report;
    if (position !== undefined && this.#state.kind === "loaded") this.#onPosition(this.#state.playing, position);
    this.#diagnosis.onReport(report);
    if (minute !== undefined) this.#frameMinutes = [minute, ...this.#frameMinutes].slice(0, FRAME_MINUTES_MAX);
  }

  /** Everything that can be refused comes first; nothing after that fails. */
  async #apply(update: PlayerUpdate, { reserved, isReplacing }: ApplyOptions): Promise<void> {
    try {
      // A track that is loaded now counts for noReplace, also when it ends while this update waits for its voice.
      const change = isReplacing || this.#state.kind === "idle" ? update.trackChange : undefined;
      const onPassed = (): void => {
        this.#isStarting = update.isPaused !== true;
      };
      const checked = change && (await this.#trackChecks.check(change, { reserved, onPassed }));
      if (update.voice !== undefined) await this.#connectVoice(update.voice, reserved);
      this.#carryOut(update, checked, reserved);
    } finally {
      this.#isStarting = false;
    }
  }

  /** The steps and their order are those of protocol-v4.md section 2.7, from step 5 on. */
  #carryOut(update: PlayerUpdate, change: CheckedChange | undefined, reserved: ReservedSizes): void {
    if (update.trackChange === undefined) {
      if (update.isPaused !== undefined) this.#setPaused(update.isPaused);
      if (update.userData !== undefined && this.#state.kind === "loaded") {
        this.#memory.keep("userData", reserved);
        this.#state.playing.userData = update.userData;
      }
    }
    if (update.volume !== undefined) this.#setVolume(update.volume);
    if (update.trackChange === undefined) {
      if (update.positionMs !== undefined) this.#seek(update.positionMs);
      if (update.endTimeMs !== undefined) this.#setEndTime(update.endTimeMs ?? undefined);
    }
    if (update.filters !== undefined) {
      this.#memory.keep("filters", reserved);
      this.#setFilters(update.filters);
    }
    if (change !== undefined) this.#changeTrack(change, update, reserved);
  }

  async #connectVoice(credentials: VoiceCredentials, reserved: ReservedSizes): Promise<void> {
    try {
      await this.#voice.connect(credentials, this.#handle);
    } catch (error) {
      // The previous connection is closed, too.
      this.#memory.drop("voice");
      throw error;
    }
    this.#refuseDestroyed();
    this.#memory.keep("voice", reserved);
  }

  /**
   * The end of a pause takes effect with the track change and never before it: a worker that is un-paused first plays
   * the old track until the next command arrives.
   */
  #changeTrack(change: CheckedChange, update: PlayerUpdate, reserved: ReservedSizes): void {
    const isPaused = update.isPaused ?? false;
    if (change.kind === "stop") {
      this.#send({ type: "stop" });
      this.#end("stopped");
      this.#setPaused(isPaused);
      return;
    }
    const { track } = change;
    this.#end("replaced");
    this.#memory.keep("track", reserved);
    this.#memory.keep("userData", reserved);
    // The play command carries it to the worker.
    this.#intent.replace({ isPaused });
    this.#play(update.userData === undefined ? track : { ...track, userData: update.userData }, {
      startMs: update.positionMs ?? Number(track.info.position),
      endMs: update.endTimeMs ?? undefined,
    });
  }

  /**
   * A player that has played recently may continue with its next track. Throws where a new player would make others
   * late.
   */
  #seekAdmission(): void {
    const isPlaying = this.#state.kind === "loaded" || this.#clock.now() - this.#endedMs < ADMITTED_MS;
    if (!isPlaying) this.#options.workers.admit(this);
  }

  #play(track: Track, times: { startMs: number; endMs: number | undefined }): void {
    this.#intent.replace({ track: trackIntentOf(track, { ...times, epochMs: this.#clock.epochMs() }) });
    const playing = this.#load();
    this.#sendEvent({ type: "TrackStartEvent", track: this.#trackJson(playing) });
    // Two updates, as clients are used to: the first of the regular ones, and the one that follows every play.
    this.sendPlayerUpdate();
    this.sendPlayerUpdate();
    this.#startOnWorker(playing);
  }

  /** The track of the intent becomes the loaded one. */
  #load(): LoadedTrack {
    const playing = new LoadedTrack(++this.#trackCount, this.#intent);
    this.#state = { kind: "loaded", playing };
    this.#options.updateTimer.start(this);
    return playing;
  }

  /** Opens the voice connection and plays the track of the intent on a worker that has neither. */
  #startRequested(handle: WorkerHandle): void {
    this.#voice.onWorkerAssigned(handle);
    if (this.#state.kind === "loaded") this.#startOnWorker(this.#state.playing);
  }

  #startOnWorker(playing: LoadedTrack): void {
    if (this.#handle === undefined) return;
    try {
      if (!this.#handle.isIsolated && this.#options.deadlyTracks.has(playing.track)) {
        if (this.#options.workers.isolate(this)) return;
        const message =
          "the track has crashed audio workers before and may only play isolated, and the maximum of isolated players is reached; try again later";
        throw new NodeError("track-crashes-worker", message);
      }
      const input = this.#options.tracks.playableInput(playing.track);
      this.#handle.send(playing.playCommand(input, this.#clock.epochMs()));
    } catch (error) {
      // The one before does not play on under its name.
      this.#send({ type: "stop" });
      // After the answer, as a failure in the worker would come.
      this.#clock.after(0, () => {
        if (this.#state.kind === "loaded" && this.#state.playing === playing) this.#fail(toWireError(error));
      });
    }
  }

  /** It has crashed a second worker, one that it had to itself: there is no further attempt. */
  #giveUp(activity: Activity): void {
    if (this.#state.kind === "idle" || activity === "voice") {
      this.#voice.giveUp("what the voice server sent stopped an audio worker twice");
      return;
    }
    this.#options.deadlyTracks.add(this.#state.playing.track);
    const message = "the track was ended: it crashed an audio worker, and again when it played isolated";
    this.#fail(toWireError(new NodeError("track-crashes-worker", message)));
  }

  /** It takes so much of its worker that others are late. */
  #onOverQuota(share: number): void {
    const percent = Math.round(share * 100);
    if (this.#handle?.isIsolated !== true && this.#options.workers.isolate(this)) {
      const fields = { guildId: this.guildId, percent };
      this.#options.logger.warn("track exceeds its CPU quota: it continues isolated", fields);
      return;
    }
    this.#send({ type: "stop" });
    const message = `the track was ended: it takes ${percent} % of a processor core, more than its CPU quota`;
    this.#fail(toWireError(new NodeError("track-too-costly", message)));
  }

  /** Ends the track for a reason on this side. */
  #fail(error: WireError): void {
    if (this.#state.kind === "idle") return;
    const { playing } = this.#state;
    this.#sendEvent({
      type: "TrackExceptionEvent",
      track: this.#trackJson(playing),
      exception: exceptionToJson(error),
    });
    this.#end(playing.hasBeenAudible ? "finished" : "loadFailed");
  }

  #end(reason: TrackEndReasonJson): void {
    if (this.#state.kind === "idle") return;
    const track = this.#trackJson(this.#state.playing);
    this.#state = { kind: "idle" };
    this.#intent.replace({ track: undefined });
    this.#endedMs = this.#clock.now();
    this.#diagnosis.endLoss();
    this.#memory.drop("track");
    this.#memory.drop("userData");
    this.#options.updateTimer.stop(this);
    this.#sendEvent({ type: "TrackEndEvent", track, reason });
  }

  #setPaused(isPaused: boolean): void {
    if (isPaused === this.#intent.value.isPaused) return;
    if (this.#state.kind === "loaded") this.#state.playing.hold(this.#clock.epochMs());
    this.#intent.replace({ isPaused });
    this.#diagnosis.endLoss();
    this.#send({ type: "pause", isPaused });
  }

  #setVolume(volume: number): void {
    this.#intent.replace({ volume });
    this.#send({ type: "setVolume", volume });
  }

  #setFilters(filters: PlayerJson["filters"]): void {
    this.#intent.replace({ filters });
    this.#send({ type: "setFilters", filters });
    this.sendPlayerUpdate();
  }

  #seek(positionMs: number): void {
    if (this.#state.kind === "idle") return;
    const { playing } = this.#state;
    if (playing.seek(positionMs, this.#clock.epochMs())) {
      this.#send({ type: "seek", trackId: playing.trackId, seekId: playing.seekId, positionMs });
    }
    this.sendPlayerUpdate();
  }

  #setEndTime(endMs: number | undefined): void {
    if (this.#state.kind === "idle") return;
    const { playing } = this.#state;
    playing.setEnd(endMs, this.#clock.epochMs());
    this.#send({ type: "setEndTime", trackId: playing.trackId, endMs: playing.workerEndMs });
  }

  #onPosition(playing: LoadedTrack, report: PositionReport): void {
    if (report.rate > 0) this.#diagnosis.endLoss();
    playing.report(this.#intent.value.isPaused ? { ...report, rate: 0 } : report);
  }

  #onTrackEvent(
    playing: LoadedTrack,
    event: Exclude<PlayerEvent, { type: "playerReport" | "voiceState" | "voiceClosed" }>,
  ): void {
    if (event.type === "position") {
      this.#onPosition(playing, event.report);
    } else if (event.trackId !== playing.trackId) {
      // A track that has been replaced or stopped in the meantime: its end has been reported.
    } else if (event.type === "trackEnded") {
      this.#end(event.reason);
    } else if (event.type === "trackOverQuota") {
      this.#onOverQuota(event.share);
    } else if (event.type === "trackException") {
      const exception = exceptionToJson(event.error);
      this.#sendEvent({ type: "TrackExceptionEvent", track: this.#trackJson(playing), exception });
    } else {
      this.#sendEvent({ type: "TrackStuckEvent", track: this.#trackJson(playing), thresholdMs: event.thresholdMs });
      this.sendPlayerUpdate();
    }
  }

  #onVoiceClosed(code: number, reason: string, isByRemote: boolean): void {
    this.#sendEvent({ type: "WebSocketClosedEvent", code, reason, byRemote: isByRemote });
    this.sendPlayerUpdate();
  }

  async #destroy(): Promise<void> {
    const reason = new NodeError("player-destroyed", "the player was destroyed while the update was waiting");
    this.#updates.close(reason);
    this.#destruction.abort(reason);
    const handle = this.#handle;
    this.#handle = undefined;
    // First of all: whatever fails below, nothing plays on.
    const gone = handle
      ?.request({ type: "destroyPlayer" }, { timeoutMs: DESTROY_TIMEOUT_MS })
      .catch((error: unknown) => {
        this.#options.logger.warn("worker did not confirm that a player was destroyed", {
          guildId: this.guildId,
          error,
        });
      });
    this.#options.workers.detach(this);
    this.#end("stopped");
    this.#voice.close();
    await gone;
    this.#memory.close();
  }

  #refuseDestroyed(): void {
    this.#destruction.signal.throwIfAborted();
  }

  #send(command: PlayerNotice): void {
    this.#handle?.send(command);
  }

  #sendEvent(event: EventContent): void {
    this.#sink.send({ op: "event", guildId: this.guildId, ...event });
  }

  #trackJson(playing: LoadedTrack): ReturnType<LoadedTrack["toJson"]> {
    return playing.toJson(this.#clock.epochMs());
  }

  #stateJson(): PlayerStateJson {
    const time = this.#clock.epochMs();
    const position = this.#state.kind === "loaded" ? this.#state.playing.positionMs(time) : 0;
    return { time, position, ...this.#voice.connection };
  }
}

interface ApplyOptions {
  readonly reserved: ReservedSizes;
  readonly isReplacing: boolean;
}

type EventContent = EventMessage extends infer Event
  ? Event extends EventMessage
    ? Omit<Event, "op" | "guildId">
    : never
  : never;
