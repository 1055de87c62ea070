// The scenario for every real client, with its node in a test environment: connect, load, join, play, pause, seek,
// volume, filters, a connection that drops, the end of a track, destroy. Checked are the audio that the listener
// receives, the node's report of its player, and the events that the library reports to its bot.

import { expect, vi } from "vitest";
import type { Bot, PlayerView } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { BoundClient, type ReceivedEvents, WAIT_MS } from "./bound-client.ts";
import type { ClientDriver, RealClient } from "./client-driver.ts";
import { FIRST_TONE_HZ, SECOND_TONE_HZ, SECOND_TONE_MS, SONG_AMPLITUDE, SONG_MS } from "./two-tone-song.ts";

/** On a busy machine a frame may come too late now and then. */
const SILENCE_SHARE_MAX = 0.1;
const MUFFLED = Array.from({ length: 15 }, (_, band) => ({ band, gain: -0.25 }));
/** Every band shut leaves half of a tone that lies between two of them. */
const MUFFLED_AMPLITUDE = SONG_AMPLITUDE / 2;
const FLAT = MUFFLED.map(({ band }) => ({ band, gain: 0 }));
/** The node maps volume to gain along a tangent, as Lavalink does. */
const HALF_VOLUME_GAIN = Math.tan(0.79 * 0.5);

let observerCount = 0;

/** Goes through the whole story; throws where the client and the node do not understand each other. */
export async function runScenario(env: TestEnvironment, client: RealClient): Promise<void> {
  const story = await Story.begin(env, client);
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

interface Parts {
  readonly observer: Bot;
  readonly client: BoundClient;
  readonly link: CuttableLink;
}

class Story {
  readonly #env: TestEnvironment;
  readonly #observer: Bot;
  readonly #client: BoundClient;
  /** Between the client and the node. */
  readonly #link: CuttableLink;

  private constructor(env: TestEnvironment, { observer, client, link }: Parts) {
    this.#env = env;
    this.#observer = observer;
    this.#client = client;
    this.#link = link;
  }

  static async begin(env: TestEnvironment, { create }: RealClient): Promise<Story> {
    const link = await CuttableLink.open(env.node.address.port);
    const client = await BoundClient.take({ discord: env.discord, port: link.port }, create);
    const observer = await env.connectBot({ userId: `${400_000_000_000_000_000n + BigInt(++observerCount)}` });
    return new Story(env, { observer, client, link });
  }

  async connectAndLoad(): Promise<void> {
    await this.#driver.connect();
    await this.#receivedEvents.once("ready");
    const track = await this.#driver.load(`${this.#env.media.url}/song.wav`);
    expect(track).toEqual({ title: "Unknown title", lengthMs: SONG_MS });
  }

  async joinAndPlay(): Promise<void> {
    await this.#driver.join();
    await this.#driver.play();
    await this.#receivedEvents.once("start");
    await this.#client.expectTone(FIRST_TONE_HZ, SONG_AMPLITUDE);
    await this.#receivedEvents.once("update");
    await this.#untilPlayer({ paused: false, volume: 100, state: { connected: true } });
  }

  async pauseAndResume(): Promise<void> {
    await this.#driver.pause(true);
    await this.#untilPlayer({ paused: true });
    await this.#env.discord.until(() => this.#client.listener.received.at(-1)?.isSilence === true, "silence", WAIT_MS);
    await this.#driver.pause(false);
    await this.#untilPlayer({ paused: false });
    await this.#client.expectTone(FIRST_TONE_HZ, SONG_AMPLITUDE);
  }

  async seek(): Promise<void> {
    await this.#driver.seek(SECOND_TONE_MS);
    await this.#client.expectTone(SECOND_TONE_HZ, SONG_AMPLITUDE);
    expect((await this.#player()).state.position).toBeGreaterThanOrEqual(SECOND_TONE_MS);
  }

  async setVolumeAndFilters(): Promise<void> {
    await this.#driver.setVolume(50);
    await this.#client.expectTone(SECOND_TONE_HZ, SONG_AMPLITUDE * HALF_VOLUME_GAIN);
    await this.#untilPlayer({ volume: 50 });
    await this.#driver.setVolume(100);
    await this.#untilPlayer({ volume: 100 });
    await this.#driver.setEqualizer(MUFFLED);
    await this.#untilPlayer({ filters: { equalizer: MUFFLED } });
    await this.#client.expectTone(SECOND_TONE_HZ, MUFFLED_AMPLITUDE);
    await this.#driver.setEqualizer(FLAT);
    await this.#client.expectTone(SECOND_TONE_HZ, SONG_AMPLITUDE);
  }

  /** The connection is cut: the music continues, and the client resumes its session. */
  async dropAndResume(): Promise<void> {
    const sessionId = await this.#driver.sessionId();
    const receivedBefore = this.#client.listener.received.length;
    this.#link.cut();
    await this.#receivedEvents.once("resumed");
    expect(await this.#driver.sessionId()).toBe(sessionId);
    await this.#client.expectTone(SECOND_TONE_HZ, SONG_AMPLITUDE);
    const received = this.#client.listener.received.slice(receivedBefore);
    expect(received.filter(({ isSilence }) => isSilence).length / received.length).toBeLessThan(SILENCE_SHARE_MAX);
  }

  /** The connection is cut, and the client plays on in a new session. */
  async dropAndStartOver(): Promise<void> {
    const sessionId = await this.#driver.sessionId();
    const readyBefore = this.#receivedEvents.count("ready");
    this.#link.cut();
    await this.#receivedEvents.until("ready", readyBefore + 1);
    expect(await this.#driver.sessionId()).not.toBe(sessionId);
    await this.#client.expectTone(SECOND_TONE_HZ, SONG_AMPLITUDE);
  }

  async playToTheEnd(): Promise<void> {
    await this.#driver.seek(SONG_MS - 1_000);
    await this.#receivedEvents.once("end");
    await this.#untilPlayer({ track: null });
  }

  async playAgainAndDestroy(): Promise<void> {
    const startsBefore = this.#receivedEvents.count("start");
    await this.#driver.play();
    await this.#receivedEvents.until("start", startsBefore + 1);
    await this.#client.expectTone(FIRST_TONE_HZ, SONG_AMPLITUDE);
    const sessionId = await this.#driver.sessionId();
    await this.#driver.destroy();
    const path = this.#playerPath(sessionId);
    await vi.waitFor(async () => expect((await this.#observer.request("GET", path)).status).toBe(404), POLL);
    await this.#receivedEvents.once("left");
  }

  async close(): Promise<void> {
    await this.#client.close();
    this.#link.close();
  }

  get #driver(): ClientDriver {
    return this.#client.driver;
  }

  get #receivedEvents(): ReceivedEvents {
    return this.#client.receivedEvents;
  }

  #playerPath(sessionId: string): string {
    return `/v4/sessions/${sessionId}/players/${this.#client.binding.guildId}`;
  }

  async #player(): Promise<PlayerView> {
    return (await this.#observer.request<PlayerView>("GET", this.#playerPath(await this.#driver.sessionId()))).body;
  }

  async #untilPlayer(expected: object): Promise<void> {
    await vi.waitFor(async () => expect(await this.#player()).toMatchObject(expected), POLL);
  }
}

const POLL = { timeout: WAIT_MS, interval: 50 };
