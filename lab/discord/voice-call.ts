// The call of a voice channel on one voice server: the bots connected to it and its DAVE group. A voice server change
// starts another call in the same channel; the old one lasts as long as a bot is connected to it.

import type { Clock } from "../../src/lib/clock.ts";
import { parseTransitionId } from "./client-messages.ts";
import { DaveBot } from "./dave-bot.ts";
import { isDaveFrame } from "./dave-frame.ts";
import { DaveGroup } from "./dave-group.ts";
import { DaveListener } from "./dave-listener.ts";
import type { FrameOpener, Listener } from "./listener.ts";
import type { RtpFrame } from "./rtp-receiver.ts";
import type { ViolationKind } from "./violations.ts";
import type { SessionCall, VoiceSession } from "./voice-session.ts";
import type { Waiters } from "./waiters.ts";

export interface VoiceCallOptions {
  readonly channelId: string;
  /** 0: a stage channel. */
  readonly daveVersion: number;
  readonly clock: Clock;
  readonly waiters: Waiters;
  readonly report: (kind: ViolationKind, detail: string) => void;
}

interface PresentBot {
  readonly session: VoiceSession;
  /** Set from the Session Description on, unless the session is without DAVE. */
  dave: DaveBot | undefined;
}

interface PresentListener {
  readonly listener: Listener;
  readonly dave: DaveListener | undefined;
}

/** Receives everything unencrypted: a listener in a stage channel. */
const PLAIN_OPENER: FrameOpener = { open: (_botUserId, payload) => ({ opus: payload, daveDecrypted: false }) };
/** Proposed and revoked, never a member. */
const PHANTOM_USER_ID = "899999999999999999";

export class VoiceCall implements SessionCall {
  readonly channelId: string;
  readonly daveVersion: number;
  readonly group: DaveGroup;
  readonly #options: VoiceCallOptions;
  readonly #listeners = new Map<string, PresentListener>();
  readonly #bots = new Map<string, PresentBot>();

  constructor(options: VoiceCallOptions) {
    this.channelId = options.channelId;
    this.daveVersion = options.daveVersion;
    this.group = new DaveGroup(options);
    this.#options = options;
  }

