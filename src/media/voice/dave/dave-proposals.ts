// Proposals to change a DAVE group (op 27): selects those of our group and epoch, limits their number, holds those that
// add users the gateway has not announced yet, and makes the commit that answers them (discord-voice.md sections 3.4
// and 3.5). Held by dave-membership.ts, on the audio thread.

import type { Timer } from "../../../lib/clock.ts";
import type { LogFields } from "../../../log/log.ts";
import type { MlsGroup } from "./mls-group.ts";
import { readFirstMlsHeader } from "./mls-header.ts";

/** The other operation revokes. */
const APPEND = 0;
const HELD_MS_MAX = 5000;
const HELD_MAX = 8;
/**
 * Limit per epoch; a proposal has 500 bytes and costs 2.5 ms to check: 16 of them. Other members check and commit more
 * than that, and their Welcome adds us.
 */
const BYTES_MAX = 8 * 1024;

/** What proposals need from the membership. */
interface DaveProposalsOptions {
  readonly group: MlsGroup;
  /** Without ourselves. */
  readonly knownUserIds: ReadonlySet<string>;
  /** Runs the work later, guarded like the handling of messages. */
  readonly after: (delayMs: number, work: () => void) => Timer;
  /** The payload of op 28. */
  readonly sendCommit: (payload: Uint8Array) => void;
  /** We have lost track of the group and must rejoin it. */
  readonly onLost: (reason: string) => void;
  readonly warn: (message: string, fields: LogFields) => void;
}

export class DaveProposals {
  readonly #options: DaveProposalsOptions;
  #held: Buffer[] = [];
  #timer: Timer | undefined;

  constructor(options: DaveProposalsOptions) {
    this.#options = options;
  }

  /** Adds proposals, as the gateway sent them. The group has begun. */
  take(operation: number, proposals: Buffer): void {
    const { group, onLost, warn } = this.#options;
    if (operation === APPEND && !this.#isTimely(proposals)) return;
    // Without a group too many are left to the other members; in a group we must not lose track of it.
    if (group.proposalsBytes + proposals.length <= BYTES_MAX) this.#process(operation, proposals);
    else if (group.cipher !== undefined) onLost("too many proposals in one epoch");
    else warn("left many DAVE proposals to the other members", { sizeBytes: proposals.length });
  }

  /** Some wait for the gateway to announce further users. */
  get areHeld(): boolean {
    return this.#held.length > 0;
  }

  /** The gateway has announced further users: proposals that waited for them may be valid now. */
  retry(): void {
    const held = this.#held;
    this.drop();
    for (const proposals of held) this.#process(APPEND, proposals);
  }

  /** Drops waiting proposals: the group has changed, or is given up. */
  drop(): void {
    this.#held = [];
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** False for appended proposals of the past, or not (yet) of our group. */
  #isTimely(proposals: Buffer): boolean {
    const { group, onLost } = this.#options;
    const header = readFirstMlsHeader(proposals);
    if (header === undefined) return false;
    group.learnGroupId(header.groupId, { isCertain: true });
    const { epoch } = group;
    if (epoch === undefined || header.epoch < epoch) return false;
    if (header.epoch === epoch) return true;
    if (group.cipher !== undefined) onLost("proposals of a later epoch");
    return false;
  }

  #process(operation: number, proposals: Buffer): void {
    const { group, knownUserIds, sendCommit, warn } = this.#options;
    try {
      const outcome = group.processProposals(operation, proposals, knownUserIds);
      if (outcome.kind === "commit") sendCommit(outcome.payload);
      else if (outcome.kind === "unknownUser") this.#hold(proposals);
    } catch (error) {
      // Others may still commit them; if that commit is beyond us as well, recovery starts there.
      warn("could not process DAVE proposals", { error });
    }
  }

  /** Holds proposals that add a user the gateway has not announced, for a short while. */
  #hold(proposals: Buffer): void {
    const heldBytes = this.#held.reduce((sum, held) => sum + held.length, proposals.length);
    if (this.#held.length >= HELD_MAX || heldBytes > BYTES_MAX) {
      this.#onHeldTooLong();
      return;
    }
    this.#held.push(proposals);
    this.#timer ??= this.#options.after(HELD_MS_MAX, () => this.#onHeldTooLong());
  }

  #onHeldTooLong(): void {
    this.#options.onLost("proposals for an unannounced user");
  }
}
