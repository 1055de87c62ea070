// A player's output: creates the voice connection on first use, sends frames to its sink, ends audio with silence
// frames, and reports its state to the main thread. Held by audio-player.ts. Audio thread.

import type { VoiceReport } from "../../bridge/audio-report.ts";
import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId, VoiceId } from "../../bridge/commands.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { CLOSE_ABNORMAL, CLOSE_NORMAL } from "../../lib/close-codes.ts";
import { type FrameSink, NO_SINK, type SendBlockReason, type VoiceGate } from "../voice/frame-sink.ts";
import type { Voice, VoiceClose, VoiceConnectOptions, VoiceStatus } from "../voice/voice.ts";
import { moveIncrease, noVoiceCounts, type VoiceCounts } from "../voice/voice-counters.ts";

/** Discord requires five silence frames at every stop, or decoders invent audio (discord-voice.md section 2.4). */
const SILENCE_FRAMES = 5;

interface VoiceOutputOptions {
  readonly playerId: PlayerId;
  readonly create: () => Promise<Voice>;
  readonly send: (event: PlainEvent) => void;
  /** The player's counts, to which those of its connections are added. */
  readonly counts: VoiceCounts;
}

/** Discord shows that the bot does not speak. */
interface SilentState {
  readonly kind: "silent";
  readonly connection: Connection;
}

/** The last frame sent contained audio. */
interface SpeakingState {
  readonly kind: "speaking";
  readonly connection: Connection;
  /** Number of audio frames sent last that may not have left yet. */
  unsentFramesMax: number;
}

/** Audio has stopped: silence frames follow, and once they have left, op 5 reports it to Discord. */
interface StoppingState {
  readonly kind: "stopping";
  readonly connection: Connection;
  silenceFramesLeft: number;
}

type State =
  /** No voice connection was requested, or the last one failed. */
  | { readonly kind: "none" }
  | { readonly kind: "creating"; readonly whenVoice: Promise<Voice> }
  | SilentState
  | SpeakingState
  | StoppingState
  /** The connection is kept for its last report. While it closes, its frames can still be revoked. */
  | { readonly kind: "closed"; readonly voice: Voice | undefined; unsentFramesMax: number };

/** A voice connection with the states that hold it, made once so that no transition in the tick allocates. */
class Connection {
  readonly voice: Voice;
  /** It belongs to another worker. */
  readonly isRemote: boolean;
  readonly silent: SilentState = { kind: "silent", connection: this };
  readonly speaking: SpeakingState = { kind: "speaking", connection: this, unsentFramesMax: 0 };
  readonly stopping: StoppingState = { kind: "stopping", connection: this, silenceFramesLeft: 0 };

  constructor(voice: Voice, { isRemote }: { readonly isRemote: boolean }) {
    this.voice = voice;
    this.isRemote = isRemote;
  }
}

export class VoiceOutput {
  readonly #options: VoiceOutputOptions;
  #state: State = { kind: "none" };
  /** The connection that the state holds, and its voice or that of a closed one: each frame asks for them. */
  #connection: Connection | undefined;
  #voice: Voice | undefined;
  #voiceId: VoiceId = 0;
  /** The connection's counts that the player's contain, and its status as last reported. */
  #collected = noVoiceCounts();
  #lastReport: VoiceReport | undefined;

  constructor(options: VoiceOutputOptions) {
    this.#options = options;
  }

  /** Where frames go now. */
  get sink(): FrameSink {
    return this.#voice?.sink ?? NO_SINK;
  }

  /** That of the sink, but "hold" while too many frames are unsent. */
  get gate(): VoiceGate {
    const { sink } = this;
    return sink.gate === "send" && sink.isFull ? "hold" : sink.gate;
  }

  /** Its voice connection is on another worker. */
  get isRemote(): boolean {
    return this.#connection?.isRemote === true;
  }

  /** Why frames cannot be sent, when they cannot. */
  get sendBlockReason(): SendBlockReason | "workerLate" {
    const { sink } = this;
    return sink.gate === "send" && sink.isFull ? "workerLate" : sink.sendBlockReason;
  }

  /** Starts a new voice session with the same credentials. False: there is no connection. */
  rejoin(): boolean {
    return this.#voice?.rejoin() ?? false;
  }

  /** Adds to the player's counts what the connection has counted since the last call. */
  collectCounts(): void {
    this.#collect(this.#voice);
  }

  #collect(voice: Voice | undefined): void {
    if (voice?.counters !== undefined) moveIncrease(voice.counters, this.#collected, this.#options.counts);
  }

