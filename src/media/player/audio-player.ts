// One player as the audio thread knows it: takes its commands, sends its frame at each deadline and knows who hears it.
// What was asked for lives on the main thread (control/players/); this is what is happening. What is to be heard:
// player-tracks.ts; the way out: voice-output.ts; position, health and hand-over have files of their own beside this
// one. Long because commands, turns of the loop and changes of the way out all decide what becomes of the next frame
// and of those that lie ready. Audio thread.

import type { AudioState } from "../../bridge/audio-batch.ts";
import type { LossCause } from "../../bridge/audio-report.ts";
import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayCommand, PlayerId, SeekCommand, SeekId, TrackId, VoiceId } from "../../bridge/commands.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { TokenBucket } from "../../lib/token-bucket.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { HandOverOptions } from "../handoff/hand-over.ts";
import type { AudioCommand } from "../handoff/relay-messages.ts";
import type { LoopMember, TickLoop } from "../scheduler/tick-loop.ts";
import type { Voice, VoiceClose, VoiceStatus } from "../voice/voice.ts";
import { AudioWatch } from "./audio-watch.ts";
import type { CpuQuotaCheck } from "./cpu-quota-watch.ts";
import { FrameSlot } from "./frame-slot.ts";
import { HealthWatch } from "./health-watch.ts";
import { PlayerTracks } from "./player-tracks.ts";
import { stallCauseOf, type TrackContext, takeReopened, takeUsedMs } from "./playing-track.ts";
import { PositionReporter } from "./position-reporter.ts";
import { RenderPlacement } from "./render-placement.ts";
import type { Stall } from "./silence-watch.ts";
import { VoiceOutput } from "./voice-output.ts";

/** Discord wants five silence frames at every stop, else decoders make up sound (discord-voice.md section 2.4). */
const SILENCE_FRAMES = 5;
/** Changes of the sound that come closer together share what has been made ahead. */
const CHANGE_MS_MIN = 60;

/** What all players of a worker share. */
export interface PlayerContext extends TrackContext {
  readonly loop: TickLoop;
  /** A track without sound for so long is told to be stuck. */
  readonly trackStuckThresholdMs: number;
  /** For players that should sound and send nothing (silence-watch.ts). */
  readonly repairs: TokenBucket;
  /** To the main thread, in this order. */
  readonly send: (event: PlainEvent) => void;
}

/**
 * One for each guild, from `createPlayer` (or, as a guest, `renderRemotePlayer`) to `destroyPlayer`. Commands and the voice
 * connection call it as they come; the tick loop calls `send` and `prepare` while it has anything to send; the worker
 * `checkHealth` twice a second. What it throws is a fault, which the bulkhead brings back to `onFault`.
 */
export class AudioPlayer implements LoopMember {
  readonly playerId: PlayerId;
  readonly watch: AudioWatch;
  readonly #context: PlayerContext;
  readonly #output: VoiceOutput;
  readonly #tracks: PlayerTracks;
  /** The frame for the next deadline. */
  readonly #slot = new FrameSlot();
  readonly #positions: PositionReporter;
  readonly #health: HealthWatch;
  readonly #placement: RenderPlacement;
  #isPaused = false;
  /** All of them as long as the last frame sent was one of sound. */
  #silenceFramesLeft = 0;
  /** Sound or silence of it may not have left, or Discord not been told that it is over. */
  #isSpeaking = false;
  /** Frames of sound in a row that were sent last, and may not have left. */
  #unsentFramesMax = 0;
  #remadeAtMs = Number.NEGATIVE_INFINITY;
  #outdatedAtMs = Number.NEGATIVE_INFINITY;
  /** The home of its voice is another worker. */
  #isRemote = false;
  #isClosed = false;

  constructor(playerId: PlayerId, context: PlayerContext, createVoice: (player: AudioPlayer) => Promise<Voice>) {
    const { clock, send, trackStuckThresholdMs } = context;
    this.playerId = playerId;
    this.#context = context;
    this.#output = new VoiceOutput({ playerId, create: () => createVoice(this), send });
    this.watch = new AudioWatch({ ...context, playerId, output: this.#output });
    this.#tracks = new PlayerTracks({
      playerId,
      context,
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
    this.#placement = new RenderPlacement({
      playerId,
      send,
      onHandedOver: (startMs) => this.#releaseAudio(startMs),
      onFailed: () => this.#tracks.keepHere(),
      onLost: (cause) => this.watch.onLost(cause, 1),
    });
  }

