// The jumps of one track, in order: over its segments that are skipped. Part of pipeline.ts. Audio thread.

import { FRAME_MS, FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import type { Jump } from "./prepared-jump.ts";

/** A rest between two jumps, or behind the last, that is shorter than what is made ahead is not played. */
export const REST_MS_MIN = FRAMES_AHEAD_MAX * FRAME_MS;
/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

export class JumpList {
  readonly #jumps: Jump[] = [];

  /** In any order; those that touch or overlap become one. */
  constructor(jumps: readonly Jump[] = []) {
    for (const { fromMs, toMs } of [...jumps].sort((one, other) => one.fromMs - other.fromMs)) {
      const last = this.#jumps.at(-1);
      if (last === undefined || fromMs > last.toMs + REST_MS_MIN) this.#jumps.push({ fromMs, toMs });
      else if (toMs > last.toMs) this.#jumps[this.#jumps.length - 1] = { fromMs: last.fromMs, toMs };
    }
  }

  /** The first that begins at a track time or behind it. */
  nextFrom(positionMs: number): Jump | undefined {
    return this.#jumps.find(({ fromMs }) => fromMs >= positionMs - SAME_MOMENT_MS);
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
