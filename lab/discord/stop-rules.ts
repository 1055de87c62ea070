// The rules around the edges of audio: op 5 non-zero before and during it, five silence frames and then op 5 zero after
// it (discord-voice.md sections 1.3 and 2.4). Op 5 travels over TCP and audio over UDP, so each is given a moment to
// arrive behind the other.

import type { ViolationKind } from "./violations.ts";

/**
 * How far op 5 and the packets around it may overtake each other: a starved reader reads everything pending on one
 * socket before it reads the other.
 */
export const OVERTAKE_MS = 500;
/** Audio that pauses longer than this has stopped. Shorter gaps may be caused by a busy machine. */
const STOPPED_AFTER_MS = 1000;
/** Silence frames at every stop of audio. */
export const SILENCE_FRAMES_AT_STOP = 5;
/** A pause after silence frames that is longer than two frames separates two runs of audio. */
const STRETCH_PAUSE_MS = 40;

type Report = (kind: ViolationKind, detail: string) => void;

export class StopRules {
  readonly #report: Report;
  #speaking = 0;
  #silenceFrames = 0;
  #lastFrameMs: number | undefined;
  /** When the first audio arrived although speaking was 0; "reported" once it has become a violation. */
  #unspoken: number | "reported" | undefined;
  /** When speaking went to 0 with too few silence frames so far. */
  #unfinishedStopMs: number | undefined;
  /** When the last of five silence frames arrived, as long as no op 5 of zero has followed. */
  #unspokenStopMs: number | undefined;
  #isGapJudged = true;
  /** Op 5 has been zero since the last frame. */
  #isCleared = false;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Last value of op 5. */
  get speaking(): number {
    return this.#speaking;
  }

  /** True from an op 5 of zero until the silence frames before it have arrived, or are judged missing. */
  get isStopping(): boolean {
    return this.#unfinishedStopMs !== undefined;
  }

  /** True while the last packet was audio, or fewer than five silence frames after it. */
  get #isSendingAudio(): boolean {
    return this.#lastFrameMs !== undefined && this.#silenceFrames < SILENCE_FRAMES_AT_STOP;
  }

  /** True when a frame at `nowMs` starts a new run of audio, preceded by silence frames and a pause. */
  hasStoppedBefore(nowMs: number): boolean {
    return (
      this.#lastFrameMs !== undefined &&
      this.#silenceFrames >= SILENCE_FRAMES_AT_STOP &&
      nowMs - this.#lastFrameMs > STRETCH_PAUSE_MS
    );
  }

  onFrame(isSilence: boolean, nowMs: number): void {
    this.#judgeUnspoken(nowMs);
    this.#judgeGap(nowMs);
    this.#judgeUnfinishedStop(nowMs);
    this.#lastFrameMs = nowMs;
    this.#isGapJudged = false;
    this.#isCleared = false;
    if (isSilence) {
      this.#silenceFrames++;
      if (this.#silenceFrames < SILENCE_FRAMES_AT_STOP) return;
      if (this.#unfinishedStopMs === undefined) this.#unspokenStopMs = nowMs;
      this.#unfinishedStopMs = undefined;
      return;
    }
    this.#silenceFrames = 0;
    if (this.#speaking !== 0 || this.#unspoken === "reported") return;
    this.#unspoken ??= nowMs;
  }

  onSpeaking(speaking: number, nowMs: number): void {
    this.#judgeUnspoken(nowMs);
    this.#judgeGap(nowMs);
    this.#judgeUnfinishedStop(nowMs);
    const wasSpeaking = this.#speaking !== 0;
    this.#speaking = speaking;
    if (speaking === 0) {
      this.#isCleared = true;
      // The zero that only announces an SSRC ends nothing, though the first audio may overtake it. The zero of a stop
      // may be overtaken by the audio after it.
      const isOvertaken = this.#unspokenStopMs !== undefined && nowMs - this.#unspokenStopMs <= OVERTAKE_MS;
      if (this.#isSendingAudio && wasSpeaking && !isOvertaken) this.#unfinishedStopMs = nowMs;
      this.#unspokenStopMs = undefined;
      return;
    }
    this.#unspoken = undefined;
  }

  /** Judges rules that are still open. `isReachable`: the client had a WebSocket on which it could send op 5. */
  settle(nowMs: number, isReachable: boolean): void {
    this.#judgeUnspoken(Number.POSITIVE_INFINITY);
    if (this.#unfinishedStopMs !== undefined) this.#judgeUnfinishedStop(Number.POSITIVE_INFINITY);
    if (isReachable) this.#judgeGap(nowMs);
  }

  /** With what follows next, be it an op 5 of zero: what is reported much later looks like a fault of then. */
  #judgeUnspoken(nowMs: number): void {
    if (typeof this.#unspoken !== "number" || nowMs - this.#unspoken <= OVERTAKE_MS) return;
    this.#unspoken = "reported";
    this.#report("speaking-missing", "audio without a non-zero op 5 before it");
  }

  #judgeUnfinishedStop(nowMs: number): void {
    if (this.#unfinishedStopMs === undefined || nowMs - this.#unfinishedStopMs <= OVERTAKE_MS) return;
    this.#unfinishedStopMs = undefined;
    this.#report("silence-missing", `op 5 went to 0 after ${this.#silenceFrames} silence frames instead of 5`);
  }

  #judgeGap(nowMs: number): void {
    if (this.#isGapJudged || this.#lastFrameMs === undefined) return;
    const gapMs = nowMs - this.#lastFrameMs;
    if (gapMs <= STOPPED_AFTER_MS) return;
    this.#isGapJudged = true;
    const after = `nothing for ${Math.round(gapMs)} ms`;
    if (this.#isSendingAudio && this.#unfinishedStopMs === undefined) {
      this.#report("silence-missing", `${after}, after ${this.#silenceFrames} silence frames instead of 5`);
    } else if (this.#speaking !== 0 && !this.#isCleared) {
      this.#report("speaking-not-cleared", `${after}, but op 5 still says ${this.#speaking}`);
    }
  }
}
