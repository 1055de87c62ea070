// The gateway's side of one DAVE call: it compares the members of the call with those of the MLS group, proposes the
// difference, picks a commit, announces it and sees the transition through (discord-voice.md sections 3.4 and 4.3). All
// answers of the bots are checked. One change is negotiated at a time; transitions may overlap.

import type { Clock } from "../../src/lib/clock.ts";
import { commitProblem } from "./commit-rules.ts";
import { type DaveMember, MemberSlot } from "./dave-member.ts";
import { type Negotiation, type Proposer, proposeFirstGroup, proposeUpdate, type Update } from "./dave-negotiation.ts";
import { createDavePolicy, type DavePolicy, takeTransitionId } from "./dave-policy.ts";
import { type Transition, Transitions } from "./dave-transitions.ts";
import { GroupTree, type Leaf } from "./dave-tree.ts";
import { ExternalSender, encodeGroupId, encodeRevoke } from "./external-sender.ts";
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

interface DaveGroupOptions {
  readonly channelId: string;
  readonly clock: Clock;
  readonly waiters: Waiters;
  readonly report: (kind: ViolationKind, detail: string) => void;
}

/** A member that never joins. */
interface Newcomer extends DaveMember {
  createKeyPackage(): Buffer;
}

interface Winner {
  readonly slot: MemberSlot;
  readonly signatureKey: Buffer;
  readonly commit: Commit;
  readonly welcome: Welcome | undefined;
}

type Change =
  | { readonly kind: "first"; readonly candidates: readonly MemberSlot[] }
  | ({ readonly kind: "update" } & Update)
  | { readonly kind: "reset" };

export class DaveGroup {
  readonly policy: DavePolicy = createDavePolicy();
  readonly #options: DaveGroupOptions;
  readonly #proposer: Proposer;
  readonly #transitions: Transitions;
  readonly #slots = new Map<string, MemberSlot>();
  readonly #tree = new GroupTree();
  /** 0 between a downgrade and the upgrade after it. */
  #version = 1;
  /** The next first group ends an upgrade: members wait for op 22. */
  #isUpgrade = false;
  #negotiation: Negotiation | undefined;
  /**
   * Proposals that are no longer open, each with its epoch: announced, revoked, given up, or removed with their group.
   */
  readonly #closedRefs = new Map<string, bigint>();
  #broken: "commit" | "welcome" | undefined;
  readonly #jobs: (() => Promise<void>)[] = [];
  #isDriving = false;

