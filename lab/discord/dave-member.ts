// The members of a DAVE call: the bots under test over their WebSocket (dave-bot.ts) and the listeners in this process
// (dave-listener.ts), both driven by the group through one interface; and what the group records of each.

import type { Timer } from "../../src/lib/clock.ts";
import type { DavePolicy } from "./dave-policy.ts";
import type { KeyPackage } from "./mls-codec.ts";

/** The messages of the gateway to a member, which answers through the methods of DaveGroup. */
export interface DaveMember {
  readonly userId: string;
  readonly kind: "bot" | "listener";
  /** Payload of op 27. */
  sendProposals(payload: Buffer): void;
  announceCommit(id: number, commit: Buffer): void;
  sendWelcome(id: number, welcome: Buffer): void;
  prepareTransition(id: number, version: number): void;
  executeTransition(id: number): void;
  /** Op 24 with epoch 1: a new group begins. */
  prepareEpoch(version: number): void;
}

export class MemberSlot {
  readonly member: DaveMember;
  /** Sent with op 26 and not yet used for an Add. */
  keyPackage: KeyPackage | undefined;
  /** It cannot follow the group any more: its leaf has to be removed, its new key package be added. */
  isStale = false;
  /** Transitions in which this member was sent a broken commit or Welcome: op 31 is the right answer. */
  readonly brokenIds = new Set<number>();
  /** Ids announced to this member that it may answer with op 23. */
  readonly announcedIds = new Set<number>();
  keyPackageTimer: Timer | undefined;
  readonly #policy: Pick<DavePolicy, "underWayMs">;
  #isActive = false;
  #changedAtMs: number | undefined;
  /** When its first encrypted frame arrived that it sent for a group which the gateway has not ended since. */
  #encryptedSinceMs: number | undefined;
  /** The gateway has announced the end of its group, or there was none yet. */
  #isGroupEnding = true;

  constructor(member: DaveMember, policy: Pick<DavePolicy, "underWayMs">) {
    this.member = member;
    this.#policy = policy;
  }

  get userId(): string {
    return this.member.userId;
  }

  /** True while a key package is due: op 24 or op 4 was sent, op 26 has not arrived. */
  get isKeyPackageDue(): boolean {
    return this.keyPackage === undefined && this.keyPackageTimer !== undefined;
  }

  /** True from the execution of the transition that brought it into an encrypted group. */
  get isActive(): boolean {
    return this.#isActive;
  }

  setActive(isActive: boolean, nowMs: number): void {
    if (isActive !== this.#isActive) this.#changedAtMs = nowMs;
    this.#isActive = isActive;
  }

  /** The gateway announces a group with this member. */
  beginGroup(): void {
    this.#isGroupEnding = false;
  }

  /** The gateway announces that the group ends, by op 21 with version 0 or by op 24: plain frames may follow. */
  endGroup(): void {
    this.#isGroupEnding = true;
    this.#encryptedSinceMs = undefined;
  }

  onEncryptedFrame(nowMs: number): void {
    if (!this.#isGroupEnding) this.#encryptedSinceMs ??= nowMs;
  }

  /**
   * Whether a plain frame comes from a member that gave up encryption without the gateway's request. That is wrong
   * whatever else happened to it: it knows that the others have a group.
   */
  hasDowngraded(nowMs: number): boolean {
    return this.#encryptedSinceMs !== undefined && nowMs - this.#encryptedSinceMs >= this.#policy.underWayMs;
  }

  /** True when it has been active for a while: no frames of the time before can arrive any more. */
  isEstablished(nowMs: number): boolean {
    return this.#isActive && !this.#hasJustChanged(nowMs);
  }

  /** Whether it may send plain audio: as long as it is in no encrypted group, and for a moment longer. */
  allowsPlain(nowMs: number): boolean {
    return !this.#isActive || this.#hasJustChanged(nowMs);
  }

  /** Whether it may send encrypted audio: as long as it is in an encrypted group, and for a moment longer. */
  allowsEncrypted(nowMs: number): boolean {
    return this.#isActive || this.#hasJustChanged(nowMs);
  }

  #hasJustChanged(nowMs: number): boolean {
    return this.#changedAtMs !== undefined && nowMs - this.#changedAtMs < this.#policy.underWayMs;
  }
}
