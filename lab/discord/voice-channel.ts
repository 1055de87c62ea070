// One voice channel of the fake Discord: its listeners, and the call that runs in it. Tests work with this object; the
// methods that change something resolve when the change has been carried through.

import type { DavePolicy } from "./dave-policy.ts";
import { Listener } from "./listener.ts";
import { VoiceCall, type VoiceCallOptions } from "./voice-call.ts";

interface VoiceChannelOptions extends VoiceCallOptions {
  readonly guildId: string;
  readonly keepFrames: boolean;
}

export class VoiceChannel {
  readonly guildId: string;
  readonly channelId: string;
  /** 0: a stage channel. */
  readonly daveVersion: number;
  readonly #options: VoiceChannelOptions;
  readonly #listeners = new Map<string, Listener>();
  #call: VoiceCall;
  /** Calls on voice servers that the channel has left; bots may still be connected to them. */
  readonly #formerCalls: VoiceCall[] = [];
  #nextListenerId = 800_000_000_000_000_100n;

  constructor(options: VoiceChannelOptions) {
    this.guildId = options.guildId;
    this.channelId = options.channelId;
    this.daveVersion = options.daveVersion;
    this.#options = options;
    this.#call = new VoiceCall(options);
  }

  get listeners(): readonly Listener[] {
    return [...this.#listeners.values()];
  }

  /** The first listener; throws when there is none. */
  get listener(): Listener {
    const [first] = this.#listeners.values();
    if (first === undefined) throw new Error("fake Discord: this channel has no listener");
    return first;
  }

  /** The call new sessions belong to. */
  get call(): VoiceCall {
    return this.#call;
  }

  /** The choices of the DAVE gateway: winning commit, ids, delays. Change them before the step that they apply to. */
  get policy(): DavePolicy {
    return this.#call.group.policy;
  }

  /** Epoch of the MLS group; 0 without one. */
  get epoch(): bigint {
    return this.#call.group.epoch;
  }

  /** DAVE transitions executed so far in the current call. */
  get transitionCount(): number {
    return this.#call.group.transitionCount;
  }

  /** True while the user is a usable member of the MLS group. */
  isInGroup(userId: string): boolean {
    return this.#call.group.isInGroup(userId);
  }

  /** The privacy code every member of the group sees, as this listener has it; empty without a group. */
  voicePrivacyCode(listener: Listener): string {
    return this.#call.voicePrivacyCode(listener);
  }

  /** Resolves when the DAVE call has come to rest: nothing proposed, announced or waited for. */
  settled(): Promise<void> {
    return this.#call.group.settled();
  }

  /** As `settled`, and resolves only when every bot is in the group and has answered what was broken. */
  recovered(): Promise<void> {
    const call = this.#call;
    return this.#options.waiters.until(() => call.hasRecovered, "recovered bot", 4 * this.policy.answerTimeoutMs);
  }

  /** A listener joins: op 11, Add, commit, Welcome, transition. */
  async addListener(userId = String(this.#nextListenerId++)): Promise<Listener> {
    const listener = this.enter(userId);
    await this.settled();
    return listener;
  }

  /** Adds a listener without waiting for the transition. */
  enter(userId: string): Listener {
    const listener = new Listener({ userId, keepFrames: this.#options.keepFrames });
    this.#listeners.set(userId, listener);
    this.#call.addListener(listener);
    return listener;
  }

  /** A listener leaves: op 13, then Remove and a transition, or the reset of a bot that remains alone. */
  async removeListener(listener: Listener | string): Promise<void> {
    const userId = typeof listener === "string" ? listener : listener.userId;
    if (!this.#listeners.delete(userId)) {
      throw new Error(`fake Discord: ${userId} does not listen in this channel`);
    }
    for (const call of [this.#call, ...this.#formerCalls]) call.removeListener(userId);
    await this.settled();
  }

  /** The channel moves to another voice server: a new call, in which all listeners are from the start. */
  changeServer(): void {
    const former = this.#call;
    this.#formerCalls.push(former);
    this.#call = new VoiceCall(this.#options);
    Object.assign(this.#call.group.policy, former.group.policy);
    for (const listener of this.#listeners.values()) this.#call.addListener(listener);
  }

  /** To plain frames: op 21 with version 0, op 23, op 22. */
  async downgrade(id?: number): Promise<void> {
    this.#call.group.downgrade(id);
    await this.settled();
  }

  /** Back to encrypted frames: op 24, new key packages, a first group executed by op 22. */
  async upgrade(): Promise<void> {
    this.#call.group.upgrade();
    await this.settled();
  }

  /**
   * Another listener joins and the bot is sent that commit with a wrong byte. Resolves with the listener when the bot
   * has sent op 31 and a new key package and is back in the group.
   */
  async sendBrokenCommit(): Promise<Listener> {
    this.#call.group.breakNext("commit");
    const listener = await this.addListener();
    await this.recovered();
    return listener;
  }

  /** The next Welcome a bot is sent has a wrong byte: call before the bot joins, then wait for `recovered()`. */
  breakNextWelcome(): void {
    this.#call.group.breakNext("welcome");
  }

  /** Op 27 proposes a member and a second op 27 revokes it, before or after the members have committed. */
  async proposeAndRevoke(when: "atOnce" | "afterCommits" = "afterCommits"): Promise<void> {
    await this.#call.proposeAndRevoke(when);
    await this.settled();
  }

  /** Op 25 once more, to every bot. */
  repeatExternalSender(): void {
    this.#call.repeatExternalSender();
  }

  /** Op 22 with an id that was never prepared, to every bot. */
  executeUnknownTransition(id: number): void {
    this.#call.executeUnknownTransition(id);
  }
}
