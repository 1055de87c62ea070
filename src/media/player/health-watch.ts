// Looks twice a second whether one player's track does what it should: tells the main thread of one that is stuck or
// takes more of the thread than music can need, and says when nobody has listened for so long that it is to be given
// up. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CpuQuotaCheck } from "./cpu-quota-watch.ts";
import type { PlayingTrack } from "./playing-track.ts";

/** Nobody has pulled sound for this long (no voice connection): the track is given up (protocol-v4.md section 4.6). */
const CLEANUP_MS = 60_000;

interface HealthWatchOptions {
  readonly playerId: PlayerId;
  readonly clock: Clock;
  readonly trackStuckThresholdMs: number;
  readonly send: (event: PlainEvent) => void;
}

/** The player as it is at a check. */
interface PlayerHealth {
  readonly track: PlayingTrack | undefined;
  /** It has a voice connection, or is getting one. */
  readonly hasVoice: boolean;
  /** Sound of the track is there, or none is wanted now. */
  readonly isFlowing: boolean;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  #flowedAtMs: number;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
    this.#flowedAtMs = options.clock.now();
  }

  /** Sound has gone out, or waiting for it begins anew. */
  onFlowing(): void {
    this.#flowedAtMs = this.#options.clock.now();
  }

  /** Called twice a second. "abandoned": nobody has listened for a minute. */
  check(worker: CpuQuotaCheck, { track, hasVoice, isFlowing }: PlayerHealth): "abandoned" | "attended" {
    const { playerId, clock, trackStuckThresholdMs, send } = this.#options;
    const share = track?.cpuQuota.check(worker);
    if (track !== undefined && share !== undefined) {
      send({ type: "trackOverQuota", playerId, trackId: track.trackId, share });
    }
    const idleMs = clock.now() - this.#flowedAtMs;
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
