// A player's output to its voice connection: creates the connection on first use, sends frames to it, and reports its
// state to the main thread. Held by audio-player.ts. Audio thread.

import type { VoiceCounts, VoiceReport } from "../../bridge/audio-report.ts";
import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId, VoiceId } from "../../bridge/commands.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { CLOSE_ABNORMAL, CLOSE_NORMAL } from "../../lib/close-codes.ts";
import type { SendBlockReason, Voice, VoiceClose, VoiceStatus } from "../voice/voice.ts";
import { countedSince, createVoiceCounters, voiceCountsOf } from "../voice/voice-counters.ts";

interface VoiceOutputOptions {
  readonly playerId: PlayerId;
  readonly create: () => Promise<Voice>;
  readonly send: (event: PlainEvent) => void;
}

export class VoiceOutput {
  readonly #options: VoiceOutputOptions;
  /** Created on first use: a player without voice loads none of its code. */
  #whenVoice: Promise<Voice> | undefined;
  #voice: Voice | undefined;
  #voiceId: VoiceId = 0;
  /** The connection's counts and status as last reported. */
  #reported: VoiceCounts = voiceCountsOf(createVoiceCounters());
  #lastReport: VoiceReport | undefined;
  /** Packets sent by previous connections. */
  #packetsOfGone = 0;
  #isClosed = false;

  constructor(options: VoiceOutputOptions) {
    this.#options = options;
  }

  get voice(): Voice | undefined {
    return this.#voice;
  }

  get gate(): Voice["gate"] {
    const { voice } = this;
    if (voice === undefined) return "down";
    return voice.gate === "send" && voice.isFull ? "hold" : voice.gate;
  }

  /** The connection cannot take audio now. False when `gate` is "hold" only because too many frames are unsent. */
  get isHolding(): boolean {
    return this.#voice?.gate === "hold";
  }

  /** Why frames cannot be sent, when they cannot. */
  get sendBlockReason(): SendBlockReason | "workerLate" {
    if (this.#voice?.gate === "send" && this.#voice.isFull) return "workerLate";
    return this.#voice?.sendBlockReason ?? "voiceNotReady";
  }

  /** Packets handed to the system so far, silence included. */
  get packetsSent(): number {
    return this.#packetsOfGone + (this.#voice?.counters?.packetsSent ?? 0);
  }

  /** Starts a new voice session with the same credentials. False: there is no connection. */
  rejoin(): boolean {
    return this.#voice?.rejoin() ?? false;
  }

  /** The counts since the last call, and the status if it has changed. */
  takeReport(): { readonly voice: VoiceReport | undefined; readonly voiceCounts: VoiceCounts | undefined } {
    const voice = this.#voice;
    if (voice?.counters === undefined) return { voice: undefined, voiceCounts: undefined };
    const voiceCounts = countedSince(this.#reported, voice.counters);
    if (voiceCounts !== undefined) this.#reported = voiceCountsOf(voice.counters);
    const report = voice.describe();
    const isNew = report !== undefined && !areSame(report, this.#lastReport);
    if (isNew) this.#lastReport = report;
    return { voice: isNew ? report : undefined, voiceCounts };
  }

  /** Resolves when the gateway's WebSocket is open. */
  async connect(voiceId: VoiceId, credentials: VoiceCredentials): Promise<void> {
    this.#voiceId = voiceId;
    this.#whenVoice ??= this.#options.create();
    const voice = await this.#whenVoice;
    this.#voice = voice;
    if (this.#isClosed) voice.close();
    await voice.connect(credentials);
  }

  /** A connection that others connect. */
  adopt(voice: Voice): void {
    this.#voice = voice;
  }

  /** Sends a frame at its deadline. False when it cannot be sent. */
  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    return this.gate === "send" && (this.#voice?.sendFrame(opus, dueMs) ?? false);
  }

  sendSilence(dueMs: number): void {
    if (this.gate === "send") this.#voice?.sendSilence(dueMs);
  }

  /** Revokes at most `countMax` unsent frames, newest first. Returns how many were revoked. */
  revoke(countMax: number): number {
    return countMax === 0 ? 0 : (this.#voice?.revoke(countMax) ?? 0);
  }

  /** No frame may be due before this; undefined: no limit. */
  get startsMs(): number | undefined {
    return this.#voice?.startsMs;
  }

  /** No frame is unsent. */
  get isDrained(): boolean {
    return this.#voice?.isDrained ?? true;
  }

  stopSpeaking(): void {
    this.#voice?.stopSpeaking();
  }

  reportStatus(state: VoiceStatus): void {
    const { playerId, send } = this.#options;
    if (!this.#isClosed) send({ type: "voiceState", playerId, voiceId: this.#voiceId, ...state });
  }

  reportClosed(close: VoiceClose): void {
    const { playerId, send } = this.#options;
    // Closes that we caused (move, destroy) are known on the main thread.
    if (this.#isClosed || (close.code === CLOSE_NORMAL && !close.isByRemote)) return;
    send({ type: "voiceClosed", playerId, voiceId: this.#voiceId, ...close });
  }

  /** The connection itself failed: gives it up, so that the next one is created from scratch. */
  drop(): void {
    const voice = this.#voice;
    this.#voice = undefined;
    this.#whenVoice = undefined;
    if (voice === undefined) return;
    this.#packetsOfGone += voice.counters?.packetsSent ?? 0;
    this.#reported = voiceCountsOf(createVoiceCounters());
    this.reportClosed({ code: CLOSE_ABNORMAL, reason: "the voice connection failed unexpectedly", isByRemote: false });
    voice.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#voice?.close();
  }
}

function areSame(a: VoiceReport, b: VoiceReport | undefined): boolean {
  if (b === undefined || a.state !== b.state || a.gate !== b.gate || a.pingMs !== b.pingMs) return false;
  const { version, epoch, state, readyMs } = a.dave;
  return version === b.dave.version && epoch === b.dave.epoch && state === b.dave.state && readyMs === b.dave.readyMs;
}
