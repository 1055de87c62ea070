// A player's way to its voice connection: has it made when it is first asked for, sends frames there, and tells the
// main thread what becomes of it. Held by audio-player.ts. Audio thread.

import type { VoiceReport } from "../../bridge/audio-report.ts";
import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId, VoiceId } from "../../bridge/commands.ts";
import type { VoiceCounts } from "../../bridge/voice-counts.ts";
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
  /** Made when voice is asked for first: a player without voice loads nothing of it. */
  #whenVoice: Promise<Voice> | undefined;
  #voice: Voice | undefined;
  #voiceId: VoiceId = 0;
  /** What has been told of the connection's counts, and how it was said to stand. */
  #reported: VoiceCounts = voiceCountsOf(createVoiceCounters());
  #lastReport: VoiceReport | undefined;
  /** Of connections before this one. */
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

  /** The connection cannot take audio now. False where `gate` is "hold" only because too many frames wait to leave. */
  get isHolding(): boolean {
    return this.#voice?.gate === "hold";
  }

  /** Why frames have no way out, where they have none. */
  get sendBlockReason(): SendBlockReason | "workerLate" {
    if (this.#voice?.gate === "send" && this.#voice.isFull) return "workerLate";
    return this.#voice?.sendBlockReason ?? "voiceNotReady";
  }

  /** Packets handed to the system so far, silence included. */
  get packetsSent(): number {
    return this.#packetsOfGone + (this.#voice?.counters?.packetsSent ?? 0);
  }

  /** A new voice session with the same credentials. False: there is none to begin with. */
  rejoin(): boolean {
    return this.#voice?.rejoin() ?? false;
  }

  /** What was counted since the last call, and how it stands where that is another than before. */
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

  /** One that others connect. */
  adopt(voice: Voice): void {
    this.#voice = voice;
  }

  /** To leave when it is due. False when it cannot be sent. */
  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    return this.gate === "send" && (this.#voice?.sendFrame(opus, dueMs) ?? false);
  }

  sendSilence(dueMs: number): void {
    if (this.gate === "send") this.#voice?.sendSilence(dueMs);
  }

  /** Of what has not left, the newest frames, so many at most; returns how many those were. */
  revoke(countMax: number): number {
    return countMax === 0 ? 0 : (this.#voice?.revoke(countMax) ?? 0);
  }

  /** Nothing may be due before; undefined: whenever it likes. */
  get startsMs(): number | undefined {
    return this.#voice?.startsMs;
  }

  /** Everything that was sent has left. */
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
    // Closes of our own making (move, destroy) are known on the main thread.
    if (this.#isClosed || (close.code === CLOSE_NORMAL && !close.isByRemote)) return;
    send({ type: "voiceClosed", playerId, voiceId: this.#voiceId, ...close });
  }

  /** The connection is what fails: it is given up, and the next one is made anew. */
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
