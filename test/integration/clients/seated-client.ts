// A real client on a stage: its seat at the node and in Discord, what its library told its bot, and what the listener
// in its voice channel hears. What every story with a real client begins with.

import type { Listener } from "../../../lab/discord/listener.ts";
import { Waiters } from "../../../lab/discord/waiters.ts";
import { STAGE_PASSWORD, type Stage } from "../../../lab/stage/stage.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { FakeShard } from "../../support/fake-shard.ts";
import type { ClientDriver, ClientEvent, ClientSeat } from "./client-driver.ts";
import { toneAmplitude } from "./two-tone-song.ts";

export const WAIT_MS = 20_000;
/** What is listened to at once: half a second. */
export const LISTENED_FRAMES = 25;
const AMPLITUDE_TOLERANCE = 0.02;

let seatCount = 0;

interface Parts<Driver> {
  readonly stage: Stage;
  readonly link: CuttableLink;
  readonly seat: ClientSeat;
  readonly driver: Driver;
  readonly told: ToldEvents;
}

export class SeatedClient<Driver extends ClientDriver = ClientDriver> {
  readonly seat: ClientSeat;
  readonly driver: Driver;
  readonly told: ToldEvents;
  /** Between it and the node. */
  readonly link: CuttableLink;
  readonly #stage: Stage;

  private constructor({ stage, link, seat, driver, told }: Parts<Driver>) {
    this.#stage = stage;
    this.link = link;
    this.seat = seat;
    this.driver = driver;
    this.told = told;
  }

  /** With a user, a guild and a voice channel of its own. */
  static async take<Driver extends ClientDriver>(
    stage: Stage,
    create: (seat: ClientSeat) => Driver | Promise<Driver>,
  ): Promise<SeatedClient<Driver>> {
    const number = ++seatCount;
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
    const driver = await create(seat);
    return new SeatedClient({ stage, link, seat, driver, told });
  }

  get listener(): Listener {
    return this.#stage.discord.channel(this.seat.channelId).listener;
  }

  /** Listens until half a second of this tone at this level has been heard. */
  async hear(frequencyHz: number, amplitude: number): Promise<void> {
    const heard: number[] = [];
    for (let round = 0; round < WAIT_MS / (20 * LISTENED_FRAMES); round++) {
      const enough = this.listener.heardSound.length + LISTENED_FRAMES;
      await this.#stage.discord.until(() => this.listener.heardSound.length >= enough, "sound", WAIT_MS);
      const packets = this.listener.heardSound.slice(-LISTENED_FRAMES).map(({ opus }) => opus);
      const heardAmplitude = await toneAmplitude(packets, frequencyHz);
      if (Math.abs(heardAmplitude - amplitude) < AMPLITUDE_TOLERANCE) return;
      heard.push(heardAmplitude);
    }
    throw new Error(`${frequencyHz} Hz at ${amplitude} was not heard, but ${heard.map((value) => value.toFixed(3))}`);
  }

  async close(): Promise<void> {
    this.told.close();
    await this.driver.close();
    this.link.close();
  }
}

/** `left`: the library told Discord that the bot leaves. */
type ToldEvent = ClientEvent | "left";

/** What the library told its bot. */
export class ToldEvents {
  readonly #events: ToldEvent[] = [];
  readonly #waiters = new Waiters(systemClock);

  add(event: ToldEvent): void {
    this.#events.push(event);
    this.#waiters.changed();
  }

  count(event: ToldEvent): number {
    return this.#events.filter((told) => told === event).length;
  }

  once(event: ToldEvent, timeoutMs?: number): Promise<void> {
    return this.until(event, 1, timeoutMs);
  }

  until(event: ToldEvent, count: number, timeoutMs = WAIT_MS): Promise<void> {
    return this.#waiters.until(() => this.count(event) >= count, `"${event}" from the client`, timeoutMs);
  }

  close(): void {
    this.#waiters.close();
  }
}
