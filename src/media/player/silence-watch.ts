// Detects a player that should send audio but sends nothing, after the responsible component has had its own timeouts,
// and says which repair may help: once per silence, a few times an hour, and not for many players of a worker at once.
// What a lower layer is already repairing is left to it. Held by audio-watch.ts. Audio thread.

import type { LossCause, RepairKind } from "../../bridge/audio-report.ts";
import { AccountBuckets } from "../../lib/account-buckets.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** What keeps a player that should send audio from being audible. */
export interface Stall {
  /** The repair that may end it: opening the track again, or a new voice session. */
  readonly kind: RepairKind;
  readonly cause: LossCause;
  /** The voice gate holds frames back; otherwise voice accepts frames but does not send them. */
  readonly isHeld: boolean;
}

/**
 * A reader or decoder that hangs is repaired before half of the stuck threshold has passed, so that no client gets a
 * stuck event.
 */
const HANGING_MS_MIN = 5000;
const HANGING_SHARE_OF_STUCK = 0.5;
/**
 * A server is waited for by the source, which tries again for 20 s, on its last connection for 60 s, and then fails.
 */
const NETWORK_MS = 90_000;
/** Frames are held for a DAVE group for 3 s (voice/dave/dave-gate.ts). */
const DAVE_HELD_MS = 10_000;
/** Two key packages of 10 s, then the same in a second session (dave-membership.ts, voice-connection.ts). */
const DAVE_MS = 60_000;
/**
 * Attempts to reconnect begin for 60 s, and the last one takes at most 45 s more (voice/connection/close-policy.ts,
 * voice-session.ts).
 */
const VOICE_MS = 120_000;

/** Limit per player. */
const REPAIRS_PER_HOUR = 4;
/**
 * Limit for all players of an account on a worker: when very many are silent at once, something else is wrong, and opening all of
 * them costs more.
 */
const WORKER_REPAIRS = { burst: 10, perSecond: 0.1 };

/**
 * The time that one check counts for at most, however late it is: on a thread that is blocked or hardly gets to run,
 * the player is not at fault.
 */
const CHECK_MS_MAX = 500;

/** Shared by all players of a worker. */
export function createRepairBuckets(clock: Clock): AccountBuckets {
  return new AccountBuckets({ clock, ...WORKER_REPAIRS });
}

export interface SilenceWatchOptions {
  readonly clock: Clock;
  readonly trackStuckThresholdMs: number;
  /** See `createRepairBuckets`: that of the player's account. */
  readonly repairs: () => TokenBucket;
}

export class SilenceWatch {
  readonly #options: SilenceWatchOptions;
  readonly #own: TokenBucket;
  #hasSent = false;
  #silentMs = 0;
  #checkedAtMs: number;
  /** One repair, done or refused, for each silence. */
  #isHandled = false;

  constructor(options: SilenceWatchOptions) {
    this.#options = options;
    const { clock } = options;
    this.#own = new TokenBucket({ clock, burst: REPAIRS_PER_HOUR, perSecond: REPAIRS_PER_HOUR / 3600 });
    this.#checkedAtMs = clock.now();
  }

  /** For how long nothing has been sent, with the precision of the checks, milliseconds. */
  get silentMs(): number {
    return this.#silentMs;
  }

  /** In the tick: a frame of audio has been sent. */
  onSent(): void {
    this.#hasSent = true;
  }

  /** Starts again: a silence from now on is a new one. */
  reset(): void {
    this.#silentMs = 0;
    this.#isHandled = false;
    this.#checkedAtMs = this.#options.clock.now();
  }

  /** Called twice a second, with the current stall, if any; true when a repair is due. */
  isRepairDue(stall: Stall | undefined): boolean {
    const nowMs = this.#options.clock.now();
    const sinceMs = Math.min(nowMs - this.#checkedAtMs, CHECK_MS_MAX);
    this.#checkedAtMs = nowMs;
    if (this.#hasSent || stall === undefined) {
      this.#hasSent = false;
      this.reset();
      return false;
    }
    this.#silentMs += sinceMs;
    if (this.#isHandled || this.#silentMs < this.#patienceMs(stall)) return false;
    this.#isHandled = true;
    return this.#own.take(1) && this.#options.repairs().take(1);
  }

  #patienceMs({ kind, cause, isHeld }: Stall): number {
    if (kind === "reopen") {
      const hangingMs = this.#options.trackStuckThresholdMs * HANGING_SHARE_OF_STUCK;
      return cause === "network" ? NETWORK_MS : Math.max(HANGING_MS_MIN, hangingMs);
    }
    if (cause !== "daveNotReady") return VOICE_MS;
    return isHeld ? DAVE_HELD_MS : DAVE_MS;
  }
}
