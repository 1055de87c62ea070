// The leaves of the MLS group and their members, as far as the gateway has to know them: to name leaves in Removes, to
// check committers, and to follow each commit (discord-voice.md section 4.4, "Leaf indices").

import type { MemberSlot } from "./dave-member.ts";
import type { Commit, KeyPackage } from "./mls-codec.ts";

export interface Leaf {
  readonly index: number;
  readonly slot: MemberSlot;
  readonly signatureKey: Buffer;
}

/** The effect of a commit's proposals. */
export interface TreeChange {
  /** The committer and its key, for a first commit. */
  readonly founder: { readonly slot: MemberSlot; readonly signatureKey: Buffer };
  readonly removedLeaves: readonly number[];
  /** By ProposalRef. */
  readonly added: ReadonlyMap<string, { readonly slot: MemberSlot; readonly keyPackage: KeyPackage }>;
}

export class GroupTree {
  #leaves: (Leaf | undefined)[] = [];
  #epoch = 0n;

  /** 0 while there is no group. */
  get epoch(): bigint {
    return this.#epoch;
  }

  /** Occupied leaves, by index; none while there is no group. */
  get leaves(): readonly Leaf[] {
    return this.#leaves.filter((leaf) => leaf !== undefined);
  }

  has(slot: MemberSlot): boolean {
    return this.#leaves.some((leaf) => leaf?.slot === slot);
  }

  clear(): void {
    this.#leaves = [];
    this.#epoch = 0n;
  }

  /**
   * Follows a commit: in a first group the committer takes leaf 0; then removes; then each Add, in the order of the
   * commit, takes the leftmost blank leaf. Returns the added members.
   */
  apply(commit: Commit, change: TreeChange): ReadonlyMap<MemberSlot, KeyPackage> {
    if (this.#leaves.length === 0) this.#leaves = [{ index: 0, ...change.founder }];
    for (const index of change.removedLeaves) this.#leaves[index] = undefined;
    const added = new Map<MemberSlot, KeyPackage>();
    for (const ref of commit.proposalRefs) {
      const addition = change.added.get(ref);
      if (addition === undefined) continue;
      const blank = this.#leaves.indexOf(undefined);
      const index = blank === -1 ? this.#leaves.length : blank;
      const { slot, keyPackage } = addition;
      this.#leaves[index] = { index, slot, signatureKey: keyPackage.leaf.signatureKey };
      added.set(slot, keyPackage);
    }
    this.#epoch = commit.epoch + 1n;
    return added;
  }
}