  constructor(options: DaveGroupOptions) {
    this.#options = options;
    const groupId = encodeGroupId(options.channelId);
    this.#proposer = { groupId, sender: new ExternalSender(groupId) };
    this.#transitions = new Transitions({
      policy: this.policy,
      clock: options.clock,
      waiters: options.waiters,
      report: options.report,
      isPresent: (slot) => this.#isPresent(slot),
      onExecuted: (transition) => this.#onExecuted(transition),
    });
  }

  /** The current epoch of the group; 0 without a group. */
  get epoch(): bigint {
    return this.#tree.epoch;
  }

  /** Payload of op 25. */
  get externalSenderPackage(): Buffer {
    return this.#proposer.sender.packageBytes;
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

  /** The slot of a present member, or undefined. */
  slotOf(userId: string): MemberSlot | undefined {
    return this.#slots.get(userId);
  }

  /**
   * True while the member's leaf is in the group and usable; `recovered`: and op 31 has arrived for everything broken.
   */
  isInGroup(userId: string, state: "any" | "recovered" = "any"): boolean {
    const leaf = this.#members.find((candidate) => candidate.slot.userId === userId);
    return leaf !== undefined && (state === "any" || leaf.slot.brokenIds.size === 0);
  }

  /** Adds a member to the call; one with the same user id is replaced. Its key package is due. */
  join(member: DaveMember): void {
    this.leave(member.userId);
    const slot = new MemberSlot(member, this.policy);
    this.#slots.set(member.userId, slot);
    // A member that joins during a downgrade is asked for one with the upgrade.
    if (this.#version > 0) this.#awaitKeyPackage(slot);
  }

  /** Removes a member. With `member`: only if it has not been replaced. */
  leave(userId: string, member?: DaveMember): void {
    const slot = this.#slots.get(userId);
    if (slot === undefined || (member !== undefined && slot.member !== member)) return;
    slot.keyPackageTimer?.cancel();
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
    slot.keyPackageTimer?.cancel();
    slot.keyPackageTimer = undefined;
    slot.keyPackage = keyPackage;
    // A member that sends a new one has reset its state and cannot follow the old group.
    if (this.#tree.has(slot)) this.#loseGroup(slot);
    this.#drive();
    return true;
  }

  /** Op 28; false when malformed. Late and losing commits are dropped silently, as the real gateway does. */
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
      this.#options.report("dave-commit", `op 31 for transition ${id}, which was valid`);
    }
    this.#loseGroup(slot);
    this.#transitions.excuse(slot, id);
    this.#awaitKeyPackage(slot);
    this.#options.waiters.changed();
  }

  /** 0 between a downgrade and the upgrade after it. */
  get version(): number {
    return this.#version;
  }

  /** Resolves when the call is idle. Rejects after three times the bots' time limit for one answer. */
  settled(): Promise<void> {
    return this.#options.waiters.until(
      () => this.isSettled,
      "settled DAVE call",
      3 * this.policy.answerTimeoutMs + 1000,
    );
  }

  /** Version 0 for all members: op 21, op 23, op 22; from then on frames are plain. Returns the transition id. */
  downgrade(id = takeTransitionId(this.policy)): number {
    this.#version = 0;
    const slots = [...this.#slots.values()];
    for (const slot of slots) {
      slot.endGroup();
      slot.member.prepareTransition(id, 0);
    }
    this.#transitions.begin({ id, version: 0, slots });
    return id;
  }

  /** Back to version 1: op 24 with epoch 1, new key packages, a first group that is executed by op 22. */
  upgrade(): void {
    this.#version = 1;
    this.#isUpgrade = true;
    this.#restart();
  }

  /** The next commit (op 29) or Welcome (op 30) sent to a bot has a wrong byte. */
  breakNext(what: "commit" | "welcome"): void {
    this.#broken = what;
  }

  /** Op 27 adds a member, and a second op 27 revokes that before anything is announced. */
  proposeAndRevoke(newcomer: Newcomer, when: "atOnce" | "afterCommits"): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#jobs.push(() => this.#proposeAndRevoke(newcomer, when).then(resolve, reject));
      this.#drive();
    });
  }

  #isPresent(slot: MemberSlot): boolean {
    return this.#slots.get(slot.userId) === slot;
  }

  /** Leaves whose members are present and can follow the group. */
  get #members(): readonly Leaf[] {
    return this.#tree.leaves.filter(({ slot }) => this.#isPresent(slot) && !slot.isStale);
  }

  #slotFor(member: DaveMember): MemberSlot | undefined {
    const slot = this.#slots.get(member.userId);
    return slot?.member === member ? slot : undefined;
  }

  /**
   * True for a commit that was valid when it was made. The current epoch does not show that: a member that reads
   * proposals late may answer when their group has been dissolved and epochs have restarted.
   */
  #isOvertaken({ groupId, epoch, proposalRefs }: Commit): boolean {
    if (!groupId.equals(this.#proposer.groupId)) return false;
    return proposalRefs.length > 0 && proposalRefs.every((ref) => this.#closedRefs.get(ref) === epoch);
  }

  #loseGroup(slot: MemberSlot): void {
    slot.isStale = this.#tree.has(slot);
    slot.setActive(false, this.#options.clock.now());
  }

  #awaitKeyPackage(slot: MemberSlot): void {
    slot.keyPackageTimer?.cancel();
    slot.keyPackageTimer = this.#options.clock.after(this.policy.answerTimeoutMs, () => {
      slot.keyPackageTimer = undefined;
      this.#options.report("dave-key-package-missing", `no op 26 from ${slot.userId}`);
      this.#drive();
    });
  }

  /**
   * Carries out one change after the other until there is none. Changes of the same event loop iteration are merged.
   */
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
    const newcomers = present.filter((slot) => slot.keyPackage !== undefined);
    const { leaves } = this.#tree;
    if (leaves.length === 0) return newcomers.length < 2 ? undefined : { kind: "first", candidates: newcomers };
    const members = this.#members;
    if (members.length === 0 || members.length + newcomers.length < 2) return { kind: "reset" };
    const staleLeaves = leaves.filter((leaf) => !members.includes(leaf));
    if (staleLeaves.length + newcomers.length === 0) return undefined;
    const isOnlooker = (slot: MemberSlot) => this.policy.areNewcomersOffered && slot.member.kind === "bot";
    return { kind: "update", staleLeaves, newcomers, members, onlookers: newcomers.filter(isOnlooker) };
  }

  /** False when no member answered: try again only when something new happens. */
  #carryOut(change: Change): Promise<boolean> {
    if (change.kind === "reset") return this.#resetToSoleMember();
    const isFirst = change.kind === "first";
    return this.#negotiate(
      isFirst
        ? proposeFirstGroup(this.#proposer, change.candidates)
        : proposeUpdate(this.#proposer, this.#tree, change),
    );
  }

  /** One member is left (or none): op 24 and op 21 with id 0; it answers with a new key package. */
  #resetToSoleMember(): Promise<boolean> {
    this.#restart();
    const slots = [...this.#slots.values()];
    for (const slot of slots) {
      slot.announcedIds.add(0);
      slot.member.prepareTransition(0, this.policy.soleMemberVersion);
    }
    return Promise.resolve(true);
  }

  #restart(): void {
    this.#dissolve();
    for (const slot of this.#slots.values()) {
      this.#awaitKeyPackage(slot);
      slot.endGroup();
      slot.member.prepareEpoch(1);
    }
  }

  /** No group. */
  #dissolve(): void {
    if (this.#negotiation !== undefined) this.#endNegotiation(this.#negotiation);
    this.#tree.clear();
    for (const slot of this.#slots.values()) {
      slot.keyPackage = undefined;
      slot.isStale = false;
      slot.setActive(false, this.#options.clock.now());
    }
  }

  async #negotiate(negotiation: Negotiation): Promise<boolean> {
    this.#sendProposals(negotiation);
    await this.#awaitCommits(negotiation);
    // Members have begun another group meanwhile and cannot follow a commit for this one.
    if (this.#negotiation !== negotiation) return true;
    this.#endNegotiation(negotiation);
    const winner = this.#pickWinner(negotiation);
    if (winner === undefined) return false;
    const isFirst = this.#tree.leaves.length === 0;
    const id = isFirst && !this.#isUpgrade ? this.policy.firstTransitionId : takeTransitionId(this.policy);
    if (isFirst) this.#isUpgrade = false;
    const slots = this.#announce(negotiation, winner, id);
    this.#transitions.begin({ id, version: 1, slots });
    return true;
  }

  #sendProposals(negotiation: Negotiation): void {
    // Set first: listeners answer synchronously.
    this.#negotiation = negotiation;
    for (const [slot, payload] of negotiation.messages) slot.member.sendProposals(payload);
  }

  /** Answers to its proposals that arrive from now on are late. */
  #endNegotiation({ offers }: Negotiation): void {
    this.#negotiation = undefined;
    for (const { openRefs, epoch } of offers.values()) for (const ref of openRefs) this.#closedRefs.set(ref, epoch);
  }

  /** Sends op 29 to the existing members of the group, op 30 to the new ones. Returns them all. */
  #announce(negotiation: Negotiation, winner: Winner, id: number): readonly MemberSlot[] {
    const { commit, welcome, slot: founder, signatureKey } = winner;
    const added = this.#tree.apply(commit, { ...negotiation, founder: { slot: founder, signatureKey } });
    const founding = [...negotiation.added.values()].find((addition) => addition.slot === founder);
    if (founding !== undefined) useKeyPackage(founder, founding.keyPackage);
    const slots = this.#tree.leaves.map((leaf) => leaf.slot);
    for (const slot of slots) {
      slot.announcedIds.add(id);
      if (this.#version > 0) slot.beginGroup();
    }
    for (const slot of slots) {
      // A bot that has identified again in between is a new member: a Welcome for the key package of the member before
      // would reach it over the same session, and it could not read it.
      if (!this.#isPresent(slot)) continue;
      const keyPackage = added.get(slot);
      if (keyPackage === undefined || welcome === undefined) {
        slot.member.announceCommit(id, this.#maybeBreak(slot, id, "commit", commit.bytes));
        continue;
      }
      useKeyPackage(slot, keyPackage);
      slot.member.sendWelcome(id, this.#maybeBreak(slot, id, "welcome", welcomeFor(welcome, keyPackage.ref)));
    }
    return slots;
  }

  async #awaitCommits(negotiation: Negotiation): Promise<void> {
    const { offers, commits } = negotiation;
    const missing = () =>
      [...offers.keys()].filter((slot) => slot.member.kind === "bot" && this.#isPresent(slot) && !commits.has(slot));
    const isAnswered = () => missing().length === 0 || (this.policy.commitWinner === "first" && commits.size > 0);
    const isEnough = () => this.#negotiation !== negotiation || isAnswered();
    if (await this.#options.waiters.settled(isEnough, this.policy.answerTimeoutMs)) return;
    const users = missing().map((slot) => slot.userId);
    this.#options.report("dave-commit-missing", `no valid op 28 for the open proposals from ${users.join(", ")}`);
  }

  /** A broken commit must come from another member: a member does not process the announcement of its own commit. */
  #pickWinner({ commits, offers }: Negotiation): Winner | undefined {
    const kind = this.#broken === undefined ? this.policy.commitWinner : "listener";
    const present = [...commits].filter(([slot]) => this.#isPresent(slot));
    const [slot, message] = present.find(([slot]) => slot.member.kind === kind) ?? present[0] ?? [];
    const offer = slot === undefined ? undefined : offers.get(slot);
    if (slot === undefined || message === undefined || offer === undefined) return undefined;
    return { slot, signatureKey: offer.signatureKey, ...message };
  }

  #maybeBreak(slot: MemberSlot, id: number, what: "commit" | "welcome", bytes: Buffer): Buffer {
    if (slot.member.kind !== "bot" || this.#broken !== what) return bytes;
    this.#broken = undefined;
    slot.brokenIds.add(id);
    const broken = Buffer.from(bytes);
    broken[broken.length - 1] = broken[broken.length - 1]! ^ 0xff;
    return broken;
  }

  async #proposeAndRevoke(newcomer: Newcomer, when: "atOnce" | "afterCommits"): Promise<void> {
    const phantom = new MemberSlot(newcomer, this.policy);
    phantom.keyPackage = parseKeyPackage(newcomer.createKeyPackage());
    const update = { staleLeaves: [], newcomers: [phantom], members: this.#members, onlookers: [] };
    const negotiation = proposeUpdate(this.#proposer, this.#tree, update);
    this.#sendProposals(negotiation);
    if (when === "afterCommits") await this.#awaitCommits(negotiation);
    if (this.#negotiation !== negotiation) return;
    this.#endNegotiation(negotiation);
    const refs = [...negotiation.added.keys()];
    for (const slot of negotiation.messages.keys()) {
      if (this.#isPresent(slot)) slot.member.sendProposals(encodeRevoke(refs));
    }
  }

  #onExecuted(transition: Transition): void {
    if (transition.version === 0) this.#dissolve();
    this.#options.waiters.changed();
  }
}

/** The member was added with `used`. If it has sent a newer one since, it cannot follow and is added once more. */
function useKeyPackage(slot: MemberSlot, used: KeyPackage): void {
  slot.isStale = slot.keyPackage !== used;
  if (!slot.isStale) slot.keyPackage = undefined;
}
