// The proposals (op 27) with which a DAVE gateway asks the members to change a group, and the answers it expects in op
// 28. Pure construction: nothing is sent here.

import type { CommitOffer } from "./commit-rules.ts";
import type { MemberSlot } from "./dave-member.ts";
import type { GroupTree, Leaf, TreeChange } from "./dave-tree.ts";
import { type ExternalSender, encodeAppend, type Proposal } from "./external-sender.ts";
import type { Commit, KeyPackage, Welcome } from "./mls-codec.ts";

/** An op 27 and its answers. */
export interface Negotiation {
  /** Payload of op 27 by member. */
  readonly messages: ReadonlyMap<MemberSlot, Buffer>;
  /** The offer to each member that can commit. */
  readonly offers: ReadonlyMap<MemberSlot, CommitOffer>;
  readonly removedLeaves: readonly number[];
  readonly added: TreeChange["added"];
  /** Valid commits so far, in order of arrival. */
  readonly commits: Map<MemberSlot, { readonly commit: Commit; readonly welcome: Welcome | undefined }>;
}

interface Addition {
  readonly slot: MemberSlot;
  readonly keyPackage: KeyPackage;
  readonly proposal: Proposal;
}

export interface Proposer {
  readonly sender: ExternalSender;
  readonly groupId: Buffer;
}

/** Each member has its own group at epoch 0 and is asked to add all others. */
export function proposeFirstGroup({ sender, groupId }: Proposer, candidates: readonly MemberSlot[]): Negotiation {
  const additions = additionsOf(candidates, (keyPackage) => sender.add(0n, keyPackage));
  const offers = new Map<MemberSlot, CommitOffer>();
  const messages = new Map<MemberSlot, Buffer>();
  for (const { slot, keyPackage } of additions) {
    const others = additions.filter((addition) => addition.slot !== slot);
    const added = keyPackagesOf(others);
    const { signatureKey } = keyPackage.leaf;
    offers.set(slot, { groupId, epoch: 0n, senderLeaf: 0, signatureKey, openRefs: new Set(added.keys()), added });
    messages.set(slot, encodeAppend(others.map((addition) => addition.proposal)));
  }
  return { messages, offers, removedLeaves: [], added: byRef(additions), commits: new Map() };
}

export interface Update {
  readonly staleLeaves: readonly Leaf[];
  readonly newcomers: readonly MemberSlot[];
  /** Members that can follow and commit. */
  readonly members: readonly Leaf[];
  /** Members that also receive the proposals, though they cannot commit. */
  readonly onlookers: readonly MemberSlot[];
}

/** Removes, then Adds, the same for every member of a running group. */
export function proposeUpdate({ sender, groupId }: Proposer, tree: GroupTree, update: Update): Negotiation {
  const { epoch } = tree;
  const removals = update.staleLeaves.map((leaf) => sender.remove(epoch, leaf.index));
  const additions = additionsOf(update.newcomers, (keyPackage) => sender.add(epoch, keyPackage));
  const proposals = [...removals, ...additions.map((addition) => addition.proposal)];
  const openRefs = new Set(proposals.map((proposal) => proposal.ref));
  const added = keyPackagesOf(additions);
  const payload = encodeAppend(proposals);
  const offers = new Map<MemberSlot, CommitOffer>();
  for (const { slot, index: senderLeaf, signatureKey } of update.members) {
    offers.set(slot, { groupId, epoch, senderLeaf, signatureKey, openRefs, added });
  }
  const messages = new Map([...offers.keys(), ...update.onlookers].map((slot) => [slot, payload]));
  const removedLeaves = update.staleLeaves.map((leaf) => leaf.index);
  return { messages, offers, removedLeaves, added: byRef(additions), commits: new Map() };
}

function additionsOf(slots: readonly MemberSlot[], propose: (keyPackage: Buffer) => Proposal): readonly Addition[] {
  return slots.flatMap((slot) => {
    const { keyPackage } = slot;
    return keyPackage === undefined ? [] : [{ slot, keyPackage, proposal: propose(keyPackage.bytes) }];
  });
}

function keyPackagesOf(additions: readonly Addition[]): ReadonlyMap<string, KeyPackage> {
  return new Map(additions.map(({ proposal, keyPackage }) => [proposal.ref, keyPackage]));
}

function byRef(additions: readonly Addition[]): ReadonlyMap<string, Addition> {
  return new Map(additions.map((addition) => [addition.proposal.ref, addition]));
}
