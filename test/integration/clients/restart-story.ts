// The scenario of a node that is restarted while real clients play on it: one node for all of them, ended by a signal,
// started again. Checked are what each library reports to its bot, the audio that its listener receives afterwards, and
// that its next commands reach the player.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeTone } from "../../../lab/listen/tone.ts";
import { wav } from "../../../lab/media-files/containers.ts";
import { RestartingNode } from "../../support/restarting-node.ts";
import { BoundClient, WAIT_MS } from "./bound-client.ts";
import type { RealClient } from "./client-driver.ts";

/** Some libraries try again only after 5, then 10 s. */
const BACK_TIMEOUT_MS = 60_000;
export const TONE_HZ = 440;
export const AMPLITUDE = 0.5;
/** The node maps volume to gain along a tangent, as Lavalink does. */
export const HALF_VOLUME_AMPLITUDE = AMPLITUDE * Math.tan(0.79 * 0.5);
const SONG_SECONDS = 300;
const RATE_HZ = 8_000;
const TRIES = 4;
/** Longer with each try. */
const READY_TIMEOUT_MS = 5_000;

/**
 * What a client does by its own code when its node comes back. It has its session again; or another one, in which it
 * plays on (`starts over`), or nothing plays (`finds nothing`), or it leaves the channel; or it does not connect again.
 */
type AfterRestart = "resumes" | "starts over" | "finds nothing" | "leaves the channel" | "gives up";
type Signal = "SIGKILL" | "SIGTERM";

interface RestartedClient {
  readonly name: string;
  readonly create: RealClient["create"];
  readonly afterRestart: AfterRestart;
}

/** Tests of all these clients with one node after the other; `create` of a client is first called in the hooks. */
export function describeRestarts(clients: readonly RestartedClient[]): void {
  describe.each(["SIGKILL", "SIGTERM"] satisfies Signal[])("a node is ended by %s and started again", (signal) => {
    let story: RestartStory;

    beforeAll(async () => {
      story = await RestartStory.begin(clients);
      await story.restart(signal);
    });
    afterAll(() => story?.close());

    it.concurrent.each(clients)(
      `$name $afterRestart when its node is back from ${signal}`,
      async ({ name, afterRestart }) => {
        await EXPECTATIONS[afterRestart](story.bot(name));
      },
    );

    it("nothing reached Discord that it would refuse", () => {
      expect(() => story.assertClean()).not.toThrow();
    });
  });
}

const EXPECTATIONS: Readonly<Record<AfterRestart, (bot: PlayingBot) => Promise<void>>> = {
  resumes: async (bot) => {
    await bot.expectResumed();
    await bot.expectControl();
  },
  "starts over": async (bot) => {
    await bot.expectNewSession();
    await bot.expectMusic();
    await bot.expectControl();
  },
  "finds nothing": async (bot) => {
    await bot.expectNewSession();
    bot.expectStopped();
  },
  "leaves the channel": async (bot) => {
    await bot.expectNewSession();
    await bot.expectLeft();
  },
  // Its session has resuming on: the node plays on until nobody has come for the session's timeout.
  "gives up": async (bot) => {
    await bot.expectLost();
    await bot.expectMusic();
  },
};

class RestartStory {
  readonly #node: RestartingNode;
  readonly #bots = new Map<string, PlayingBot>();

  private constructor(node: RestartingNode) {
    this.#node = node;
  }

