// The requested state of one guild: the track and its position, pause, volume, filters and voice, enough to create the
// player again on any worker at any moment. Applies updates in the order of protocol-v4.md section 2.7, but a refused
// update changes nothing, and sends the client every event in the order of section 4.6. The track from its start to its
// end: player-track.ts; the voice connection: player-voice.ts. Main thread; the audio itself is rendered in the worker.

import type { Activity } from "../../bridge/heartbeat.ts";
import type { OwnPlayerState, OwnTrackEvent } from "../../bridge/plugin-players.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FrameMinute, PlayerReport } from "../../bridge/worker-report.ts";
import { NodeError } from "../../errors.ts";
import { activeFilterNames, moduleFiltersIn, withoutModuleFilter } from "../../filters/filter-settings.ts";
import { FILTER_FAULTS, type FilterFaultReport } from "../../filters/module-filters.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import { ownerOf } from "../access/account.ts";
import type { PlayerDiagnosisJson } from "../protocol/player-diagnosis-json.ts";
import type { PlayerJson, PlayerStateJson } from "../protocol/player-json.ts";
import type { AdmissionRequest } from "../workers/admission.ts";
import type {
  CrashAttribution,
  PlayerEvent,
  PlayerNotice,
  PooledPlayer,
  WorkerHandle,
} from "../workers/worker-handle.ts";
import type { DeadlyTracks } from "./deadly-tracks.ts";
import { diagnosedTrack, PlayerDiagnosis } from "./player-diagnosis.ts";
import { IntentHolder, intendedRate, type PlayerIntent } from "./player-intent.ts";
import type { GroupOptions, MarkerRequest, OnMarker } from "./player-markers.ts";
import { PlayerMemory, type ReservedSizes } from "./player-memory.ts";
import type { PlayerOverview } from "./player-overview.ts";
import type { EventSink, PlayerOwner } from "./player-owner.ts";
import type { MirrorProvider, TrackProvider, WorkerProvider } from "./player-providers.ts";
import { type EventContent, PlayerTrack } from "./player-track.ts";
import type { PlayerUpdate, UpdateOptions } from "./player-update.ts";
import { PlayerVoice } from "./player-voice.ts";
import type { SharedIncidents } from "./shared-incidents.ts";
import { type CheckedChange, TrackChecks } from "./track-checks.ts";
import { UpdateQueue } from "./update-queue.ts";
import type { UpdateTarget, UpdateTimer } from "./update-timer.ts";
import { voiceRegion } from "./voice-region.ts";

/** How long DELETE waits for the worker to have closed the voice connection. */
const DESTROY_TIMEOUT_MS = 1000;
/** How long `begin` waits for the voice connection: one that takes longer takes no processor time meanwhile. */
const BEGIN_MS_MAX = 2000;
/** A track that stalls on and on is a change this often: reports that move it are gathered for so long. */
const MOVES_MS = 1000;
/** The worker reports a minute once it is over; the one asked for is the last or the one before. */
const FRAME_MINUTES_MAX = 2;

interface PlayerOptions extends PlayerOwner {
  readonly workers: WorkerProvider;
  readonly tracks: TrackProvider;
  /** Default: none. */
  readonly mirrors?: MirrorProvider | undefined;
  readonly updateTimer: UpdateTimer;
  readonly deadlyTracks: DeadlyTracks;
  readonly sharedIncidents: SharedIncidents;
  /** Something has happened to its track. Default: nobody is told. */
  readonly onTrackEvent?: ((event: OwnTrackEvent) => void) | undefined;
  /** A filter of a plugin was removed from it. */
  readonly onFilterFault?: ((fault: FilterFaultReport) => void) | undefined;
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
  readonly owner: Owner;
  readonly #intent = new IntentHolder(() => this.#onChanged());
  readonly #track: PlayerTrack;
  readonly #voice: PlayerVoice;
  readonly #diagnosis: PlayerDiagnosis;
  readonly #updates = new UpdateQueue();
  readonly #trackChecks: TrackChecks;
  readonly #destruction = new AbortController();
  #destroyed: Promise<void> | undefined;
  #isHeld: boolean;
  #handle: WorkerHandle | undefined;
  /** Reports of its worker have moved the track since the last change that was announced for them. */
  #movesTimer: Timer | undefined;
  /** A track has been admitted and starts as soon as its update has been applied. */
  #isStarting = false;
  #frameMinutes: FrameMinute[] = [];

