// The frames of one voice session on their way into shared memory: announces Speaking, encrypts each frame with DAVE
// and puts it into the ring of the session's send path. What the player holds while the session sends; voice-session.ts
// decides when it can. Audio thread.

import type { VoiceSendPath } from "../../pacer/voice-send-path.ts";
import type { DaveGateState } from "../dave/dave-gate.ts";
import type { DaveSession } from "../dave/dave-session.ts";
import type { FrameSink, SendBlockReason } from "../frame-sink.ts";
import type { VoiceCounters } from "../voice-counters.ts";

const SILENCE_FRAME: Uint8Array = Uint8Array.of(0xf8, 0xff, 0xfe);

/** State that a session keeps across resumes. */
export interface Media {
  readonly ssrc: number;
  readonly secretKey: Uint8Array;
  readonly path: VoiceSendPath;
}

interface SessionSinkOptions {
  readonly counters: VoiceCounters;
  readonly sendSpeaking: (speaking: 0 | 1, ssrc: number) => void;
  /** An exception while sending: it must not reach the player. */
  readonly onThrown: (error: unknown) => void;
}

export class SessionSink implements FrameSink {
  readonly startsMs = undefined;
  readonly #options: SessionSinkOptions;
  #dave: DaveSession;
  #media: Media | undefined;
  /** The gateway is connected, so that Speaking can be announced. */
  #isLive = false;
  /** Last Speaking state sent to Discord; undefined when this SSRC was never announced. */
  #speaking: 0 | 1 | undefined;
  /** Why the last frame could not be sent although the gate was open. */
  #lastRefusal: SendBlockReason = "voiceNotReady";
  #udpErrorsBefore: number;

  constructor(dave: DaveSession, options: SessionSinkOptions) {
    this.#dave = dave;
    this.#options = options;
    this.#udpErrorsBefore = options.counters.udpErrors;
  }

  get gate(): DaveGateState {
    return this.#canSpeak ? this.#dave.gate : "hold";
  }

  get sendBlockReason(): SendBlockReason {
    if (!this.#canSpeak) return "voiceNotReady";
    if (this.#dave.gate === "send") return this.#lastRefusal;
    return this.#dave.gate === "discard" && !this.#dave.hasCompany ? "nobodyThere" : "daveNotReady";
  }

  get isFull(): boolean {
    return this.#media?.path.ring.isFull ?? false;
  }

  get isDrained(): boolean {
    return this.#media?.path.ring.isEmpty ?? true;
  }

  /** Without a WebSocket audio can continue but not begin, because op 5 must precede it. */
  get #canSpeak(): boolean {
    return this.#media !== undefined && (this.#speaking === 1 || this.#isLive);
  }

  /** The session has entered another state. */
  update(media: Media | undefined, { isLive }: { readonly isLive: boolean }): void {
    this.#media = media;
    this.#isLive = isLive;
  }

  /** The server has chosen a new session: nothing is announced there. */
  startOver(dave: DaveSession): void {
    this.#dave = dave;
    this.#speaking = undefined;
  }

  /** Makes the SSRC known: the first packet must not overtake its announcement. */
  announce(): void {
    this.#speak(0);
  }

  /** After a resume: the last Speaking may be lost. */
  repeatSpeaking(): void {
    if (this.#speaking !== undefined) this.#speak(this.#speaking);
  }

  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    try {
      const media = this.#media;
      if (media === undefined || this.gate !== "send") return this.#refuse("voiceNotReady");
      if (this.#speaking !== 1) this.#speak(1);
      const payload = this.#dave.encrypt(opus);
      if (payload === undefined) return this.#refuse("daveNotReady");
      return this.#put(media, payload, dueMs) && !this.#hasNetworkFailed();
    } catch (error) {
      this.#options.onThrown(error);
      return this.#refuse("voiceNotReady");
    }
  }

  /** Only while speaking: silence frames end audio and have no other use. */
  sendSilence(dueMs: number): void {
    try {
      if (this.#media !== undefined && this.#speaking === 1) this.#put(this.#media, SILENCE_FRAME, dueMs);
    } catch (error) {
      this.#options.onThrown(error);
    }
  }

  stopSpeaking(): void {
    try {
      if (this.#speaking === 1) this.#speak(0);
    } catch (error) {
      this.#options.onThrown(error);
    }
  }

  revoke(countMax: number): number {
    const count = this.#media?.path.ring.revoke(countMax) ?? 0;
    this.#options.counters.packetsSent -= count;
    return count;
  }

  #put({ path }: Media, payload: Uint8Array, dueMs: number): boolean {
    const outcome = path.send(payload, dueMs);
    if (outcome !== "sent") return this.#refuse(outcome === "full" ? "network" : "voiceNotReady");
    this.#options.counters.packetsSent++;
    return true;
  }

  /** The system reports a packet that it could not send when the next one is due; that next frame is counted for it. */
  #hasNetworkFailed(): boolean {
    const { udpErrors } = this.#options.counters;
    if (udpErrors === this.#udpErrorsBefore) return false;
    this.#udpErrorsBefore = udpErrors;
    this.#lastRefusal = "network";
    return true;
  }

  #refuse(sendBlockReason: SendBlockReason): false {
    this.#lastRefusal = sendBlockReason;
    this.#options.counters.framesRefused++;
    return false;
  }

  #speak(speaking: 0 | 1): void {
    if (this.#media === undefined) return;
    this.#speaking = speaking;
    this.#options.sendSpeaking(speaking, this.#media.ssrc);
  }
}
