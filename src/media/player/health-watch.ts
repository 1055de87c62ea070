// Checks one player's track twice a second: reports a track that is stuck or over its CPU quota to the main thread, and
// says when nobody has listened for so long that the track is given up. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CpuQuotaCheck } from "./cpu-quota-watch.ts";
import type { PlayingTrack } from "./playing-track.ts";

/**
 * When no audio has been pulled for this long (no voice connection), the track is given up (protocol-v4.md section
 * 4.6).
 */
const CLEANUP_MS = 60_000;
/** From one check to the next; beyond, the whole process has stood still, in which no audio could come. */
const STEP_MS_MAX = 2000;

interface HealthWatchOptions {
  readonly playerId: PlayerId;
  readonly clock: Clock;
  readonly trackStuckThresholdMs: number;
  readonly send: (event: PlainEvent) => void;
}

/** State of the player at a check. */
interface PlayerHealth {
  readonly track: PlayingTrack | undefined;
  /** It has a voice connection, or is getting one. */
  readonly hasVoice: boolean;
  /** Audio of the track is available, or none is requested now. */
  readonly isFlowing: boolean;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  #flowedAtMs: number;
  #checkedAtMs: number;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
    this.#flowedAtMs = options.clock.now();
    this.#checkedAtMs = this.#flowedAtMs;
  }

  /** Audio has been sent, or waiting for it starts again. */
  onFlowing(): void {
    this.#flowedAtMs = this.#options.clock.now();
  }

  /** Audio has been sent that is due then: as `onFlowing`, without a look at the clock. */
  onSent(dueMs: number): void {
    this.#flowedAtMs = dueMs;
  }

  /** Called twice a second. "abandoned": nobody has listened for a minute. */
  check(worker: CpuQuotaCheck, { track, hasVoice, isFlowing }: PlayerHealth): "abandoned" | "attended" {
    const { playerId, clock, trackStuckThresholdMs, send } = this.#options;
    const share = track?.cpuQuota.check(worker);
    if (track !== undefined && share !== undefined) {
      send({ type: "trackOverQuota", playerId, trackId: track.trackId, share });
    }
    const nowMs = clock.now();
    const stoodStillMs = Math.max(0, nowMs - this.#checkedAtMs - STEP_MS_MAX);
    this.#flowedAtMs = Math.min(nowMs, this.#flowedAtMs + stoodStillMs);
    this.#checkedAtMs = nowMs;
    const idleMs = nowMs - this.#flowedAtMs;
    if (!hasVoice) return idleMs >= CLEANUP_MS ? "abandoned" : "attended";
    if (track === undefined) return "attended";
    if (isFlowing) this.onFlowing();
    else if (idleMs >= trackStuckThresholdMs && !track.isStuckReported) {
      track.isStuckReported = true;
      send({ type: "trackStuck", playerId, trackId: track.trackId, thresholdMs: trackStuckThresholdMs });
    }
    return "attended";
  }
}