  get isPlaying(): boolean {
    return this.#tracks.current !== undefined && !this.#isPaused;
  }

  /** Where the track is; undefined without one. */
  get position(): PositionReport | undefined {
    return this.#positions.position;
  }

  /** Also true while only the rest of a track is heard that has ended for the client. */
  get #hasAudio(): boolean {
    return !this.#isPaused && (this.#tracks.areAny || this.#slot.opus !== undefined);
  }

  // Commands

  /** `seekId` is that of the track's last seek, where it goes on from another worker. */
  play(command: PlayCommand, seekId: SeekId = 0): void {
    // A paused player is silent from the pause on, also before its first silence frame has left; so is one whose voice
    // connection holds: when that opens, nothing of the track before comes out.
    const isSilent = this.#isPaused || this.#output.isHolding || this.#gate === "down";
    const isAudible = !isSilent && this.#silenceFramesLeft === SILENCE_FRAMES;
    if (!isAudible) this.#dropAudio();
    this.#isPaused = command.isPaused;
    this.#tracks.play(command, { seekId, isAudible });
    this.#positions.begin(command.startMs);
    this.#health.onFlowing();
    this.watch.onRequest();
    if (command.isPaused) this.#dropAudio();
    this.#attend();
  }

  /** At once, whatever fades. What is left of a track that has ended by itself is heard. */
  stop(): void {
    if (this.#tracks.areAny) this.#dropUnsent();
    this.#slot.clear();
    this.#tracks.stop();
    this.#goSilent();
  }

  /** Takes effect with the next frame; nothing where it is so already. */
  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#health.onFlowing();
    this.watch.onRequest();
    if (isPaused) {
      this.#remakeUnsent();
      this.#tracks.dropWaiting();
      this.#goSilent();
    } else {
      this.#attend();
    }
  }

  /** Without effect for another track than the one that plays, as is `setEnd`: the command has crossed its end. */
  seek(command: SeekCommand): void {
    const track = this.#tracks.current;
    if (track?.trackId !== command.trackId) return;
    track.seekId = command.seekId;
    track.pipeline.seek(command.positionMs);
    if (this.#isPaused) this.#slot.clear();
    this.#positions.jump();
  }

  setEnd(trackId: TrackId, endMs: number | undefined): void {
    const track = this.#tracks.current;
    if (track?.trackId !== trackId) return;
    // It may lie within what is made and has not been heard.
    this.#remakeUnsent();
    track.pipeline.setEnd(endMs === undefined ? undefined : endMs - track.offsetMs);
    track.command = { ...track.command, endMs };
  }

  /** Percent, 0 to 1000; heard with the next frame that is made. */
  setVolume(volume: number): void {
    this.#remakeForChange();
    this.#tracks.setVolume(volume);
  }

  /** Replaces all filters; heard with the next frames that are made. */
  setFilters(filters: FilterSettings): void {
    this.#remakeForChange();
    this.#tracks.setFilters(filters);
  }

  /** Resolves when the gateway's WebSocket is open. */
  connectVoice(voiceId: VoiceId, credentials: VoiceCredentials): Promise<void> {
    return this.#output.connect(voiceId, credentials);
  }

  /** The player is a guest: its voice connection is on another worker. */
  adoptVoice(voice: Voice): void {
    this.#isRemote = true;
    this.#output.adopt(voice);
  }

  /** The voice connection's gate is another now. */
  onGateChanged(): void {
    if (this.#gate !== "send") this.#remakeUnsent();
    this.#placement.onGateChanged();
    this.#attend();
  }

  /** What has not left would leave another way, or with other keys. */
  onSendPathChanging(): void {
    this.#remakeUnsent();
  }

  /** What could not be made anew was on its way when that ended: also the sound of another worker. */
  onFramesLost(count: number): void {
    if (this.#placement.isAway || this.#tracks.haveBeenAudible) this.watch.onLost("voiceNotReady", count);
  }

  /** Has the worker at the other end make the sound from a place a little ahead on. */
  handOver({ port, clock }: Pick<HandOverOptions, "port" | "clock">): void {
    const track = this.canHandOver ? this.#tracks.remoteTrack : undefined;
    if (track !== undefined) {
      this.#placement.move({ port, clock, track, voice: () => this.#output.voice });
    } else {
      port.close();
      this.#placement.reportFailed();
    }
  }

  /**
   * True: the sound is made elsewhere, and the command is carried out there. Otherwise it stays here, whatever was
   * under way.
   */
  passOn(command: AudioCommand): boolean {
    return this.#placement.passOn(command);
  }

  /** It plays a track that another worker could go on with, and has not just been tried in vain. */
  get canHandOver(): boolean {
    if (this.#isPaused || this.#isRemote || !this.#placement.isHere || this.#gate !== "send") return false;
    return this.#tracks.remoteTrack !== undefined;
  }

  /** Packets its voice connections have handed to the system so far. */
  get packetsSent(): number {
    return this.#output.packetsSent;
  }

  /**
   * How its track's sound is made, with the frames sent since the last call; undefined without a track. `usedMs` is
   * what `takeUsedMs` gave.
   */
  takeAudioState(usedMs: number): AudioState | undefined {
    const track = this.#tracks.current;
    if (track === undefined) return undefined;
    const { pipeline, budget } = track;
    this.watch.addInputReopened(takeReopened(track));
    const audibleMode = pipeline.isTranscoding ? "transcoding" : "passthrough";
    return {
      playerId: this.playerId,
      framesSent: this.watch.counters.takeSent(),
      mode: track.hasBeenAudible ? audibleMode : "opening",
      queuedMs: Math.round(pipeline.queuedMs),
      heldBytes: budget.memory.usedBytes,
      usedMs,
    };
  }

  /** Time of the thread that its track has used since the last call, milliseconds. */
  takeUsedMs(): number {
    const track = this.#tracks.current;
    return track === undefined ? 0 : takeUsedMs(track);
  }

  /** Ends track and voice without events. May be called more than once. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#placement.close();
    this.#context.loop.remove(this);
    this.#tracks.close();
    this.#output.close();
    this.watch.onStopped();
  }

  // What the voice connection tells

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
  }

  /** Also called whenever there may be a frame that was not there before. */
  prepare(): boolean {
    if (this.#isClosed) return false;
    if (this.#slot.opus === undefined) this.#fillSlot();
    return this.#slot.opus !== undefined && this.#hasAudio && this.#gate === "send";
  }

  #fillSlot(): void {
    // The old place or sound is not to be heard any longer than it has to be.
    if (this.#tracks.areOutdated) this.#remakeOutdated();
    if (this.#tracks.produceInto(this.#slot)) this.#dropUnsent();
    const track = this.#tracks.current;
    if (track === undefined) {
      if (!this.#hasAudio) this.#goSilent();
    } else if (this.#slot.track !== track) {
      const isOver = track.pipeline.isEnded && (!this.#isPaused || track.hasFailed);
      if (isOver && this.#output.isDrained) this.#tracks.finish(track);
    } else if (!this.#isPaused && this.#gate !== "down" && track.pipeline.isEnding) this.#tracks.finishEarly(track);
  }

  onDeadlinesDropped(frames: number): void {
    if (this.#hasAudio) this.#lose("workerLate", frames);
  }

  charge(usedMs: number): void {
    this.#tracks.current?.budget.addUsedMs(usedMs);
  }

  /** Something of this player threw where nothing may: its tracks end with it, or without one its voice connection. */
  onFault(error: unknown): void {
    if (this.#isClosed) return;
    this.#slot.clear();
    if (!this.#tracks.fail(error)) this.#output.drop();
  }

  /** Called twice a second: stuck, abandoned and greedy tracks, and players that are silent and should not be. */
  checkHealth(worker: CpuQuotaCheck): void {
    if (this.#isClosed) return;
    const stall = this.#stall;
    if (this.watch.check(stall) && stall !== undefined) this.#repair(stall);
    const track = this.#tracks.current;
    const isFlowing = this.#isPaused || this.#slot.track === track;
    const found = this.#health.check(worker, { track, hasVoice: this.#gate !== "down", isFlowing });
    if (found === "abandoned") this.#giveUp();
  }

  /** What might keep it from being heard, as far as it should be; undefined when it should not, or nothing does. */
  get #stall(): Stall | undefined {
    const gate = this.#gate;
    const track = this.#tracks.current;
    if (gate === "down" || this.#isPaused || (track === undefined && !this.#placement.isAway)) return undefined;
    if (gate === "send" && this.#slot.opus === undefined) {
      // Sound that is made elsewhere is looked after there.
      return track && { kind: "reopen", cause: stallCauseOf(track), isHeld: false };
    }
    const cause = this.#output.sendBlockReason;
    return cause === "nobodyThere" ? undefined : { kind: "rejoin", cause, isHeld: gate === "hold" };
  }

  #repair(stall: Stall): void {
    const isBegun = stall.kind === "rejoin" ? this.#output.rejoin() : this.#reopen();
    if (isBegun) this.watch.onRepaired(stall);
  }

  #reopen(): boolean {
    const { position } = this;
    if (position === undefined || !this.#tracks.canReopen) return false;
    this.#placement.keep();
    this.#tracks.reopen(position.positionMs);
    return true;
  }

  #sendAudio(deadlineMs: number): void {
    const gate = this.#gate;
    if (gate === "hold" || gate === "down") {
      if (this.#slot.opus !== undefined) this.#lose(this.#output.sendBlockReason, 1);
      this.#positions.run(0);
      if (gate === "down") this.#context.loop.remove(this);
      return;
    }
    // Its turn to prepare has not come (the thread was late, or others took long): a late frame is better than silence.
    if (this.#slot.opus === undefined) this.prepare();
    const frame = this.#slot.opus;
    if (frame === undefined) {
      this.#sendNothing(deadlineMs);
      return;
    }
    this.#silenceFramesLeft = SILENCE_FRAMES;
    this.#isSpeaking = true;
    if (this.#output.sendFrame(frame, deadlineMs)) {
      this.watch.onSent();
      this.#unsentFramesMax += 1;
    } else this.#lose(this.#output.sendBlockReason, 1);
    // What is heard of the track before does not make up for one that is stuck.
    const track = this.#tracks.current;
    if (track === undefined || this.#slot.track === track) this.#health.onFlowing();
    this.#advance(deadlineMs);
    this.#slot.clear();
    if (track !== undefined) this.#placement.onSent(this.#slot.endMs, { rate: track.pipeline.rate, dueMs: deadlineMs });
  }

  /** Track time has moved on, unless the frame was the old place's while a seek or a new track is under way. */
  #advance(dueMs: number): void {
    const { track, endMs, runNumber } = this.#slot;
    if (track === undefined || track !== this.#tracks.current) {
      this.#positions.run(0);
      return;
    }
    track.hasBeenAudible = true;
    const { pipeline } = track;
    if (pipeline.seekTargetMs !== undefined || pipeline.runNumber !== runNumber) return;
    track.sentRun = runNumber;
    this.#positions.advance(endMs, { rate: pipeline.rate, dueMs });
  }

  /** A frame is due and there is none: say why, and let the listeners' decoders fade out. */
  #sendNothing(deadlineMs: number): void {
    const track = this.#tracks.current;
    if (track !== undefined) this.#lose(stallCauseOf(track), 1);
    this.#positions.run(0);
    this.#sendSilenceFrame(deadlineMs);
  }

  /** Frames are missing where sound had begun: what comes late at the start of a track is not lost. */
  #lose(cause: LossCause, frames: number): void {
    if (this.#tracks.haveBeenAudible) this.watch.onLost(cause, frames);
  }

  #sendSilence(deadlineMs: number): void {
    this.#positions.run(0);
    this.#sendSilenceFrame(deadlineMs);
    if (!this.#isSpeaking) this.#context.loop.remove(this);
  }

  /** After the last one, once that has left, Discord is told that nobody speaks. */
  #sendSilenceFrame(deadlineMs: number): void {
    if (this.#silenceFramesLeft > 0) {
      this.#silenceFramesLeft -= 1;
      this.#unsentFramesMax = 0;
      this.#tracks.onSilenceSent();
      this.#output.sendSilence(deadlineMs);
    } else if (this.#isSpeaking && this.#output.isDrained) {
      this.#isSpeaking = false;
      this.#output.stopSpeaking();
    }
  }

  get #gate(): Voice["gate"] {
    return this.#output.gate;
  }

  // Changes of state

  #onTrackEnded(): void {
    this.#placement.keep();
    if (!this.#hasAudio) this.watch.onStopped();
  }

  /** Another worker's first frame is there; until it is due, what was made here is heard. */
  #releaseAudio(framesTooMany: number): number {
    const revokedCount = this.#output.revoke(framesTooMany);
    this.watch.onRevoked(revokedCount);
    const released = this.#tracks.release();
    this.#slot.clear();
    this.#silenceFramesLeft = 0;
    this.#isSpeaking = false;
    this.#context.loop.remove(this);
    this.watch.onStopped();
    this.#context.send({ type: "handedOver", playerId: this.playerId });
    released?.pipeline.close();
    return framesTooMany - revokedCount;
  }

  /** Nobody has listened for long. */
  #giveUp(): void {
    this.#dropAudio();
    const track = this.#tracks.current;
    if (track === undefined) this.#goSilent();
    else this.#tracks.giveUp(track);
  }

  /** What is there to be heard before the track goes on, or another one begins. */
  #dropAudio(): void {
    this.#tracks.dropLeaving();
    this.#dropUnsent();
    this.#slot.clear();
  }

  /** What has not left is never heard. */
  #dropUnsent(): void {
    const count = this.#output.revoke(this.#unsentFramesMax);
    this.#unsentFramesMax = 0;
    this.watch.onRevoked(count);
    this.#context.loop.rewind(this, count);
  }

  /** What has not left is made anew, as far as that can be done, with the settings of now. */
  #remakeUnsent(): void {
    const track = this.#tracks.current;
    const slotFrames = this.#slot.opus === undefined ? 0 : 1;
    const framesMax = Math.min(this.#tracks.rewindFramesMax, this.#unsentFramesMax + slotFrames);
    if (track === undefined || framesMax < slotFrames) return;
    const sentFrames = this.#output.revoke(framesMax - slotFrames);
    if (sentFrames + slotFrames === 0) return;
    this.#placement.keep();
    this.#slot.clear();
    this.#tracks.rewind(sentFrames + slotFrames);
    this.#unsentFramesMax -= sentFrames;
    this.watch.onRevoked(sentFrames);
    this.#positions.retreat(track.pipeline.positionMs + track.offsetMs, sentFrames);
    this.#context.loop.rewind(this, sentFrames);
  }

  /** Once for each frame's time: what is outdated again at once would never be heard. */
  #remakeOutdated(): void {
    const nowMs = this.#context.clock.now();
    if (nowMs - this.#outdatedAtMs < FRAME_MS) return;
    this.#outdatedAtMs = nowMs;
    this.#remakeUnsent();
  }

  /** Whoever changes more often than that hears the rest of it a little later: making frames anew costs time. */
  #remakeForChange(): void {
    const nowMs = this.#context.clock.now();
    if (nowMs - this.#remadeAtMs < CHANGE_MS_MIN) return;
    this.#remadeAtMs = nowMs;
    this.#remakeUnsent();
  }

  /** Sound is wanted: be there at the next deadline. */
  #attend(): void {
    if (this.#isClosed || !this.#hasAudio) return;
    if (this.#gate === "down") {
      this.prepare();
      return;
    }
    this.watch.onPlaying();
    this.#context.loop.add(this, this.#output.startsMs);
  }

  /** No more sound: the loop serves the silence frames and then parks the player. */
  #goSilent(): void {
    this.watch.onStopped();
    this.#positions.run(0);
  }
}
