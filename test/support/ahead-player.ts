// A player that makes frames ahead of those it sends, and rewinds those not yet sent: what a pacer does, without time.

import type { Pipeline } from "../../src/media/pipeline/pipeline.ts";

interface WaitingFrame {
  readonly opus: Uint8Array;
  readonly startMs: number;
  readonly endMs: number;
}

export class AheadPlayer {
  readonly pipeline: Pipeline;
  /** Frames that listeners received. */
  readonly sent: Uint8Array[] = [];
  /** Track time at the end of what they got. */
  sentMs: number;
  readonly #aheadFrames: number;
  readonly #waiting: WaitingFrame[] = [];

  constructor(pipeline: Pipeline, aheadFrames: number) {
    this.pipeline = pipeline;
    this.#aheadFrames = aheadFrames;
    this.sentMs = pipeline.positionMs;
  }

  /** Frames that are made and not sent. */
  get waitingFrames(): number {
    return this.#waiting.length;
  }

  /** Track time before the last so many that wait, or before all of them. */
  positionBefore(frameCount: number): number {
    return this.#waiting.at(-frameCount)?.startMs ?? this.#waiting[0]?.startMs ?? this.pipeline.positionMs;
  }

  /** Sends so many frames, keeping as many ahead as there are; fewer at the end. */
  async play(frameCount = Number.POSITIVE_INFINITY): Promise<void> {
    for (let count = 0; count < frameCount; count++) {
      await this.makeAhead();
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      this.sent.push(frame.opus);
      this.sentMs = frame.endMs;
    }
  }

  /** Rewinds frames that were not sent, or as many of them as possible; returns how many. */
  rewind(frameCount = this.#waiting.length): number {
    const count = Math.min(frameCount, this.#waiting.length, this.pipeline.rewindFramesMax);
    this.pipeline.rewind(count);
    this.#waiting.length -= count;
    return count;
  }

  /** Makes as many frames ahead as there may be, or as there are. */
  async makeAhead(): Promise<void> {
    const deadlineMs = performance.now() + 20_000;
    while (this.#waiting.length <= this.#aheadFrames) {
      if (this.pipeline.isOutdated) this.rewind();
      const startMs = this.pipeline.positionMs;
      const opus = this.pipeline.produce();
      if (opus !== undefined) this.#waiting.push({ opus: opus.slice(), startMs, endMs: this.pipeline.positionMs });
      else if (this.pipeline.isEnded) return;
      else if (performance.now() > deadlineMs) throw new Error(`starved: waiting for ${this.pipeline.stallReason}`);
      // Gives event loop iterations to a pending input or codec.
      for (let iterations = 0; iterations < 4; iterations++) await new Promise((next) => setImmediate(next));
    }
  }
}
