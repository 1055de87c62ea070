// Counts one player's frames per wall-clock minute, by what became of them: the node can say why it stuttered, and
// clients get their frameStats (protocol-v4.md section 4.5). Audio thread; no allocation but once a minute.

import { type LossCause, noLosses, sumOf } from "../../bridge/audio-report.ts";
import type { FrameMinute } from "../../bridge/worker-report.ts";

const MINUTE_MS = 60_000;
/** A player that had no track for longer than this was not playing "without a gap". */
const GAP_MS_MAX = 100;

export class FrameCounters {
  #minute: number;
  #sent = 0;
  #lost = noLosses();
  /** Start of playing without a gap, epoch milliseconds. */
  #playingSinceMs = Number.POSITIVE_INFINITY;
  /** When it stopped; Infinity while it plays. */
  #stoppedAtMs = Number.NEGATIVE_INFINITY;

  constructor(epochMs: number) {
    this.#minute = Math.floor(epochMs / MINUTE_MS);
  }

  addSent(): void {
    this.#sent += 1;
  }

  /** Frames that were counted as sent have been revoked. */
  addRevoked(frames: number): void {
    this.#sent -= frames;
  }

  addLost(cause: LossCause, frames: number): void {
    this.#lost[cause] += frames;
  }

  /** Playing begins (track started or pause ended). A gap of up to 100 ms since the last stop does not count as one. */
  onPlaying(epochMs: number): void {
    if (epochMs - this.#stoppedAtMs > GAP_MS_MAX) this.#playingSinceMs = epochMs;
    this.#stoppedAtMs = Number.POSITIVE_INFINITY;
  }

  /** Playing stops (end, pause). */
  onStopped(epochMs: number): void {
    if (this.#stoppedAtMs === Number.POSITIVE_INFINITY) this.#stoppedAtMs = epochMs;
  }

  /** The minute that has just ended, once, if anything was counted in it; undefined otherwise. */
  takeMinute(epochMs: number): FrameMinute | undefined {
    const minute = Math.floor(epochMs / MINUTE_MS);
    if (minute === this.#minute) return undefined;
    const startedMs = this.#minute * MINUTE_MS;
    const lost = this.#lost;
    const isIdle = this.#sent === 0 && sumOf(lost) === 0;
    const isPlaying = this.#stoppedAtMs === Number.POSITIVE_INFINITY;
    const report: FrameMinute = {
      minute: this.#minute,
      sentFrames: this.#sent,
      lostFrames: lost,
      isWholeMinute: isPlaying && this.#playingSinceMs <= startedMs,
    };
    this.#minute = minute;
    this.#sent = 0;
    this.#lost = noLosses();
    return isIdle ? undefined : report;
  }
}
