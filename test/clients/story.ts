// The story every real client goes through, with its node on a stage: connect, load, join, play, pause, seek, volume,
// filters, a connection that drops, the end of a track, destroy. What counts is what the listener hears, what the node
// says of its player, and what the library tells its bot.

import { expect, vi } from "vitest";
import type { Listener } from "../../lab/discord/listener.ts";
import { Waiters } from "../../lab/discord/waiters.ts";
import type { Bot, PlayerView } from "../../lab/stage/bot.ts";
import { STAGE_PASSWORD, type Stage } from "../../lab/stage/stage.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { CuttableLink } from "../support/cuttable-link.ts";
import { FakeShard } from "../support/fake-shard.ts";
import type { ClientDriver, ClientEvent, ClientSeat, RealClient } from "./client-driver.ts";
import {
  FIRST_TONE_HZ,
  SECOND_TONE_HZ,
  SECOND_TONE_MS,
  SONG_AMPLITUDE,
  SONG_MS,
  toneAmplitude,
} from "./two-tone-song.ts";

const WAIT_MS = 20_000;
/** What is listened to at once: half a second. */
const LISTENED_FRAMES = 25;
/** On a busy machine a frame may come too late now and then. */
const SILENCE_SHARE_MAX = 0.1;
const AMPLITUDE_TOLERANCE = 0.02;
const MUFFLED = Array.from({ length: 15 }, (_, band) => ({ band, gain: -0.25 }));
/** Every band shut leaves half of a tone that lies between two of them. */
const MUFFLED_AMPLITUDE = SONG_AMPLITUDE / 2;
const FLAT = MUFFLED.map(({ band }) => ({ band, gain: 0 }));
/** The node turns volume into loudness along a tangent, as Lavalink does. */
const HALF_VOLUME_GAIN = Math.tan(0.79 * 0.5);

let storyCount = 0;

/** Goes through the whole story; throws where the client and the node do not understand each other. */
export async function tellStory(stage: Stage, client: RealClient): Promise<void> {
  const story = await Story.begin(stage, client);
  try {
    await story.connectAndLoad();
    await story.joinAndPlay();
    await story.pauseAndResume();
    await story.seek();
    await story.setVolumeAndFilters();
    if (client.afterDrop === "resumes") await story.dropAndResume();
    if (client.afterDrop === "starts over") await story.dropAndStartOver();
    await story.playToTheEnd();
    await story.playAgainAndDestroy();
  } finally {
    await story.close();
  }
}

class Story {
  readonly #stage: Stage;
  readonly #link: CuttableLink;
  readonly #observer: Bot;
  readonly #seat: ClientSeat;
  readonly #driver: ClientDriver;
  readonly #told: ToldEvents;

  private constructor(stage: Stage, parts: StoryParts) {
    this.#stage = stage;
    this.#link = parts.link;
    this.#observer = parts.observer;
    this.#seat = parts.seat;
    this.#driver = parts.driver;
    this.#told = parts.told;
  }

  static async begin(stage: Stage, client: RealClient): Promise<Story> {
    const number = ++storyCount;
    const userId = `${100_000_000_000_000_000n + BigInt(number)}`;
    const link = await CuttableLink.open(stage.node.address.port);
    const told = new ToldEvents();
    const shard = new FakeShard(stage.discord, userId, (packet) => driver.receive(packet));
    const seat: ClientSeat = {
      host: "127.0.0.1",
      port: link.port,
      password: STAGE_PASSWORD,
      userId,
      guildId: `${200_000_000_000_000_000n + BigInt(number)}`,
      channelId: `${300_000_000_000_000_000n + BigInt(number)}`,
      send: (payload) => {
        if (payload.d.channel_id === null) told.add("left");
        shard.receive(payload);
      },
      report: (event) => told.add(event),
    };
    const driver = await client.create(seat);
    const observer = await stage.connectBot({ userId: `${400_000_000_000_000_000n + BigInt(number)}` });
    return new Story(stage, { link, observer, seat, driver, told });
  }

  async connectAndLoad(): Promise<void> {
    await this.#driver.connect();
    await this.#told.once("ready");
    const track = await this.#driver.load(`${this.#stage.media.url}/song.wav`);
    expect(track).toEqual({ title: "Unknown title", lengthMs: SONG_MS });
  }

  async joinAndPlay(): Promise<void> {
    await this.#driver.join();
    await this.#driver.play();
    await this.#told.once("start");
    await this.#hear(FIRST_TONE_HZ, SONG_AMPLITUDE);
    await this.#told.once("update");
    await this.#untilPlayer({ paused: false, volume: 100, state: { connected: true } });
  }

  async pauseAndResume(): Promise<void> {
    await this.#driver.pause(true);
    await this.#untilPlayer({ paused: true });
    await this.#stage.discord.until(() => this.#listener.heard.at(-1)?.isSilence === true, "silence", WAIT_MS);
    await this.#driver.pause(false);
    await this.#untilPlayer({ paused: false });
    await this.#hear(FIRST_TONE_HZ, SONG_AMPLITUDE);
  }

