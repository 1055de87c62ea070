// End-to-end encryption of one voice session: drives the MLS group through every message of the gateway and decides
// whether frames are sent encrypted, plain or not at all (discord-voice.md sections 3.3 to 3.9). Between the voice
// session and the MLS library, on the audio thread. All MLS work happens in message handlers, when dave-inbox.ts finds
// time for it. Proposals are handled by dave-proposals.ts, frames by dave-frames.ts. Long because commits, transitions
// and recovery work on the same few pieces of state: the group, what is pending in it and the timers that limit the
// waiting.

import { DAVE_PROTOCOL_VERSION } from "@snazzah/davey";
import type { DaveReport } from "../../../bridge/audio-report.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../log/log.ts";
import type { HandlerGuard } from "../../pacer/handler-guard.ts";
import { type DaveMessage, OPCODE } from "../gateway/gateway-messages.ts";
import type { VoiceCounters } from "../voice-counters.ts";
import type { VoiceLimits } from "../voice-limits.ts";
import { DaveFrames } from "./dave-frames.ts";
import { DaveGate, type DaveGateState } from "./dave-gate.ts";
import { DaveInbox, type DaveTask } from "./dave-inbox.ts";
import { DaveProposals } from "./dave-proposals.ts";
import { DaveRecoveries } from "./dave-recoveries.ts";
import { DaveWarnings } from "./dave-warnings.ts";
import type { GroupQueue } from "./group-queue.ts";
import { MlsGroup } from "./mls-group.ts";
import { readMlsHeader } from "./mls-header.ts";

/** No group after a key package: send another once, then give the session up. */
const GROUP_TIMEOUT_MS = 10_000;
/** The gateway executes a transition 2 s after announcing it at the latest; these allow for some delay. */
const JOIN_EXECUTE_MS_MAX = 2500;
const POSTPONED_COMMIT_MS_MAX = 5000;
/** Listeners keep the keys of the epoch before for 10 s. */
const OLD_GROUP_MS_MAX = 8000;
const TRANSITIONS_MAX = 64;
/** A Discord call has far fewer; a limit against a broken server. */
const KNOWN_USERS_MAX = 1000;

/** What the DAVE session needs from the voice session. */
interface DaveParent {
  sendDaveJson(opcode: number, data: unknown): void;
  sendDaveBinary(opcode: number, payload: Uint8Array): void;
  onDaveGateChanged(): void;
  /** The protocol's own means cannot form a group; only a new voice session may help. */
  onDaveStuck(): void;
  /** Frames are encrypted with other keys from now on. */
  onDaveRekeyed(): void;
  /** The gateway exceeds a limit that no real one reaches: the voice session must end. */
  onDaveFlooded(error: Error): void;
}

interface DaveSessionOptions {
  readonly userId: string;
  /** Undefined: taken from the first message of the group. */
  readonly channelId: string | undefined;
  readonly isPlainFallbackAllowed: boolean;
  readonly limits: VoiceLimits;
  readonly guardHandler: HandlerGuard;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: VoiceCounters;
  readonly parent: DaveParent;
}

interface PostponedCommit {
  readonly transitionId: number;
  readonly commit: Buffer;
  readonly timer: Timer;
}

interface AnnouncedTransition {
  /** The protocol version it brings. */
  readonly version: number;
  readonly announcedMs: number;
}

interface AwaitedJoin {
  readonly transitionId: number;
  readonly timer: Timer;
}

export class DaveSession {
  readonly #options: DaveSessionOptions;
  readonly #clock: Clock;
  readonly #parent: DaveParent;
  readonly #group: MlsGroup;
  readonly #knownUserIds = new Set<string>();
  /** Announced and not executed yet, by their ids. */
  readonly #transitions = new Map<number, AnnouncedTransition>();

