// What the node does when a voice gateway connection ends: a table by close code (discord-voice.md section 1.7) and the
// plan that limits the attempts. The node cannot rejoin a channel by itself, so it can resume, identify once more with
// the same credentials, or give up and wait for new ones from the client. On the audio thread.

import { CLOSE_NORMAL } from "../../../lib/close-codes.ts";
import type { Random } from "../../../lib/random.ts";

export type Reaction =
  /** Open a new WebSocket and resume the session; audio continues over UDP meanwhile. */
  | "resume"
  /** Open a new WebSocket and identify with the same credentials: a new session. */
  | "identify"
  /** Identify, and select the encryption mode that every server must offer. */
  | "identifyWithXchacha";

const LOST_CONNECTION: readonly Reaction[] = ["resume", "resume", "resume", "resume", "resume"];
const GIVE_UP: readonly Reaction[] = [];

/** Unknown encryption mode: the server's code for it, also used by us when it offers no mode we know. */
export const CLOSE_UNKNOWN_MODE = 4016;

/** Reaction to the first, second, … close with that code since the connection was last stable; then give up. */
const REACTIONS: ReadonlyMap<number, readonly Reaction[]> = new Map<number, readonly Reaction[]>([
  [CLOSE_NORMAL, ["resume"]],
  [4000, ["resume"]],
  [4001, ["resume"]],
  [4002, ["resume"]],
  [4003, ["identify"]],
  [4004, GIVE_UP],
  [4005, ["identify"]],
  [4006, GIVE_UP],
  [4009, ["identify"]],
  [4011, GIVE_UP],
  [4012, GIVE_UP],
  [4013, ["resume"]],
  [4014, GIVE_UP],
  [4015, ["resume", "identify"]],
  [CLOSE_UNKNOWN_MODE, ["identifyWithXchacha"]],
  [4017, GIVE_UP],
  [4020, ["resume"]],
  [4021, GIVE_UP],
  [4022, GIVE_UP],
]);

/** Close codes that mean we did something wrong, logged as errors. */
const OUR_MISTAKES: ReadonlySet<number> = new Set([4001, 4002, 4003, 4005, 4012, CLOSE_UNKNOWN_MODE, 4020]);

/** The sequence of reactions to `code`; empty when there is nothing to try. */
export function reactionsTo(code: number): readonly Reaction[] {
  return REACTIONS.get(code) ?? (code < 4000 ? LOST_CONNECTION : GIVE_UP);
}

/** True when a close with `code` means that this node sent something wrong. */
export function isOurMistake(code: number): boolean {
  return OUR_MISTAKES.has(code);
}

/** A sentence for the log that explains `code` to the operator. */
export function explainClose(code: number): string {
  if (isOurMistake(code)) return "discord refused what this node sent: please report it";
  switch (code) {
    case 4004:
    case 4006:
    case 4009:
    case 4011:
      return "the voice data is no longer valid; the client has to join again";
    case 4014:
    case 4022:
      return "the bot was disconnected or moved; new voice data usually follows";
    case 4017:
      return "discord requires end-to-end encryption and did not accept the offered version";
    case 4021:
      return "discord limits the rate of voice connections";
    default:
      return "the voice connection was lost";
  }
}

const BACKOFF_MS: readonly number[] = [0, 1000, 2000, 4000, 8000];
/** Spreads the first, immediate attempts of many players that lost the same server at once. */
const SPREAD_MS_MAX = 250;
/** All codes together, since the connection was last stable. */
const ATTEMPTS_MAX = 6;
const OUTAGE_MS_MAX = 60_000;
const STABLE_MS = 30_000;

export interface Attempt {
  readonly reaction: Reaction;
  readonly delayMs: number;
}

/** Counts the attempts of one set of credentials. The count is reset only after 30 s of a working session. */
export class ReconnectPlan {
  readonly #random: Random;
  readonly #countByCode = new Map<number, number>();
  #attemptCount = 0;
  #workingSinceMs: number | undefined;
  #outageSinceMs: number | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The session works (op 4 received or resumed) since `nowMs`. */
  markWorking(nowMs: number): void {
    this.#workingSinceMs = nowMs;
    this.#outageSinceMs = undefined;
  }

  /** Reaction to a close, or undefined to give up. A session that cannot be resumed is identified again. */
  next(close: { code: number; nowMs: number; isResumable: boolean }): Attempt | undefined {
    this.#forgetWhenStable(close.nowMs);
    this.#outageSinceMs ??= close.nowMs;
    const count = this.#countByCode.get(close.code) ?? 0;
    const planned = reactionsTo(close.code)[count];
    if (planned === undefined || this.#attemptCount >= ATTEMPTS_MAX) return undefined;
    if (close.nowMs - this.#outageSinceMs > OUTAGE_MS_MAX) return undefined;
    this.#countByCode.set(close.code, count + 1);
    const delayMs = this.#delayMs(this.#attemptCount++);
    return { reaction: planned === "resume" && !close.isResumable ? "identify" : planned, delayMs };
  }

  #forgetWhenStable(nowMs: number): void {
    const wasStable = this.#workingSinceMs !== undefined && nowMs - this.#workingSinceMs >= STABLE_MS;
    this.#workingSinceMs = undefined;
    if (!wasStable) return;
    this.#countByCode.clear();
    this.#attemptCount = 0;
  }

  /** Back-off with a quarter of jitter either way. */
  #delayMs(attemptIndex: number): number {
    const baseMs = BACKOFF_MS[Math.min(attemptIndex, BACKOFF_MS.length - 1)] ?? 0;
    return baseMs * (0.75 + this.#random.unit() / 2) + this.#random.unit() * SPREAD_MS_MAX;
  }
}
