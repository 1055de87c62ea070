// The gateway's side of one DAVE call: it compares who is there with who is in the MLS group, proposes the difference,
// picks a commit, announces it and sees the transition through (discord-voice.md sections 3.4 and 4.3). Everything the
// bots answer is checked. One change is negotiated at a time; transitions may overlap.

import { type CommitOffer, commitProblem } from "./commit-rules.ts";
import { type DaveMember, MemberSlot } from "./dave-member.ts";
import { createDavePolicy, type DavePolicy, takeTransitionId } from "./dave-policy.ts";
import { type Transition, Transitions } from "./dave-transitions.ts";
import { ExternalSender, encodeAppend, encodeGroupId, encodeRevoke, type Proposal } from "./external-sender.ts";
import { keyPackageProblem } from "./key-package-rules.ts";
import {
  type Commit,
  type KeyPackage,
  parseCommitWelcome,
  parseKeyPackage,
  type Welcome,
  welcomeFor,
} from "./mls-codec.ts";
import type { ViolationKind } from "./violations.ts";
import type { Waiters } from "./waiters.ts";

export interface DaveGroupOptions {
  readonly channelId: string;
  readonly waiters: Waiters;
  readonly report: (kind: ViolationKind, detail: string) => void;
}

interface Leaf {
  readonly slot: MemberSlot;
  readonly signatureKey: Buffer;
}

type Change =
  | { readonly kind: "first"; readonly candidates: readonly MemberSlot[] }
  | { readonly kind: "update"; readonly staleLeaves: readonly number[]; readonly newcomers: readonly MemberSlot[] }
  | { readonly kind: "reset" };

/** An op 27 that is out, and what came back. */
interface Negotiation {
  readonly epoch: bigint;
  readonly offers: ReadonlyMap<MemberSlot, CommitOffer>;
  /** Who is added by which proposal. */
  readonly newcomers: ReadonlyMap<string, MemberSlot>;
  readonly removedLeaves: ReadonlyMap<string, number>;
  readonly commits: Map<MemberSlot, { readonly commit: Commit; readonly welcome: Welcome | undefined }>;
}

export class DaveGroup {
  readonly policy: DavePolicy = createDavePolicy();
  readonly #options: DaveGroupOptions;
  readonly #groupId: Buffer;
  readonly #externalSender: ExternalSender;
  readonly #transitions: Transitions;
  readonly #slots = new Map<string, MemberSlot>();
  /** By leaf index; empty while there is no group. */
  #leaves: (Leaf | undefined)[] = [];
  #epoch = 0n;
  /** 0 between a downgrade and the upgrade after it. */
  #version = 1;
  /** The next first group ends an upgrade: members wait for op 22. */
  #isUpgrade = false;
  #negotiation: Negotiation | undefined;
  readonly #revokedRefs = new Set<string>();
  #broken: "commit" | "welcome" | undefined;
  readonly #jobs: (() => Promise<void>)[] = [];
  #isDriving = false;

