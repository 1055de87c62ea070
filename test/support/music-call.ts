// A bot in its own voice channel, in a test environment: a scenario plays and listens with it. Many of them run in
// parallel in one environment.

import type { FakeDiscord, IssueVoiceOptions } from "../../lab/discord/fake-discord.ts";
import type { Listener, ReceivedFrame } from "../../lab/discord/listener.ts";
import type { VoiceChannel } from "../../lab/discord/voice-channel.ts";
import type { IssuedVoice, VoiceSession } from "../../lab/discord/voice-session.ts";
import type { Bot, NodeMessage, PlayerView } from "../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../lab/test-environment/test-environment.ts";
import { packetText } from "./song.ts";

/** The parts of a test environment that a call needs. */
type CallTestEnvironment = Pick<TestEnvironment, "connectBot" | "discord" | "media">;

const RECEIVE_TIMEOUT_MS = 20_000;
let guildCount = 0;

export class MusicCall {
  readonly guildId: string;
  readonly channelId: string;
  readonly bot: Bot;
  /** The credentials from Discord's main gateway. */
  readonly voice: IssuedVoice;
  readonly #env: CallTestEnvironment;

  private constructor(
    env: CallTestEnvironment,
    bot: Bot,
    ids: { readonly guildId: string; readonly channelId: string },
    voice: IssuedVoice,
  ) {
    this.#env = env;
    this.bot = bot;
    this.guildId = ids.guildId;
    this.channelId = ids.channelId;
    this.voice = voice;
  }

  /** With voice credentials that are not used yet, so that faults can be planted. */
  static async create(env: CallTestEnvironment, options: Partial<IssueVoiceOptions> = {}): Promise<MusicCall> {
    const guildId = String(++guildCount);
    const channelId = `${guildId}7`;
    const bot = await env.connectBot();
    const voice = env.discord.issueVoice({ guildId, userId: bot.userId, channelId, ...options });
    return new MusicCall(env, bot, { guildId, channelId }, voice);
  }

  /** Joins the channel; resolves when the player can play. */
  static async join(env: CallTestEnvironment, options: Partial<IssueVoiceOptions> = {}): Promise<MusicCall> {
    const call = await MusicCall.create(env, options);
    await call.connect();
    await call.channel.settled();
    return call;
  }

  get discord(): FakeDiscord {
    return this.#env.discord;
  }

  get channel(): VoiceChannel {
    return this.discord.channel(this.channelId);
  }

  /** The newest voice session. */
  get session(): VoiceSession {
    return this.discord.session(this.guildId);
  }

  get audio(): readonly ReceivedFrame[] {
    return this.channel.listener.receivedAudio;
  }

  connect(voice: Partial<IssuedVoice> = this.voice): Promise<PlayerView> {
    return this.bot.update(this.guildId, { voice });
  }

  play(file: string, options: object = {}): Promise<PlayerView> {
    return this.update({ track: { identifier: `${this.#env.media.url}/${file}` }, ...options });
  }

  update(body: object): Promise<PlayerView> {
    return this.bot.update(this.guildId, body);
  }

  player(): Promise<PlayerView> {
    return this.bot.player(this.guildId);
  }

  receivedBy(listener: Listener = this.channel.listener): string[] {
    return listener.receivedAudio.map(({ opus }) => packetText(opus));
  }

  /** Resolves when `frameCount` more audio frames have been received than now. */
  async receiveMore(frameCount: number, listener: Listener = this.channel.listener): Promise<void> {
    const enough = listener.receivedAudio.length + frameCount;
    await this.discord.until(() => listener.receivedAudio.length >= enough, `${enough} frames`, RECEIVE_TIMEOUT_MS);
  }

  ended(): Promise<NodeMessage> {
    return this.bot.untilEvent("TrackEndEvent", RECEIVE_TIMEOUT_MS);
  }

  /** Resolves when all audio has been received: the event of an end may be faster than the last packets. */
  untilSilent(): Promise<void> {
    return this.discord.untilSilent(this.channelId);
  }

  /** The types of all events so far, in order. */
  get eventTypes(): string[] {
    return this.bot.messages.filter(({ op }) => op === "event").map(({ type }) => String(type));
  }

  leave(): Promise<void> {
    return this.bot.destroy(this.guildId);
  }
}
