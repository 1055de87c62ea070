// A real client in a test environment: its binding to the node and to Discord, the events its library reported to its
// bot, and the audio that the listener in its voice channel receives. Every test with a real client starts with one.

import type { Listener } from "../../../lab/discord/listener.ts";
import { Waiters } from "../../../lab/discord/waiters.ts";
import { TEST_PASSWORD, type TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { FakeShard } from "../../support/fake-shard.ts";
import type { ClientBinding, ClientDriver, ClientEvent } from "./client-driver.ts";
import { toneAmplitude } from "./two-tone-song.ts";

export const WAIT_MS = 20_000;
/** Number of frames analysed at once: half a second. */
export const LISTENED_FRAMES = 25;
const AMPLITUDE_TOLERANCE = 0.02;

let clientCount = 0;

/** The parts of a test environment that a client needs. */
type ClientEnvironment = Pick<TestEnvironment, "discord"> & {
  readonly port: number;
  /** Default: that of the tests. */
  readonly password?: string;
};

interface Parts<Driver> {
  readonly env: ClientEnvironment;
  readonly binding: ClientBinding;
  readonly driver: Driver;
  readonly receivedEvents: ReceivedEvents;
}

export class BoundClient<Driver extends ClientDriver = ClientDriver> {
  readonly binding: ClientBinding;
  readonly driver: Driver;
  readonly receivedEvents: ReceivedEvents;
  readonly #env: ClientEnvironment;

  private constructor({ env, binding, driver, receivedEvents }: Parts<Driver>) {
    this.#env = env;
    this.binding = binding;
    this.driver = driver;
    this.receivedEvents = receivedEvents;
  }

  /** Creates a separate user, guild and voice channel for it. `port` leads to a node. */
  static async take<Driver extends ClientDriver>(
    env: ClientEnvironment,
    create: (binding: ClientBinding) => Driver | Promise<Driver>,
  ): Promise<BoundClient<Driver>> {
    const number = ++clientCount;
    const userId = `${100_000_000_000_000_000n + BigInt(number)}`;
    const receivedEvents = new ReceivedEvents();
    const shard = new FakeShard(env.discord, userId, (packet) => driver.receive(packet));
    const binding: ClientBinding = {
      host: "127.0.0.1",
      port: env.port,
      password: env.password ?? TEST_PASSWORD,
      userId,
      guildId: `${200_000_000_000_000_000n + BigInt(number)}`,
      channelId: `${300_000_000_000_000_000n + BigInt(number)}`,
      send: (payload) => {
        if (payload.d.channel_id === null) receivedEvents.add("left");
        shard.receive(payload);
      },
      report: (event) => receivedEvents.add(event),
    };
    const driver = await create(binding);
    return new BoundClient({ env, binding, driver, receivedEvents });
  }

  get listener(): Listener {
    return this.#env.discord.channel(this.binding.channelId).listener;
  }

  /** Waits until half a second of this tone at this level has been received. */
  async expectTone(frequencyHz: number, amplitude: number): Promise<void> {
    const received: number[] = [];
    for (let round = 0; round < WAIT_MS / (20 * LISTENED_FRAMES); round++) {
      const enough = this.listener.receivedAudio.length + LISTENED_FRAMES;
      await this.#env.discord.until(() => this.listener.receivedAudio.length >= enough, "sound", WAIT_MS);
      const packets = this.listener.receivedAudio.slice(-LISTENED_FRAMES).map(({ opus }) => opus);
      const receivedAmplitude = await toneAmplitude(packets, frequencyHz);
      if (Math.abs(receivedAmplitude - amplitude) < AMPLITUDE_TOLERANCE) return;
      received.push(receivedAmplitude);
    }
    throw new Error(
      `expected ${frequencyHz} Hz at ${amplitude}, received ${received.map((value) => value.toFixed(3))}`,
    );
  }

  /** Waits until the bot has stopped sending, or was stopped. */
  expectSilence(): Promise<void> {
    return this.#env.discord.until(() => this.listener.received.at(-1)?.isSilence === true, "silence", WAIT_MS);
  }

  async close(): Promise<void> {
    this.receivedEvents.close();
    await this.driver.close();
  }
}

/** `left`: the library sent Discord the request to leave. */
type ReceivedEvent = ClientEvent | "left";

/** The events that the library reported to its bot. */
export class ReceivedEvents {
  readonly #events: ReceivedEvent[] = [];
  readonly #waiters = new Waiters(systemClock);

  add(event: ReceivedEvent): void {
    this.#events.push(event);
    this.#waiters.changed();
  }

  count(event: ReceivedEvent): number {
    return this.#events.filter((receivedEvents) => receivedEvents === event).length;
  }

  once(event: ReceivedEvent, timeoutMs?: number): Promise<void> {
    return this.until(event, 1, timeoutMs);
  }

  until(event: ReceivedEvent, count: number, timeoutMs = WAIT_MS): Promise<void> {
    return this.#waiters.until(() => this.count(event) >= count, `"${event}" from the client`, timeoutMs);
  }

  close(): void {
    this.#waiters.close();
  }
}
