// One voice channel of the fake Discord: who is in it (bots under test and listeners), what reaches whom, and the DAVE
// call that runs in it. The methods that change something resolve when the change has been carried through.

import { DAVESession } from "@snazzah/davey";
import { parseTransitionId } from "./client-messages.ts";
import { DaveBot } from "./dave-bot.ts";
import { isDaveFrame } from "./dave-frame.ts";
import { DaveGroup } from "./dave-group.ts";
import { DaveListener } from "./dave-listener.ts";
import type { DaveMember } from "./dave-member.ts";
import type { DavePolicy } from "./dave-policy.ts";
import { type FrameOpener, Listener } from "./listener.ts";
import type { RtpFrame } from "./rtp-receiver.ts";
import type { ViolationKind } from "./violations.ts";
import type { SessionChannel, VoiceSession } from "./voice-session.ts";
import type { Waiters } from "./waiters.ts";

export interface VoiceChannelOptions {
  readonly guildId: string;
  readonly channelId: string;
  /** 0: a stage channel. */
  readonly daveVersion: number;
  readonly keepFrames: boolean;
  readonly waiters: Waiters;
  readonly report: (kind: ViolationKind, detail: string) => void;
}

interface PresentListener {
  readonly listener: Listener;
  readonly dave: DaveListener | undefined;
}

interface PresentBot {
  readonly session: VoiceSession;
  dave: DaveBot | undefined;
}

/** Hears everything as it comes: a listener in a stage channel. */
const PLAIN_OPENER: FrameOpener = { open: (_botUserId, payload) => ({ opus: payload, daveDecrypted: false }) };
/** A user that is proposed and revoked; never there. */
const PHANTOM_USER_ID = "899999999999999999";

export class VoiceChannel implements SessionChannel {
  readonly guildId: string;
  readonly channelId: string;
  readonly daveVersion: number;
  readonly #options: VoiceChannelOptions;
  readonly #group: DaveGroup;
  readonly #listeners = new Map<string, PresentListener>();
  /** The bots that are in the channel, by user id. */
  readonly #bots = new Map<string, PresentBot>();
  #nextListenerId = 800_000_000_000_000_100n;

  constructor(options: VoiceChannelOptions) {
    this.guildId = options.guildId;
    this.channelId = options.channelId;
    this.daveVersion = options.daveVersion;
    this.#options = options;
    this.#group = new DaveGroup(options);
  }

