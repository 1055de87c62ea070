// End-to-end encryption of one voice session: drives the MLS group through every message of the gateway and says whether
// frames go out encrypted, plain or not at all (discord-voice.md sections 3.3 to 3.9). Between the voice session and the
// MLS library, on the audio thread. All MLS work happens in message handlers; a frame costs one call of the cipher.

import { generateP256Keypair, DAVESession as MlsSession } from "@snazzah/davey";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";
import { DaveGate, type DaveGateState } from "./dave-gate.ts";
import { EpochMemory } from "./epoch-memory.ts";
import { type DaveMessage, OPCODE } from "./gateway-messages.ts";
import { readFirstMlsHeader, readMlsHeader } from "./mls-header.ts";
import type { VoiceCounters } from "./voice-counters.ts";

/** No group after a key package: send another once, then give the session up. */
const GROUP_TIMEOUT_MS = 10_000;
/** The gateway executes a transition 2 s after announcing it at the latest; these allow for some delay. */
const JOIN_EXECUTE_MS_MAX = 2500;
const POSTPONED_COMMIT_MS_MAX = 5000;
/** Listeners keep the keys of the epoch before for 10 s. */
const OLD_GROUP_MS_MAX = 8000;
const HELD_PROPOSALS_MS_MAX = 5000;
const HELD_PROPOSALS_MAX = 8;
const TRANSITIONS_MAX = 64;
const RECOVERIES_MAX = 3;
const RECOVERY_WINDOW_MS = 60_000;
/** Half a second of frames that could not be encrypted. */
const ENCRYPT_FAILURES_IN_A_ROW_MAX = 25;
/** A Discord call has far fewer; a bound against a gone-mad server. */
const KNOWN_USERS_MAX = 10_000;
/** Stands in for the channel id until the first message of the group brings it. */
const UNKNOWN_CHANNEL_ID = "0";
const APPEND = 0;

/** What the DAVE session needs of the voice session. */
export interface DaveParent {
  sendDaveJson(opcode: number, data: unknown): void;
  sendDaveBinary(opcode: number, payload: Uint8Array): void;
  onDaveGateChanged(): void;
  /** No group comes to be by the protocol's own means; only a new voice session may help. */
  onDaveStuck(): void;
}

export interface DaveSessionOptions {
  readonly userId: string;
  /** Undefined: learnt from the first message of the group. */
  readonly channelId: string | undefined;
  readonly isPlainFallbackAllowed: boolean;
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

interface AwaitedJoin {
  readonly transitionId: number;
  readonly timer: Timer;
}

export class DaveSession {
  readonly #options: DaveSessionOptions;
  readonly #clock: Clock;
  readonly #parent: DaveParent;
  readonly #keyPair = generateP256Keypair();
  readonly #knownUserIds = new Set<string>();
  /** Announced transitions and the protocol version each brings. */
  readonly #transitions = new Map<number, number>();
  #channelId: string;
  #externalSender: Buffer | undefined;

  /** The version negotiated for the next group, and the one sound is sent with now; 0 is plain. */
  #version = 0;
  #activeVersion = 0;
  /** The session that follows the group. */
  #mls: MlsSession | undefined;
  /** The session whose keys frames are encrypted with; an older one than `#mls` while we recover. */
  #sender: MlsSession | undefined;
  /** Holds the private key of a key package that went out before the channel id was learnt. */
  #placeholder: MlsSession | undefined;
  /** A key package is out and no group came of it yet. */
  #isAwaitingGroup = false;
  #lastTransitionId = 0;
  #postponed: PostponedCommit | undefined;
  #awaitedJoin: AwaitedJoin | undefined;
  #heldProposals: Buffer[] = [];
  readonly #memory = new EpochMemory();
  #recoveriesMs: number[] = [];
  #isRecovering = false;
  #encryptFailuresInARow = 0;

  readonly #gate: DaveGate;
  #isEncrypting = false;
  #startedMs = 0;
  #isFirstGroup = true;
  #hasKeyPackageBeenRepeated = false;
  #groupTimer: Timer | undefined;
  #oldGroupTimer: Timer | undefined;
  #heldTimer: Timer | undefined;
  #isClosed = false;

