// One player on the audio thread: executes its commands, sends its frame at each deadline and knows whether anybody
// listens. The requested state lives on the main thread (control/players/); this is the actual state. What to play:
// player-tracks.ts; where it goes: voice-output.ts; which worker renders it: render-placement.ts; the frames that are
// ready: unsent-frames.ts. Audio thread.

import { type AudioState, PLAYER_COUNTERS } from "../../bridge/audio-metrics.ts";
import type { LossCause } from "../../bridge/audio-report.ts";
import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayCommand, PlayerId, SeekCommand, SeekId, TrackId, VoiceId } from "../../bridge/commands.ts";
import type { Marker } from "../../bridge/markers.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { PlayerReport } from "../../bridge/worker-report.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { AccountBuckets } from "../../lib/account-buckets.ts";
import type { Owner } from "../../lib/owners.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { RemoteTrack } from "../handoff/relay-messages.ts";
import type { LoopMember, TickLoop } from "../scheduler/tick-loop.ts";
import type { VoiceGate } from "../voice/frame-sink.ts";
import type { Voice, VoiceClose, VoiceConnectOptions, VoiceStatus } from "../voice/voice.ts";
import { AudioWatch } from "./audio-watch.ts";
import type { CpuQuotaCheck } from "./cpu-quota-watch.ts";
import { FrameSlot } from "./frame-slot.ts";
import { HealthWatch } from "./health-watch.ts";
import { PlayerTracks } from "./player-tracks.ts";
import {
  aimJumps,
  audioOf,
  type PlayingTrack,
  stallCauseOf,
  type TrackContext,
  takeReopened,
  takeUsedMs,
} from "./playing-track.ts";
import { PositionReporter } from "./position-reporter.ts";
import { RenderPlacement } from "./render-placement.ts";
import { StallRepair } from "./stall-repair.ts";
import { TrackMarkers } from "./track-markers.ts";
import { UnsentFrames } from "./unsent-frames.ts";
import { VoiceOutput } from "./voice-output.ts";

/**
 * Changes of filters and volume that a player may make at once, and per second after that: each may build filters and
 * make frames again. A faster one takes effect a little later, and only the newest does.
 */
const CHANGES = { burst: 10, perSecond: 5 };

/** Shared by all players of a worker. */
export interface PlayerContext extends TrackContext {
  readonly loop: TickLoop;
  /** A track without audio for this long is reported as stuck. */
  readonly trackStuckThresholdMs: number;
  /** Limits repairs of players that should send audio but send nothing (silence-watch.ts). */
  readonly repairs: AccountBuckets;
  /** Sends events to the main thread, in this order. */
  readonly send: (event: PlainEvent) => void;
}

/**
 * One per guild, from `createPlayer` (or, as a remote player, `renderRemotePlayer`) to `destroyPlayer`. Commands and
 * the voice connection call it at any time; the tick loop calls `send` and `prepare` while it has anything to send; the
 * worker calls `checkHealth` twice a second. An exception is a fault, which the error boundary passes to `onFault`.
 */
export class AudioPlayer implements LoopMember {
  readonly playerId: PlayerId;
  /** Its counts since its last report. */
  readonly counts = PLAYER_COUNTERS.zero();
  readonly watch: AudioWatch;
  /** Which worker renders the audio. */
  readonly placement: RenderPlacement;
  readonly #context: PlayerContext;
  readonly #output: VoiceOutput;
  readonly #tracks: PlayerTracks;
  /** The frame for the next deadline. */
  readonly #slot = new FrameSlot();
  readonly #positions: PositionReporter;
  readonly #health: HealthWatch;
  readonly #unsent: UnsentFrames;
  readonly #stallRepair: StallRepair;
  readonly #changes: TokenBucket;
  #owner: Owner = [];
  /** Filters that have not reached the tracks yet. */
  #newFilters: FilterSettings | undefined;
  #isPaused = false;
  #isClosed = false;

