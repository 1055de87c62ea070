// The environment of a reader of the tutorial: Discord, a radio station to play, the tarball to install.

import { join } from "node:path";
import { DiscordForBots } from "../../../lab/bot-gateway/discord-for-bots.ts";
import { FakeDiscord } from "../../../lab/discord/fake-discord.ts";
import { MediaServer } from "../../../lab/media-server/media-server.ts";
import { FIRST_TONE_HZ, makeSong, SONG_AMPLITUDE, toneAmplitude } from "../../integration/clients/two-tone-song.ts";
import { Certificates } from "../../support/certificates.ts";
import { Reader } from "./reader.ts";

/** Belongs to no real bot. */
const TOKEN = "the-token-of-the-bot-in-the-tutorial";
/** The placeholder on the pages for the reader's own token. */
const TOKEN_ON_PAGE = "PASTE-YOUR-TOKEN-HERE";
const LINK_ON_PAGE = "https://ice1.somafm.com/groovesalad-128-mp3";
const HOSTS = ["discord.com", "gateway.discord.gg"];
/** Half a second. */
const LISTENED_FRAMES = 25;
const ROUNDS_MAX = 40;
const AMPLITUDE_TOLERANCE = 0.02;

export interface Shop {
  readonly folder: string;
  /** Path of the node's package. */
  readonly tarball: string;
  /** The registry of this machine. */
  readonly registryUrl: string;
}

export class TutorialWorld {
  readonly discord: DiscordForBots;
  readonly reader: Reader;
  readonly #voice: FakeDiscord;
  readonly #media: MediaServer;
  readonly #certificates: Certificates;

  private constructor(parts: {
    readonly voice: FakeDiscord;
    readonly discord: DiscordForBots;
    readonly media: MediaServer;
    readonly reader: Reader;
    readonly certificates: Certificates;
  }) {
    this.#voice = parts.voice;
    this.discord = parts.discord;
    this.#media = parts.media;
    this.reader = parts.reader;
    this.#certificates = parts.certificates;
  }

  /** Creates a separate server and bot; npm stores its cache beside `tarball`. */
  static async open({ folder, tarball, registryUrl }: Shop): Promise<TutorialWorld> {
    const certificates = new Certificates();
    certificates.make("discord", { hosts: HOSTS });
    const voice = await FakeDiscord.start();
    const media = await MediaServer.start({ files: { "song.wav": makeSong() } });
    const certificate = { key: certificates.read("discord.key"), cert: certificates.read("discord.crt") };
    const discord = await DiscordForBots.start({ voice, certificate, token: TOKEN });
    const reader = new Reader({
      discord,
      tarball,
      registryUrl,
      npmCache: join(folder, "npm-cache"),
      trustedFile: certificates.trust("discord"),
      replacements: { [TOKEN_ON_PAGE]: TOKEN, [LINK_ON_PAGE]: `${media.url}/song.wav` },
    });
    return new TutorialWorld({ voice, discord, media, reader, certificates });
  }

  /** Resolves when the member in the voice channel has received half a second of the song as it should sound. */
  async receiveSong(): Promise<void> {
    const { listener } = this.discord;
    const received: number[] = [];
    // A busy machine may interrupt the audio.
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const enough = listener.receivedAudio.length + LISTENED_FRAMES;
      await this.#voice.until(() => listener.receivedAudio.length >= enough, "sound");
      const packets = listener.receivedAudio.slice(-LISTENED_FRAMES).map(({ opus }) => opus);
      const amplitude = await toneAmplitude(packets, FIRST_TONE_HZ);
      if (Math.abs(amplitude - SONG_AMPLITUDE) < AMPLITUDE_TOLERANCE) return;
      received.push(amplitude);
    }
    throw new Error(`expected ${FIRST_TONE_HZ} Hz at ${SONG_AMPLITUDE}, received ${received}`);
  }

  /** Resolves when the bot has left the voice channel. */
  seeBotLeave(): Promise<void> {
    return this.discord.until(() => !this.discord.isBotInVoice, "bot that leaves");
  }

  /** Throws with what a real Discord would have refused, of the bot or of the node. */
  async assertClean(): Promise<void> {
    await this.#voice.arrived();
    this.discord.assertClean();
    this.#voice.assertClean();
  }

  async close(): Promise<void> {
    await this.reader.close();
    await this.discord.close();
    await this.#voice.close();
    await this.#media.close();
    this.#certificates.remove();
  }
}
