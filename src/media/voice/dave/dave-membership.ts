// Our membership in the MLS group of one call: key packages, joins, commits, transitions and recovery
// (discord-voice.md sections 3.3 to 3.9). Decides which keys frames are sent with (dave-frames.ts); proposals are
// handled by dave-proposals.ts. Held by dave-session.ts, which calls it when there is time for MLS work. Audio thread.

import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../log/log.ts";
import { OPCODE } from "../gateway/gateway-messages.ts";
import type { VoiceCounters } from "../voice-counters.ts";
import type { DaveFrames } from "./dave-frames.ts";
import { DaveProposals } from "./dave-proposals.ts";
import { DaveRecoveries } from "./dave-recoveries.ts";
import type { DaveWarnings } from "./dave-warnings.ts";
import { MlsGroup } from "./mls-group.ts";
import { readMlsHeader } from "./mls-header.ts";

/** No group after a key package: send another once, then give the session up. */
const GROUP_TIMEOUT_MS = 10_000;
/** The gateway executes a transition 2 s after announcing it at the latest; these allow for some delay. */
const JOIN_EXECUTE_MS_MAX = 2500;
const POSTPONED_COMMIT_MS_MAX = 5000;
/** Listeners keep the keys of the epoch before for 10 s. */
const OLD_GROUP_MS_MAX = 8000;
/** After op 9, until the gateway has repeated its messages and members have answered them. */
const REPLAY_MS_MAX = 1000;
const TRANSITIONS_MAX = 64;

/** What the membership needs from the DAVE session. */
interface MembershipParent {
  sendDaveJson(opcode: number, data: unknown): void;
  sendDaveBinary(opcode: number, payload: Uint8Array): void;
  /** The protocol's own means cannot form a group; only a new voice session may help. */
  onDaveStuck(): void;
  /** Frames are encrypted with other keys from now on. */
  onDaveRekeyed(): void;
}

interface DaveMembershipOptions {
  readonly userId: string;
  /** Undefined: taken from the first message of the group. */
  readonly channelId: string | undefined;
  /** The other users in the channel. */
  readonly knownUserIds: ReadonlySet<string>;
  /** During recovery they use the keys of an older group. */
  readonly frames: DaveFrames;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly warnings: DaveWarnings;
  readonly counters: VoiceCounters;
  readonly parent: MembershipParent;
  /** Messages have arrived that are not handled yet. */
  readonly isMessageWaiting: () => boolean;
  /** One of them is a Welcome. */
  readonly isWelcomeWaiting: () => boolean;
  /** Runs the work later, guarded like the handling of messages. */
  readonly after: (delayMs: number, work: () => void) => Timer;
  /** Whether frames can be sent may have changed. */
  readonly onChanged: () => void;
}

interface AnnouncedTransition {
  /** The protocol version it brings. */
  readonly version: number;
  readonly announcedMs: number;
}

/** The transition that could not be followed. */
interface Recovery {
  readonly transitionId: number;
}

type State =
  /** No group was begun: before op 4, or the call is plain. */
  | { readonly kind: "outside" }
  /** A key package has been sent and has not led to a group yet. */
  | {
      readonly kind: "awaitingGroup";
      /** Set when we asked, with op 31, to be removed from a group and added again. */
      readonly recovery: Recovery | undefined;
      /** It is the second key package. */
      readonly isRepeated: boolean;
      /** Undefined: not armed, as the channel was empty. */
      groupTimer: Timer | undefined;
    }
  /** We are in a group and send for it when the transition is executed. `isRejoining`: by a recovery. */
  | {
      readonly kind: "joining";
      readonly transitionId: number;
      readonly isRejoining: boolean;
      readonly timer: Timer;
    }
  /** We are in a group. */
  | { readonly kind: "member" }
  /** We are in a group and have confirmed a commit that is processed later. */
  | { readonly kind: "postponing"; readonly transitionId: number; readonly commit: Buffer; readonly timer: Timer }
  | { readonly kind: "closed" };