  constructor(playerId: PlayerId, context: PlayerContext, createVoice: (player: AudioPlayer) => Promise<Voice>) {
    const { clock, send, trackStuckThresholdMs } = context;
    this.playerId = playerId;
    this.#context = context;
    this.#changes = new TokenBucket({ clock, ...CHANGES });
    const { counts } = this;
    this.#output = new VoiceOutput({ playerId, create: () => createVoice(this), send, counts });
    this.watch = new AudioWatch({
      ...context,
      repairs: () => context.repairs.of(this.#owner),
      counts,
      upstream: () => this.#tracks.current?.budget.upstream,
      output: this.#output,
    });
    this.#tracks = new PlayerTracks({
      playerId,
      context,
      counts,
      send,
      onProgress: () => this.prepare(),
      onEnded: () => this.#onTrackEnded(),
    });
    this.#positions = new PositionReporter({
      playerId,
      clock,
      locate: () => this.#tracks.current,
      send: (report) => send({ type: "position", report }),
    });
    this.#health = new HealthWatch({ playerId, clock, trackStuckThresholdMs, send });
    this.placement = new RenderPlacement({
      playerId,
      send,
      remoteTrack: () => this.#remoteTrack,
      sink: () => this.#output.sink,
      onHandedOver: (startMs) => this.#releaseAudio(startMs),
      onFailed: () => this.#tracks.keepHere(),
      onLost: (cause) => this.watch.onLost(cause, 1),
    });
    const parts = {
      slot: this.#slot,
      output: this.#output,
      tracks: this.#tracks,
      positions: this.#positions,
      placement: this.placement,
      watch: this.watch,
    };
    this.#unsent = new UnsentFrames({ ...parts, clock, onRevoked: (frames) => context.loop.rewind(this, frames) });
    this.#stallRepair = new StallRepair(parts);
  }

  /** Whose the last track was. */
  get owner(): Owner {
    return this.#owner;
  }

  get isPlaying(): boolean {
    return !this.#isClosed && this.#tracks.current !== undefined && !this.#isPaused;
  }

  /** Position in the track; undefined without one. */
  get position(): PositionReport | undefined {
    return this.#positions.position;
  }

  /** Also true while only the rest of a track is playing that has ended for the client. */
  get #hasAudio(): boolean {
    return !this.#isPaused && (this.#tracks.areAny || this.#slot.opus !== undefined);
  }

  // Commands

  /** `seekId` is the id of the track's last seek, when the track continues from another worker. */
  play(command: PlayCommand, seekId: SeekId = 0): void {
    // A paused player is silent from the pause on, even before its first silence frame is sent. So is a player whose
    // voice connection holds: when it opens, nothing of the previous track is sent.
    const isSilent = this.#isPaused || this.#output.sink.gate === "hold" || this.#gate === "down";
    const isAudible = !isSilent && this.#output.isSpeaking;
    if (!isAudible) this.#dropAudio();
    this.#isPaused = command.isPaused;
    this.#owner = command.owner;
    this.#applyFilters();
    this.#tracks.play(command, { seekId, isAudible });
    this.#positions.begin(command.startMs);
    this.#health.onFlowing();
    this.watch.onRequest();
    if (command.isPaused) this.#dropAudio();
    this.#joinLoop();
  }

  /** Stops at once, without fades. The rest of a track that has ended by itself is played. */
  stop(): void {
    if (this.#tracks.areAny) this.#unsent.drop();
    this.#slot.clear();
    this.#tracks.stop();
    this.#goSilent();
  }

  /** Takes effect with the next frame; does nothing if the state is the same. */
  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#health.onFlowing();
    this.watch.onRequest();
    if (isPaused) {
      this.#unsent.remake();
      this.#tracks.dropWaiting();
      this.#goSilent();
    } else {
      this.#joinLoop();
    }
  }

  /** Ignored for another track than the playing one, like `setEnd`: the command has crossed the track's end. */
  seek(command: SeekCommand): void {
    const track = this.#tracks.current;
    if (track?.trackId !== command.trackId) return;
    this.#checkMarkers();
    track.seekId = command.seekId;
    this.#goTo(track, command.positionMs, command.positionMs);
  }

  /** `fromMs`: the target of a seek, or where a segment is left that is skipped. */
  #goTo({ pipeline, markers }: PlayingTrack, positionMs: number, fromMs: number): void {
    pipeline.seek(positionMs);
    if (pipeline.seekTargetMs !== undefined) markers?.onSeek(fromMs, pipeline.seekTargetMs);
    if (this.#isPaused) this.#slot.clear();
    this.#positions.jump();
  }

  /** Replaces the markers of a track, at most MARKERS_MAX; ignored like a seek. */
  setMarkers(trackId: TrackId, given: readonly Marker[]): void {
    const track = this.#tracks.current;
    if (track?.trackId !== trackId) return;
    if (track.markers === undefined && given.length === 0) return;
    const { clock, send } = this.#context;
    const { playerId } = this;
    track.markers ??= new TrackMarkers({
      clock,
      report: (passed) => send({ type: "markersPassed", playerId, trackId, seekId: track.seekId, passed }),
    });
    const isStream = track.command.lengthMs === undefined;
    const positionMs = this.#markedUntilMs(track);
    const landingMs = track.markers.replace(given, positionMs);
    // Of a track that starts, or a seek on its way, nothing of the segment is to be heard.
    const isHeard = track.hasBeenAudible && this.#positions.heardMs !== undefined;
    aimJumps(track, positionMs, isHeard ? landingMs : undefined);
    if (landingMs !== undefined && !isStream && !isHeard) this.#goTo(track, landingMs, positionMs);
    // Frames from behind the start of a segment are made already.
    else if (this.#tracks.areBehindJump) this.#unsent.remake();
  }

  /** Markers before it have been passed. Those before a jump are, once it is sent. */
  #markedUntilMs({ pipeline, offsetMs, sentRun }: PlayingTrack): number {
    const positionMs = this.position?.positionMs ?? 0;
    const hasSentJump = pipeline.hasJumped && pipeline.runNumber === sentRun;
    return hasSentJump ? Math.max(positionMs, pipeline.landedMs + offsetMs) : positionMs;
  }

  /** Reports the markers that listeners have reached. */
  #checkMarkers(): void {
    const track = this.#tracks.current;
    if (track?.markers?.areAhead !== true || !track.hasBeenAudible) return;
    const { heardMs } = this.#positions;
    if (heardMs !== undefined) track.markers.onHeard(heardMs, track.pipeline.rate);
  }

  /** The frame that is sent now is the first behind a jump. */
  #onJump(track: PlayingTrack): void {
    const { pipeline, offsetMs, markers } = track;
    const { untilMs, epochMs } = this.#positions.sent;
    markers?.onJump({ fromMs: untilMs, toMs: pipeline.landedMs + offsetMs }, { epochMs, rate: pipeline.rate });
    this.#positions.turn();
  }

  /** The other worker reports those from where it starts. */
  #leaveMarkers(): void {
    const { startMs } = this.placement;
    const track = this.#tracks.current;
    if (track?.markers === undefined || startMs === undefined) return;
    const { rate } = track.pipeline;
    const { untilMs, epochMs } = this.#positions.sent;
    track.markers.onJump({ fromMs: startMs, toMs: startMs }, { epochMs: epochMs - (untilMs - startMs) / rate, rate });
  }

  /** The track is over: listeners have heard all that was sent. */
  #finish(track: PlayingTrack): void {
    const { markers, pipeline, offsetMs, hasBeenAudible } = track;
    if (markers !== undefined && hasBeenAudible) {
      // Its end may lie half a frame before the marker that ends it.
      const { untilMs } = this.#positions.sent;
      const endMs = Math.min(untilMs + FRAME_MS * pipeline.rate, (pipeline.bounds.endMs ?? 0) + offsetMs);
      markers.onHeard(Math.max(untilMs, endMs), pipeline.rate);
    }
    this.#tracks.finish(track);
  }

  setEnd(trackId: TrackId, endMs: number | undefined): void {
    const track = this.#tracks.current;
    if (track?.trackId !== trackId) return;
    const isMade = endMs !== undefined && endMs <= track.pipeline.positionMs + track.offsetMs;
    // The end lies within the frames that are made but not yet played, or so does the start of its fade out.
    if (isMade || this.#mayChange) this.#unsent.remake();
    track.pipeline.setEnd(endMs === undefined ? undefined : endMs - track.offsetMs);
    track.command = { ...track.command, endMs };
  }

  /** Percent, 0 to 1000. Takes effect with the next frame that is made. */
  setVolume(volume: number): void {
    if (this.#mayChange) this.#unsent.remakeForChange();
    this.#tracks.setVolume(volume);
  }

  /** Replaces all filters. Takes effect with the next frames that are made, or a little later (`CHANGES`). */
  setFilters(filters: FilterSettings): void {
    this.#newFilters = filters;
    if (this.#mayChange) this.#applyFilters();
  }

  /** As `PlayerTracks.refreshFilter`. */
  refreshFilter(name: string): void {
    this.#tracks.refreshFilter(name);
  }

  get #mayChange(): boolean {
    return !this.#tracks.areAny || this.#changes.take(1);
  }

  #applyFilters(): void {
    const filters = this.#newFilters;
    if (filters === undefined) return;
    this.#newFilters = undefined;
    this.#unsent.remakeForChange();
    this.#tracks.setFilters(filters);
  }

  /** Resolves when the gateway's WebSocket is open. */
  connectVoice(voiceId: VoiceId, credentials: VoiceCredentials, options?: VoiceConnectOptions): Promise<void> {
    return this.#output.connect(voiceId, credentials, options);
  }

  /** Makes this a remote player: its voice connection is on another worker. */
  adoptVoice(voice: Voice): void {
    this.#output.adopt(voice);
  }

  /** The voice connection's gate has changed. */
  onGateChanged(): void {
    if (this.#gate !== "send") this.#unsent.remake();
    this.placement.onGateChanged();
    this.#joinLoop();
  }

  /** Unsent frames would go out over another path or with other keys. */
  onSendPathChanging(): void {
    this.#unsent.remake();
  }

  /** Frames that could not be made again were on their way when their path ended; also those of another worker. */
  onFramesLost(count: number): void {
    if (this.#isClosed) return;
    if (this.placement.isAway) this.watch.onLost("voiceNotReady", count);
    else if (this.#tracks.haveBeenAudible) this.#loseSent(this.#output.forgetUnsent(count));
  }

  /** What another worker needs to continue; undefined when it could not, or an attempt has failed recently. */
  get #remoteTrack(): RemoteTrack | undefined {
    const isSending = !this.#isPaused && this.#gate === "send" && this.#newFilters === undefined;
    return isSending && !this.#output.isRemote ? this.#tracks.remoteTrack : undefined;
  }

  /** All that has happened since the last call, `usedMs` as `takeUsedMs` returned it; undefined: nothing. */
  takeReport(usedMs: number): PlayerReport | undefined {
    const position = this.isPlaying ? this.position : undefined;
    const audio = this.#takeAudioState(usedMs);
    const { increases, changes, minute } = this.watch.takeReport();
    if ((position ?? audio ?? increases ?? changes ?? minute) === undefined) return undefined;
    return { playerId: this.playerId, position, audio, increases, changes, minute };
  }

  #takeAudioState(usedMs: number): AudioState | undefined {
    const track = this.#tracks.current;
    if (track === undefined) return undefined;
    this.counts.inputReopened += takeReopened(track);
    return this.#isClosed ? undefined : { ...audioOf(track), usedMs };
  }

  /** Time of the thread that its track has used since the last call, milliseconds. */
  takeUsedMs(): number {
    const track = this.#tracks.current;
    return track === undefined ? 0 : takeUsedMs(track);
  }

  /** Ends track and voice without events. May be called more than once. */
  close(): void {
    if (this.#isClosed) return;
    this.#unsent.close();
    this.#isClosed = true;
    this.placement.close();
    this.#context.loop.remove(this);
    this.#tracks.close();
    this.#output.close();
    this.watch.onStopped();
  }

  // Notifications of the voice connection

  onVoiceStatus(state: VoiceStatus): void {
    this.#output.reportStatus(state);
    this.onGateChanged();
  }

  onVoiceClosed(close: VoiceClose): void {
    this.#output.reportClosed(close);
  }

  // The tick

  send(deadlineMs: number): void {
    if (this.#hasAudio) this.#sendAudio(deadlineMs);
    else this.#sendSilence(deadlineMs);
    this.#checkMarkers();
  }

  /** Also called whenever a frame may have become available. */
  prepare(): boolean {
    if (this.#isClosed) return false;
    if (this.#slot.opus === undefined) this.#fillSlot();
    return this.#slot.opus !== undefined && this.#hasAudio && this.#gate === "send";
  }

  #fillSlot(): void {
    if (this.#newFilters !== undefined && this.#mayChange) this.#applyFilters();
    // Audio of the old position or with the old settings must stop as early as possible.
    if (this.#tracks.areOutdated) this.#unsent.remakeOutdated();
    if (this.#tracks.produceInto(this.#slot)) this.#unsent.drop();
    const track = this.#tracks.current;
    if (track === undefined) {
      if (!this.#hasAudio) this.#goSilent();
    } else if (this.#slot.track !== track) {
      const isOver = track.pipeline.isEnded && (!this.#isPaused || track.hasFailed);
      if (isOver && this.#output.sink.isDrained) this.#finish(track);
    } else if (!this.#isPaused && this.#gate !== "down" && track.pipeline.isEnding) this.#tracks.finishEarly(track);
  }

  onDeadlinesDropped(frames: number): void {
    if (this.#hasAudio) this.#lose("workerLate", frames);
  }

  charge(usedMs: number): void {
    this.#tracks.current?.budget.addUsedMs(usedMs);
  }

  /** An exception in this player's code: ends its tracks or, without one, its voice connection. */
  onFault(error: unknown): void {
    if (this.#isClosed) return;
    this.#slot.clear();
    if (!this.#tracks.fail(error)) this.#output.drop();
  }

  /**
   * Called twice a second: checks for tracks that are stuck, abandoned or over their CPU quota, and for players that
   * should send audio but are silent.
   */
  checkHealth(worker: CpuQuotaCheck): void {
    if (this.#isClosed) return;
    this.#stallRepair.check({ isPaused: this.#isPaused });
    this.#checkMarkers();
    const track = this.#tracks.current;
    const isFlowing = this.#isPaused || this.#slot.track === track;
    const found = this.#health.check(worker, { track, hasVoice: this.#gate !== "down", isFlowing });
    if (found === "abandoned") this.#giveUp();
  }

  #sendAudio(deadlineMs: number): void {
    const gate = this.#gate;
    if (gate === "hold" || gate === "down") {
      if (this.#slot.opus !== undefined) this.#lose(this.#output.sendBlockReason, 1);
      this.#positions.run(0);
      if (gate === "down") this.#context.loop.remove(this);
      return;
    }
    // `prepare` has not run yet (the thread was late, or other players took long): a late frame is better than silence.
    if (this.#slot.opus === undefined) this.prepare();
    const frame = this.#slot.opus;
    if (frame === undefined) {
      this.#sendNothing(deadlineMs);
      return;
    }
    if (this.#output.sendFrame(frame, deadlineMs)) this.watch.onSent();
    else this.#lose(this.#output.sendBlockReason, 1);
    // Audio of the previous track does not count for a track that is stuck.
    const track = this.#tracks.current;
    if (track === undefined || this.#slot.track === track) this.#health.onSent(deadlineMs);
    this.#advance(deadlineMs);
    this.#slot.clear();
    if (track !== undefined && this.placement.isHandingOver)
      this.placement.onSent(this.#slot.endMs, { rate: track.pipeline.rate, dueMs: deadlineMs });
  }

  /** Track time has moved on, unless the frame belongs to the old position while a seek or a new track is pending. */
  #advance(dueMs: number): void {
    const { track, endMs, runNumber } = this.#slot;
    if (track === undefined || track !== this.#tracks.current) {
      this.#positions.run(0);
      return;
    }
    track.hasBeenAudible = true;
    const { pipeline } = track;
    if (pipeline.seekTargetMs !== undefined || pipeline.runNumber !== runNumber) return;
    if (track.sentRun !== runNumber && pipeline.hasJumped) this.#onJump(track);
    track.sentRun = runNumber;
    this.#positions.advance(endMs, { rate: pipeline.rate, dueMs });
  }

  /** A frame is due and there is none: reports why, and lets the listeners' decoders fade out. */
  #sendNothing(deadlineMs: number): void {
    const track = this.#tracks.current;
    if (track !== undefined) this.#lose(stallCauseOf(track), 1);
    this.#positions.run(0);
    this.#sendSilenceFrame(deadlineMs);
  }

  /** Frames that were counted as sent do not leave. */
  #loseSent(frames: number): void {
    this.watch.onRevoked(frames);
    this.watch.onLost("voiceNotReady", frames);
  }

  /** Counts missing frames once audio has started; what is late at the start of a track is not lost. */
  #lose(cause: LossCause, frames: number): void {
    if (this.#tracks.haveBeenAudible) this.watch.onLost(cause, frames);
  }

  #sendSilence(deadlineMs: number): void {
    this.#positions.run(0);
    this.#sendSilenceFrame(deadlineMs);
    if (this.#output.isSilent) this.#context.loop.remove(this);
  }

  #sendSilenceFrame(deadlineMs: number): void {
    if (this.#output.sendSilence(deadlineMs)) this.#tracks.onSilenceSent();
  }

  get #gate(): VoiceGate {
    return this.#output.gate;
  }

  // Changes of state

  #onTrackEnded(): void {
    this.placement.keep();
    if (!this.#hasAudio) this.watch.onStopped();
  }

  /** The first frame of another worker has arrived; until it is due, the audio made here is played. */
  #releaseAudio(framesTooMany: number): number {
    this.#leaveMarkers();
    const revokedCount = this.#output.revoke(framesTooMany);
    this.watch.onRevoked(revokedCount);
    const released = this.#tracks.release();
    this.#slot.clear();
    this.#output.release();
    this.#context.loop.remove(this);
    this.watch.onStopped();
    this.#context.send({ type: "handedOver", playerId: this.playerId });
    released?.pipeline.close();
    return framesTooMany - revokedCount;
  }

  /** Gives the track up because nobody has listened for a minute. */
  #giveUp(): void {
    this.#dropAudio();
    const track = this.#tracks.current;
    if (track === undefined) this.#goSilent();
    else this.#tracks.giveUp(track);
  }

  /** Drops all audio that precedes the track's new position or the next track. */
  #dropAudio(): void {
    this.#tracks.dropLeaving();
    this.#unsent.drop();
    this.#slot.clear();
  }

  /** Audio is requested: joins the tick loop for the next deadline. */
  #joinLoop(): void {
    if (this.#isClosed || !this.#hasAudio) return;
    if (this.#gate === "down") {
      this.prepare();
      return;
    }
    this.watch.onPlaying();
    this.#context.loop.add(this, this.#output.sink.startsMs);
  }

  /** No more audio: the loop sends the silence frames and then parks the player. */
  #goSilent(): void {
    this.watch.onStopped();
    this.#positions.run(0);
  }
}
