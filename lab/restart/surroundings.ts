// What stays while the node is ended and started again: a fake Discord, which notes when each guild's audio arrives, and
// a web site with songs. Both run in the lab's process. Lab only.

import { FakeDiscord } from "../discord/fake-discord.ts";
import type { ReceivedFrame } from "../discord/listener.ts";
import type { IssuedVoice } from "../discord/voice-session.ts";
import { countedSong, opusPacketNumber } from "../media-files/counted-song.ts";
import { controlSongs } from "../media-files/songs.ts";
import { MediaServer } from "../media-server/media-server.ts";
import { Bot, type BotOptions } from "../test-environment/bot.ts";
import { RESTART_PASSWORD } from "./node-runs.ts";

const RESTART_USER_ID = "100000000000000001";
/** Its Opus packets carry their numbers: where it is played can be heard. */
export const COUNTED_SONG = "counted.ogg";
export const COUNTED_SONG_SECONDS = 900;
/** As COUNTED_SONG, but over soon. */
export const SHORT_SONG = "short.ogg";
export const SHORT_SONG_SECONDS = 3;
/** An hour that has to be decoded. */
export const DECODED_SONG = "song.mp3";
export const PACKET_MS = 20;
/** Two packets that are further apart have a gap between them. */
const APART_MS_MAX = 2 * PACKET_MS;
const CONNECT_MS_MAX = 60_000;

/** The last audio packet of a guild, without those of silence. Times by `performance.now()`. */
export interface HeardPacket {
  readonly atMs: number;
  /** Its number, if it is an unchanged one of a counted song. */
  readonly number: number;
}

/** What was heard of one guild. */
export class Ear {
  last: HeardPacket | undefined;
  /** The first packet since `listenAgain`. */
  first: HeardPacket | undefined;
  /** Between two packets, the later of them since `listenAgain`. */
  longestGapMs = 0;
  /** The later of these two. */
  afterGap: HeardPacket | undefined;
  /** All such gaps together. */
  silentMs = 0;

  listenAgain(): void {
    this.first = undefined;
    this.longestGapMs = 0;
    this.silentMs = 0;
  }

  hear(packet: HeardPacket): void {
    const gapMs = packet.atMs - (this.last?.atMs ?? packet.atMs);
    if (gapMs > this.longestGapMs) {
      this.longestGapMs = gapMs;
      this.afterGap = packet;
    }
    if (gapMs > APART_MS_MAX) this.silentMs += gapMs - PACKET_MS;
    this.last = packet;
    this.first ??= packet;
  }
}

export class Surroundings {
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  /** Called with every frame that reaches the listener of a guild. */
  onFrame: ((guildId: string, frame: ReceivedFrame) => void) | undefined;
  readonly #ears = new Map<string, Ear>();

  readonly #daveVersion: number;

  private constructor(discord: FakeDiscord, media: MediaServer, daveVersion: number) {
    this.discord = discord;
    this.media = media;
    this.#daveVersion = daveVersion;
  }

  /** Without DAVE the fake Discord needs less of the machine. */
  static async start({ hasDave = true }: { readonly hasDave?: boolean } = {}): Promise<Surroundings> {
    const discord = await FakeDiscord.start({ keepFrames: false, udpSocketCount: 4 });
    const files = {
      ...(await controlSongs()),
      [COUNTED_SONG]: countedSong({ seconds: COUNTED_SONG_SECONDS }),
      [SHORT_SONG]: countedSong({ seconds: SHORT_SONG_SECONDS }),
    };
    return new Surroundings(discord, await MediaServer.start({ files }), hasDave ? 1 : 0);
  }

  urlOf(song: string): string {
    return `${this.media.url}/${song}`;
  }

  /** Credentials of a new voice session, and an ear in its channel. */
  issueVoice(guildId: string, userId = RESTART_USER_ID): IssuedVoice {
    const channelId = `${guildId}7`;
    const voice = this.discord.issueVoice({
      guildId,
      userId,
      channelId,
      daveVersion: this.#daveVersion,
    });
    const ear = this.earOf(guildId);
    this.discord.channel(channelId).listener.onFrame = (frame) => {
      const { arrivalMs, opus, isSilence } = frame;
      if (!isSilence) ear.hear({ atMs: arrivalMs, number: opusPacketNumber(opus) });
      this.onFrame?.(guildId, frame);
    };
    return voice;
  }

  earOf(guildId: string): Ear {
    const ear = this.#ears.get(guildId) ?? new Ear();
    this.#ears.set(guildId, ear);
    return ear;
  }

  async close(): Promise<void> {
    await this.discord.close();
    await this.media.close();
  }
}

/** The lab's client on a node that listens; with `sessionId` it asks to resume. Rejects when there is no `ready`. */
export function connectBot(node: { readonly url: string }, options: Partial<BotOptions> = {}): Promise<Bot> {
  const defaults = { password: RESTART_PASSWORD, userId: RESTART_USER_ID, connectTimeoutMs: CONNECT_MS_MAX };
  return Bot.connect({ ...defaults, ...options, url: node.url });
}

/** Whether its session was resumed. */
export function isResumed(bot: Bot): boolean {
  return bot.messages.some(({ op, resumed }) => op === "ready" && resumed === true);
}
