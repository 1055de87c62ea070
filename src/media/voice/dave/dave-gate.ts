// Decides what becomes of a due frame while end-to-end encryption is being set up (discord-voice.md section 3.8):
// others in the channel are waited for with the clock held, an empty channel is played to without sending. Part of the
// DAVE session, on the audio thread.

import type { Clock, Timer } from "../../../lib/clock.ts";

/**
 * With others in the channel, the player waits this long for a group before plain audio is tried; twice as long when
 * the group is late because many sessions begin at once here.
 */
const GROUP_WAIT_MS = 3000;
/** The list of users arrives within moments after op 4; without it by then, the channel is empty. */
const ALONE_AFTER_MS = 1000;

/** "send" the frame, "hold" it and the clock, or "discard" it and let time run. */
export type DaveGateState = "send" | "hold" | "discard";

interface DaveGateOptions {
  readonly clock: Clock;
  readonly isPlainFallbackAllowed: boolean;
  /** A message that may bring a group has arrived and waits in this thread's queue. */
  readonly isGroupUnderWay: () => boolean;
  readonly onChanged: () => void;
  /** The wait for a group is over; once per wait. `isPlain`: frames are sent plain from now on. */
  readonly onWaitOver: (isPlain: boolean) => void;
}

export class DaveGate {
  readonly #options: DaveGateOptions;
  #state: DaveGateState = "hold";
  #isFlowing = false;
  #hasCompany = false;
  #isRejoining = false;
  #isStarted = false;
  #isWaitOver = false;
  #isExtended = false;
  #waitTimer: Timer | undefined;
  #aloneTimer: Timer | undefined;

  constructor(options: DaveGateOptions) {
    this.#options = options;
  }

  get state(): DaveGateState {
    return this.#state;
  }

  /** Op 4 has arrived; until then the gate stays closed whatever `update` says. */
  start(): void {
    this.#isStarted = true;
    this.#aloneTimer?.cancel();
    this.#listenForOthers();
    this.#decide();
  }

  /**
   * `isFlowing`: frames can go out, encrypted or because the call is plain. `hasCompany`: others are in the channel.
   * `isRejoining`: they are known to have a group, so plain audio would reach nobody but Discord.
   */
  update(now: { readonly isFlowing: boolean; readonly hasCompany: boolean; readonly isRejoining: boolean }): void {
    // Another group is negotiated, which is waited for from the start.
    if (this.#isRejoining && !now.isRejoining) this.#watchWait(false);
    this.#isFlowing = now.isFlowing;
    this.#hasCompany = now.hasCompany;
    this.#isRejoining = now.isRejoining;
    this.#decide();
  }

  close(): void {
    this.#waitTimer?.cancel();
    this.#aloneTimer?.cancel();
  }

  #listenForOthers(): void {
    const { clock, isGroupUnderWay } = this.#options;
    this.#aloneTimer = clock.after(ALONE_AFTER_MS, () => {
      this.#aloneTimer = undefined;
      // The list may be among the waiting messages.
      if (isGroupUnderWay()) this.#listenForOthers();
      this.#decide();
    });
  }

  #decide(): void {
    if (!this.#isStarted) return;
    this.#watchWait(!this.#isFlowing && this.#hasCompany);
    const before = this.#state;
    this.#state = this.#judge();
    if (this.#state !== before) this.#options.onChanged();
  }

  #judge(): DaveGateState {
    if (this.#isFlowing) return "send";
    if (!this.#hasCompany) return this.#aloneTimer === undefined ? "discard" : "hold";
    if (!this.#isWaitOver) return "hold";
    return this.#isPlainAllowed ? "send" : "discard";
  }

  get #isPlainAllowed(): boolean {
    return this.#options.isPlainFallbackAllowed && !this.#isRejoining;
  }

  #watchWait(isWaiting: boolean): void {
    if (!isWaiting) {
      this.#waitTimer?.cancel();
      this.#waitTimer = undefined;
      this.#isWaitOver = false;
      this.#isExtended = false;
    } else if (!this.#isWaitOver) {
      this.#waitTimer ??= this.#options.clock.after(GROUP_WAIT_MS, () => this.#onWaited());
    }
  }

  #onWaited(): void {
    const { clock, isGroupUnderWay, onWaitOver } = this.#options;
    if (isGroupUnderWay() && !this.#isExtended) {
      this.#isExtended = true;
      this.#waitTimer = clock.after(GROUP_WAIT_MS, () => this.#onWaited());
      return;
    }
    this.#waitTimer = undefined;
    this.#isWaitOver = true;
    onWaitOver(this.#isPlainAllowed);
    this.#decide();
  }
}