  /** Every client plays a song that is long enough for all that follows. */
  static async begin(clients: readonly RestartedClient[]): Promise<RestartStory> {
    const story = new RestartStory(await RestartingNode.start({ files: { "song.wav": makeLongTone() } }));
    for (const bot of await Promise.all(clients.map((client) => story.#play(client)))) story.#bots.set(bot.name, bot);
    return story;
  }

  /** Resolves when the node listens again. */
  async restart(signal: Signal): Promise<void> {
    await this.#node.restart(signal);
    for (const bot of this.#bots.values()) bot.markRestart();
  }

  /** The bot of this client. */
  bot(name: string): PlayingBot {
    const bot = this.#bots.get(name);
    if (bot === undefined) throw new Error(`${name} does not take part`);
    return bot;
  }

  /** Throws with what Discord would have refused. */
  assertClean(): void {
    this.#node.discord.assertClean();
  }

  async close(): Promise<void> {
    for (const { client } of this.#bots.values()) await client.close();
    await this.#node.close();
  }

  /** Some clients lose what comes at a bad moment (npm-clients.test.ts): then another bot of theirs begins. */
  async #play({ name, create }: RestartedClient): Promise<PlayingBot> {
    for (let attempt = 1; ; attempt++) {
      const client = await BoundClient.take(this.#node, create);
      try {
        await client.driver.connect();
        await client.receivedEvents.once("ready", attempt * READY_TIMEOUT_MS);
        return await PlayingBot.begin(name, client, `${this.#node.media.url}/song.wav`);
      } catch (error) {
        await client.close();
        if (attempt === TRIES) throw new Error(`${name} does not begin to play`, { cause: error });
      }
    }
  }
}

/** One client with its song. */
export class PlayingBot {
  readonly name: string;
  readonly client: BoundClient;
  readonly #sessionId: string;
  readonly #readyCount: number;
  #framesAtRestart = 0;

  private constructor(name: string, client: BoundClient, sessionId: string) {
    this.name = name;
    this.client = client;
    this.#sessionId = sessionId;
    this.#readyCount = client.receivedEvents.count("ready");
  }

  /** Of a client that is connected. */
  static async begin(name: string, client: BoundClient, url: string): Promise<PlayingBot> {
    const { driver, receivedEvents } = client;
    await driver.load(url);
    await driver.join();
    await driver.play();
    await receivedEvents.once("start");
    await client.expectTone(TONE_HZ, AMPLITUDE);
    // The Java client sends the player of the last answer that it has read when it is back, and may have read the one to
    // its voice update after the one to `play`: without a track.
    await driver.setVolume(100);
    return new PlayingBot(name, client, await driver.sessionId());
  }

  /** The node listens again. */
  markRestart(): void {
    this.#framesAtRestart = this.client.listener.receivedAudio.length;
  }

  /** The library has its session back, and the music plays. */
  async expectResumed(): Promise<void> {
    await this.client.receivedEvents.once("resumed", BACK_TIMEOUT_MS);
    expect(await this.client.driver.sessionId()).toBe(this.#sessionId);
    await this.expectMusic();
  }

  /** The library has another session. */
  async expectNewSession(): Promise<void> {
    await this.client.receivedEvents.until("ready", this.#readyCount + 1, BACK_TIMEOUT_MS);
    expect(await this.client.driver.sessionId()).not.toBe(this.#sessionId);
    expect(this.client.receivedEvents.count("resumed")).toBe(0);
  }

  /** The library has dropped its node, maybe with a session that it had just resumed. */
  async expectLost(): Promise<void> {
    await this.client.receivedEvents.once("lost", BACK_TIMEOUT_MS);
    expect(await this.client.driver.sessionId()).toBe("");
  }

  expectLeft(): Promise<void> {
    return this.client.receivedEvents.once("left");
  }

  expectMusic(): Promise<void> {
    return this.client.expectTone(TONE_HZ, AMPLITUDE);
  }

  /** Nothing has been sent since the restart. */
  expectStopped(): void {
    expect(this.client.listener.receivedAudio.length).toBe(this.#framesAtRestart);
  }

  /** The library's next commands are carried out. */
  async expectControl(): Promise<void> {
    const { driver, binding, receivedEvents } = this.client;
    await driver.setVolume(50);
    await this.client.expectTone(TONE_HZ, HALF_VOLUME_AMPLITUDE);
    await driver.pause(true);
    await this.client.expectSilence();
    await driver.pause(false);
    await this.client.expectTone(TONE_HZ, HALF_VOLUME_AMPLITUDE);
    const path = `v4/sessions/${await driver.sessionId()}/players/${binding.guildId}`;
    const headers = { authorization: binding.password };
    const player = () => fetch(`http://${binding.host}:${binding.port}/${path}`, { headers });
    expect((await player()).status).toBe(200);
    await driver.destroy();
    await receivedEvents.once("left");
    await vi.waitFor(async () => expect((await player()).status).toBe(404), { timeout: WAIT_MS, interval: 50 });
  }
}

/** A song of five minutes. */
export function makeLongTone(): Uint8Array {
  const second = makeTone({
    frequencyHz: TONE_HZ,
    sampleRateHz: RATE_HZ,
    lengthSamples: RATE_HZ,
    amplitude: AMPLITUDE,
  });
  // A second holds whole periods.
  const samples = Int16Array.from({ length: SONG_SECONDS * RATE_HZ }, (_, at) => (second[at % RATE_HZ] ?? 0) * 32_767);
  return wav({ rateHz: RATE_HZ, channels: 1, data: Buffer.from(samples.buffer) });
}
