// Guilds that play one song, or one station, with the same settings: a worker transcodes it once for all of them, which
// no listener can tell, not even when one of them changes its settings, pauses or stops. It is also fetched once. In
// virtual time.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findClicks, findGaps } from "../../../lab/listen/faults.ts";
import { decodeReceived } from "../../../lab/listen/received.ts";
import { SongListener } from "../../support/song-listener.ts";
import { makeSong } from "../../support/song-signal.ts";
import { judgeSong } from "../../support/song-verdict.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
/** Codecs fade in and out at the ends of a song. */
const EDGE_SAMPLES = 4800;
const FRAME_SAMPLES = 960;
/** A change is audible within 100 ms. */
const CHANGE_PACKETS_MAX = 5;
const SONGS = [
  ["song.mp3", 2500],
  ["song.webm", 5000],
  ["song.m4a", 2500],
] as const;

let virtual: VirtualTestEnvironment;
let listener: SongListener;

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: MEDIA.pathname } });
  listener = await virtual.run(() => SongListener.join(virtual.env));
});

afterAll(() => virtual.close());
const narrated = narrating(() => virtual);

async function startTogether(file: string, count: number): Promise<readonly string[]> {
  const guildIds: string[] = [];
  for (let index = 0; index < count; index++) {
    const guildId = await listener.openGuild(index % 2 === 0 ? 0 : 1);
    await listener.start(guildId, `${virtual.env.media.url}/${file}`, { volume: 50 });
    guildIds.push(guildId);
  }
  return guildIds;
}

/** Clicks and gaps away from the ends. */
async function faultsOf(
  guildId: string,
): Promise<{ readonly clicks: readonly number[]; readonly gaps: readonly object[] }> {
  const { left } = await decodeReceived(listener.framesOf(guildId).map(({ opus }) => opus));
  const inner = left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES);
  return { clicks: findClicks(inner), gaps: findGaps(inner, { lengthSamplesMin: FRAME_SAMPLES * 2 }) };
}

async function expectSong(guildId: string, lengthMs: number): Promise<void> {
  const { audio } = await listener.take(guildId);
  const [left, right] = [0, 1].map((channel) => makeSong(channel, { sampleRateHz: 48_000, lengthMs }));
  const verdict = judgeSong({ left: left!, right: right! }, audio); // one of each
  expect(verdict.signalToNoiseDb).toBeGreaterThan(20);
  expect(verdict).toMatchObject({ gapCount: 0 });
}

describe("guilds that play one song", () => {
  test.each(SONGS)(
    "the song is whole in all guilds when the first one stops: %s",
    narrated(async (file, lengthMs) => {
      const [first, ...others] = await startTogether(file, 4);
      await listener.untilReceived(first!, 60); // there are four
      await listener.leave(first!);
      await Promise.all(others.map((guildId) => listener.untilEnd(guildId)));
      for (const guildId of others) {
        await expectSong(guildId, lengthMs);
        expect(await faultsOf(guildId)).toEqual({ clicks: [], gaps: [] });
      }
    }),
  );

  test.each(SONGS)(
    "the song is whole in all guilds when one changes its volume, one its filters, and one pauses: %s",
    narrated(async (file, lengthMs) => {
      const guildIds = await startTogether(file, 4);
      await Promise.all(guildIds.map((guildId) => listener.untilReceived(guildId, 50)));
      const [louder = "", filtered = "", paused = "", same = ""] = guildIds;
      const heard = [louder, filtered].map((guildId) => listener.audioPacketCount(guildId));
      await listener.bot.update(louder, { volume: 90 });
      await listener.bot.update(filtered, { filters: { equalizer: [{ band: 0, gain: 0.2 }] } });
      await listener.bot.update(paused, { paused: true });
      await listener.untilSilence(paused);
      await listener.bot.update(paused, { paused: false });
      await Promise.all(guildIds.map((guildId) => listener.untilEnd(guildId)));
      for (const guildId of guildIds) expect(await faultsOf(guildId)).toMatchObject({ clicks: [] });
      for (const guildId of [paused, same]) await expectSong(guildId, lengthMs);
      const unchanged = (await listener.take(same)).packets;
      for (const [index, guildId] of [louder, filtered].entries()) {
        const { packets } = await listener.take(guildId);
        expect(packets.length).toBe(unchanged.length);
        const firstChanged = packets.findIndex((packet, at) => Buffer.compare(packet, unchanged[at]!) !== 0);
        expect(firstChanged).toBeGreaterThanOrEqual(heard[index]!);
        expect(firstChanged - heard[index]!).toBeLessThanOrEqual(CHANGE_PACKETS_MAX);
      }
    }),
  );
});