export class DaveMembership {
  readonly #options: DaveMembershipOptions;
  readonly #clock: Clock;
  readonly #parent: MembershipParent;
  readonly #frames: DaveFrames;
  readonly #group: MlsGroup;
  readonly #proposals: DaveProposals;
  readonly #recoveries: DaveRecoveries;
  /** Announced and not executed yet, by their ids. */
  readonly #transitions = new Map<number, AnnouncedTransition>();
  #state: State = { kind: "outside" };
  /** The version negotiated for the next group; 0 is plain. */
  #version = 0;
  #lastTransitionId = 0;
  #startedMs = 0;
  #isFirstGroup = true;
  #oldGroupTimer: Timer | undefined;

  constructor(options: DaveMembershipOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#parent = options.parent;
    this.#frames = options.frames;
    this.#group = new MlsGroup(options.userId, options.channelId);
    this.#proposals = new DaveProposals({
      group: this.#group,
      knownUserIds: options.knownUserIds,
      after: options.after,
      sendCommit: (payload) => this.#parent.sendDaveBinary(OPCODE.mlsCommitWelcome, payload),
      onLost: (reason) => this.#recover(this.#lastTransitionId, reason),
      warn: (message, fields) => options.warnings.warn(message, fields),
    });
    this.#recoveries = new DaveRecoveries(options.clock);
  }

  get version(): number {
    return this.#version;
  }

  get epoch(): bigint | undefined {
    return this.#group.epoch;
  }

  get isRecovering(): boolean {
    return this.#state.kind === "awaitingGroup" && this.#state.recovery !== undefined;
  }

  /** The call has a group that we are being added to again: its members do not play plain audio. */
  get isRejoining(): boolean {
    return this.isRecovering || (this.#state.kind === "joining" && this.#state.isRejoining);
  }

  /** When the wait for the first group began; undefined once there was one. */
  get waitsSinceMs(): number | undefined {
    return this.#isFirstGroup ? this.#startedMs : undefined;
  }

  /** Proposals wait for the gateway to announce further users. */
  get areProposalsHeld(): boolean {
    return this.#proposals.areHeld;
  }

  /** A commit with this id can be confirmed without MLS work. */
  canPostpone(transitionId: number): boolean {
    return transitionId !== 0 && this.#isSendingForGroup && this.#state.kind !== "postponing";
  }

  /** Executing the transition processes a commit. */
  isPostponed(transitionId: number): boolean {
    return this.#state.kind === "postponing" && this.#state.transitionId === transitionId;
  }

  /** Op 4: `begin` follows unless the call is plain. */
  start(version: number): void {
    this.#version = version;
    this.#startedMs = this.#clock.now();
    this.#frames.setVersion(version);
  }

  begin(): void {
    this.#beginGroup(undefined);
  }

  onUsersJoined(): void {
    this.#armGroupTimer();
    this.#proposals.retry();
  }

  setExternalSender(senderPackage: Buffer): void {
    this.#group.setExternalSender(senderPackage);
  }

  /**
   * After op 9. Messages sent right before the connection broke may be lost, and a resume repeats only the gateway's
   * own messages: op 23 is sent again for transitions that the gateway may still be waiting with, and a key package
   * unless the repeated messages lead to a group.
   */
  onResumed(): void {
    for (const [transitionId, { announcedMs }] of this.#transitions) {
      if (this.#clock.now() - announcedMs < JOIN_EXECUTE_MS_MAX) this.#sendReady(transitionId);
    }
    this.#awaitReplay();
  }

  /** Out of the tick: frames cannot be encrypted. */
  onFramesFailing(): void {
    if (this.#frames.isEncrypting) this.#recover(this.#lastTransitionId, "frames cannot be encrypted");
  }

  close(): void {
    this.#enter({ kind: "closed" });
    this.#oldGroupTimer?.cancel();
    this.#proposals.drop();
    this.#frames.dropCipher();
  }

  // The group.

  #beginGroup(recovery: Recovery | undefined): void {
    this.#proposals.drop();
    const isOldCipherRetained = this.#isSendingForGroup;
    if (isOldCipherRetained) {
      this.#oldGroupTimer?.cancel();
      this.#oldGroupTimer = this.#options.after(OLD_GROUP_MS_MAX, () => this.#dropOldGroup());
    }
    // Before the state changes, because it may throw: no group is awaited without a key package.
    const keyPackage = this.#group.begin(this.#version, { isOldCipherRetained });
    const isRepeated = this.#state.kind === "awaitingGroup" && this.#state.isRepeated;
    this.#enter({ kind: "awaitingGroup", recovery, isRepeated, groupTimer: undefined });
    this.#requestGroup(keyPackage, recovery);
  }

  #requestGroup(keyPackage: Buffer, recovery: Recovery | undefined): void {
    if (recovery !== undefined) {
      this.#parent.sendDaveJson(OPCODE.mlsInvalidCommitWelcome, { transition_id: recovery.transitionId });
    }
    this.#sendKeyPackage(keyPackage);
  }

  #sendKeyPackage(keyPackage: Buffer): void {
    this.#parent.sendDaveBinary(OPCODE.mlsKeyPackage, keyPackage);
    this.#armGroupTimer();
  }

  onProposals(operation: number, proposals: Buffer): void {
    if (!this.#group.hasBegun || this.#group.hasSeen(proposals)) return;
    // Another member's commit has won: ours is no longer needed.
    if (this.#state.kind === "awaitingGroup" && this.#options.isWelcomeWaiting()) return;
    this.#processPostponed();
    this.#proposals.take(operation, proposals);
  }

  onCommit(transitionId: number, commit: Buffer): void {
    if (!this.#group.hasBegun) return;
    if (this.#state.kind === "postponing" && this.#state.commit.equals(commit)) return;
    this.#processPostponed();
    const isInGroup = this.#group.cipher !== undefined;
    const header = readMlsHeader(commit);
    if (header === undefined) {
      if (isInGroup) this.#recover(transitionId, "unreadable commit");
      return;
    }
    this.#group.learnGroupId(header.groupId, { isCertain: false });
    // Past or repeated; or of a group we are not in yet, which our Welcome will bring.
    if (header.epoch < (this.#group.epoch ?? 0n) || (!isInGroup && header.epoch > 0n)) return;
    const whose = this.#group.whose(commit);
    // The library merges the commit it made last, whichever is announced: an earlier one would put us into a wrong
    // epoch.
    if (whose === "outdated") this.#recover(transitionId, "an outdated commit was announced");
    else if (!isInGroup && whose === "foreign") return;
    else if (this.#group.isFor(header.groupId)) this.#followCommit(transitionId, commit);
    else this.#recover(transitionId, "joined under another group id");
  }

  /**
   * The library changes the sending key while it processes a commit; peers may not have it yet. So a transition with an
   * id is confirmed at once but processed when it is executed, when anything builds on it, or after 5 s.
   */
  #followCommit(transitionId: number, commit: Buffer): void {
    this.#lastTransitionId = transitionId;
    if (!this.canPostpone(transitionId)) {
      this.#processCommit(transitionId, commit);
      return;
    }
    this.#announceReady(transitionId, this.#version);
    const timer = this.#options.after(POSTPONED_COMMIT_MS_MAX, () => this.#processPostponed());
    this.#enter({ kind: "postponing", transitionId, commit, timer });
  }

  #processPostponed(): void {
    if (this.#state.kind !== "postponing") return;
    const { transitionId, commit } = this.#state;
    this.#enter({ kind: "member" });
    if (this.#tryMls(() => this.#group.processCommit(commit), transitionId)) this.#onEpoch();
  }

  #processCommit(transitionId: number, commit: Buffer): void {
    const wasInGroup = this.#group.cipher !== undefined;
    const isRejoining = this.isRecovering;
    if (!this.#tryMls(() => this.#group.processCommit(commit), transitionId)) return;
    this.#onEpoch();
    if (!wasInGroup || transitionId === 0) this.#onJoined(transitionId, { isRejoining });
    else this.#announceReady(transitionId, this.#version);
  }

  onWelcome(transitionId: number, welcome: Buffer): void {
    const isRejoining = this.isRecovering;
    if (this.#state.kind !== "awaitingGroup") {
      // A repetition, unless it answers a key package that has not led to a group.
      if (!this.#group.isAddedAgainBy(welcome)) return;
      // The pending transitions belong to the group we leave. Its keys are used until the transition is executed.
      this.#proposals.drop();
      this.#enter({ kind: "member" });
    }
    if (!this.#tryMls(() => this.#group.processWelcome(welcome), transitionId)) return;
    this.#onEpoch();
    this.#onJoined(transitionId, { isRejoining });
  }

  #onEpoch(): void {
    this.#options.counters.daveTransitions++;
    this.#proposals.drop();
    // The library has given the same cipher new keys.
    if (this.#isSendingForGroup) this.#parent.onDaveRekeyed();
  }

  /** We are in a group. With an id, we confirm it and sending waits for the transition to be executed. */
  #onJoined(transitionId: number, { isRejoining }: { readonly isRejoining: boolean }): void {
    this.#lastTransitionId = transitionId;
    if (transitionId === 0) {
      this.#enter({ kind: "member" });
      this.#startSending(this.#version);
      return;
    }
    this.#announceReady(transitionId, this.#version);
    const timer = this.#options.after(JOIN_EXECUTE_MS_MAX, () => this.execute(transitionId));
    this.#enter({ kind: "joining", transitionId, isRejoining, timer });
  }

  #startSending(version: number): void {
    this.#frames.start(version, this.#group.cipher);
    this.#oldGroupTimer?.cancel();
    if (this.#isFirstGroup) this.#options.counters.daveReadyMs = this.#clock.now() - this.#startedMs;
    this.#isFirstGroup = false;
    this.#options.onChanged();
  }

  // Transitions.

  #announceReady(transitionId: number, version: number): void {
    this.#lastTransitionId = transitionId;
    this.#rememberTransition(transitionId, version);
    this.#sendReady(transitionId);
  }

  #sendReady(transitionId: number): void {
    this.#parent.sendDaveJson(OPCODE.daveTransitionReady, { transition_id: transitionId });
  }

  #rememberTransition(transitionId: number, version: number): void {
    const oldest = this.#transitions.keys().next();
    if (this.#transitions.size >= TRANSITIONS_MAX && !oldest.done) this.#transitions.delete(oldest.value);
    this.#transitions.set(transitionId, { version, announcedMs: this.#clock.now() });
  }

  onPrepareTransition(transitionId: number, version: number): void {
    if (transitionId !== 0) {
      this.#announceReady(transitionId, version);
      return;
    }
    this.#rememberTransition(0, version);
    this.execute(0);
  }

  /** Unknown and repeated ids are harmless. */
  execute(transitionId: number): void {
    if (this.isPostponed(transitionId)) this.#processPostponed();
    const version = this.#transitions.get(transitionId)?.version;
    if (version === undefined) return;
    this.#transitions.delete(transitionId);
    if (this.#state.kind === "joining" && this.#state.transitionId === transitionId) {
      this.#enter({ kind: "member" });
      this.#startSending(version);
      return;
    }
    // The reset of a sole member ends in such a downgrade: the next user to join gets a group, not plain audio.
    const isAwaitingGroup = this.#state.kind === "awaitingGroup";
    const isSoleMemberReset = version === 0 && isAwaitingGroup && this.#options.knownUserIds.size === 0;
    if (!isSoleMemberReset) this.#frames.setVersion(version);
    this.#options.onChanged();
  }

  onPrepareEpoch(epoch: number, version: number): void {
    if (version === 0) return;
    this.#version = version;
    if (epoch !== 1) return;
    this.#frames.dropCipher();
    this.#beginGroup(undefined);
    this.#options.onChanged();
  }

  // When something goes wrong.

  #tryMls(work: () => void, transitionId: number): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.#recover(transitionId, "a commit or welcome could not be processed", error);
      return false;
    }
  }

  /**
   * Asks to be removed from the group and added again. The old keys are used meanwhile: listeners keep them for 10 s,
   * so nothing is lost unless recovery takes longer.
   */
  #recover(transitionId: number, reason: string, error?: unknown): void {
    if (this.isRecovering && error === undefined) return;
    if (!this.#recoveries.begin()) {
      this.#parent.onDaveStuck();
      return;
    }
    this.#options.counters.daveRecoveries++;
    this.#options.logger.warn("rejoining the DAVE group", { reason, transitionId, error });
    this.#beginGroup({ transitionId });
    this.#options.onChanged();
  }

  #dropOldGroup(): void {
    if (this.#isSendingForGroup) return;
    this.#frames.dropCipher();
    this.#options.onChanged();
  }

  /** Frames are encrypted for the group we follow, not for one before it. */
  get #isSendingForGroup(): boolean {
    return this.#frames.isWith(this.#group.cipher);
  }

  #armGroupTimer(): void {
    if (this.#state.kind !== "awaitingGroup" || this.#options.knownUserIds.size === 0) return;
    this.#state.groupTimer ??= this.#options.after(GROUP_TIMEOUT_MS, () => this.#onGroupTimeout());
  }

  #onGroupTimeout(): void {
    if (this.#state.kind !== "awaitingGroup") return;
    this.#state.groupTimer = undefined;
    if (this.#options.isMessageWaiting()) {
      // It may have arrived and be waiting in the inbox.
      this.#armGroupTimer();
      return;
    }
    const { recovery, isRepeated } = this.#state;
    // A new key package would replace the keys of the one that was sent.
    if (this.#options.knownUserIds.size === 0) return;
    const keyPackage = this.#group.createKeyPackage();
    if (keyPackage === undefined) return;
    this.#options.logger.warn("no DAVE group was formed in time", { isLastTry: isRepeated });
    if (isRepeated) {
      this.#parent.onDaveStuck();
      return;
    }
    this.#enter({ kind: "awaitingGroup", recovery, isRepeated: true, groupTimer: undefined });
    this.#sendKeyPackage(keyPackage);
  }

  #awaitReplay(): void {
    if (this.#state.kind !== "awaitingGroup") return;
    this.#state.groupTimer?.cancel();
    this.#state.groupTimer = this.#options.after(REPLAY_MS_MAX, () => this.#onReplayed());
  }

  /** No group has followed: the gateway may have received neither op 31 nor a key package. */
  #onReplayed(): void {
    if (this.#state.kind !== "awaitingGroup") return;
    if (this.#options.isMessageWaiting()) {
      this.#awaitReplay();
      return;
    }
    const { recovery } = this.#state;
    const keyPackage = this.#group.createKeyPackage();
    if (keyPackage === undefined) return;
    this.#enter({ kind: "awaitingGroup", recovery, isRepeated: false, groupTimer: undefined });
    this.#requestGroup(keyPackage, recovery);
  }

  /** The only place that changes the state: cancels the timers of the previous one. */
  #enter(next: State): void {
    const before = this.#state;
    if (before.kind === "closed") return;
    this.#state = next;
    if (before.kind === "awaitingGroup") before.groupTimer?.cancel();
    else if (before.kind === "joining" || before.kind === "postponing") before.timer.cancel();
  }
}