  /** The sessions in the call. */
  get sessions(): readonly VoiceSession[] {
    return [...this.#bots.values()].map((bot) => bot.session);
  }

  addListener(listener: Listener): void {
    const dave = this.daveVersion === 0 ? undefined : this.#createDaveListener(listener.userId);
    this.#listeners.set(listener.userId, { listener, dave });
    this.#announceJoined(listener.userId);
    dave?.join();
  }

  removeListener(userId: string): void {
    const present = this.#listeners.get(userId);
    if (present === undefined) return;
    this.#listeners.delete(userId);
    this.#announceLeft(userId);
    if (present.dave !== undefined) this.group.leave(userId, present.dave);
  }

  /** The group's shared code as this listener computes it; empty without a group. */
  voicePrivacyCode(listener: Listener): string {
    return this.#listeners.get(listener.userId)?.dave?.voicePrivacyCode ?? "";
  }

  /** True when every bot is in the group and has recovered from what was broken. */
  get hasRecovered(): boolean {
    return this.group.isSettled && [...this.#bots.keys()].every((userId) => this.group.isInGroup(userId, "recovered"));
  }

  /** Op 27 proposes a member and a second op 27 revokes the proposal. */
  async proposeAndRevoke(when: "atOnce" | "afterCommits"): Promise<void> {
    this.#announceJoined(PHANTOM_USER_ID);
    await this.group.proposeAndRevoke(this.#createDaveListener(PHANTOM_USER_ID), when);
    this.#announceLeft(PHANTOM_USER_ID);
  }

  repeatExternalSender(): void {
    for (const bot of this.#bots.values()) bot.dave?.sendExternalSender(this.group.externalSenderPackage);
  }

  executeUnknownTransition(id: number): void {
    for (const bot of this.#bots.values()) bot.dave?.executeTransition(id);
  }

  get daveVersionNow(): number {
    return Math.min(this.daveVersion, this.group.version);
  }

  otherUserIds(userId: string): readonly string[] {
    return [...this.#listeners.keys(), ...this.#bots.keys()].filter((other) => other !== userId);
  }

  onIdentified(session: VoiceSession): void {
    this.#announceJoined(session.userId);
    this.#bots.set(session.userId, { session, dave: undefined });
  }

  beforeSessionDescription(session: VoiceSession): void {
    if (this.group.policy.externalSenderAt === "beforeSessionDescription") this.#sendExternalSender(session);
  }

  afterSessionDescription(session: VoiceSession): void {
    const bot = this.#bots.get(session.userId);
    if (session.daveVersion === 0 || bot?.session !== session) return;
    if (this.group.policy.externalSenderAt === "afterSessionDescription") this.#sendExternalSender(session);
    bot.dave = new DaveBot(session);
    this.group.join(bot.dave);
  }

  onSpeaking(session: VoiceSession, speaking: number): void {
    const { ssrc } = session.receiver;
    for (const { session: other } of this.#bots.values()) {
      if (other !== session) other.sendJson(undefined, 5, { user_id: session.userId, ssrc, speaking });
    }
  }

  onDaveMessage(session: VoiceSession, op: number, payload: unknown): boolean {
    const member = this.#memberOf(session);
    if (member === undefined) {
      this.#options.report("dave-version", `opcode ${op} in a session without DAVE, or after its end`);
      return true;
    }
    if (Buffer.isBuffer(payload)) {
      return op === 26 ? this.group.onKeyPackage(member, payload) : this.group.onCommit(member, payload);
    }
    const id = parseTransitionId(payload);
    if (typeof id === "string") {
      this.#options.report("gateway-message", `opcode ${op}: ${id}`);
      return false;
    }
    if (op === 23) this.group.onReady(member, id);
    else this.group.onInvalidCommit(member, id);
    return true;
  }

  onFrame(session: VoiceSession, frame: RtpFrame): void {
    if (frame.payload !== undefined && !frame.isSilence) this.#judgeEncryption(session, frame.payload);
    for (const { listener, dave } of this.#listeners.values()) {
      listener.receive(session.userId, frame, dave ?? PLAIN_OPENER);
    }
  }

  onLeft(session: VoiceSession): void {
    const bot = this.#bots.get(session.userId);
    if (bot?.session !== session) return;
    this.#bots.delete(session.userId);
    this.#announceLeft(session.userId);
    if (bot.dave !== undefined) this.group.leave(session.userId, bot.dave);
  }

  #announceJoined(userId: string): void {
    for (const { session } of this.#bots.values()) session.announceUsers([userId]);
  }

  #announceLeft(userId: string): void {
    for (const { session } of this.#bots.values()) session.sendJson("clientDisconnect", 13, { user_id: userId });
  }

  #memberOf(session: VoiceSession): DaveBot | undefined {
    const bot = this.#bots.get(session.userId);
    return bot?.session === session ? bot.dave : undefined;
  }

  #createDaveListener(userId: string): DaveListener {
    return new DaveListener({
      userId,
      channelId: this.channelId,
      group: this.group,
      clock: this.#options.clock,
      report: this.#options.report,
    });
  }

  #sendExternalSender(session: VoiceSession): void {
    if (session.daveVersion > 0) new DaveBot(session).sendExternalSender(this.group.externalSenderPackage);
  }

  /**
   * Reports once per frame, whatever the number of listeners: encrypted too early, or plain although the group exists,
   * which a bot may or may not have been able to know.
   */
  #judgeEncryption(session: VoiceSession, payload: Buffer): void {
    const slot = this.#memberOf(session) === undefined ? undefined : this.group.slotOf(session.userId);
    const now = this.#options.clock.now();
    const isEncrypted = isDaveFrame(payload);
    if (isEncrypted) slot?.onEncryptedFrame(now);
    if (isEncrypted && slot !== undefined && !slot.allowsEncrypted(now)) {
      this.#options.report("dave-frame-early", "an encrypted frame before op 22 brought the bot into the group");
    } else if (isEncrypted && session.daveVersion === 0) {
      this.#options.report("dave-version", "an encrypted frame in a session without DAVE");
    } else if (!isEncrypted && slot?.hasDowngraded(now) === true) {
      this.#options.report("dave-frame-downgraded", "a plain frame of a bot that had encrypted for its group");
    } else if (!isEncrypted && slot !== undefined && !slot.allowsPlain(now)) {
      this.#options.report("dave-frame-plain", "a plain frame from a member of the encrypted group");
    }
  }
}
