// Violations: everything that a real Discord would refuse, or that would be audible to a listener as an error.
// Collected here, so that a test can end with "and nothing was wrong". Part of the fake Discord.

import type { Clock } from "../../src/lib/clock.ts";

/**
 * - `gateway-*`: the voice WebSocket (message shape, order, opcodes, heartbeat, `seq_ack`)
 * - `discovery-*`, `rtp-*`, `nonce-*`, `transport-*`: UDP
 * - `speaking-*`, `silence-*`: op 5 and silence frames around audio
 * - `dave-*`: key packages, commits, transitions and encrypted frames
 */
export type ViolationKind =
  | "gateway-version"
  | "gateway-message"
  | "gateway-order"
  | "gateway-opcode"
  | "gateway-identify"
  | "gateway-select"
  | "gateway-speaking"
  | "gateway-heartbeat"
  | "gateway-heartbeat-missing"
  | "gateway-seq-ack"
  | "gateway-resume"
  | "discovery-malformed"
  | "rtp-header"
  | "rtp-unknown-ssrc"
  | "rtp-before-session"
  | "rtp-sequence"
  | "rtp-lost"
  | "rtp-timestamp"
  | "nonce-reuse"
  | "transport-undecryptable"
  | "speaking-missing"
  | "speaking-not-cleared"
  | "silence-missing"
  | "silence-encrypted"
  | "dave-version"
  | "dave-key-package"
  | "dave-key-package-missing"
  | "dave-commit"
  | "dave-commit-missing"
  | "dave-transition-ready"
  | "dave-transition-timeout"
  | "dave-frame-early"
  | "dave-frame-plain"
  | "dave-frame-downgraded"
  | "dave-frame-undecryptable";

export interface Violation {
  /** By the fake Discord's clock. */
  readonly atMs: number;
  readonly kind: ViolationKind;
  /** Undefined when the message cannot be attributed to a guild. */
  readonly guildId: string | undefined;
  /** The observed and the expected value; no secrets. */
  readonly detail: string;
}

/** A broken stream yields 50 violations a second: later ones are only counted. */
const VIOLATIONS_MAX = 1000;

export class ViolationLog {
  readonly #clock: Clock;
  readonly #list: Violation[] = [];
  #droppedCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get list(): readonly Violation[] {
    return this.#list;
  }

  get count(): number {
    return this.#list.length + this.#droppedCount;
  }

  add(kind: ViolationKind, guildId: string | undefined, detail: string): void {
    if (this.#list.length >= VIOLATIONS_MAX) this.#droppedCount++;
    else this.#list.push({ atMs: this.#clock.now(), kind, guildId, detail });
  }

  clear(): void {
    this.#list.length = 0;
    this.#droppedCount = 0;
  }

  /** Throws an Error listing every violation whose kind is not in `except` (the first 30 in full). */
  assertNone(except: readonly ViolationKind[]): void {
    const found = this.#list.filter((violation) => !except.includes(violation.kind));
    if (found.length === 0 && this.#droppedCount === 0) return;
    const lines = found
      .slice(0, 30)
      .map(({ kind, guildId, detail }) => `  ${kind} (guild ${guildId ?? "?"}): ${detail}`);
    const total = found.length + this.#droppedCount;
    throw new Error(`the fake Discord saw ${total} violation(s):\n${lines.join("\n")}`);
  }
}