  /** The status of the connection if it has changed since the last call. */
  takeVoiceReport(): VoiceReport | undefined {
    const report = this.#voice?.counters === undefined ? undefined : this.#voice.describe();
    if (report === undefined || areSame(report, this.#lastReport)) return undefined;
    this.#lastReport = report;
    return report;
  }

  // The connection

  /** Resolves when the gateway's WebSocket is open. */
  async connect(voiceId: VoiceId, credentials: VoiceCredentials, options?: VoiceConnectOptions): Promise<void> {
    this.#voiceId = voiceId;
    const voice = this.#voice ?? (await this.#create());
    await voice.connect(credentials, options);
  }

  /** Creates the connection on first use: a player without voice loads none of its code. */
  async #create(): Promise<Voice> {
    const whenVoice = this.#state.kind === "creating" ? this.#state.whenVoice : this.#options.create();
    if (this.#state.kind === "none") this.#enter({ kind: "creating", whenVoice });
    const voice = await whenVoice.catch((error: unknown) => {
      if (this.#state.kind === "creating" && this.#state.whenVoice === whenVoice) this.#enter({ kind: "none" });
      throw error;
    });
    if (this.#state.kind === "creating") this.#enter(new Connection(voice, { isRemote: false }).silent);
    else if (this.#state.kind === "closed") voice.close();
    return voice;
  }

  /** A connection that others connect. */
  adopt(voice: Voice): void {
    this.#enter(new Connection(voice, { isRemote: true }).silent);
  }

  reportStatus(status: VoiceStatus): void {
    const { playerId, send } = this.#options;
    if (this.#state.kind !== "closed") send({ type: "voiceState", playerId, voiceId: this.#voiceId, ...status });
  }

  reportClosed(close: VoiceClose): void {
    const { playerId, send } = this.#options;
    // Closes that we caused (move, destroy) are known on the main thread.
    if (this.#state.kind === "closed" || (close.code === CLOSE_NORMAL && !close.isByRemote)) return;
    send({ type: "voiceClosed", playerId, voiceId: this.#voiceId, ...close });
  }

  /** The connection itself failed: gives it up, so that the next one is created from scratch. */
  drop(): void {
    if (this.#connection === undefined) return;
    this.reportClosed({ code: CLOSE_ABNORMAL, reason: "the voice connection failed unexpectedly", isByRemote: false });
    this.#enter({ kind: "none" });
  }

  close(): void {
    this.#enter({ kind: "closed", voice: this.#voice, unsentFramesMax: this.unsentFramesMax });
  }

  // Frames

  /** The last frame sent contained audio. */
  get isSpeaking(): boolean {
    return this.#state.kind === "speaking";
  }

  /** There is no audio to end. */
  get isSilent(): boolean {
    return this.#state.kind !== "speaking" && this.#state.kind !== "stopping";
  }

  /** Number of audio frames sent last that may not have left yet. */
  get unsentFramesMax(): number {
    return "unsentFramesMax" in this.#state ? this.#state.unsentFramesMax : 0;
  }

  /** Sends a frame at its deadline. False when it cannot be sent. Not to be called while the gate holds. */
  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    const speaking = this.#connection?.speaking;
    if (speaking === undefined) return false;
    if (this.#state !== speaking) this.#enter(speaking);
    const { sink } = this;
    const isSent = sink.gate === "send" && sink.sendFrame(opus, dueMs);
    if (isSent) speaking.unsentFramesMax += 1;
    return isSent;
  }

  /** Sends the next silence frame; after the last one has left, tells Discord. False when no further one is due. */
  sendSilence(dueMs: number): boolean {
    if (this.#state.kind === "speaking") this.#enter(this.#state.connection.stopping);
    const state = this.#state;
    if (state.kind !== "stopping") return false;
    if (state.silenceFramesLeft > 0) {
      state.silenceFramesLeft -= 1;
      if (this.gate === "send") this.sink.sendSilence(dueMs);
      return true;
    }
    if (this.sink.isDrained) {
      this.#enter(state.connection.silent);
      this.sink.stopSpeaking();
    }
    return false;
  }

  /** Revokes at most `countMax` unsent audio frames, newest first. Returns how many were revoked. */
  revoke(countMax: number): number {
    if (countMax === 0) return 0;
    const count = this.sink.revoke(countMax);
    if ("unsentFramesMax" in this.#state) this.#state.unsentFramesMax -= count;
    return count;
  }

  /** Revokes all unsent audio frames. Returns how many there were. */
  revokeAll(): number {
    const count = this.revoke(this.unsentFramesMax);
    if ("unsentFramesMax" in this.#state) this.#state.unsentFramesMax = 0;
    return count;
  }

  /** The voice connection has revoked `count` frames by itself. Returns how many of them were audio. */
  forgetUnsent(count: number): number {
    const audioCount = Math.min(count, this.unsentFramesMax);
    if ("unsentFramesMax" in this.#state) this.#state.unsentFramesMax -= audioCount;
    return audioCount;
  }

  /** Another worker's audio follows without a stop. */
  release(): void {
    if (this.#connection !== undefined) this.#enter(this.#connection.silent);
  }

  /** The only place that changes the state: closes the connection that the next state does not hold. */
  #enter(next: State): void {
    if (this.#state.kind === "closed") return;
    const voice = this.#voice;
    this.#state = next;
    this.#connection = "connection" in next ? next.connection : undefined;
    this.#voice = next.kind === "closed" ? next.voice : this.#connection?.voice;
    if (next.kind === "speaking") next.unsentFramesMax = 0;
    else if (next.kind === "stopping") next.silenceFramesLeft = SILENCE_FRAMES;
    if (voice === undefined || this.#connection?.voice === voice) return;
    voice.close();
    if (next.kind === "closed") return;
    // Only now, as closing revokes unsent packets.
    this.#collect(voice);
    this.#collected = noVoiceCounts();
  }
}

function areSame(a: VoiceReport, b: VoiceReport | undefined): boolean {
  if (b === undefined || a.state !== b.state || a.gate !== b.gate || a.pingMs !== b.pingMs) return false;
  const { version, epoch, state, readyMs } = a.dave;
  return version === b.dave.version && epoch === b.dave.epoch && state === b.dave.state && readyMs === b.dave.readyMs;
}
