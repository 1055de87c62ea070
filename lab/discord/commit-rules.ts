// When a gateway accepts a commit: right group, epoch and sender, exactly the open proposals, and a Welcome for exactly
// the members they add (discord-voice.md section 4.5).

import type { Commit, KeyPackage, Welcome } from "./mls-codec.ts";

/** The proposals that one member was asked to commit. */
export interface CommitOffer {
  readonly groupId: Buffer;
  readonly epoch: bigint;
  /** The member's leaf; 0 in the single-member group that every member has before the first commit. */
  readonly senderLeaf: number;
  readonly signatureKey: Buffer;
  /** Refs of the open proposals. */
  readonly openRefs: ReadonlySet<string>;
  /** The Add proposals among them. */
  readonly added: ReadonlyMap<string, KeyPackage>;
}

/** The problem with a commit, or undefined. */
export function commitProblem(offer: CommitOffer, commit: Commit, welcome: Welcome | undefined): string | undefined {
  if (!commit.groupId.equals(offer.groupId)) return `group id ${commit.groupId.toString("hex")} is not the channel's`;
  if (commit.epoch !== offer.epoch) return `epoch ${commit.epoch} instead of ${offer.epoch}`;
  if (commit.senderLeaf !== offer.senderLeaf) return `sender leaf ${commit.senderLeaf} instead of ${offer.senderLeaf}`;
  const refs = new Set(commit.proposalRefs);
  const unknown = commit.proposalRefs.filter((ref) => !offer.openRefs.has(ref)).length;
  if (unknown > 0) return `${unknown} of its proposals are not open`;
  if (refs.size !== commit.proposalRefs.length) return "it names a proposal twice";
  const missing = offer.openRefs.size - refs.size;
  if (missing > 0) return `${missing} of the ${offer.openRefs.size} open proposals are left out`;
  if (commit.pathLeaf !== undefined && !commit.pathLeaf.signatureKey.equals(offer.signatureKey)) {
    return "its path changes the signature key";
  }
  return welcomeProblem(offer, welcome);
}

function welcomeProblem(offer: CommitOffer, welcome: Welcome | undefined): string | undefined {
  const expected = [...offer.added.values()].map((keyPackage) => keyPackage.ref);
  if (welcome === undefined) return expected.length === 0 ? undefined : "members are added, but there is no Welcome";
  if (expected.length === 0) return "no member is added, but there is a Welcome";
  const addressed = welcome.secrets.map((secret) => secret.newMember);
  const isComplete = expected.every((ref) => addressed.includes(ref)) && addressed.length === expected.length;
  return isComplete
    ? undefined
    : `its Welcome is for ${addressed.length} members, not for the ${expected.length} added`;
}
