// Plays songs through the whole node and returns the audio that a listener received. Frames that the node skipped on a
// starved machine are counted separately: the audio continues after such a gap where it stopped, so it can be judged
// all the same.

import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ReceivedFrame } from "../../lab/discord/listener.ts";
import { decodeReceived, type StereoAudio } from "../../lab/listen/received.ts";
import type { Bot, LoadView, NodeMessage } from "../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../lab/test-environment/test-environment.ts";

const FRAME_TICKS = 960;
const SONG_TIMEOUT_MS = 60_000;
/** A track has started when so many packets have come. */
const START_PACKETS = 3;
/** Two frames late: nothing in this process keeps it busy for so long. */
const STARVED_NS = 40e6;
const END_TYPES: readonly string[] = ["TrackEndEvent", "TrackExceptionEvent"];

interface Recording {
  /** The audio packets in order, without silence. */
  readonly packets: readonly Uint8Array[];
  readonly audio: StereoAudio;
  /** Frames that should have been there between the first and the last one, and were not, or were silence. */
  readonly missingFrames: number;
}

export interface WholeRecording extends Recording {
  /** The machine starved this process: missing frames are not the node's fault. */
  readonly isStarved: boolean;
}

interface PlayOptions {
  readonly daveVersion?: 0 | 1;
  /** Further fields of the PATCH. */
  readonly player?: object;
}

export class SongListener {
  readonly #env: TestEnvironment;
  readonly #bot: Bot;
  /** Ends of tracks that were waited for. */
  readonly #seen = new WeakSet<NodeMessage>();
  #guildCount = 0;
  #lastStart: Promise<void> = Promise.resolve();

  private constructor(env: TestEnvironment, bot: Bot) {
    this.#env = env;
    this.#bot = bot;
  }

  static async join(env: TestEnvironment): Promise<SongListener> {
    return new SongListener(env, await env.connectBot());
  }

  get bot(): Bot {
    return this.#bot;
  }

  /** The answer of loadtracks to a URL. */
  async load(url: string): Promise<LoadView> {
    return (await this.#bot.load(url)).body;
  }

  /** A guild whose player is in a voice channel. */
  async openGuild(daveVersion: 0 | 1 = 0): Promise<string> {
    const guildId = String(5_000 + this.#guildCount++);
    await this.#env.joinVoice(this.#bot, { guildId, daveVersion });
    return guildId;
  }

  /** Plays a track to its end. Throws unless it ends as it should. */
  async record(url: string, { daveVersion = 0, player = {} }: PlayOptions = {}): Promise<WholeRecording> {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const guildId = await this.openGuild(daveVersion);
    await this.start(guildId, url, player);
    await this.untilEnd(guildId);
    delay.disable();
    const recording = await this.take(guildId);
    await this.leave(guildId);
    return { ...recording, isStarved: delay.max > STARVED_NS };
  }

  /** Starts a track and waits for its first audio; one at a time, since many that start at once starve each other. */
  start(guildId: string, url: string, player: object = {}): Promise<void> {
    const receivedBefore = this.audioPacketCount(guildId);
    const started = this.#lastStart.then(async () => {
      const encoded = await this.#bot.loadEncoded(url);
      await this.#bot.update(guildId, { track: { encoded }, ...player });
      await this.untilReceived(guildId, receivedBefore + START_PACKETS);
    });
    // The caller that waits for this start gets its error; the next one starts all the same.
    this.#lastStart = started.catch(() => undefined);
    return started;
  }

  /** Waits for the guild's track, or the next one after it, to finish and for the silence behind it. */
  async untilEnd(guildId: string): Promise<void> {
    const isOver = (message: NodeMessage) =>
      message.guildId === guildId &&
      END_TYPES.includes(message.type ?? "") &&
      message.reason !== "replaced" &&
      !this.#seen.has(message);
    const end = await this.#bot.until(isOver, `the end of guild ${guildId}'s track`, SONG_TIMEOUT_MS);
    this.#seen.add(end);
    if (end.reason !== "finished") throw new Error(`guild ${guildId}: ${JSON.stringify(end)}`);
    // The event may be faster than the last packets.
    await this.untilSilence(guildId);
  }

  /** Waits for the silence frames of a stop. */
  untilSilence(guildId: string): Promise<void> {
    return this.#env.discord.untilSilent(`${guildId}7`);
  }

  /** Destroys the player, and waits until it has left: the answer may come before its end of the call. */
  async leave(guildId: string): Promise<void> {
    await this.#bot.destroy(guildId);
    const { call } = this.#env.discord.channel(`${guildId}7`);
    await this.#env.discord.until(() => call.sessions.length === 0, `the end of guild ${guildId}'s call`);
  }

  framesOf(guildId: string): readonly ReceivedFrame[] {
    return this.#env.discord.channel(`${guildId}7`).listener.received;
  }

  /** Number of audio packets received so far. */
  audioPacketCount(guildId: string): number {
    return this.#env.discord.channel(`${guildId}7`).listener.receivedAudio.length;
  }

  /** Waits until `count` audio packets have been received. */
  async untilReceived(guildId: string, count: number): Promise<void> {
    const { listener } = this.#env.discord.channel(`${guildId}7`);
    // Counting the audio again for every packet of every guild would be the larger work: only when there may be enough.
    const isReceived = () => listener.receivedCount >= count && listener.receivedAudio.length >= count;
    await this.#env.discord.until(isReceived, `${count} audio packets in guild ${guildId}`, SONG_TIMEOUT_MS);
  }

  /** The audio received so far, without the first `from` packets. */
  async take(guildId: string, from = 0): Promise<Recording> {
    const frames = this.#env.discord.channel(`${guildId}7`).listener.receivedAudio.slice(from);
    const [first, last] = [frames[0], frames.at(-1)];
    if (first === undefined || last === undefined) throw new Error(`guild ${guildId}: no audio was received`);
    const dueFrames = ((last.timestamp - first.timestamp) >>> 0) / FRAME_TICKS + 1;
    const packets = frames.map(({ opus }) => opus);
    return { packets, audio: await decodeReceived(packets), missingFrames: dueFrames - frames.length };
  }
}
