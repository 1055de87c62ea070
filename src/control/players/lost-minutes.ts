// When a player lost frames: a number for each minute of the last hour in which it lost some. A player that loses none
// holds none. Main thread.

import type { Clock } from "../../lib/clock.ts";
import type { PlayerDiagnosisJson } from "../protocol/player-diagnosis-json.ts";

const MINUTE_MS = 60_000;
const MINUTES_MAX = 60;

interface LostMinute {
  /** Unix epoch milliseconds divided by 60,000, rounded down. */
  readonly minute: number;
  /** Frames of 20 ms. */
  lost: number;
}

/** One for a player. */
export class LostMinutes {
  readonly #clock: Clock;
  /** Oldest first, at most 60. */
  #minutes: readonly LostMinute[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `frames` were lost just now. */
  add(frames: number): void {
    if (frames <= 0) return;
    const minute = this.#minute;
    const last = this.#minutes.at(-1);
    if (last?.minute === minute) last.lost += frames;
    else this.#minutes = [...this.#ofLastHour, { minute, lost: frames }];
  }

  toJson(): PlayerDiagnosisJson["frames"]["lostMinutes"] {
    return this.#ofLastHour.map(({ minute, lost }) => ({ time: minute * MINUTE_MS, lost }));
  }

  /** A clock that was set back leaves no minutes of the future. */
  get #ofLastHour(): readonly LostMinute[] {
    const now = this.#minute;
    return this.#minutes.filter(({ minute }) => minute > now - MINUTES_MAX && minute <= now);
  }

  get #minute(): number {
    return Math.floor(this.#clock.epochMs() / MINUTE_MS);
  }
}
