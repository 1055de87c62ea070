// End-to-end encryption of one voice session: passes every message of the gateway to our membership in the MLS group
// (dave-membership.ts) and decides whether frames are sent encrypted, plain or not at all (discord-voice.md sections
// 3.3 to 3.9). Between the voice session and the MLS library, on the audio thread. All MLS work happens in message
// handlers, when dave-inbox.ts finds time for it.

import type { DaveReport } from "../../../bridge/audio-report.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../log/log.ts";
import type { HandlerGuard } from "../../pacer/handler-guard.ts";
import type { DaveMessage } from "../gateway/gateway-messages.ts";
import type { VoiceCounters } from "../voice-counters.ts";
import type { VoiceLimits } from "../voice-limits.ts";
import { DaveFrames } from "./dave-frames.ts";
import { DaveGate, type DaveGateState } from "./dave-gate.ts";
import { DaveInbox, type DaveTask } from "./dave-inbox.ts";
import { DaveMembership } from "./dave-membership.ts";
import { DaveWarnings } from "./dave-warnings.ts";

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

export class DaveSession {
  readonly #options: DaveSessionOptions;
  readonly #clock: Clock;
  readonly #parent: DaveParent;
  readonly #knownUserIds = new Set<string>();
  readonly #frames: DaveFrames;
  readonly #membership: DaveMembership;
  readonly #gate: DaveGate;
  readonly #inbox: DaveInbox;
  readonly #warnings: DaveWarnings;
  #isClosed = false;

  constructor(options: DaveSessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#parent = options.parent;
    this.#warnings = new DaveWarnings(options);
    this.#frames = new DaveFrames({
      counters: options.counters,
      // Out of the tick: this is MLS work.
      onFailing: () => void this.#after(0, () => this.#membership.onFramesFailing()),
      onChanged: () => options.parent.onDaveRekeyed(),
    });
    this.#membership = new DaveMembership({
      ...options,
      knownUserIds: this.#knownUserIds,
      frames: this.#frames,
      warnings: this.#warnings,
      isMessageWaiting: () => this.#inbox.isWaiting,
      isWelcomeWaiting: () => this.#inbox.has("welcome"),
      after: (delayMs, work) => this.#after(delayMs, work),
      onChanged: () => this.#refresh(),
    });
    this.#gate = new DaveGate({
      clock: options.clock,
      isPlainFallbackAllowed: options.isPlainFallbackAllowed,
      isGroupUnderWay: () => this.#inbox.isWaiting,
      onChanged: () => options.parent.onDaveGateChanged(),
      onWaitOver: (isPlain) => this.#onWaitOver(isPlain),
    });
    this.#inbox = new DaveInbox({
      ...options,
      waitsForGroupSinceMs: () => this.#membership.waitsSinceMs,
      isLight: (task) => this.#isLight(task),
      onTask: (task) => this.#guard(() => this.#dispatch(task)),
      onFull: (error) => options.parent.onDaveFlooded(error),
    });
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
    const { version, epoch, isRecovering } = this.#membership;
    return {
      version,
      epoch: epoch === undefined ? undefined : Number(epoch),
      state: isRecovering ? "recovering" : this.#frames.describe(this.gate),
      readyMs: Math.round(this.#options.counters.daveReadyMs),
    };
  }

  /** Op 4: begins a group for `version`, or plain audio for 0. Messages that arrived earlier have been handled. */
  start(version: number): void {
    if (this.#isClosed) return;
    this.#membership.start(version);
    if (version > 0) this.#inbox.take({ kind: "begin" });
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

  /** After op 9. */
  onResumed(): void {
    this.#membership.onResumed();
  }

  close(): void {
    this.#isClosed = true;
    this.#inbox.close();
    this.#gate.close();
    this.#membership.close();
  }

  /** True for a task with next to no MLS work, which need not wait behind other sessions. */
  #isLight(task: DaveTask): boolean {
    switch (task.kind) {
      case "userLeft":
      case "prepareTransition":
        return true;
      case "usersPresent":
        return !this.#membership.areProposalsHeld;
      case "commit":
        // Confirmed at once, followed later.
        return this.#membership.canPostpone(task.transitionId);
      case "executeTransition":
        return !this.#membership.isPostponed(task.transitionId);
      default:
        return false;
    }
  }

  #dispatch(message: DaveTask): void {
    switch (message.kind) {
      case "begin":
        this.#membership.begin();
        break;
      case "usersPresent":
        this.#onUsersPresent(message.userIds);
        break;
      case "userLeft":
        this.#onUserLeft(message.userId);
        break;
      case "externalSender":
        this.#membership.setExternalSender(message.senderPackage);
        break;
      case "proposals":
        this.#membership.onProposals(message.operation, message.proposals);
        break;
      case "commit":
        this.#membership.onCommit(message.transitionId, message.commit);
        break;
      case "welcome":
        this.#membership.onWelcome(message.transitionId, message.welcome);
        break;
      case "prepareTransition":
        this.#membership.onPrepareTransition(message.transitionId, message.version);
        break;
      case "executeTransition":
        this.#membership.execute(message.transitionId);
        break;
      case "prepareEpoch":
        this.#membership.onPrepareEpoch(message.epoch, message.version);
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
    this.#membership.onUsersJoined();
    this.#refresh();
  }

  #onUserLeft(userId: string): void {
    if (this.#knownUserIds.delete(userId)) this.#refresh();
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

  // What happens to a due frame.

  #refresh(): void {
    if (this.#isClosed) return;
    const { isRejoining } = this.#membership;
    this.#gate.update({ isFlowing: this.#frames.isFlowing, hasCompany: this.hasCompany, isRejoining });
  }

  #onWaitOver(isPlain: boolean): void {
    const { counters, logger } = this.#options;
    if (isPlain) counters.plainFallbacks++;
    logger.warn("no DAVE group in time", { outcome: isPlain ? "sending plain" : "sending nothing" });
  }
}