describe("the bytes of one song in several guilds", () => {
  test.each([
    ["song.webm", {}, 5000],
    ["song.webm", { volume: 50 }, 5000],
    ["song.mp3", {}, 2500],
    ["song.m4a", { volume: 50 }, 2500],
  ] as const)(
    "they are fetched once, and the others hear all of it when one stops, one seeks and one pauses: %s %j",
    narrated(async (file, player, lengthMs) => {
      const { media } = virtual.env;
      const name = `/${file}?${Object.keys(player).length}`;
      const requestCount = (path: string) => media.requests.filter((request) => request.path === path).length;
      await listener.load(`${media.url}${name}-loaded`);
      const loading = requestCount(`${name}-loaded`);
      const alone = await listener.openGuild();
      await listener.start(alone, `${media.url}${name}-alone`, player);
      await listener.untilEnd(alone);
      const playing = requestCount(`${name}-alone`) - loading;
      const guildIds: string[] = [];
      for (let index = 0; index < 5; index++) {
        const guildId = await listener.openGuild(index % 2 === 0 ? 0 : 1);
        await listener.start(guildId, `${media.url}${name}-together`, player);
        guildIds.push(guildId);
      }
      expect(playing).toBeGreaterThan(0);
      expect(requestCount(`${name}-together`)).toBe(guildIds.length * loading + playing);
      const [first = "", seeking = "", paused = "", ...same] = guildIds;
      await Promise.all(guildIds.map((guildId) => listener.untilReceived(guildId, 50)));
      await listener.leave(first);
      await listener.bot.update(seeking, { position: lengthMs / 2 });
      await listener.bot.update(paused, { paused: true });
      await listener.untilSilence(paused);
      await listener.bot.update(paused, { paused: false });
      await Promise.all([seeking, paused, ...same].map((guildId) => listener.untilEnd(guildId)));
      for (const guildId of [paused, ...same]) await expectSong(guildId, lengthMs);
      for (const guildId of same) expect(await faultsOf(guildId)).toEqual({ clicks: [], gaps: [] });
      // The one that seeks reads alone from there.
      expect(requestCount(`${name}-together`)).toBeGreaterThan(guildIds.length * loading + playing);
    }),
  );
});

describe("guilds that listen to one station", () => {
  test.each([
    ["at volume 50", { volume: 50 }],
    ["with nothing changed", {}],
  ])(
    "the station is asked once, and plays on without a click when guilds change their volume, leave and come: %s",
    narrated(async (_name, player) => {
      const { media } = virtual.env;
      const path = `/radio/song.mp3?${Object.keys(player).length}`;
      const tuneIn = async () => {
        const guildId = await listener.openGuild();
        await listener.start(guildId, media.url + path, player);
        await listener.untilReceived(guildId, 50);
        return guildId;
      };
      const guildIds = [await tuneIn(), await tuneIn(), await tuneIn()];
      const [first = "", second = "", third = ""] = guildIds;
      await listener.bot.update(second, { volume: 80 });
      await listener.untilReceived(second, 200);
      await listener.leave(first);
      await listener.untilReceived(second, 350);
      const late = await tuneIn();
      await listener.untilReceived(late, 150);
      // The song of 2.5 s begins again and again, with a click.
      const places = [second, third, late].map(async (guildId) => (await faultsOf(guildId)).clicks.length);
      for (const count of await Promise.all(places)) expect(count).toBeLessThanOrEqual(6);
      // Each guild loads the track, and one connection plays it.
      expect(media.requests.filter((request) => request.path.startsWith(path))).toHaveLength(guildIds.length + 2);
      for (const guildId of [second, third, late]) await listener.leave(guildId);
    }),
  );
});