  /** Throws `memory-exhausted`. */
  constructor(options: PlayerOptions) {
    this.#memory = new PlayerMemory(options.memory);
    this.guildId = options.guildId;
    this.#isHeld = options.isHeld ?? false;
    this.#options = options;
    this.#sink = options.sink;
    this.#clock = options.clock;
    const owner = ownerOf(options.account, `user ${options.userId}`);
    this.owner = owner;
    this.#trackChecks = new TrackChecks({
      tracks: options.tracks,
      owner,
      memory: this.#memory,
      clock: options.clock,
      seekAdmission: (request) => this.#seekAdmission(request),
      signal: this.#destruction.signal,
    });
    const logger = options.logger.child({ guildId: options.guildId });
    this.#diagnosis = new PlayerDiagnosis({
      clock: options.clock,
      logger,
      sharedIncidents: options.sharedIncidents,
      onIncident: (incident) => options.workers.addIncident(incident),
    });
    this.#track = new PlayerTrack({
      intent: this.#intent,
      owner,
      tracks: options.tracks,
      mirrors: options.mirrors,
      storeMirror: (track) => this.#memory.keepMirror(track),
      deadlyTracks: options.deadlyTracks,
      clock: options.clock,
      logger,
      worker: () => this.#handle,
      isolate: () => options.workers.isolate(this),
      onLoaded: () => options.updateTimer.start(this),
      onMoved: () => this.#onMoved(),
      onEnded: () => this.#onTrackEnded(),
      sendEvent: (event) => this.#sendEvent(event),
      onTrackEvent: options.onTrackEvent,
      sendPlayerUpdate: () => this.sendPlayerUpdate(),
    });
    this.#voice = new PlayerVoice({
      intent: this.#intent,
      clock: options.clock,
      logger,
      connectTimeoutMs: options.voiceConnectTimeoutMs,
      onClosed: (code, reason, isByRemote) => this.#onVoiceClosed(code, reason, isByRemote),
      onReady: () => this.sendPlayerUpdate(),
    });
    if (!this.#isHeld) options.workers.attach(this);
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get isPlaying(): boolean {
    return this.#track.loaded !== undefined && !this.#intent.value.isPaused;
  }

  get needsCapacity(): boolean {
    return this.isPlaying || this.#isStarting;
  }

  get isUnused(): boolean {
    return this.#updates.isUnused;
  }

  get hasBeenUpdated(): boolean {
    return this.#updates.hasSucceeded;
  }

  get state(): OwnPlayerState {
    const { isPaused, volume } = this.#intent.value;
    return { isPaused, volume, playing: this.#track.playing };
  }

  async update(update: PlayerUpdate, { isReplacing, playId }: UpdateOptions): Promise<void> {
    const reserved = this.#memory.admit(update);
    const isOver = (): boolean => playId !== undefined && this.#track.playing?.playId !== playId;
    try {
      await this.#updates.run(async () => {
        this.#endHold();
        if (!isOver()) await this.#apply(update, { reserved, isReplacing });
      });
      // Only now it is more than an attempt.
      this.#onChanged();
    } finally {
      this.#memory.release(reserved);
    }
  }

  toJson(): PlayerJson {
    const state = this.#stateJson();
    const { volume, isPaused, filters } = this.#intent.value;
    return {
      guildId: this.guildId,
      track: this.#track.loaded?.toJson(state.time) ?? null,
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
    const { loaded } = this.#track;
    const track = loaded === undefined ? null : diagnosedTrack(loaded.track.info);
    const { isPaused: paused, volume, filters, voice } = this.#intent.value;
    const own = {
      ...{ guildId, sessionId, track, position, paused, volume },
      filters: [...activeFilterNames(filters), ...moduleFiltersIn(filters)],
      region: voice === undefined ? null : voiceRegion(voice.credentials.endpoint),
    };
    return this.#diagnosis.toJson(own, workers.placementOf(this));
  }

  get lastTroubleEpochMs(): number {
    return this.#diagnosis.lastTroubleEpochMs;
  }

  overview(): PlayerOverview {
    const { position, connected } = this.#stateJson();
    const placement = this.#options.workers.placementOf(this);
    return {
      track: this.#track.loaded?.track,
      positionMs: position,
      isPaused: this.#intent.value.isPaused,
      isConnected: connected,
      worker: (placement?.renderWorker ?? placement?.ownerWorker)?.index,
      isIsolated: placement?.ownerWorker.isIsolated ?? false,
      audio: this.#diagnosis.overview,
    };
  }

  setMarkers(group: string, markers: readonly MarkerRequest[], onMarker: OnMarker, options?: GroupOptions): boolean {
    return this.#track.setMarkers(group, markers, onMarker, options);
  }

  skip(): Promise<void> {
    return this.#updates.run(async () => {
      this.#endHold();
      if (this.#track.loaded !== undefined) this.#track.stop("finished");
    });
  }

  snapshot(): PlayerIntent {
    const { loaded } = this.#track;
    if (loaded === undefined) return this.#intent.value;
    const epochMs = this.#clock.epochMs();
    const { track } = this.#intent;
    const { rate } = loaded;
    return { ...this.#intent.value, track: { ...track, positionMs: loaded.resumeMs(epochMs), epochMs, rate } };
  }

  restore(snapshot: PlayerIntent): void {
    if (!this.#isHeld || !this.#intent.isNew || !this.isUnused)
      throw new Error("only a new player that is held can be restored");
    this.#memory.keepAll(snapshot);
    this.#updates.markUsed();
    this.#intent.restore(snapshot);
    const { track } = snapshot;
    const intended = intendedRate(snapshot);
    // Without voice nothing plays, whatever was reported last.
    if (track !== undefined) this.#track.restore(intended === 0 ? 0 : (track.rate ?? intended));
  }

  async begin(): Promise<void> {
    if (this.#isHeld) this.#voice.bePatient();
    this.#endHold();
    await this.#voice.untilOpened(BEGIN_MS_MAX);
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
    const { loaded } = this.#track;
    this.#diagnosis.onWorkerLost({ isAudible: this.isPlaying && loaded?.hasBeenAudible === true });
    // What it played is not to blame for a filter.
    const isFilter = attribution.kind !== "none" && attribution.activity === "filter";
    loaded?.onWorkerLost(this.#clock.epochMs(), { isAttributed: attribution.kind === "suspect" && !isFilter });
    if (isFilter)
      this.#removeFilters("an audio worker was lost while it ran: it did not return, or used up the memory");
    else if (attribution.kind === "culprit") this.#giveUp(attribution.activity);
  }

  get isSuspect(): boolean {
    return this.#track.loaded?.isSuspect ?? false;
  }

  onWorkerEvent(event: PlayerEvent): void {
    if (event.type === "playerReport") this.#onReport(event.report);
    else if (event.type === "voiceState" || event.type === "voiceClosed") this.#voice.onWorkerEvent(event);
    else if (event.type === "position") this.#onPosition(event.report);
    else if (event.type === "filterRemoved") this.#removeFilter(event);
    else this.#track.onWorkerEvent(event);
  }

  #onReport(report: PlayerReport): void {
    const { position, minute } = report;
    if (position !== undefined) this.#onPosition(position);
    this.#diagnosis.onReport(report);
    if (minute !== undefined) this.#frameMinutes = [minute, ...this.#frameMinutes].slice(0, FRAME_MINUTES_MAX);
  }

  #onPosition(report: PositionReport): void {
    if (this.#track.loaded === undefined) return;
    if (report.rate > 0) this.#diagnosis.endLoss();
    this.#track.onPosition(report);
  }

  /** A held player gets its worker, which connects its voice and plays its track on, unless that is over by now. */
  #endHold(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#track.moveOn();
    this.#options.workers.attach(this);
    this.#track.tellStarted();
  }

  #onChanged(): void {
    if (!this.#destruction.signal.aborted) this.#options.onChanged?.();
  }

  #onMoved(): void {
    this.#movesTimer ??= this.#clock.after(MOVES_MS, () => {
      this.#movesTimer = undefined;
      this.#onChanged();
    });
  }

  /** Everything that can be refused comes first; nothing after that fails. */
  async #apply(update: PlayerUpdate, { reserved, isReplacing }: ApplyOptions): Promise<void> {
    try {
      // A track that is loaded now counts for noReplace, also when it ends while this update waits for its voice.
      const change = isReplacing || this.#track.loaded === undefined ? update.trackChange : undefined;
      const onAdmitted = (): void => {
        this.#isStarting = update.isPaused !== true;
      };
      const checked = change && (await this.#trackChecks.check(change, { reserved, onAdmitted }));
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
      const { loaded } = this.#track;
      if (update.userData !== undefined && loaded !== undefined) {
        this.#memory.keep("userData", reserved);
        loaded.userData = update.userData;
      }
    }
    if (update.volume !== undefined) this.#setVolume(update.volume);
    if (update.trackChange === undefined) {
      if (update.positionMs !== undefined) this.#track.seek(update.positionMs);
      if (update.endTimeMs !== undefined) this.#track.setEnd(update.endTimeMs ?? undefined);
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
      this.#track.stop("stopped");
      this.#setPaused(isPaused);
      return;
    }
    const { track } = change;
    this.#track.end("replaced");
    this.#memory.keep("track", reserved);
    this.#memory.keep("userData", reserved);
    // The play command carries it to the worker.
    this.#intent.replace({ isPaused });
    this.#track.play(update.userData === undefined ? track : { ...track, userData: update.userData }, {
      startMs: update.positionMs ?? Number(track.info.position),
      endMs: update.endTimeMs ?? undefined,
    });
  }

  /**
   * A player that has played recently may continue with its next track. Rejects where a new player would make others
   * late.
   */
  async #seekAdmission(request: AdmissionRequest): Promise<void> {
    if (this.#track.hasRecentTrack) request.onAdmitted();
    else await this.#options.workers.admit(this, request);
  }

  /** Opens the voice connection and plays the track of the intent on a worker that has neither. */
  #startRequested(handle: WorkerHandle): void {
    this.#voice.onWorkerAssigned(handle);
    this.#track.start();
  }

  /** It has crashed a second worker, one that it had to itself: there is no further attempt. */
  #giveUp(activity: Activity): void {
    if (this.#track.loaded === undefined || activity === "voice") {
      this.#voice.giveUp("what the voice server sent stopped an audio worker twice");
    } else {
      this.#track.giveUp();
    }
  }

  #onTrackEnded(): void {
    this.#diagnosis.endLoss();
    this.#memory.drop("track");
    this.#memory.drop("mirror");
    this.#memory.drop("userData");
    this.#options.updateTimer.stop(this);
  }

  #setPaused(isPaused: boolean): void {
    if (isPaused === this.#intent.value.isPaused) return;
    this.#track.loaded?.hold(this.#clock.epochMs());
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

  /** One of them must not stop the next worker as well. */
  #removeFilters(message: string): void {
    for (const filter of moduleFiltersIn(this.#intent.value.filters))
      this.#removeFilter({ filter, reason: "workerLost", message });
  }

  /** Its worker leaves it out already. */
  #removeFilter({ filter, reason, message }: Omit<FilterFaultReport, "guildId">): void {
    const { filters } = this.#intent.value;
    // Two tracks that are audible at once report it twice.
    if (!moduleFiltersIn(filters).includes(filter)) return;
    this.#options.onFilterFault?.({ filter, reason, message, guildId: this.guildId });
    this.#sendEvent({ type: "FilterRemovedEvent", filter, reason, message: FILTER_FAULTS[reason] });
    this.#setFilters(withoutModuleFilter(filters, filter));
  }

  #onVoiceClosed(code: number, reason: string, isByRemote: boolean): void {
    this.#sendEvent({ type: "WebSocketClosedEvent", code, reason, byRemote: isByRemote });
    this.sendPlayerUpdate();
  }

  async #destroy(): Promise<void> {
    const reason = new NodeError("player-destroyed", "the player was destroyed while the update was waiting");
    this.#updates.close(reason);
    this.#destruction.abort(reason);
    this.#movesTimer?.cancel();
    const handle = this.#handle;
    this.#handle = undefined;
    this.#isHeld = false;
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
    this.#diagnosis.close();
    this.#track.end("stopped");
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

  #stateJson(): PlayerStateJson {
    const time = this.#clock.epochMs();
    const position = this.#track.loaded?.positionMs(time) ?? 0;
    return { time, position, ...this.#voice.connection };
  }
}

interface ApplyOptions {
  readonly reserved: ReservedSizes;
  readonly isReplacing: boolean;
}