  constructor(options: DaveGroupOptions) {
    this.#options = options;
    this.#groupId = encodeGroupId(options.channelId);
    this.#externalSender = new ExternalSender(options.channelId);
    this.#transitions = new Transitions({
      policy: this.policy,
      waiters: options.waiters,
      report: options.report,
      isPresent: (slot) => this.#isPresent(slot),
      onExecuted: (transition) => this.#onExecuted(transition),
    });
  }

  /** The current epoch of the group; 0 while there is none. */
  get epoch(): bigint {
    return this.#epoch;
  }

  /** Payload of op 25. */
  get externalSenderPackage(): Buffer {
    return this.#externalSender.packageBytes;
  }

  /** Transitions executed so far. */
  get transitionCount(): number {
    return this.#transitions.executedCount;
  }

  /** True when nothing is being negotiated, announced or waited for. */
  get isSettled(): boolean {
    const isWaiting = this.#isDriving || this.#jobs.length > 0 || this.#transitions.pendingCount > 0;
    return !isWaiting && ![...this.#slots.values()].some((slot) => slot.isKeyPackageDue);
  }

  /** What is known of a present member, or undefined. */
  slotOf(userId: string): MemberSlot | undefined {
    return this.#slots.get(userId);
  }

  /** True while the member's leaf is in the group and usable; `recovered`: and op 31 has come for all that was broken. */
  isInGroup(userId: string, state: "any" | "recovered" = "any"): boolean {
    const leaf = this.#leaves.find((candidate) => candidate?.slot.userId === userId && this.#isCurrent(candidate));
    return leaf !== undefined && (state === "any" || leaf.slot.brokenIds.size === 0);
  }

  /** Somebody takes part from now on; a member with the same user id is replaced. Its key package is due. */
  join(member: DaveMember): void {
    this.leave(member.userId);
    const slot = new MemberSlot(member);
    this.#slots.set(member.userId, slot);
    this.#awaitKeyPackage(slot);
  }

  /** Somebody is gone. With `member`: only if it has not been replaced. */
  leave(userId: string, member?: DaveMember): void {
    const slot = this.#slots.get(userId);
    if (slot === undefined || (member !== undefined && slot.member !== member)) return;
    clearTimeout(slot.keyPackageTimer);
    this.#slots.delete(userId);
    this.#drive();
  }

  /** Op 26; false when malformed. */
  onKeyPackage(member: DaveMember, payload: Buffer): boolean {
    const slot = this.#slotFor(member);
    if (slot === undefined) return true;
    const keyPackage = parseKeyPackage(payload);
    if (keyPackage === undefined) {
      this.#options.report("dave-key-package", "op 26 is not a key package");
      return false;
    }
    const problem = keyPackageProblem(keyPackage, member.userId);
    if (problem !== undefined) {
      this.#options.report("dave-key-package", problem);
      return true;
    }
    clearTimeout(slot.keyPackageTimer);
    slot.keyPackageTimer = undefined;
    slot.keyPackage = keyPackage;
    // A member that sends a new one has begun anew and cannot follow the old group.
    if (this.#leaves.some((leaf) => leaf?.slot === slot)) this.#loseGroup(slot);
    this.#drive();
    return true;
  }

  /** Op 28; false when malformed. Late and beaten commits are dropped silently, as the real gateway does. */
  onCommit(member: DaveMember, payload: Buffer): boolean {
    const slot = this.#slotFor(member);
    if (slot === undefined) return true;
    const parsed = parseCommitWelcome(payload);
    if (parsed === undefined) {
      this.#options.report("dave-commit", "op 28 is not a commit with or without a Welcome");
      return false;
    }
    const { commit, welcome } = parsed;
    const offer = this.#negotiation?.offers.get(slot);
    if (offer === undefined || this.#negotiation === undefined) {
      if (!this.#isOvertaken(commit)) this.#options.report("dave-commit", "a commit although nothing was proposed");
      return true;
    }
    const problem = commitProblem(offer, commit, welcome);
    if (problem === undefined) {
      if (!this.#negotiation.commits.has(slot)) this.#negotiation.commits.set(slot, { commit, welcome });
      this.#options.waiters.changed();
    } else if (!this.#isOvertaken(commit)) {
      this.#options.report("dave-commit", `commit of ${member.userId}: ${problem}`);
    }
    return true;
  }

  /** Op 23. */
  onReady(member: DaveMember, id: number): void {
    const slot = this.#slotFor(member);
    if (slot === undefined) return;
    this.#transitions.onReady(slot, id);
    this.#options.waiters.changed();
  }

  /** Op 31: the member cannot process what was announced; a new key package follows. */
  onInvalidCommit(member: DaveMember, id: number): void {
    const slot = this.#slotFor(member);
    if (slot === undefined) return;
    if (!slot.brokenIds.delete(id)) {
      this.#options.report("dave-commit", `op 31 for transition ${id}, which was sound`);
    }
    this.#loseGroup(slot);
    this.#transitions.excuse(slot, id);
    this.#awaitKeyPackage(slot);
    this.#options.waiters.changed();
  }

  /** Resolves when the call has come to rest. Rejects after three times the time bots have for one answer. */
  settled(): Promise<void> {
    return this.#options.waiters.until(
      () => this.isSettled,
      "settled DAVE call",
      3 * this.policy.answerTimeoutMs + 1000,
    );
  }

  /** Version 0 for everybody: op 21, op 23, op 22; from then on frames are plain. Returns the transition id. */
  downgrade(id = takeTransitionId(this.policy)): number {
    this.#version = 0;
    const slots = [...this.#slots.values()];
    for (const slot of slots) slot.member.prepareTransition(id, 0);
    this.#transitions.begin({ id, version: 0, slots });
    return id;
  }

  /** Back to version 1: op 24 with epoch 1, new key packages, a first group that is executed by op 22. */
  upgrade(): void {
    this.#version = 1;
    this.#isUpgrade = true;
    this.#beginAnew();
  }

  /** The next commit (op 29) or Welcome (op 30) that a bot is sent has a wrong byte. */
  breakNext(what: "commit" | "welcome"): void {
    this.#broken = what;
  }

  /** Op 27 adds somebody and op 27 takes it back before anything is announced. */
  proposeAndRevoke(keyPackageBytes: Buffer, when: "atOnce" | "afterCommits"): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() => this.#proposeAndRevoke(keyPackageBytes, when).then(resolve, reject));
      this.#drive();
    });
  }

  #isPresent(slot: MemberSlot): boolean {
    return this.#slots.get(slot.userId) === slot;
  }

  #isCurrent(leaf: Leaf): boolean {
    return this.#isPresent(leaf.slot) && !leaf.slot.isStale;
  }

  #slotFor(member: DaveMember): MemberSlot | undefined {
    const slot = this.#slots.get(member.userId);
    return slot?.member === member ? slot : undefined;
  }

  /** True for a commit that was right when it was made: of an earlier epoch, or for proposals revoked meanwhile. */
  #isOvertaken(commit: Commit): boolean {
    if (!commit.groupId.equals(this.#groupId)) return false;
    return commit.epoch < this.#epoch || commit.proposalRefs.some((ref) => this.#revokedRefs.has(ref));
  }

  #loseGroup(slot: MemberSlot): void {
    slot.isStale = this.#leaves.some((leaf) => leaf?.slot === slot);
    slot.setActive(false, performance.now());
  }

  #awaitKeyPackage(slot: MemberSlot): void {
    clearTimeout(slot.keyPackageTimer);
    slot.keyPackageTimer = setTimeout(() => {
      slot.keyPackageTimer = undefined;
      this.#options.report("dave-key-package-missing", `no op 26 from ${slot.userId}`);
      this.#drive();
    }, this.policy.answerTimeoutMs).unref();
  }

  /** Carries out one change after the other until there is none. Changes of the same turn become one. */
  #drive(): void {
    this.#options.waiters.changed();
    if (this.#isDriving) return;
    this.#isDriving = true;
    void this.#driveOn().finally(() => {
      this.#isDriving = false;
      this.#options.waiters.changed();
    });
  }

  async #driveOn(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const job = this.#jobs.shift();
      const change = job === undefined ? this.#nextChange() : undefined;
      if (job !== undefined) await job();
      else if (change === undefined || !(await this.#carryOut(change))) return;
    }
  }

  #nextChange(): Change | undefined {
    const present = [...this.#slots.values()];
    if (this.#version === 0 || present.some((slot) => slot.isKeyPackageDue)) return undefined;
    if (this.#leaves.length === 0) {
      const candidates = present.filter((slot) => slot.keyPackage !== undefined);
      return candidates.length < 2 ? undefined : { kind: "first", candidates };
    }
    const staleLeaves = this.#leaves.flatMap((leaf, index) => (leaf && !this.#isCurrent(leaf) ? [index] : []));
    const currentCount = this.#leaves.filter((leaf) => leaf !== undefined).length - staleLeaves.length;
    const newcomers = present.filter((slot) => slot.keyPackage !== undefined);
    if (currentCount === 0 || currentCount + newcomers.length < 2) return { kind: "reset" };
    return staleLeaves.length + newcomers.length === 0 ? undefined : { kind: "update", staleLeaves, newcomers };
  }

  /** False when nobody answered: try again only when something new happens. */
  #carryOut(change: Change): Promise<boolean> {
    if (change.kind === "reset") return this.#resetToSoleMember();
    return this.#negotiate(change.kind === "first" ? this.#offerFirst(change.candidates) : this.#offerUpdate(change));
  }

  /** One member is left (or none): op 24 and op 21 with id 0; it answers with a new key package. */
  #resetToSoleMember(): Promise<boolean> {
    this.#beginAnew();
    const slots = [...this.#slots.values()];
    for (const slot of slots) {
      slot.announcedIds.add(0);
      slot.member.prepareTransition(0, this.policy.soleMemberVersion);
    }
    return Promise.resolve(true);
  }

  #beginAnew(): void {
    this.#dissolve();
    for (const slot of this.#slots.values()) {
      this.#awaitKeyPackage(slot);
      slot.member.prepareEpoch(1);
    }
  }

  /** No group any more. */
  #dissolve(): void {
    this.#leaves = [];
    this.#epoch = 0n;
    for (const slot of this.#slots.values()) {
      slot.keyPackage = undefined;
      slot.isStale = false;
      slot.setActive(false, performance.now());
    }
  }

  /** Everybody has a group of its own at epoch 0 and is asked to add everybody else. */
  #offerFirst(candidates: readonly MemberSlot[]): Negotiation {
    const adds = candidates.flatMap((slot) =>
      slot.keyPackage === undefined ? [] : [{ slot, keyPackage: slot.keyPackage }],
    );
    const proposals = adds.map(({ slot, keyPackage }) => {
      return { slot, keyPackage, proposal: this.#externalSender.add(0n, keyPackage.bytes) };
    });
    const offers = new Map<MemberSlot, CommitOffer>();
    this.#negotiation = {
      epoch: 0n,
      offers,
      newcomers: new Map(proposals.map(({ slot, proposal }) => [proposal.ref, slot])),
      removedLeaves: new Map(),
      commits: new Map(),
    };
    for (const { slot, keyPackage } of proposals) {
      const others = proposals.filter((other) => other.slot !== slot);
      const added = new Map(others.map((other) => [other.proposal.ref, other.keyPackage]));
      const openRefs = new Set(added.keys());
      const { signatureKey } = keyPackage.leaf;
      offers.set(slot, { groupId: this.#groupId, epoch: 0n, senderLeaf: 0, signatureKey, openRefs, added });
      slot.member.sendProposals(encodeAppend(others.map((other) => other.proposal)));
    }
    return this.#negotiation;
  }

  /** Removes and Adds for a running group, the same for every member. */
  #offerUpdate(change: Extract<Change, { kind: "update" }>): Negotiation {
    const removes = change.staleLeaves.map((leaf) => ({
      leaf,
      proposal: this.#externalSender.remove(this.#epoch, leaf),
    }));
    const adds = change.newcomers.flatMap((slot) =>
      slot.keyPackage === undefined
        ? []
        : [
            {
              slot,
              keyPackage: slot.keyPackage,
              proposal: this.#externalSender.add(this.#epoch, slot.keyPackage.bytes),
            },
          ],
    );
    const proposals = [...removes, ...adds].map((change) => change.proposal);
    const added = new Map(adds.map(({ proposal, keyPackage }) => [proposal.ref, keyPackage]));
    const negotiation = {
      epoch: this.#epoch,
      offers: this.#offersToMembers(proposals, added),
      newcomers: new Map(adds.map(({ proposal, slot }) => [proposal.ref, slot])),
      removedLeaves: new Map(removes.map(({ proposal, leaf }) => [proposal.ref, leaf])),
      commits: new Map(),
    };
    this.#negotiation = negotiation;
    const payload = encodeAppend(proposals);
    for (const slot of negotiation.offers.keys()) slot.member.sendProposals(payload);
    for (const slot of this.policy.areNewcomersOffered ? change.newcomers : []) {
      if (slot.member.kind === "bot") slot.member.sendProposals(payload);
    }
    return negotiation;
  }

  #offersToMembers(
    proposals: readonly Proposal[],
    added: ReadonlyMap<string, KeyPackage>,
  ): ReadonlyMap<MemberSlot, CommitOffer> {
    const openRefs = new Set(proposals.map((proposal) => proposal.ref));
    const offers = new Map<MemberSlot, CommitOffer>();
    for (const [senderLeaf, leaf] of this.#leaves.entries()) {
      if (leaf === undefined || !this.#isCurrent(leaf)) continue;
      const { slot, signatureKey } = leaf;
      offers.set(slot, { groupId: this.#groupId, epoch: this.#epoch, senderLeaf, signatureKey, openRefs, added });
    }
    return offers;
  }

  async #negotiate(negotiation: Negotiation): Promise<boolean> {
    await this.#awaitCommits(negotiation);
    this.#negotiation = undefined;
    const winner = this.#pickWinner(negotiation);
    if (winner === undefined) return false;
    const { commit, welcome } = negotiation.commits.get(winner) ?? {};
    if (commit === undefined) return false;
    const isFirst = this.#leaves.length === 0;
    const keyPackages = this.#applyCommit(negotiation, winner, commit);
    const isZeroDue = isFirst && !this.#isUpgrade;
    const id = isZeroDue ? this.policy.firstTransitionId : takeTransitionId(this.policy);
    if (isFirst) this.#isUpgrade = false;
    const slots = this.#leaves.flatMap((leaf) => (leaf === undefined ? [] : [leaf.slot]));
    for (const slot of slots) slot.announcedIds.add(id);
    for (const slot of slots) {
      const keyPackage = keyPackages.get(slot);
      if (keyPackage !== undefined && welcome !== undefined) {
        slot.member.sendWelcome(id, this.#maybeBreak(slot, id, "welcome", welcomeFor(welcome, keyPackage.ref)));
      } else {
        slot.member.announceCommit(id, this.#maybeBreak(slot, id, "commit", commit.bytes));
      }
    }
    this.#transitions.begin({ id, version: 1, slots });
    return true;
  }

  async #awaitCommits(negotiation: Negotiation): Promise<void> {
    const { offers, commits } = negotiation;
    const missing = () =>
      [...offers.keys()].filter((slot) => slot.member.kind === "bot" && this.#isPresent(slot) && !commits.has(slot));
    const isEnough = () => missing().length === 0 || (this.policy.commitWinner === "first" && commits.size > 0);
    if (await this.#options.waiters.settled(isEnough, this.policy.answerTimeoutMs)) return;
    const users = missing().map((slot) => slot.userId);
    this.#options.report("dave-commit-missing", `no valid op 28 for the open proposals from ${users.join(", ")}`);
  }

  /** A broken commit has to be a stranger's: nobody reads the announcement of its own. */
  #pickWinner({ commits }: Negotiation): MemberSlot | undefined {
    const present = [...commits.keys()].filter((slot) => this.#isPresent(slot));
    const kind = this.policy.commitWinner === "bot" && this.#broken === undefined ? "bot" : "listener";
    if (this.policy.commitWinner === "first" && this.#broken === undefined) return present[0];
    return present.find((slot) => slot.member.kind === kind) ?? present[0];
  }

  /** The group after the commit: removes first, then each Add on the leftmost blank leaf. Returns who was added. */
  #applyCommit(negotiation: Negotiation, winner: MemberSlot, commit: Commit): ReadonlyMap<MemberSlot, KeyPackage> {
    const offer = negotiation.offers.get(winner);
    if (this.#leaves.length === 0 && offer !== undefined) {
      this.#leaves = [{ slot: winner, signatureKey: offer.signatureKey }];
      winner.keyPackage = undefined;
    }
    for (const leaf of negotiation.removedLeaves.values()) this.#leaves[leaf] = undefined;
    const added = new Map<MemberSlot, KeyPackage>();
    for (const ref of commit.proposalRefs) {
      const slot = negotiation.newcomers.get(ref);
      const keyPackage = offer?.added.get(ref);
      if (slot === undefined || keyPackage === undefined) continue;
      const blank = this.#leaves.indexOf(undefined);
      this.#leaves[blank === -1 ? this.#leaves.length : blank] = { slot, signatureKey: keyPackage.leaf.signatureKey };
      added.set(slot, keyPackage);
      // A newer one may have come meanwhile: then the member is stale already and comes again.
      if (slot.keyPackage === keyPackage) slot.keyPackage = undefined;
      slot.isStale = slot.keyPackage !== undefined;
    }
    this.#epoch = negotiation.epoch + 1n;
    return added;
  }

  #maybeBreak(slot: MemberSlot, id: number, what: "commit" | "welcome", bytes: Buffer): Buffer {
    if (slot.member.kind !== "bot" || this.#broken !== what) return bytes;
    this.#broken = undefined;
    slot.brokenIds.add(id);
    const broken = Buffer.from(bytes);
    broken[broken.length - 1] = broken[broken.length - 1]! ^ 0xff;
    return broken;
  }

  async #proposeAndRevoke(keyPackageBytes: Buffer, when: "atOnce" | "afterCommits"): Promise<void> {
    const proposal = this.#externalSender.add(this.#epoch, keyPackageBytes);
    const keyPackage = parseKeyPackage(keyPackageBytes);
    if (keyPackage === undefined) throw new Error("fake Discord: proposeAndRevoke needs a key package");
    const negotiation: Negotiation = {
      epoch: this.#epoch,
      offers: this.#offersToMembers([proposal], new Map([[proposal.ref, keyPackage]])),
      newcomers: new Map(),
      removedLeaves: new Map(),
      commits: new Map(),
    };
    this.#negotiation = negotiation;
    for (const slot of negotiation.offers.keys()) slot.member.sendProposals(encodeAppend([proposal]));
    if (when === "afterCommits") await this.#awaitCommits(negotiation);
    this.#negotiation = undefined;
    this.#revokedRefs.add(proposal.ref);
    for (const slot of negotiation.offers.keys()) slot.member.sendProposals(encodeRevoke([proposal]));
  }

  #onExecuted(transition: Transition): void {
    if (transition.version === 0) this.#dissolve();
    this.#options.waiters.changed();
  }
}
