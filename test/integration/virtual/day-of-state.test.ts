// A day of a made-up bot on a whole node with a store, in virtual time: sessions come and go, players play, skip and
// stop, tracks end while their client is away. The store holds what there is and does not grow.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { countedSong } from "../../../lab/media-files/counted-song.ts";
import type { Bot } from "../../../lab/test-environment/bot.ts";
import { pause } from "../../../src/lib/pause.ts";
import { VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const HOURS = 24;
const MINUTE_MS = 60_000;
const GUILDS = ["11", "12", "13", "14", "15", "16"];
/** It has a voice connection, and plays to the end of its songs. */
const AUDIBLE_GUILD = "17";
const SONG_SECONDS = 10;
/** Large, so that a day writes as much as LevelDB needs to clean up several times. */
const NOTE = "n".repeat(20_000);
/** The session, all players, and the tracks of all but the one that was stopped and the one that has played to its end. */
const RECORDS = 1 + (GUILDS.length + 1) + (GUILDS.length - 1);
/** Of 48 MB that are written in a day, as many as LevelDB has before it merges them, and those that it merges. */
const FOLDER_BYTES_MAX = 24 * 1024 * 1024;
const TIMEOUT_MS = 600_000;

let folder: string;
let virtual: VirtualTestEnvironment;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-day-"));
  virtual = await VirtualTestEnvironment.start({
    media: { files: { "song.ogg": countedSong({ seconds: SONG_SECONDS }) } },
    config: {
      TONEARM_STATE_ENABLED: "true",
      TONEARM_STATE_PATH: join(folder, "state"),
      TONEARM_WORKERS_COUNT: "1",
      METRICS_PROMETHEUS_ENABLED: "true",
    },
  });
});
afterAll(async () => {
  await virtual.close();
  rmSync(folder, { recursive: true });
});

it("the store of a bot does not grow from the first hour to the twenty-fourth", { timeout: TIMEOUT_MS }, async () => {
  const day = await Day.begin();
  for (let hour = 1; hour <= HOURS; hour++) {
    await day.hour(hour);
    // The disk's time is not virtual: it may be behind.
    await expect.poll(() => day.recordCount(), { timeout: TIMEOUT_MS }).toBe(RECORDS);
    expect(folderBytes(folder)).toBeLessThan(FOLDER_BYTES_MAX);
  }
});

/** What the bot does. At the end of each hour it has the same sessions and players. */
class Day {
  #bot: Bot;
  readonly #song: string;
  #count = 0;

  private constructor(bot: Bot, song: string) {
    this.#bot = bot;
    this.#song = song;
  }

  static begin(): Promise<Day> {
    return virtual.run(async () => {
      const bot = await openSession();
      await virtual.env.joinVoice(bot, { guildId: AUDIBLE_GUILD });
      return new Day(bot, await bot.loadEncoded(`${virtual.env.media.url}/song.ogg`));
    });
  }

  hour(number: number): Promise<void> {
    return virtual.run(async () => {
      const untilMs = number * 60 * MINUTE_MS;
      for (let part = 0; part < 5; part++) {
        await this.#playInAll();
        await pause(virtual.clock, 5 * MINUTE_MS);
        await this.#changeSome();
        await pause(virtual.clock, 4 * MINUTE_MS);
      }
      await this.#visit();
      await this.#endTrackWhileAway();
      // Shortly before the hour, so that the tracks are there when it is over.
      await pause(virtual.clock, untilMs - 1000 - virtual.clock.now());
      await this.#playInAll();
    });
  }

  async recordCount(): Promise<number> {
    const { body } = await virtual.run(() => this.#bot.request<string>("GET", "/metrics"));
    return Number(/^tonearm_state_records (\d+)$/m.exec(body)?.[1]);
  }

  /** A skip where something plays; the last of them stops. */
  async #playInAll(): Promise<void> {
    for (const guildId of GUILDS) {
      const userData = { requester: String(++this.#count), note: NOTE };
      await this.#bot.update(guildId, { track: { encoded: this.#song, userData } });
    }
    await this.#bot.update(GUILDS.at(-1) ?? "", { track: { encoded: null } });
  }

  async #changeSome(): Promise<void> {
    const [first = "", second = "", third = ""] = GUILDS;
    await this.#bot.update(first, { volume: 50 + (this.#count % 50) });
    await this.#bot.update(second, { paused: true, position: 1000 });
    await this.#bot.destroy(third);
  }

  /** Another session, whose client does not come back. */
  async #visit(): Promise<void> {
    const visitor = await openSession();
    for (const guildId of GUILDS) await visitor.update(guildId, { track: { encoded: this.#song } });
    visitor.close();
    await visitor.closed();
    await pause(virtual.clock, 2 * MINUTE_MS);
  }

  async #endTrackWhileAway(): Promise<void> {
    await this.#bot.update(AUDIBLE_GUILD, { track: { encoded: this.#song } });
    const { sessionId } = this.#bot;
    this.#bot.close();
    await this.#bot.closed();
    await pause(virtual.clock, 2 * SONG_SECONDS * 1000);
    this.#bot = await virtual.env.connectBot({ sessionId });
    expect(this.#bot.messages[0]).toMatchObject({ op: "ready", resumed: true });
    await this.#bot.untilEvent("TrackEndEvent");
  }
}

async function openSession(): Promise<Bot> {
  const bot = await virtual.env.connectBot();
  await bot.request("PATCH", `/v4/sessions/${bot.sessionId}`, { resuming: true, timeout: 60 });
  return bot;
}

function folderBytes(path: string): number {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((total, { parentPath, name }) => total + sizeOf(join(parentPath, name)), 0);
}

/** LevelDB may remove a file meanwhile. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
