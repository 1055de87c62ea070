// One player as the audio thread knows it: its track's pipeline, its voice connection, and what happens at each of its
// deadlines. What was asked for lives on the main thread (control/players/); this is what is happening.
// Long because the track, tracks that leave, pauses, voice and handing sound over all decide what becomes of the next frame, in
// the same tick.

import type { PlainEvent } from "../../bridge/channel.ts";
import type {
  FilterSettings,
  PlayCommand,
  PlayerId,
  SeekCommand,
  SeekId,
  TrackId,
  VoiceId,
} from "../../bridge/commands.ts";
import type { EndReason } from "../../bridge/events.ts";
import type { PositionReport } from "../../bridge/position-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import { hasTonearmSettings, tonearmSettingsIn } from "../filters/setting.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import { HandOver, type HandOverOptions } from "../relay/hand-over.ts";
import type { SoundCommand } from "../relay/relay-messages.ts";
import { type Fade, fadeOf } from "../sound/fade-curve.ts";
import type { LoopMember, TickLoop } from "../tick/tick-loop.ts";
import type { Voice, VoiceClose, VoiceStatus } from "../voice/voice.ts";
import { FrameCounters } from "./frame-counters.ts";
import type { GreedCheck } from "./greed-watch.ts";
import { LeavingTrack } from "./leaving-track.ts";
import {
  canGoOnElsewhere,
  guestTrackOf,
  keepHere,
  type PlayingTrack,
  startTrack,
  type TrackSurroundings,
  takeUsedMs,
} from "./playing-track.ts";
import { PositionReporter } from "./position-reporter.ts";
import { VoiceOutput } from "./voice-output.ts";

/** Discord wants five silence frames at every stop, else decoders make up sound (discord-voice.md section 2.4). */
const SILENCE_FRAMES = 5;
/** Nobody has pulled sound for this long (no voice connection): the track is given up (protocol-v4.md section 4.6). */
const CLEANUP_MS = 60_000;
/** Leaves sound as it is. */
const VOLUME_DEFAULT = 100;
/** What all players of a worker share. */
export interface PlayerSurroundings extends TrackSurroundings {
  readonly loop: TickLoop;
  readonly trackStuckThresholdMs: number;
  readonly send: (event: PlainEvent) => void;
}

export class AudioPlayer implements LoopMember {
  readonly playerId: PlayerId;
  readonly counters: FrameCounters;
  readonly #surroundings: PlayerSurroundings;
  readonly #output: VoiceOutput;
  /** What each track begins with. */
  #volume = VOLUME_DEFAULT;
  #filters: FilterSettings = {};
  #track: PlayingTrack | undefined;
  /** What sounds on of the tracks before, alone or while the new one comes in. */
  #leaving: LeavingTrack | undefined;
  #isPaused = false;
  /** The frame for the next deadline and where in the track it ends. */
  #slot: Uint8Array | undefined;
  #slotEndMs = 0;
  #slotTrack: PlayingTrack | undefined;
  /** All of them as long as the last frame sent was one of sound. */
  #silenceFramesLeft = 0;
  #slotRun = 0;
  #lastFrameMs: number;
  readonly #positions: PositionReporter;
  /** Another worker is to make the sound, or does. */
  #handOver: HandOver | undefined;
  /** The home of its voice is another worker. */
  #isGuest = false;
  #isClosed = false;

