// One voice channel of the fake Discord: who is in it (bots under test and listeners), and what reaches whom.

import { Listener } from "./listener.ts";
import type { RtpFrame } from "./rtp-receiver.ts";
import type { SessionChannel, VoiceSession } from "./voice-session.ts";

export interface VoiceChannelOptions {
  readonly guildId: string;
  readonly channelId: string;
  readonly daveVersion: number;
  readonly keepFrames: boolean;
}

export class VoiceChannel implements SessionChannel {
  readonly guildId: string;
  readonly channelId: string;
  readonly daveVersion: number;
  readonly #keepFrames: boolean;
  readonly #listeners = new Map<string, Listener>();
  /** The bots that are in the channel, by user id. */
  readonly #sessions = new Map<string, VoiceSession>();

  constructor(options: VoiceChannelOptions) {
    this.guildId = options.guildId;
    this.channelId = options.channelId;
    this.daveVersion = options.daveVersion;
    this.#keepFrames = options.keepFrames;
  }

  get listeners(): readonly Listener[] {
    return [...this.#listeners.values()];
  }

  /** The first listener; throws when there is none. */
  get listener(): Listener {
    const [first] = this.#listeners.values();
    if (first === undefined) throw new Error("fake Discord: nobody listens in this channel");
    return first;
  }

  addListener(userId: string): Promise<Listener> {
    const opener = { open: (_botUserId: string, opus: Buffer) => ({ opus, daveDecrypted: false }) };
    const listener = new Listener({ userId, keepFrames: this.#keepFrames, opener });
    this.#listeners.set(userId, listener);
    for (const session of this.#sessions.values()) session.announceUsers([userId]);
    return Promise.resolve(listener);
  }

  removeListener(userId: string): Promise<void> {
    if (this.#listeners.delete(userId)) this.#announceLeft(userId);
    return Promise.resolve();
  }

  otherUserIds(userId: string): readonly string[] {
    return [...this.#listeners.keys(), ...this.#sessions.keys()].filter((other) => other !== userId);
  }

  onIdentified(session: VoiceSession): void {
    for (const other of this.#sessions.values()) other.announceUsers([session.userId]);
    this.#sessions.set(session.userId, session);
  }

  beforeSessionDescription(): void {}

  afterSessionDescription(): void {}

  onSpeaking(session: VoiceSession, speaking: number): void {
    for (const other of this.#sessions.values()) {
      if (other !== session) {
        other.sendJson(undefined, 5, { user_id: session.userId, ssrc: session.receiver.ssrc, speaking });
      }
    }
  }

  onDaveMessage(): boolean {
    return true;
  }

  onFrame(session: VoiceSession, frame: RtpFrame): void {
    for (const listener of this.#listeners.values()) listener.hear(session.userId, frame);
  }

  onLeft(session: VoiceSession): void {
    if (this.#sessions.get(session.userId) !== session) return;
    this.#sessions.delete(session.userId);
    this.#announceLeft(session.userId);
  }

  #announceLeft(userId: string): void {
    for (const session of this.#sessions.values()) session.sendJson("clientDisconnect", 13, { user_id: userId });
  }
}
