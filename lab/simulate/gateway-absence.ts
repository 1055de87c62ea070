// A guild's voice gateway while it is unreachable: cut, or silent without either side knowing. The allowed silence and
// violations end when the bot is back, which the fake Discord sees, and not after some fixed time: the node waits
// longer with every loss.

import type { Clock } from "../../src/lib/clock.ts";
import { pause } from "../../src/lib/pause.ts";
import { OVERTAKE_MS } from "../discord/stop-rules.ts";
import type { ViolationKind } from "../discord/violations.ts";
import type { VoiceSession } from "../discord/voice-session.ts";
import { type Scene, UNANSWERED, UNKNOWING } from "./fault-plan.ts";

/** The node's longest wait before its next connection attempt, with its spread and the attempt. */
const BACK_OFF_MS = 10_600;
/** A bot notices missing answers after two heartbeat intervals, at the earliest. */
const NOTICE_MS_MIN = 10_000;
/** Between two checks whether it is back. */
const POLL_MS = 100;
/** The fake Discord's time limit for an answer, and a moment for its requests right before a cut. */
const ANSWER_MS_MAX = 8500;
/** From then until delayed work is done. */
const CAUGHT_UP_MS = 500;

interface GatewayAbsenceOptions {
  readonly clock: Clock;
  /** The newest session of the guild; undefined before the first. */
  readonly session: () => VoiceSession | undefined;
  /** Allows silence for this time. */
  readonly allowSilence: (why: string, forMs: number) => void;
  readonly excuse: Scene["excuse"];
}

export class GatewayAbsence {
  readonly #options: GatewayAbsenceOptions;
  #silencedMs = Number.NEGATIVE_INFINITY;
  #silentUntilMs = 0;
  /** Silences from which the bot has not recovered yet. */
  #silenceCount = 0;

  constructor(options: GatewayAbsenceOptions) {
    this.#options = options;
  }

  /** How long the bot may not have received current messages; 0 when it has. */
  get unknowingMs(): number {
    return Math.max(0, this.#silentUntilMs - this.#options.clock.now());
  }

  /** True when the connections of some moment since then have become silent, also one that was being established. */
  wasSilencedSince(atMs: number): boolean {
    return this.#silencedMs >= atMs;
  }

  /**
   * The connection becomes silent, which the bot notices after `forMs`. Until it is back Discord may report `kinds` of
   * it.
   */
  async silence(forMs: number, kinds: readonly ViolationKind[]): Promise<void> {
    const { clock, session: sessionOf, excuse } = this.#options;
    this.#silencedMs = clock.now();
    this.#silentUntilMs = this.#silencedMs + forMs;
    this.#silenceCount += 1;
    excuse(kinds, forMs);
    const session = sessionOf();
    const before = session?.bindingCount ?? 0;
    await pause(clock, forMs - CAUGHT_UP_MS);
    const isBack = () => session === undefined || session.isRetired || session.bindingCount > before;
    await this.#pollUntil(isBack, () => excuse(kinds, CAUGHT_UP_MS));
    // What it tells late is judged later still.
    excuse(kinds, CAUGHT_UP_MS + OVERTAKE_MS);
    this.#silenceCount -= 1;
    if (session !== undefined) await this.#excuseGhost(session);
  }

  /**
   * A bot that has moved on cannot close an unreachable connection: in its channel it is a member that answers nothing,
   * until Discord misses its heartbeats.
   */
  async #excuseGhost(session: VoiceSession): Promise<void> {
    while (session.isRetired && session.isConnected) {
      this.#options.excuse(UNANSWERED, CAUGHT_UP_MS);
      await pause(this.#options.clock, POLL_MS);
    }
  }

  /**
   * The gateway's connection is cut. Answers of the bot in transit are lost, and a resume repeats only messages of
   * Discord; requests of Discord during that time are answered when the bot is back, and changes of the encryption are
   * followed then.
   */
  async cut(): Promise<void> {
    const { clock, excuse } = this.#options;
    excuse(UNANSWERED, ANSWER_MS_MAX);
    // The fake Discord notices a little later.
    await pause(clock, POLL_MS);
    await this.#pollUntil(
      () => !this.isCut,
      () => excuse([...UNANSWERED, ...UNKNOWING], CAUGHT_UP_MS),
    );
  }

  /** The gateway's connection is cut while audio is about to start. */
  async cutBeforeBeginning(): Promise<void> {
    this.#options.allowSilence("a gateway cut before audio starts", CAUGHT_UP_MS);
    await pause(this.#options.clock, POLL_MS);
    this.allowBeginning();
  }

  /**
   * Audio is to start. It cannot without a gateway, which must be informed first; audio that is already flowing
   * continues.
   */
  allowBeginning(): void {
    const why = "no audio starts without a gateway";
    void this.#pollUntil(
      () => !this.#isAway,
      () => this.#options.allowSilence(why, CAUGHT_UP_MS),
    );
  }

  /** The bot has a session to which no message could be delivered now. */
  get isCut(): boolean {
    const session = this.#options.session();
    return session !== undefined && !session.isRetired && !session.isConnected;
  }

  get #isAway(): boolean {
    const { clock, session } = this.#options;
    if (session()?.isConnected !== true) return true;
    return this.#silenceCount > 0 && clock.now() - this.#silencedMs >= NOTICE_MS_MIN;
  }

  /** Repeats `work` until the condition holds, or its time limit is over. */
  async #pollUntil(isSo: () => boolean, work: () => void): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.now() + BACK_OFF_MS;
    while (!isSo() && clock.now() < untilMs) {
      work();
      await pause(clock, POLL_MS);
    }
  }
}