  async seek(): Promise<void> {
    await this.#driver.seek(SECOND_TONE_MS);
    await this.#hear(SECOND_TONE_HZ, SONG_AMPLITUDE);
    expect((await this.#player()).state.position).toBeGreaterThanOrEqual(SECOND_TONE_MS);
  }

  async setVolumeAndFilters(): Promise<void> {
    await this.#driver.setVolume(50);
    await this.#hear(SECOND_TONE_HZ, SONG_AMPLITUDE * HALF_VOLUME_GAIN);
    await this.#untilPlayer({ volume: 50 });
    await this.#driver.setVolume(100);
    await this.#untilPlayer({ volume: 100 });
    await this.#driver.setEqualizer(MUFFLED);
    await this.#untilPlayer({ filters: { equalizer: MUFFLED } });
    await this.#hear(SECOND_TONE_HZ, MUFFLED_AMPLITUDE);
    await this.#driver.setEqualizer(FLAT);
    await this.#hear(SECOND_TONE_HZ, SONG_AMPLITUDE);
  }

  /** The connection is cut: the music goes on, and the client finds its session again. */
  async dropAndResume(): Promise<void> {
    const sessionId = await this.#driver.sessionId();
    const heardBefore = this.#listener.heard.length;
    this.#link.cut();
    await this.#told.once("resumed");
    expect(await this.#driver.sessionId()).toBe(sessionId);
    await this.#hear(SECOND_TONE_HZ, SONG_AMPLITUDE);
    const heard = this.#listener.heard.slice(heardBefore);
    expect(heard.filter(({ isSilence }) => isSilence).length / heard.length).toBeLessThan(SILENCE_SHARE_MAX);
  }

  /** The connection is cut, and the client plays on in a new session. */
  async dropAndStartOver(): Promise<void> {
    const sessionId = await this.#driver.sessionId();
    const readyBefore = this.#told.count("ready");
    this.#link.cut();
    await this.#told.until("ready", readyBefore + 1);
    expect(await this.#driver.sessionId()).not.toBe(sessionId);
    await this.#hear(SECOND_TONE_HZ, SONG_AMPLITUDE);
  }

  async playToTheEnd(): Promise<void> {
    await this.#driver.seek(SONG_MS - 1_000);
    await this.#told.once("end");
    await this.#untilPlayer({ track: null });
  }

  async playAgainAndDestroy(): Promise<void> {
    const startsBefore = this.#told.count("start");
    await this.#driver.play();
    await this.#told.until("start", startsBefore + 1);
    await this.#hear(FIRST_TONE_HZ, SONG_AMPLITUDE);
    const sessionId = await this.#driver.sessionId();
    await this.#driver.destroy();
    const path = this.#playerPath(sessionId);
    await vi.waitFor(async () => expect((await this.#observer.request("GET", path)).status).toBe(404), POLL);
    await this.#told.once("left");
  }

  async close(): Promise<void> {
    this.#told.close();
    await this.#driver.close();
    this.#link.close();
  }

  get #listener(): Listener {
    return this.#stage.discord.channel(this.#seat.channelId).listener;
  }

  #playerPath(sessionId: string): string {
    return `/v4/sessions/${sessionId}/players/${this.#seat.guildId}`;
  }

  async #player(): Promise<PlayerView> {
    return (await this.#observer.request<PlayerView>("GET", this.#playerPath(await this.#driver.sessionId()))).body;
  }

  async #untilPlayer(expected: object): Promise<void> {
    await vi.waitFor(async () => expect(await this.#player()).toMatchObject(expected), POLL);
  }

  /** Listens until half a second of this tone at this level has been heard. */
  async #hear(frequencyHz: number, amplitude: number): Promise<void> {
    const heard: number[] = [];
    for (let round = 0; round < WAIT_MS / (20 * LISTENED_FRAMES); round++) {
      const enough = this.#listener.heardSound.length + LISTENED_FRAMES;
      await this.#stage.discord.until(() => this.#listener.heardSound.length >= enough, "sound", WAIT_MS);
      const packets = this.#listener.heardSound.slice(-LISTENED_FRAMES).map(({ opus }) => opus);
      const heardAmplitude = await toneAmplitude(packets, frequencyHz);
      if (Math.abs(heardAmplitude - amplitude) < AMPLITUDE_TOLERANCE) return;
      heard.push(heardAmplitude);
    }
    throw new Error(`${frequencyHz} Hz at ${amplitude} was not heard, but ${heard.map((value) => value.toFixed(3))}`);
  }
}

const POLL = { timeout: WAIT_MS, interval: 50 };

interface StoryParts {
  readonly link: CuttableLink;
  readonly observer: Bot;
  readonly seat: ClientSeat;
  readonly driver: ClientDriver;
  readonly told: ToldEvents;
}

/** `left`: the library told Discord that the bot leaves. */
type ToldEvent = ClientEvent | "left";

/** What the library told its bot. */
class ToldEvents {
  readonly #events: ToldEvent[] = [];
  readonly #waiters = new Waiters(systemClock);

  add(event: ToldEvent): void {
    this.#events.push(event);
    this.#waiters.changed();
  }

  count(event: ToldEvent): number {
    return this.#events.filter((told) => told === event).length;
  }

  once(event: ToldEvent): Promise<void> {
    return this.until(event, 1);
  }

  until(event: ToldEvent, count: number): Promise<void> {
    return this.#waiters.until(() => this.count(event) >= count, `"${event}" from the client`, WAIT_MS);
  }

  close(): void {
    this.#waiters.close();
  }
}
