// The jumps of one track, in order: over its segments that are skipped. Part of pipeline.ts. Audio thread.

import { FRAME_MS, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import type { Jump } from "./prepared-jump.ts";

/** A rest between two jumps, or behind the last, that is shorter than what is made ahead is not played. */
export const REST_MS_MIN = FRAMES_AHEAD_MAX * FRAME_MS;
/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

export class JumpList {
  /** In the order of their starts. */
  readonly #jumps: readonly Jump[];

  /** In any order. */
  constructor(jumps: readonly Jump[] = []) {
    this.#jumps = [...jumps].sort((one, other) => one.fromMs - other.fromMs);
  }

  /** The first that begins at a track time or behind it, as one with those that touch or overlap it. */
  nextFrom(positionMs: number): Jump | undefined {
    let next: Jump | undefined;
    for (const jump of this.#jumps) {
      if (jump.fromMs < positionMs - SAME_MOMENT_MS) continue;
      if (next !== undefined && jump.fromMs > next.toMs + REST_MS_MIN) break;
      next = { fromMs: next?.fromMs ?? jump.fromMs, toMs: Math.max(next?.toMs ?? 0, jump.toMs) };
    }
    return next;
  }

  /** Whether a jump still leads over one of them, or over the rest of one. */
  has({ fromMs, toMs }: Jump): boolean {
    let endMs = fromMs;
    for (const jump of this.#jumps) {
      const restMsMax = endMs > fromMs ? REST_MS_MIN : SAME_MOMENT_MS;
      if (jump.fromMs <= endMs + restMsMax) endMs = Math.max(endMs, jump.toMs);
    }
    return endMs === toMs || this.nextFrom(fromMs)?.toMs === toMs;
  }

  /** Where to start for a track time: behind the jump that begins right there. */
  landingOf(positionMs: number): number {
    const jump = this.nextFrom(positionMs);
    return jump !== undefined && jump.fromMs <= positionMs + SAME_MOMENT_MS ? jump.toMs : positionMs;
  }
}

/** Whether the jump leaves nothing to be played of a track that ends there. */
export function endsTrack({ toMs }: Jump, endMs: number): boolean {
  return toMs > endMs - REST_MS_MIN;
}
