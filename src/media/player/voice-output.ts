// A player's way to its voice connection: has it made when it is first asked for, sends frames with the time that has
// passed between them, and tells the main thread what becomes of it. Held by audio-player.ts. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId, VoiceId } from "../../bridge/commands.ts";
import type { VoiceCounts, VoiceReport } from "../../bridge/sound-report.ts";
import type { VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { CLOSE_ABNORMAL, CLOSE_NORMAL } from "../../lib/close-codes.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { Voice, VoiceClose, VoiceObstacle, VoiceStatus } from "../voice/voice.ts";
import { countedSince, createVoiceCounters, voiceCountsOf } from "../voice/voice-counters.ts";

export interface VoiceOutputOptions {
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
  #lastSentDeadlineMs: number | undefined;
  /** What has been told of the connection's counts, and how it was said to stand. */
  #told: VoiceCounts = voiceCountsOf(createVoiceCounters());
  #toldReport: VoiceReport | undefined;
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
    return this.#voice?.gate ?? "down";
  }

  /** Why frames have no way out, where they have none. */
  get obstacle(): VoiceObstacle {
    return this.#voice?.obstacle ?? "voiceNotReady";
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
    const voiceCounts = countedSince(this.#told, voice.counters);
    if (voiceCounts !== undefined) this.#told = voiceCountsOf(voice.counters);
    const report = voice.describe();
    const isNew = report !== undefined && !areSame(report, this.#toldReport);
    if (isNew) this.#toldReport = report;
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

  /** False when it could not be sent. */
  sendFrame(opus: Uint8Array, deadlineMs: number): boolean {
    if (this.gate !== "send") return false;
    this.#skipGapBefore(deadlineMs);
    return this.#voice?.sendFrame(opus) ?? false;
  }

  sendSilence(deadlineMs: number): void {
    if (this.gate !== "send") return;
    this.#skipGapBefore(deadlineMs);
    this.#voice?.sendSilence();
  }

  stopSpeaking(): void {
    this.#voice?.stopSpeaking();
  }

  tellStatus(state: VoiceStatus): void {
    const { playerId, send } = this.#options;
    if (!this.#isClosed) send({ type: "voiceState", playerId, voiceId: this.#voiceId, ...state });
  }

  tellClosed(close: VoiceClose): void {
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
    this.#told = voiceCountsOf(createVoiceCounters());
    this.tellClosed({ code: CLOSE_ABNORMAL, reason: "the voice connection failed unexpectedly", isByRemote: false });
    voice.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#voice?.close();
  }

  /** RTP time goes on while nothing is sent (pause, dry input, dropped deadlines). */
  #skipGapBefore(deadlineMs: number): void {
    if (this.#lastSentDeadlineMs !== undefined) {
      const gapFrames = Math.round((deadlineMs - this.#lastSentDeadlineMs) / FRAME_MS) - 1;
      if (gapFrames > 0) this.#voice?.skipFrames(gapFrames);
    }
    this.#lastSentDeadlineMs = deadlineMs;
  }
}

function areSame(a: VoiceReport, b: VoiceReport | undefined): boolean {
  if (b === undefined || a.state !== b.state || a.gate !== b.gate || a.pingMs !== b.pingMs) return false;
  const { version, epoch, state, readyMs } = a.dave;
  return version === b.dave.version && epoch === b.dave.epoch && state === b.dave.state && readyMs === b.dave.readyMs;
}