  get listeners(): readonly Listener[] {
    return [...this.#listeners.values()].map((present) => present.listener);
  }

  /** The first listener; throws when there is none. */
  get listener(): Listener {
    const [first] = this.#listeners.values();
    if (first === undefined) throw new Error("fake Discord: nobody listens in this channel");
    return first.listener;
  }

  /** The choices of the DAVE gateway: who wins, which ids, how late. Change them before what they apply to. */
  get policy(): DavePolicy {
    return this.#group.policy;
  }

  get epoch(): bigint {
    return this.#group.epoch;
  }

  /** DAVE transitions executed so far. */
  get transitionCount(): number {
    return this.#group.transitionCount;
  }

  /** True while the user is a usable member of the MLS group. */
  isInGroup(userId: string): boolean {
    return this.#group.isInGroup(userId);
  }

  /** The privacy code every member of the group sees, as this listener has it. */
  voicePrivacyCode(listener: Listener): string {
    return this.#listeners.get(listener.userId)?.dave?.voicePrivacyCode ?? "";
  }

  /** Resolves when the DAVE call has come to rest: nothing proposed, announced or waited for. */
  settled(): Promise<void> {
    return this.#group.settled();
  }

  /** Somebody comes to listen: op 11, Add, commit, Welcome, transition. */
  async addListener(userId = String(this.#nextListenerId++)): Promise<Listener> {
    const listener = this.enter(userId);
    await this.settled();
    return listener;
  }

  /** The same without waiting. */
  enter(userId: string): Listener {
    const dave = this.daveVersion === 0 ? undefined : this.#createDaveListener(userId);
    const opener = dave ?? PLAIN_OPENER;
    const listener = new Listener({ userId, keepFrames: this.#options.keepFrames, opener });
    this.#listeners.set(userId, { listener, dave });
    for (const { session } of this.#bots.values()) session.announceUsers([userId]);
    dave?.join();
    return listener;
  }

  /** Somebody leaves: op 13, then Remove and a transition, or the reset of whoever is left alone. */
  async removeListener(listener: Listener | string): Promise<void> {
    const userId = typeof listener === "string" ? listener : listener.userId;
    const present = this.#listeners.get(userId);
    if (present === undefined) throw new Error(`fake Discord: ${userId} does not listen in this channel`);
    this.#listeners.delete(userId);
    this.#announceLeft(userId);
    if (present.dave !== undefined) this.#group.leave(userId, present.dave);
    await this.settled();
  }

  /** To plain frames: op 21 with version 0, op 23, op 22. */
  async downgrade(id?: number): Promise<void> {
    this.#group.downgrade(id);
    await this.settled();
  }

  /** Back to encrypted frames: op 24, new key packages, a first group executed by op 22. */
  async upgrade(): Promise<void> {
    this.#group.upgrade();
    await this.settled();
  }

  /**
   * Another listener joins and the bot is sent that commit with a wrong byte. Resolves with the listener when the bot has
   * sent op 31 and a new key package and is back in the group.
   */
  async sendBrokenCommit(): Promise<Listener> {
    this.#group.breakNext("commit");
    const listener = await this.addListener();
    await this.#untilRecovered();
    return listener;
  }

  /** The next Welcome a bot is sent has a wrong byte: call before the bot joins, then wait for `recovered`. */
  breakNextWelcome(): void {
    this.#group.breakNext("welcome");
  }

  /** Resolves when every bot of the channel is in the group and the call has come to rest. */
  recovered(): Promise<void> {
    return this.#untilRecovered();
  }

  /** Op 27 proposes somebody and a second op 27 takes it back, before or after the members have committed. */
  async proposeAndRevoke(when: "atOnce" | "afterCommits" = "afterCommits"): Promise<void> {
    const phantom = new DAVESession(1, PHANTOM_USER_ID, this.channelId);
    for (const { session } of this.#bots.values()) session.announceUsers([PHANTOM_USER_ID]);
    await this.#group.proposeAndRevoke(phantom.getSerializedKeyPackage(), when);
    this.#announceLeft(PHANTOM_USER_ID);
    await this.settled();
  }

  /** Op 25 once more, to every bot. */
  repeatExternalSender(): void {
    for (const bot of this.#bots.values()) bot.dave?.sendExternalSender(this.#group.externalSenderPackage);
  }

  /** Op 22 with an id nobody prepared, to every bot. */
  executeUnknownTransition(id: number): void {
    for (const bot of this.#bots.values()) bot.dave?.executeTransition(id);
  }

  otherUserIds(userId: string): readonly string[] {
    return this.#userIds().filter((other) => other !== userId);
  }

  onIdentified(session: VoiceSession): void {
    for (const other of this.#bots.values()) other.session.announceUsers([session.userId]);
    this.#bots.set(session.userId, { session, dave: undefined });
  }

  beforeSessionDescription(session: VoiceSession): void {
    if (this.policy.externalSenderAt === "beforeSessionDescription") this.#sendExternalSender(session);
  }

  afterSessionDescription(session: VoiceSession): void {
    const bot = this.#bots.get(session.userId);
    if (session.daveVersion === 0 || bot?.session !== session) return;
    if (this.policy.externalSenderAt === "afterSessionDescription") this.#sendExternalSender(session);
    bot.dave = new DaveBot(session);
    this.#group.join(bot.dave);
  }

  onSpeaking(session: VoiceSession, speaking: number): void {
    for (const { session: other } of this.#bots.values()) {
      if (other !== session) {
        other.sendJson(undefined, 5, { user_id: session.userId, ssrc: session.receiver.ssrc, speaking });
      }
    }
  }

  onDaveMessage(session: VoiceSession, op: number, payload: unknown): boolean {
    const member = this.#memberOf(session);
    if (member === undefined) {
      this.#options.report("dave-version", `opcode ${op} in a session without DAVE, or after its end`);
      return true;
    }
    if (Buffer.isBuffer(payload)) {
      return op === 26 ? this.#group.onKeyPackage(member, payload) : this.#group.onCommit(member, payload);
    }
    const id = parseTransitionId(payload);
    if (typeof id === "string") {
      this.#options.report("gateway-message", `opcode ${op}: ${id}`);
      return false;
    }
    if (op === 23) this.#group.onReady(member, id);
    else this.#group.onInvalidCommit(member, id);
    return true;
  }

  onFrame(session: VoiceSession, frame: RtpFrame): void {
    if (frame.payload !== undefined && !frame.isSilence) this.#judgeEncryption(session, frame.payload);
    for (const { listener } of this.#listeners.values()) listener.hear(session.userId, frame);
  }

  onLeft(session: VoiceSession): void {
    const bot = this.#bots.get(session.userId);
    if (bot?.session !== session) return;
    this.#bots.delete(session.userId);
    this.#announceLeft(session.userId);
    if (bot.dave !== undefined) this.#group.leave(session.userId, bot.dave);
  }

  #userIds(): readonly string[] {
    return [...this.#listeners.keys(), ...this.#bots.keys()];
  }

  #memberOf(session: VoiceSession): DaveMember | undefined {
    const bot = this.#bots.get(session.userId);
    return bot?.session === session ? bot.dave : undefined;
  }

  #createDaveListener(userId: string): DaveListener {
    return new DaveListener({
      userId,
      channelId: this.channelId,
      group: this.#group,
      userIds: () => [...this.#userIds(), PHANTOM_USER_ID],
      report: this.#options.report,
    });
  }

  #sendExternalSender(session: VoiceSession): void {
    if (session.daveVersion > 0) new DaveBot(session).sendExternalSender(this.#group.externalSenderPackage);
  }

  /** Once per frame, however many listen: encrypted too early, or plain although the group is there. */
  #judgeEncryption(session: VoiceSession, payload: Buffer): void {
    const slot = this.#memberOf(session) === undefined ? undefined : this.#group.slotOf(session.userId);
    const now = performance.now();
    const isEncrypted = isDaveFrame(payload);
    if (isEncrypted && slot !== undefined && !slot.allowsEncrypted(now)) {
      this.#options.report("dave-frame-early", "an encrypted frame before op 22 brought the bot into the group");
    } else if (isEncrypted && session.daveVersion === 0) {
      this.#options.report("dave-version", "an encrypted frame in a session without DAVE");
    } else if (!isEncrypted && slot !== undefined && !slot.allowsPlain(now)) {
      this.#options.report("dave-frame-plain", "a plain frame from a member of the encrypted group");
    }
  }

  #untilRecovered(): Promise<void> {
    const isRecovered = () =>
      this.#group.isSettled && [...this.#bots.keys()].every((userId) => this.#group.isInGroup(userId, "recovered"));
    return this.#options.waiters.until(isRecovered, "recovered bot", 4 * this.policy.answerTimeoutMs);
  }

  #announceLeft(userId: string): void {
    for (const { session } of this.#bots.values()) session.sendJson("clientDisconnect", 13, { user_id: userId });
  }
}