  /** The version negotiated for the next group; 0 is plain. */
  #version = 0;
  /** A key package has been sent and has not led to a group yet. */
  #isAwaitingGroup = false;
  #lastTransitionId = 0;
  #postponed: PostponedCommit | undefined;
  #awaitedJoin: AwaitedJoin | undefined;
  readonly #recoveries: DaveRecoveries;
  #isRecovering = false;

  /** During recovery they use the keys of an older group than `#group`. */
  readonly #frames: DaveFrames;
  readonly #proposals: DaveProposals;
  readonly #gate: DaveGate;
  readonly #inbox: DaveInbox;
  readonly #warnings: DaveWarnings;
  #startedMs = 0;
  #isFirstGroup = true;
  #hasKeyPackageBeenRepeated = false;
  #groupTimer: Timer | undefined;
  #oldGroupTimer: Timer | undefined;
  #isClosed = false;

  constructor(options: DaveSessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#parent = options.parent;
    this.#group = new MlsGroup(options.userId, options.channelId);
    this.#frames = new DaveFrames({
      counters: options.counters,
      onFailing: () => this.#repairSoon(),
      onChanged: () => options.parent.onDaveRekeyed(),
    });
    this.#proposals = new DaveProposals({
      group: this.#group,
      knownUserIds: this.#knownUserIds,
      after: (delayMs, work) => this.#after(delayMs, work),
      sendCommit: (payload) => this.#parent.sendDaveBinary(OPCODE.mlsCommitWelcome, payload),
      onLost: (reason) => this.#recover(this.#lastTransitionId, reason),
      warn: (message, fields) => this.#warnings.warn(message, fields),
    });
    this.#gate = new DaveGate({
      clock: options.clock,
      isPlainFallbackAllowed: options.isPlainFallbackAllowed,
      isGroupUnderWay: () => this.#inbox.isWaiting,
      onChanged: () => options.parent.onDaveGateChanged(),
      onWaitOver: () => this.#onWaitOver(),
    });
    this.#inbox = new DaveInbox({
      ...options,
      waitsForGroupSinceMs: () => (this.#isFirstGroup ? this.#startedMs : undefined),
      isLight: (task) => this.#isLight(task),
      onTask: (task) => this.#guard(() => this.#dispatch(task)),
      onFull: (error) => options.parent.onDaveFlooded(error),
    });
    this.#warnings = new DaveWarnings(options);
    this.#recoveries = new DaveRecoveries(options.clock);
    // Until op 4 we only wait for the network: time to prepare what op 4 will need.
    this.#queue.enterSpare(this, () => this.#prepareGroup());
  }

  /** What the player should do with a due frame. */
  get gate(): DaveGateState {
    return this.#gate.state;
  }

  /** Others are in the channel. */
  get hasCompany(): boolean {
    return this.#knownUserIds.size > 0;
  }

  describe(): DaveReport {
    return {
      version: this.#version,
      epoch: this.#group.epoch === undefined ? undefined : Number(this.#group.epoch),
      state: this.#isRecovering ? "recovering" : this.#frames.describe(this.gate),
      readyMs: Math.round(this.#options.counters.daveReadyMs),
    };
  }

  /** Op 4: begins a group for `version`, or plain audio for 0. Messages that arrived earlier have been handled. */
  start(version: number): void {
    if (this.#isClosed) return;
    this.#version = version;
    this.#frames.setVersion(version);
    this.#startedMs = this.#clock.now();
    this.#queue.leaveSpare(this);
    if (version > 0) this.#inbox.take({ kind: "begin" });
    else this.#group.dropPrepared();
    this.#refresh();
    this.#gate.start();
  }

  /** The packet payload for `opus`: a DAVE frame, the same bytes when plain, undefined when encrypting failed. */
  encrypt(opus: Uint8Array): Uint8Array | undefined {
    return this.#frames.encrypt(opus);
  }

  handle(message: DaveMessage): void {
    this.#inbox.take(message);
  }

  /**
   * After op 9. Messages sent right before the connection broke may be lost, and a resume repeats only the gateway's
   * own messages: op 23 is sent again for transitions that the gateway may still be waiting with.
   */
  onResumed(): void {
    for (const [transitionId, { announcedMs }] of this.#transitions) {
      if (this.#clock.now() - announcedMs < JOIN_EXECUTE_MS_MAX) this.#sendReady(transitionId);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#queue.leaveSpare(this);
    this.#inbox.close();
    this.#gate.close();
    for (const timer of [this.#groupTimer, this.#oldGroupTimer]) timer?.cancel();
    this.#dropPending();
    this.#frames.dropCipher();
  }

  get #queue(): GroupQueue {
    return this.#options.limits.groupQueue;
  }

  /** True for a task with next to no MLS work, which need not wait behind other sessions. */
  #isLight(task: DaveTask): boolean {
    switch (task.kind) {
      case "userLeft":
      case "prepareTransition":
        return true;
      case "usersPresent":
        return !this.#proposals.areHeld;
      case "commit":
        // Confirmed at once, followed later.
        return task.transitionId !== 0 && this.#isSendingForGroup && this.#postponed === undefined;
      case "executeTransition":
        return this.#postponed?.transitionId !== task.transitionId;
      default:
        return false;
    }
  }

  #dispatch(message: DaveTask): void {
    switch (message.kind) {
      case "begin":
        this.#beginGroup({ isOldCipherRetained: false });
        break;
      case "usersPresent":
        this.#onUsersPresent(message.userIds);
        break;
      case "userLeft":
        this.#onUserLeft(message.userId);
        break;
      case "externalSender":
        this.#group.setExternalSender(message.senderPackage);
        break;
      case "proposals":
        this.#onProposals(message.operation, message.proposals);
        break;
      case "commit":
        this.#onCommit(message.transitionId, message.commit);
        break;
      case "welcome":
        this.#onWelcome(message.transitionId, message.welcome);
        break;
      case "prepareTransition":
        this.#onPrepareTransition(message.transitionId, message.version);
        break;
      case "executeTransition":
        this.#execute(message.transitionId);
        break;
      case "prepareEpoch":
        this.#onPrepareEpoch(message.epoch, message.version);
        break;
    }
  }

  // Users in the channel.

  #onUsersPresent(userIds: readonly string[]): void {
    const sizeBefore = this.#knownUserIds.size;
    for (const userId of userIds) {
      if (userId !== this.#options.userId && this.#knownUserIds.size < KNOWN_USERS_MAX) this.#knownUserIds.add(userId);
    }
    if (this.#knownUserIds.size === sizeBefore) return;
    this.#armGroupTimer();
    this.#proposals.retry();
    this.#refresh();
  }

  #onUserLeft(userId: string): void {
    if (this.#knownUserIds.delete(userId)) this.#refresh();
  }

  // The group.

  #prepareGroup(): void {
    this.#options.guardHandler(() => this.#guard(() => this.#group.prepare(DAVE_PROTOCOL_VERSION)))();
  }

  #beginGroup(how: { readonly isOldCipherRetained: boolean }): void {
    this.#dropPending();
    this.#sendKeyPackage(this.#group.begin(this.#version, how));
  }

  #sendKeyPackage(keyPackage: Buffer): void {
    this.#isAwaitingGroup = true;
    this.#parent.sendDaveBinary(OPCODE.mlsKeyPackage, keyPackage);
    this.#groupTimer?.cancel();
    this.#groupTimer = undefined;
    this.#armGroupTimer();
  }

  #onProposals(operation: number, proposals: Buffer): void {
    if (!this.#group.hasBegun || this.#group.hasSeen(proposals)) return;
    // Another member's commit has won: ours is no longer needed.
    if (this.#isAwaitingGroup && this.#inbox.has("welcome")) return;
    this.#processPostponed();
    this.#proposals.take(operation, proposals);
  }

  #onCommit(transitionId: number, commit: Buffer): void {
    if (!this.#group.hasBegun || this.#postponed?.commit.equals(commit)) return;
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
    if (transitionId === 0 || !this.#isSendingForGroup) {
      this.#processCommit(transitionId, commit);
      return;
    }
    this.#announceReady(transitionId, this.#version);
    const timer = this.#after(POSTPONED_COMMIT_MS_MAX, () => this.#processPostponed());
    this.#postponed = { transitionId, commit, timer };
  }

  #processPostponed(): void {
    const postponed = this.#postponed;
    if (postponed === undefined) return;
    this.#postponed = undefined;
    postponed.timer.cancel();
    if (this.#tryMls(() => this.#group.processCommit(postponed.commit), postponed.transitionId)) this.#onEpoch();
  }

  #processCommit(transitionId: number, commit: Buffer): void {
    const wasInGroup = this.#group.cipher !== undefined;
    if (!this.#tryMls(() => this.#group.processCommit(commit), transitionId)) return;
    this.#onEpoch();
    if (!wasInGroup || transitionId === 0) this.#onJoined(transitionId);
    else this.#announceReady(transitionId, this.#version);
  }

  #onWelcome(transitionId: number, welcome: Buffer): void {
    if (!this.#isAwaitingGroup) {
      // A repetition, unless it answers a key package that has not led to a group.
      if (!this.#group.isAddedAgainBy(welcome)) return;
      // The pending transitions belong to the group we leave. Its keys are used until the transition is executed.
      this.#dropPending();
    }
    if (!this.#tryMls(() => this.#group.processWelcome(welcome), transitionId)) return;
    this.#onEpoch();
    this.#onJoined(transitionId);
  }

  #onEpoch(): void {
    this.#options.counters.daveTransitions++;
    this.#proposals.drop();
    // The library has given the same cipher new keys.
    if (this.#isSendingForGroup) this.#parent.onDaveRekeyed();
  }

  /** We are in a group. With an id, we confirm it and sending waits for the transition to be executed. */
  #onJoined(transitionId: number): void {
    this.#isAwaitingGroup = false;
    this.#isRecovering = false;
    this.#hasKeyPackageBeenRepeated = false;
    this.#lastTransitionId = transitionId;
    this.#groupTimer?.cancel();
    this.#groupTimer = undefined;
    this.#awaitedJoin?.timer.cancel();
    this.#awaitedJoin = undefined;
    if (transitionId === 0) {
      this.#startSending(this.#version);
      return;
    }
    this.#announceReady(transitionId, this.#version);
    const timer = this.#after(JOIN_EXECUTE_MS_MAX, () => this.#execute(transitionId));
    this.#awaitedJoin = { transitionId, timer };
  }

  #startSending(version: number): void {
    this.#frames.start(version, this.#group.cipher);
    this.#oldGroupTimer?.cancel();
    if (this.#isFirstGroup) this.#options.counters.daveReadyMs = this.#clock.now() - this.#startedMs;
    this.#isFirstGroup = false;
    this.#refresh();
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

  #onPrepareTransition(transitionId: number, version: number): void {
    if (transitionId !== 0) {
      this.#announceReady(transitionId, version);
      return;
    }
    this.#rememberTransition(0, version);
    this.#execute(0);
  }

  /** Unknown and repeated ids are harmless. */
  #execute(transitionId: number): void {
    if (this.#postponed?.transitionId === transitionId) this.#processPostponed();
    const version = this.#transitions.get(transitionId)?.version;
    if (version === undefined) return;
    this.#transitions.delete(transitionId);
    if (this.#awaitedJoin?.transitionId === transitionId) {
      this.#awaitedJoin.timer.cancel();
      this.#awaitedJoin = undefined;
      this.#startSending(version);
      return;
    }
    // The reset of a sole member ends in such a downgrade: the next user to join gets a group, not plain audio.
    const isSoleMemberReset = version === 0 && this.#isAwaitingGroup && this.#knownUserIds.size === 0;
    if (!isSoleMemberReset) this.#frames.setVersion(version);
    this.#refresh();
  }

  #onPrepareEpoch(epoch: number, version: number): void {
    if (version === 0) return;
    this.#version = version;
    if (epoch !== 1) return;
    this.#isRecovering = false;
    this.#frames.dropCipher();
    this.#beginGroup({ isOldCipherRetained: false });
    this.#refresh();
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
    if (this.#isRecovering && error === undefined) return;
    if (!this.#recoveries.begin()) {
      this.#parent.onDaveStuck();
      return;
    }
    this.#isRecovering = true;
    this.#options.counters.daveRecoveries++;
    this.#options.logger.warn("rejoining the DAVE group", { reason, transitionId, error });
    this.#parent.sendDaveJson(OPCODE.mlsInvalidCommitWelcome, { transition_id: transitionId });
    const isOldCipherRetained = this.#isSendingForGroup;
    if (isOldCipherRetained) {
      this.#oldGroupTimer?.cancel();
      this.#oldGroupTimer = this.#after(OLD_GROUP_MS_MAX, () => this.#dropOldGroup());
    }
    this.#beginGroup({ isOldCipherRetained });
    this.#refresh();
  }

  #dropOldGroup(): void {
    if (this.#isSendingForGroup) return;
    this.#frames.dropCipher();
    this.#refresh();
  }

  #repairSoon(): void {
    // Out of the tick: this is MLS work.
    this.#after(0, () => {
      if (this.#frames.isEncrypting) this.#recover(this.#lastTransitionId, "frames cannot be encrypted");
    });
  }

  /** Frames are encrypted for the group we follow, not for one before it. */
  get #isSendingForGroup(): boolean {
    return this.#frames.isWith(this.#group.cipher);
  }

  /** Catches exceptions of the MLS library: without it the call may still be plain. */
  #guard(work: () => void): void {
    const startedMs = this.#clock.now();
    try {
      work();
    } catch (error) {
      this.#warnings.warn("the MLS library failed", { error });
      this.#parent.onDaveStuck();
    } finally {
      this.#options.limits.spendMls(this.#clock.now() - startedMs);
    }
  }

  #after(delayMs: number, work: () => void): Timer {
    return this.#clock.after(delayMs, () => {
      if (!this.#isClosed) this.#guard(work);
    });
  }

  #armGroupTimer(): void {
    if (!this.#isAwaitingGroup || this.#knownUserIds.size === 0) return;
    this.#groupTimer ??= this.#after(GROUP_TIMEOUT_MS, () => this.#onGroupTimeout());
  }

  #onGroupTimeout(): void {
    this.#groupTimer = undefined;
    if (this.#inbox.isWaiting) {
      // It may have arrived and be waiting in the inbox.
      this.#armGroupTimer();
      return;
    }
    const keyPackage = this.#group.createKeyPackage();
    if (this.#knownUserIds.size === 0 || keyPackage === undefined) return;
    this.#options.logger.warn("no DAVE group was formed in time", { isLastTry: this.#hasKeyPackageBeenRepeated });
    if (this.#hasKeyPackageBeenRepeated) {
      this.#parent.onDaveStuck();
      return;
    }
    this.#hasKeyPackageBeenRepeated = true;
    this.#sendKeyPackage(keyPackage);
  }

  #dropPending(): void {
    this.#postponed?.timer.cancel();
    this.#postponed = undefined;
    this.#awaitedJoin?.timer.cancel();
    this.#awaitedJoin = undefined;
    this.#proposals.drop();
  }

  // What happens to a due frame.

  #refresh(): void {
    if (this.#isClosed) return;
    this.#gate.update({ isFlowing: this.#frames.isFlowing, hasCompany: this.#knownUserIds.size > 0 });
  }

  #onWaitOver(): void {
    const { isPlainFallbackAllowed, counters, logger } = this.#options;
    if (isPlainFallbackAllowed) counters.plainFallbacks++;
    logger.warn("no DAVE group in time", { outcome: isPlainFallbackAllowed ? "sending plain" : "sending nothing" });
  }
}