  constructor(options: DaveSessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#parent = options.parent;
    this.#channelId = options.channelId ?? UNKNOWN_CHANNEL_ID;
    this.#gate = new DaveGate({
      clock: options.clock,
      isPlainFallbackAllowed: options.isPlainFallbackAllowed,
      onChanged: () => options.parent.onDaveGateChanged(),
      onWaitOver: () => this.#onWaitOver(),
    });
  }

  /** What the player should do with a due frame. */
  get gate(): DaveGateState {
    return this.#gate.state;
  }

  /** Op 4: begins a group for `version`, or plain sound for 0. Messages that came before have been heeded. */
  start(version: number): void {
    this.#version = version;
    this.#activeVersion = version;
    this.#startedMs = this.#clock.now();
    if (version > 0) this.#beginGroup();
    this.#refresh();
    this.#gate.start();
  }

  /** What to put into the packet for `opus`: a DAVE frame, the same bytes when plain, undefined when that failed. */
  encrypt(opus: Uint8Array): Uint8Array | undefined {
    if (!this.#isEncrypting || this.#sender === undefined) return opus;
    try {
      const frame = this.#sender.encryptOpus(asBuffer(opus));
      this.#encryptFailuresInARow = 0;
      return frame;
    } catch {
      // Dropped, never sent plain; counted, and mended after half a second of it.
      this.#options.counters.encryptFailures++;
      if (++this.#encryptFailuresInARow === ENCRYPT_FAILURES_IN_A_ROW_MAX) this.#mendSoon();
      return undefined;
    }
  }

  handle(message: DaveMessage): void {
    if (this.#isClosed) return;
    switch (message.kind) {
      case "usersPresent":
        this.#onUsersPresent(message.userIds);
        break;
      case "userLeft":
        this.#onUserLeft(message.userId);
        break;
      case "externalSender":
        this.#onExternalSender(message.senderPackage);
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

  close(): void {
    this.#isClosed = true;
    this.#gate.close();
    for (const timer of [this.#groupTimer, this.#oldGroupTimer, this.#heldTimer]) timer?.cancel();
    this.#dropPending();
    this.#mls = undefined;
    this.#sender = undefined;
    this.#placeholder = undefined;
  }

  // Who is there.

  #onUsersPresent(userIds: readonly string[]): void {
    const sizeBefore = this.#knownUserIds.size;
    for (const userId of userIds) {
      if (userId !== this.#options.userId && this.#knownUserIds.size < KNOWN_USERS_MAX) this.#knownUserIds.add(userId);
    }
    if (this.#knownUserIds.size === sizeBefore) return;
    this.#armGroupTimer();
    this.#retryHeldProposals();
    this.#refresh();
  }

  #onUserLeft(userId: string): void {
    if (this.#knownUserIds.delete(userId)) this.#refresh();
  }

  // The group.

  /** A fresh group of our own, which others join or which gives way to a Welcome; our key package goes out. */
  #beginGroup(): void {
    if (this.#mls === undefined) this.#mls = this.#createMls();
    else this.#mls.reinit(this.#version, this.#options.userId, this.#channelId, this.#keyPair);
    this.#applyExternalSender(this.#mls);
    this.#dropPending();
    this.#sendKeyPackage(this.#mls);
  }

  #createMls(): MlsSession {
    return new MlsSession(this.#version, this.#options.userId, this.#channelId, this.#keyPair);
  }

  #sendKeyPackage(mls: MlsSession): void {
    this.#isAwaitingGroup = true;
    this.#parent.sendDaveBinary(OPCODE.mlsKeyPackage, mls.getSerializedKeyPackage());
    this.#groupTimer?.cancel();
    this.#groupTimer = undefined;
    this.#armGroupTimer();
  }

  #onExternalSender(senderPackage: Buffer): void {
    if (this.#externalSender?.equals(senderPackage)) return;
    this.#externalSender = senderPackage;
    if (this.#mls !== undefined) this.#applyExternalSender(this.#mls);
  }

  #applyExternalSender(mls: MlsSession): void {
    if (this.#externalSender === undefined) return;
    try {
      mls.setExternalSender(this.#externalSender);
    } catch (error) {
      // Inside a group it cannot change; it is kept and applied when the next group begins.
      this.#options.logger.debug("did not take over the external sender", { error });
    }
  }

  #onProposals(operation: number, proposals: Buffer): void {
    this.#processPostponed();
    if (this.#mls === undefined) return;
    if (operation === APPEND && !this.#isTimelyAppend(proposals)) return;
    this.#processProposals(operation, proposals);
  }

  /** False for appended proposals that are repeated, of the past, or not (yet) of our group. */
  #isTimelyAppend(proposals: Buffer): boolean {
    const header = readFirstMlsHeader(proposals);
    if (header === undefined || this.#memory.hasSeen(proposals)) return false;
    this.#learnGroupId(header.groupId);
    const epoch = this.#mls?.epoch ?? undefined;
    if (epoch === undefined || header.epoch < epoch) return false;
    if (header.epoch === epoch) return true;
    if (this.#mls?.ready) this.#recover(this.#lastTransitionId, "proposals of a later epoch");
    return false;
  }

  #processProposals(operation: number, proposals: Buffer): void {
    if (this.#mls === undefined) return;
    try {
      const answer = this.#mls.processProposals(operation, proposals, [...this.#knownUserIds]);
      this.#memory.rememberProposals(proposals);
      if (answer.commit === undefined) return;
      this.#memory.rememberCommit(answer.commit);
      const parts = answer.welcome === undefined ? [answer.commit] : [answer.commit, answer.welcome];
      this.#parent.sendDaveBinary(OPCODE.mlsCommitWelcome, Buffer.concat(parts));
    } catch (error) {
      if (isUnexpectedUser(error) && operation === APPEND) this.#holdProposals(proposals);
      // Others may still commit them; if that commit is beyond us as well, recovery starts there.
      else this.#options.logger.warn("could not process DAVE proposals", { error });
    }
  }

  /** Proposals that add somebody the gateway has not told us of wait for that, a short while. */
  #holdProposals(proposals: Buffer): void {
    if (this.#heldProposals.length >= HELD_PROPOSALS_MAX) {
      this.#onHeldTooLong();
      return;
    }
    this.#heldProposals.push(proposals);
    this.#heldTimer ??= this.#clock.after(HELD_PROPOSALS_MS_MAX, () => this.#onHeldTooLong());
  }

  #retryHeldProposals(): void {
    const held = this.#heldProposals;
    this.#dropHeldProposals();
    for (const proposals of held) this.#processProposals(APPEND, proposals);
  }

  #onHeldTooLong(): void {
    this.#recover(this.#lastTransitionId, "proposals for an unannounced user");
  }

  #onCommit(transitionId: number, commit: Buffer): void {
    if (this.#postponed?.commit.equals(commit)) return;
    this.#processPostponed();
    if (this.#mls === undefined) return;
    const isInGroup = this.#mls.ready;
    const header = readMlsHeader(commit);
    if (header === undefined) {
      if (isInGroup) this.#recover(transitionId, "unreadable commit");
      return;
    }
    if (this.#channelId === UNKNOWN_CHANNEL_ID) this.#learnGroupId(header.groupId);
    // Of the past or repeated; or of a group we are not in yet, which our Welcome will bring.
    if (header.epoch < (this.#mls.epoch ?? 0n) || (!isInGroup && header.epoch > 0n)) return;
    if (isInGroup && !this.#isForOurGroup(header.groupId)) {
      this.#recover(transitionId, "joined under another group id");
      return;
    }
    const whose = this.#memory.whose(commit);
    // The library merges the commit it made last, whichever is announced: an earlier one would lead us astray.
    if (whose === "outdated") this.#recover(transitionId, "an outdated commit was announced");
    else if (isInGroup || whose === "latest") this.#followCommit(transitionId, commit);
  }

  /**
   * The library changes the sending key while it processes a commit; peers may not have it yet. So a transition with an
   * id is confirmed at once but processed when it is executed, when anything builds on it, or after 5 s.
   */
  #followCommit(transitionId: number, commit: Buffer): void {
    this.#lastTransitionId = transitionId;
    const isSending = this.#sender !== undefined && this.#sender === this.#mls;
    if (transitionId === 0 || !isSending) {
      this.#processCommit(transitionId, commit);
      return;
    }
    this.#announceReady(transitionId, this.#version);
    const timer = this.#clock.after(POSTPONED_COMMIT_MS_MAX, () => this.#processPostponed());
    this.#postponed = { transitionId, commit, timer };
  }

  #processPostponed(): void {
    const postponed = this.#postponed;
    if (postponed === undefined) return;
    this.#postponed = undefined;
    postponed.timer.cancel();
    if (this.#tryMls(() => this.#mls?.processCommit(postponed.commit), postponed.transitionId)) this.#onEpoch();
  }

  #processCommit(transitionId: number, commit: Buffer): void {
    const wasInGroup = this.#mls?.ready === true;
    if (!this.#tryMls(() => this.#mls?.processCommit(commit), transitionId)) return;
    this.#onEpoch();
    if (!wasInGroup || transitionId === 0) this.#onJoined(transitionId);
    else this.#announceReady(transitionId, this.#version);
  }

  #onWelcome(transitionId: number, welcome: Buffer): void {
    // A repetition: whoever has joined already has nothing to gain from it.
    if (this.#mls === undefined || !this.#isAwaitingGroup) return;
    if (!this.#tryMls(() => this.#joinBy(welcome), transitionId)) return;
    this.#onEpoch();
    this.#onJoined(transitionId);
  }

  #joinBy(welcome: Buffer): void {
    if (this.#placeholder === undefined) {
      this.#mls?.processWelcome(welcome);
      return;
    }
    // It answers the key package from before the channel id was known. That session can send but not follow commits: the
    // next one makes us join anew, unheard.
    this.#placeholder.processWelcome(welcome);
    this.#mls = this.#placeholder;
  }

  #onEpoch(): void {
    this.#options.counters.daveTransitions++;
    this.#memory.clear();
    this.#dropHeldProposals();
  }

  /** We are in a group. With an id, others are told and sending waits for the transition to be executed. */
  #onJoined(transitionId: number): void {
    this.#isAwaitingGroup = false;
    this.#isRecovering = false;
    this.#hasKeyPackageBeenRepeated = false;
    this.#placeholder = undefined;
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
    const timer = this.#clock.after(JOIN_EXECUTE_MS_MAX, () => this.#execute(transitionId));
    this.#awaitedJoin = { transitionId, timer };
  }

  #startSending(version: number): void {
    this.#activeVersion = version;
    this.#sender = this.#mls?.ready ? this.#mls : undefined;
    this.#oldGroupTimer?.cancel();
    if (this.#isFirstGroup) this.#options.counters.daveReadyMs = this.#clock.now() - this.#startedMs;
    this.#isFirstGroup = false;
    this.#refresh();
  }

  // Transitions.

  #announceReady(transitionId: number, version: number): void {
    this.#lastTransitionId = transitionId;
    this.#rememberTransition(transitionId, version);
    this.#parent.sendDaveJson(OPCODE.daveTransitionReady, { transition_id: transitionId });
  }

  #rememberTransition(transitionId: number, version: number): void {
    const oldest = this.#transitions.keys().next();
    if (this.#transitions.size >= TRANSITIONS_MAX && !oldest.done) this.#transitions.delete(oldest.value);
    this.#transitions.set(transitionId, version);
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
    const version = this.#transitions.get(transitionId);
    if (version === undefined) return;
    this.#transitions.delete(transitionId);
    if (this.#awaitedJoin?.transitionId === transitionId) {
      this.#awaitedJoin.timer.cancel();
      this.#awaitedJoin = undefined;
      this.#startSending(version);
      return;
    }
    // The reset of a sole member ends in such a downgrade: whoever comes next is greeted with a group, not plain sound.
    const isSoleMemberReset = version === 0 && this.#isAwaitingGroup && this.#knownUserIds.size === 0;
    if (!isSoleMemberReset) this.#activeVersion = version;
    this.#refresh();
  }

  #onPrepareEpoch(epoch: number, version: number): void {
    if (version === 0) return;
    this.#version = version;
    if (epoch !== 1) return;
    this.#isRecovering = false;
    this.#placeholder = undefined;
    this.#sender = undefined;
    this.#beginGroup();
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
   * Asks to be taken out of the group and back in. The keys we had go on sending meanwhile: listeners keep them for 10 s,
   * so nothing is lost unless recovery takes longer.
   */
  #recover(transitionId: number, reason: string, error?: unknown): void {
    if (this.#isRecovering && error === undefined) return;
    const nowMs = this.#clock.now();
    this.#recoveriesMs = this.#recoveriesMs.filter((atMs) => nowMs - atMs < RECOVERY_WINDOW_MS);
    if (this.#recoveriesMs.length >= RECOVERIES_MAX) {
      this.#parent.onDaveStuck();
      return;
    }
    this.#recoveriesMs.push(nowMs);
    this.#isRecovering = true;
    this.#options.counters.daveRecoveries++;
    this.#options.logger.warn("rejoining the DAVE group", { reason, transitionId, error });
    this.#parent.sendDaveJson(OPCODE.mlsInvalidCommitWelcome, { transition_id: transitionId });
    this.#placeholder = undefined;
    if (this.#sender !== undefined && this.#sender === this.#mls) {
      this.#mls = undefined;
      this.#oldGroupTimer?.cancel();
      this.#oldGroupTimer = this.#clock.after(OLD_GROUP_MS_MAX, () => this.#dropOldGroup());
    }
    this.#beginGroup();
    this.#refresh();
  }

  #dropOldGroup(): void {
    if (this.#sender === this.#mls) return;
    this.#sender = undefined;
    this.#refresh();
  }

  #mendSoon(): void {
    // Out of the tick: this is MLS work.
    this.#clock.after(0, () => {
      if (!this.#isClosed && this.#isEncrypting) this.#recover(this.#lastTransitionId, "frames cannot be encrypted");
    });
  }

  /** True when the MLS session was made with the id of this group, by which it judges commits. */
  #isForOurGroup(groupId: bigint): boolean {
    return this.#mls !== undefined && BigInt(this.#mls.channelId) === groupId;
  }

  /** Takes over the group id the gateway uses: it knows better than the client did. */
  #learnGroupId(groupId: bigint): void {
    if (this.#mls === undefined || this.#isForOurGroup(groupId)) return;
    this.#channelId = groupId.toString();
    // In a group already: its proposals can be answered, its next commit makes us join anew.
    if (this.#mls.ready) return;
    this.#placeholder ??= this.#mls;
    this.#mls = this.#createMls();
    this.#applyExternalSender(this.#mls);
  }

  #armGroupTimer(): void {
    if (!this.#isAwaitingGroup || this.#knownUserIds.size === 0) return;
    this.#groupTimer ??= this.#clock.after(GROUP_TIMEOUT_MS, () => this.#onGroupTimeout());
  }

  #onGroupTimeout(): void {
    this.#groupTimer = undefined;
    if (this.#knownUserIds.size === 0 || this.#mls === undefined) return;
    this.#options.logger.warn("no DAVE group came to be", { isLastTry: this.#hasKeyPackageBeenRepeated });
    if (this.#hasKeyPackageBeenRepeated) {
      this.#parent.onDaveStuck();
      return;
    }
    this.#hasKeyPackageBeenRepeated = true;
    this.#sendKeyPackage(this.#mls);
  }

  #dropPending(): void {
    this.#postponed?.timer.cancel();
    this.#postponed = undefined;
    this.#awaitedJoin?.timer.cancel();
    this.#awaitedJoin = undefined;
    this.#memory.clear();
    this.#dropHeldProposals();
  }

  #dropHeldProposals(): void {
    this.#heldProposals = [];
    this.#heldTimer?.cancel();
    this.#heldTimer = undefined;
  }

  // What becomes of a due frame.

  #refresh(): void {
    if (this.#isClosed) return;
    this.#isEncrypting = this.#activeVersion > 0 && this.#sender !== undefined;
    const isFlowing = this.#activeVersion === 0 || this.#isEncrypting;
    this.#gate.update({ isFlowing, hasCompany: this.#knownUserIds.size > 0 });
  }

  #onWaitOver(): void {
    const { isPlainFallbackAllowed, counters, logger } = this.#options;
    if (isPlainFallbackAllowed) counters.plainFallbacks++;
    logger.warn("no DAVE group in time", { outcome: isPlainFallbackAllowed ? "sending plain" : "sending nothing" });
  }
}

function isUnexpectedUser(error: unknown): boolean {
  return error instanceof Error && error.message.includes("UnexpectedUser");
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