  constructor(
    playerId: PlayerId,
    surroundings: PlayerSurroundings,
    createVoice: (player: AudioPlayer) => Promise<Voice>,
  ) {
    this.playerId = playerId;
    this.#surroundings = surroundings;
    this.counters = new FrameCounters(surroundings.clock.epochMs());
    this.#lastFrameMs = surroundings.clock.now();
    this.#output = new VoiceOutput({ playerId, create: () => createVoice(this), send: surroundings.send });
    this.#positions = new PositionReporter({
      playerId,
      clock: surroundings.clock,
      locate: () => this.#track,
      send: (report) => surroundings.send({ type: "position", report }),
    });
  }

  get isPlaying(): boolean {
    return this.#track !== undefined && !this.#isPaused;
  }

  /** Also true while only the rest of a track is heard that has ended for the client. */
  get #isSounding(): boolean {
    return !this.#isPaused && (this.#track ?? this.#leaving ?? this.#slot) !== undefined;
  }

  // Commands

  /** `seekId` is that of the track's last seek, where it goes on from another worker. */
  play(command: PlayCommand, seekId: SeekId = 0): void {
    this.#letTrackLeave();
    this.#isPaused = command.isPaused;
    const track: PlayingTrack = startTrack(command, this.#surroundings, {
      volume: this.#volume,
      filters: this.#filters,
      onProgress: () => this.#onProgress(track),
      onFailure: (error) => this.#onFailure(track, error),
    });
    track.seekId = seekId;
    this.#track = track;
    this.#positions.begin(command.startMs);
    this.#lastFrameMs = this.#surroundings.clock.now();
    if (command.isPaused) this.#dropSound();
    this.#attend();
  }

  /** At once, whatever fades. */
  stop(): void {
    this.#dropSound();
    this.#track?.pipeline.close();
    this.#track = undefined;
    this.#goSilent();
  }

  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#lastFrameMs = this.#surroundings.clock.now();
    if (isPaused) {
      if (this.#leaving?.canFade !== true) this.#dropLeaving();
      this.#goSilent();
    } else {
      this.#attend();
    }
  }

  seek(command: SeekCommand): void {
    const track = this.#track;
    if (track?.trackId !== command.trackId) return;
    track.seekId = command.seekId;
    track.pipeline.seek(command.positionMs);
    if (this.#isPaused) this.#clearSlot();
    this.#positions.jump();
  }

  setEnd(trackId: TrackId, endMs: number | undefined): void {
    const track = this.#track;
    if (track?.trackId !== trackId) return;
    track.pipeline.setEnd(endMs);
    track.command = { ...track.command, endMs };
  }

  setVolume(volume: number): void {
    this.#volume = volume;
    this.#leaving?.setVolume(volume);
    this.#track?.pipeline.setVolume(volume);
  }

  setFilters(filters: FilterSettings): void {
    this.#filters = filters;
    this.#leaving?.setFilters(filters);
    this.#track?.pipeline.setFilters(filters);
  }

  /** Resolves when the gateway's WebSocket is open. */
  connectVoice(voiceId: VoiceId, credentials: VoiceCredentials): Promise<void> {
    return this.#output.connect(voiceId, credentials);
  }

  /** The player is a guest: its voice connection is on another worker. */
  adoptVoice(voice: Voice): void {
    this.#isGuest = true;
    this.#output.adopt(voice);
  }

  /** The voice connection's gate is another now. */
  onGateChanged(): void {
    this.#attend();
  }

  /** Has the worker at the other end make the sound from a place a little ahead on. */
  handOver(link: Pick<HandOverOptions, "port" | "clock">): void {
    const track = this.#track;
    if (track === undefined || !this.canHandOver) {
      link.port.close();
      this.#surroundings.send({ type: "handOverFailed", playerId: this.playerId });
      return;
    }
    this.#handOver = new HandOver({
      ...link,
      track: { volume: this.#volume, filters: this.#filters, ...guestTrackOf(track) },
      voice: () => this.#output.voice,
      onTaken: () => this.#letSoundGo(),
      onFailed: () => {
        keepHere(track, this.#surroundings.clock.now());
        this.#keepSound();
      },
    });
  }

  /** True: the sound is made elsewhere, and the command is carried out there. Otherwise it stays here, whatever was under way. */
  passOn(command: SoundCommand): boolean {
    if (this.#handOver?.isTaken) this.#handOver.passOn(command);
    else this.#keepSound();
    return this.#handOver !== undefined;
  }

  /** It plays a track that another worker could go on with, and has not just been tried in vain. */
  get canHandOver(): boolean {
    if (this.#isPaused || this.#isGuest || this.#handOver !== undefined || this.#leaving !== undefined) return false;
    // Fades, loudness and echoes remember what was heard of the track so far.
    if (hasTonearmSettings(this.#filters) || this.#gate !== "send") return false;
    return this.#track !== undefined && canGoOnElsewhere(this.#track, this.#surroundings.clock.now());
  }

  /** Time of the thread that its track has used since the last call, milliseconds. */
  takeUsedMs(): number {
    return this.#track === undefined ? 0 : takeUsedMs(this.#track);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#handOver?.close();
    this.#surroundings.loop.remove(this);
    this.#leaving?.close();
    this.#track?.pipeline.close();
    this.#output.close();
  }

  // What the voice connection tells

  onVoiceStatus(state: VoiceStatus): void {
    this.#output.tellStatus(state);
    this.#attend();
  }

  onVoiceClosed(close: VoiceClose): void {
    this.#output.tellClosed(close);
  }

  // The tick

  send(deadlineMs: number): void {
    if (this.#isSounding) this.#sendSound(deadlineMs);
    else this.#sendSilence(deadlineMs);
  }

  prepare(): void {
    if (this.#isClosed || this.#slot !== undefined) return;
    const track = this.#track;
    const leaving = this.#leaving;
    const frame = leaving === undefined ? track?.pipeline.produce() : leaving.produce(track?.pipeline);
    const isOfTrack = leaving === undefined || leaving.isNextHeard;
    this.#fillSlot(frame, isOfTrack ? track : undefined);
    if (leaving?.isOver) this.#leaving = undefined;
    if (track === undefined) {
      if (!this.#isSounding) this.#goSilent();
    } else if (this.#slotTrack !== track) this.#endIfOver(track);
    else if (!this.#isPaused && this.#gate !== "down" && track.pipeline.isEnding) this.#endEarly(track);
  }

  onDeadlinesDropped(frames: number): void {
    if (this.#isSounding) this.counters.addLost("loopLate", frames);
  }

  charge(usedMs: number): void {
    this.#track?.budget.addUsedMs(usedMs);
  }

  /** Something of this player threw where nothing may: its track ends with it, or without one its voice connection. */
  onFault(error: unknown): void {
    if (this.#isClosed) return;
    const track = this.#track;
    this.#track = undefined;
    const leaving = this.#leaving;
    this.#leaving = undefined;
    this.#clearSlot();
    if (track !== undefined) {
      this.#tellFailure(track, new NodeError("internal", "playing the track failed unexpectedly", { cause: error }));
      this.#end(track, track.hasSounded ? "finished" : "loadFailed");
    } else if (leaving === undefined) {
      this.#output.drop();
    }
    // Last, as this may fail again.
    leaving?.close();
    track?.pipeline.close();
  }

  /** Called twice a second: stuck, abandoned and greedy tracks. */
  checkHealth(worker: GreedCheck): void {
    const track = this.#track;
    if (this.#isClosed) return;
    const share = track?.greed.check(worker);
    if (track !== undefined && share !== undefined) {
      this.#surroundings.send({ type: "trackGreedy", playerId: this.playerId, trackId: track.trackId, share });
    }
    const idleMs = this.#surroundings.clock.now() - this.#lastFrameMs;
    if (this.#gate === "down") {
      if (idleMs >= CLEANUP_MS) this.#giveUp();
      return;
    }
    if (track === undefined) return;
    if (this.#isPaused || this.#slotTrack === track) this.#lastFrameMs = this.#surroundings.clock.now();
    else if (idleMs >= this.#surroundings.trackStuckThresholdMs && !track.isStuckReported) {
      track.isStuckReported = true;
      const thresholdMs = this.#surroundings.trackStuckThresholdMs;
      this.#surroundings.send({ type: "trackStuck", playerId: this.playerId, trackId: track.trackId, thresholdMs });
    }
  }

  /** Where the track is; undefined without one. */
  get position(): PositionReport | undefined {
    return this.#positions.position;
  }

  #sendSound(deadlineMs: number): void {
    const gate = this.#gate;
    if (gate === "hold" || gate === "down") {
      if (this.#slot !== undefined) this.counters.addLost("voiceNotReady", 1);
      this.#positions.run(0);
      if (gate === "down") this.#surroundings.loop.remove(this);
      return;
    }
    // Its turn to prepare has not come (the thread was late, or others took long): a late frame is better than silence.
    if (this.#slot === undefined) this.prepare();
    const slot = this.#slot;
    if (slot === undefined) {
      this.#sendNothing(deadlineMs);
      return;
    }
    this.#silenceFramesLeft = SILENCE_FRAMES;
    if (this.#output.sendFrame(slot, deadlineMs)) this.counters.addSent();
    else this.counters.addLost("voiceNotReady", 1);
    // What is heard of the track before does not make up for one that is stuck.
    if (this.#track === undefined || this.#slotTrack === this.#track) {
      this.#lastFrameMs = this.#surroundings.clock.now();
    }
    this.#advance();
    this.#clearSlot();
    if (this.#track !== undefined) this.#handOver?.onSent(this.#slotEndMs, this.#track.pipeline.rate);
  }

  /** Track time has moved on, unless the frame was the old place's while a seek or a new track is under way. */
  #advance(): void {
    const track = this.#slotTrack;
    if (track === undefined || track !== this.#track) {
      this.#positions.run(0);
      return;
    }
    track.hasSounded = true;
    const { pipeline } = track;
    if (pipeline.seekTargetMs !== undefined || pipeline.runNumber !== this.#slotRun) return;
    track.sentRun = this.#slotRun;
    this.#positions.advance(this.#slotEndMs, pipeline.rate);
  }

  /** A frame is due and there is none: say why, and let the listeners' decoders fade out. */
  #sendNothing(deadlineMs: number): void {
    const track = this.#track;
    if (track?.hasSounded) {
      this.counters.addLost(track.pipeline.dryCause === "decoder" ? "decoderLate" : "inputDry", 1);
    }
    this.#positions.run(0);
    this.#sendSilenceFrame(deadlineMs);
  }

  #sendSilence(deadlineMs: number): void {
    this.#positions.run(0);
    this.#sendSilenceFrame(deadlineMs);
    if (this.#silenceFramesLeft === 0) this.#surroundings.loop.remove(this);
  }

  #sendSilenceFrame(deadlineMs: number): void {
    if (this.#silenceFramesLeft === 0) return;
    this.#silenceFramesLeft -= 1;
    this.#track?.pipeline.onSilenceSent();
    this.#leaving?.onSilenceSent();
    this.#output.sendSilence(deadlineMs);
    if (this.#silenceFramesLeft === 0) this.#output.stopSpeaking();
  }

  #fillSlot(frame: Uint8Array | undefined, track: PlayingTrack | undefined): void {
    this.#slot = frame;
    if (frame === undefined || track === undefined) return;
    this.#slotTrack = track;
    this.#slotEndMs = track.pipeline.positionMs;
    this.#slotRun = track.pipeline.runNumber;
  }

  #clearSlot(): void {
    this.#slot = undefined;
    this.#slotTrack = undefined;
  }

  get #gate(): Voice["gate"] {
    return this.#output.gate;
  }

  // Sound that is made elsewhere

  /** The host's first frame is there. It is called one frame early: the one before may still have to be sent. */
  #letSoundGo(): void {
    const track = this.#track;
    const startMs = this.#handOver?.startMs ?? 0;
    const slot = this.#slotTrack === track && this.#slotEndMs < startMs + FRAME_MS / 2 ? this.#slot : undefined;
    if (slot !== undefined && this.#output.voice?.sendFrame(slot)) this.counters.addSent();
    this.#track = undefined;
    this.#clearSlot();
    this.#silenceFramesLeft = 0;
    this.#surroundings.loop.remove(this);
    this.counters.onStopped(this.#surroundings.clock.epochMs());
    this.#surroundings.send({ type: "handedOver", playerId: this.playerId });
    track?.pipeline.close();
  }

  /** What is under way to another worker does not come to be. */
  #keepSound(): void {
    if (this.#handOver === undefined) return;
    this.#handOver.close();
    this.#handOver = undefined;
    this.#surroundings.send({ type: "handOverFailed", playerId: this.playerId });
  }

  // Changes of state

  #onProgress(track: PlayingTrack): void {
    if (this.#isClosed || this.#track !== track) return;
    this.prepare();
  }

  #onFailure(track: PlayingTrack, error: unknown): void {
    if (this.#isClosed || this.#track !== track) return;
    track.hasFailed = true;
    if (this.#leaving?.canFade) this.#leaving.fall();
    else this.#dropLeaving();
    const message = "decoding the track failed: its decoder can make no sense of it";
    const isKnown = error instanceof NodeError;
    this.#tellFailure(track, isKnown ? error : new NodeError("media-decode-failed", message, { cause: error }));
  }

  #tellFailure(track: PlayingTrack, error: unknown): void {
    const { playerId } = this;
    this.#surroundings.send({ type: "trackException", playerId, trackId: track.trackId, error: toWireError(error) });
  }

  /** Everything has been sent: the track is over. What is heard of the one before goes on. */
  #endIfOver(track: PlayingTrack): void {
    if (!track.pipeline.isEnded || (this.#isPaused && !track.hasFailed)) return;
    track.pipeline.close();
    if (this.#leaving?.canFade) this.#leaving.fall();
    else this.#dropLeaving();
    this.#end(track, track.hasFailed && !track.hasSounded ? "loadFailed" : "finished");
  }

  /** With crossfade a track is over for the client while its last part is heard, so that the next one can come in over it. */
  #endEarly(track: PlayingTrack): void {
    this.#leaving = new LeavingTrack({ pipeline: track.pipeline, crossfade: this.#crossfade, before: this.#leaving });
    this.#leaving.fall();
    this.#end(track, "finished");
  }

  /** Nobody has listened for long. */
  #giveUp(): void {
    const track = this.#track;
    this.#dropSound();
    track?.pipeline.close();
    if (track === undefined) this.#goSilent();
    else this.#end(track, "cleanup");
  }

  #end(track: PlayingTrack, reason: EndReason): void {
    this.#track = undefined;
    this.#keepSound();
    if (!this.#isSounding) this.counters.onStopped(this.#surroundings.clock.epochMs());
    this.#surroundings.send({ type: "trackEnded", playerId: this.playerId, trackId: track.trackId, reason });
  }

  /** The track is replaced. */
  #letTrackLeave(): void {
    const track = this.#track;
    const isHeard = this.#silenceFramesLeft === SILENCE_FRAMES && this.#gate !== "down";
    if (!isHeard) this.#dropSound();
    const leaving = this.#leaving;
    if (track === undefined || leaving?.dropNext()) return;
    // One that has not been heard yet is none to wait for.
    const canLeave = isHeard && (leaving === undefined ? track.hasSounded : leaving.isMixing);
    if (!canLeave) track.pipeline.close();
    else this.#leaving = new LeavingTrack({ pipeline: track.pipeline, crossfade: this.#crossfade, before: leaving });
  }

  get #crossfade(): Fade | undefined {
    return fadeOf(tonearmSettingsIn(this.#filters, "crossfade"));
  }

  /** What is there to be heard before the track goes on, or another one begins. */
  #dropSound(): void {
    this.#dropLeaving();
    this.#clearSlot();
  }

  #dropLeaving(): void {
    this.#leaving?.close();
    this.#leaving = undefined;
  }

  /** Sound is wanted: be there at the next deadline. */
  #attend(): void {
    if (this.#isClosed || !this.#isSounding) return;
    if (this.#gate === "down") {
      this.prepare();
      return;
    }
    this.counters.onPlaying(this.#surroundings.clock.epochMs());
    this.#surroundings.loop.add(this);
  }

  /** No more sound: the loop serves the silence frames and then parks the player. */
  #goSilent(): void {
    this.counters.onStopped(this.#surroundings.clock.epochMs());
    this.#positions.run(0);
  }
}
