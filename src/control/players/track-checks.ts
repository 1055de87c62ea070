// The checks that a track change has to pass before anything of its update is applied: rate limit, capacity of the
// workers, an identifier that leads to one track, memory to store that. Main thread; one per player.

import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import { pause } from "../../lib/pause.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Track } from "../../track/track.ts";
import { singleTrackOf } from "../sources/load-result.ts";
import type { AdmissionRequest } from "../workers/admission.ts";
import type { PlayerMemory, ReservedSizes } from "./player-memory.ts";
import type { TrackProvider } from "./player-providers.ts";
import type { TrackChange } from "./player-update.ts";

/**
 * Tracks that may be changed at once, and per second after that, because each is opened again. A client that changes
 * them without end waits, and its later updates with it.
 */
const TRACK_CHANGES = { burst: 20, perSecond: 5 };

/** A track change that has passed all checks: an identifier has been loaded. */
export type CheckedChange = Exclude<TrackChange, { readonly kind: "load" }>;

interface TrackChecksOptions {
  readonly tracks: TrackProvider;
  /** Shares of loads are counted by it. */
  readonly owner: Owner;
  readonly memory: PlayerMemory;
  readonly clock: Clock;
  /** Rejects with `node-overloaded` where the player may not start a track. */
  readonly seekAdmission: (request: AdmissionRequest) => Promise<void>;
  /** Fires when the player is destroyed. */
  readonly signal: AbortSignal;
}

interface CheckOptions {
  /** Counts the track that is found. */
  readonly reserved: ReservedSizes;
  /** Called at the moment in which the player may start a track, before that is loaded. */
  readonly onAdmitted: () => void;
}

/** One per player. Nothing of the update has changed anything when a check fails. */
export class TrackChecks {
  readonly #options: TrackChecksOptions;
  readonly #changes: TokenBucket;

  constructor(options: TrackChecksOptions) {
    this.#options = options;
    this.#changes = new TokenBucket({ clock: options.clock, ...TRACK_CHANGES });
  }

  /**
   * Resolves when the change can be carried out. Rejects with `node-overloaded`, `load-no-matches`, `load-not-a-track`,
   * `load-failed`, `key-forbidden`, `memory-exhausted`, or the reason of the signal.
   */
  async check(change: TrackChange, { reserved, onAdmitted }: CheckOptions): Promise<CheckedChange> {
    const { seekAdmission, signal } = this.#options;
    await this.#waitForToken();
    if (change.kind === "stop") return change;
    await seekAdmission({ onAdmitted, signal });
    const track = change.kind === "play" ? change.track : await this.#load(change);
    if (change.kind === "load") this.#options.memory.reserveTrack(track, reserved);
    return { kind: "play", track };
  }

  async #waitForToken(): Promise<void> {
    this.#changes.spend(1);
    const { waitMs } = this.#changes;
    if (waitMs === 0) return;
    await pause(this.#options.clock, waitMs);
    this.#options.signal.throwIfAborted();
  }

  async #load({ identifier, allowed }: Extract<TrackChange, { kind: "load" }>): Promise<Track> {
    const { tracks, owner, signal } = this.#options;
    const result = await tracks.load(identifier, { owner, signal, allowed });
    signal.throwIfAborted();
    return singleTrackOf(result);
  }
}
