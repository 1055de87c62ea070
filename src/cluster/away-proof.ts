// Asks NATS servers whether they refuse all machines, while no renewal of this machine is written. The answers decide
// whether it goes on beyond the end of its lease (lease-times.ts says why that is safe). Main thread.

import type { Clock, Timer } from "../lib/clock.ts";
import { pause } from "../lib/pause.ts";
import { ANSWER_MS_MAX, ASK_AFTER_MS, ASK_EVERY_MS, GAP_MS_MAX, GRACE_MS, LEASE_MS } from "./lease-times.ts";
import type { MachineLink } from "./machine-link.ts";

/** Between two questions; after a longer time, as when the process was stopped, they prove nothing about it. */
const ASK_EVERY_MS_MAX = ASK_EVERY_MS + ANSWER_MS_MAX;

/** Questions that have all been answered with yes. All times are of the monotonic clock. */
interface Refusals {
  /** When the first answer came: quorum was missing by then. */
  readonly firstAnsweredMs: number;
  /** When the last question was sent: quorum was still missing then. */
  readonly lastAskedMs: number;
}

interface AwayProofOptions {
  readonly link: Pick<MachineLink, "isQuorumRefused">;
  readonly clock: Clock;
  /** `heldUntilMs` may have become later. */
  readonly onLonger: () => void;
}

/** One for the node, whatever id it has. */
export class AwayProof {
  readonly #options: AwayProofOptions;
  #timer: Timer | undefined;
  #refusals: Refusals | undefined;
  #lastRefusedMs = Number.NEGATIVE_INFINITY;
  #lastProvenMs = Number.NEGATIVE_INFINITY;
  /** Answers to earlier questions no longer count. */
  #round = 0;

  constructor(options: AwayProofOptions) {
    this.#options = options;
  }

  /** NATS is proven away for all, and has been for so long that all others have noticed. */
  get isProven(): boolean {
    return this.#refusals !== undefined && isLong(this.#refusals);
  }

  /** A renewal that was sent then has been written: nothing is asked while the next ones follow. */
  renewed(sentMs: number): void {
    this.stop();
    this.#askAt(sentMs + ASK_AFTER_MS);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#refusals = undefined;
    this.#round++;
  }

  /** Until when the lease of a renewal that was sent then may be held. */
  heldUntilMs(renewedMs: number): number {
    const graceMs = this.#lastRefusedMs >= renewedMs ? GRACE_MS : 0;
    return Math.max(renewedMs + LEASE_MS + graceMs, this.#lastProvenMs + LEASE_MS);
  }

  #askAt(atMs: number): void {
    const { clock } = this.#options;
    const round = this.#round;
    this.#timer = clock.after(Math.max(0, atMs - clock.now()), () => void this.#ask(round));
  }

  async #ask(round: number): Promise<void> {
    const { link, clock } = this.#options;
    const askedMs = clock.now();
    const isRefused = await Promise.race([isQuorumRefused(link), pause(clock, ANSWER_MS_MAX).then(() => false)]);
    if (round !== this.#round) return;
    if (isRefused) this.#onRefused(askedMs);
    else this.#refusals = undefined;
    this.#askAt(askedMs + ASK_EVERY_MS);
  }

  #onRefused(askedMs: number): void {
    const before = this.#refusals;
    const follows = before !== undefined && askedMs - before.lastAskedMs <= ASK_EVERY_MS_MAX;
    const firstAnsweredMs = follows ? before.firstAnsweredMs : this.#options.clock.now();
    this.#refusals = { firstAnsweredMs, lastAskedMs: askedMs };
    this.#lastRefusedMs = askedMs;
    if (isLong(this.#refusals)) this.#lastProvenMs = askedMs;
    this.#options.onLonger();
  }
}

function isLong({ firstAnsweredMs, lastAskedMs }: Refusals): boolean {
  return lastAskedMs - firstAnsweredMs >= GAP_MS_MAX;
}

async function isQuorumRefused(link: Pick<MachineLink, "isQuorumRefused">): Promise<boolean> {
  try {
    return await link.isQuorumRefused();
  } catch {
    // It cannot be known: as if somebody else could reach NATS.
    return false;
  }
}
