// Songs that are played a second time with the Opus cache: listeners receive the same audio, which is passed through. In
// virtual time, with a folder on the disk.

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SongListener } from "../../support/song-listener.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
const SONG_PACKETS = 125;
const EQUALIZER = { equalizer: [{ band: 0, gain: 0.2 }] };

let folder: string;
let virtual: VirtualTestEnvironment;
let listener: SongListener;

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), "tonearm-opus-cache-")), "cache");
  virtual = await VirtualTestEnvironment.start({
    media: { root: MEDIA.pathname },
    config: { TONEARM_OPUS_CACHE_PATH: folder, TONEARM_WORKERS_COUNT: "1" },
  });
  listener = await virtual.run(() => SongListener.join(virtual.env));
});

afterEach(async () => {
  await virtual.close();
  rmSync(join(folder, ".."), { recursive: true });
});
const narrated = narrating(() => virtual);

interface Play {
  readonly packets: readonly Uint8Array[];
  readonly mode: string;
  readonly codec: string;
}

type DiagnosisJson = readonly [{ readonly audio: Omit<Play, "packets"> }];

/** Plays a song; `during` runs after a second. */
async function play(path: string, player: object = {}, during?: (guildId: string) => Promise<unknown>): Promise<Play> {
  const guildId = await listener.openGuild();
  await listener.start(guildId, `${virtual.env.media.url}/${path}`, player);
  await listener.untilReceived(guildId, 50);
  const answer = await listener.bot.request<DiagnosisJson>("GET", `/v4/tonearm/players/${guildId}`);
  await during?.(guildId);
  await listener.untilEnd(guildId);
  const { packets } = await listener.take(guildId);
  await listener.leave(guildId);
  const { mode, codec } = answer.body[0].audio;
  return { packets, mode, codec };
}

function files(): readonly string[] {
  return readdirSync(folder);
}

describe("a song that is played a second time", () => {
  test.each(["ranges/song.mp3", "norange/song.mp3", "ranges/song.flac"])(
    "the song is passed through, and listeners receive the same packets: %s",
    narrated(async (path) => {
      const first = await play(path);
      expect(first).toMatchObject({ mode: "transcoding" });
      expect(files()).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.opus$/)]);
      const second = await play(path);
      expect(second).toMatchObject({ mode: "passthrough", codec: "opus" });
      expect(second.packets.length).toBe(SONG_PACKETS);
      expect(second.packets).toEqual(first.packets);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      expect(statSync(join(folder, files()[0]!)).mode & 0o777).toBe(0o600); // there is one
    }),
  );

  test(
    "a seek, and filters that are set in the middle, take effect",
    narrated(async () => {
      const { packets: whole } = await play("ranges/song.mp3");
      const sought = await play("ranges/song.mp3", {}, (guildId) => listener.bot.update(guildId, { position: 2000 }));
      expect(sought).toMatchObject({ mode: "passthrough" });
      expect(sought.packets.slice(-20)).toEqual(whole.slice(-20));
      expect(sought.packets.length).toBeLessThan(SONG_PACKETS - 10);
      const filtered = await play("ranges/song.mp3", {}, (guildId) =>
        listener.bot.update(guildId, { filters: EQUALIZER }),
      );
      expect(filtered.packets.length).toBe(SONG_PACKETS);
      expect(filtered.packets.slice(-40)).not.toEqual(whole.slice(-40));
    }),
  );

  test(
    "a song that begins with filters is decoded from its own file",
    narrated(async () => {
      await play("ranges/song.mp3");
      expect(await play("ranges/song.mp3", { filters: EQUALIZER })).toMatchObject({
        mode: "transcoding",
        codec: "mp3",
      });
    }),
  );

  test(
    "a damaged entry is removed, and the song is transcoded and stored again",
    narrated(async () => {
      const first = await play("ranges/song.mp3");
      const [name = ""] = files();
      writeFileSync(join(folder, name), "not what was stored");
      expect(await play("ranges/song.mp3")).toEqual(first);
      expect(await play("ranges/song.mp3")).toEqual(first);
      expect(await play("ranges/song.mp3")).toMatchObject({ mode: "passthrough" });
    }),
  );
});

describe("nothing is stored of a song", () => {
  const change = (body: object) => (guildId: string) => listener.bot.update(guildId, body);
  test.each<readonly [string, object, ((guildId: string) => Promise<unknown>) | undefined]>([
    ["with filters", { filters: EQUALIZER }, undefined],
    ["with another volume", { volume: 50 }, undefined],
    ["from the middle", { position: 500 }, undefined],
    ["with an end time", { endTime: 1500 }, undefined],
    ["when filters are set", {}, change({ filters: EQUALIZER })],
    ["when its volume is changed", {}, change({ volume: 90 })],
    ["when it is sought", {}, change({ position: 1500 })],
  ])(
    "%s",
    narrated(async (_name, player, during) => {
      await play("ranges/song.mp3", player, during);
      expect(files()).toEqual([]);
    }),
  );

  test(
    "that pauses",
    narrated(async () => {
      await play("ranges/song.mp3", {}, async (guildId) => {
        await listener.bot.update(guildId, { paused: true });
        await listener.untilSilence(guildId);
        await listener.bot.update(guildId, { paused: false });
      });
      expect(files()).toEqual([]);
    }),
  );

  test(
    "whose server does not say when it changes",
    narrated(async () => {
      await play("chunked/song.mp3");
      expect(files()).toEqual([]);
    }),
  );
});

test(
  "guilds that share the frames of a song store it once",
  narrated(async () => {
    const guildIds = [await listener.openGuild(), await listener.openGuild()];
    for (const guildId of guildIds) await listener.start(guildId, `${virtual.env.media.url}/ranges/song.mp3`);
    await Promise.all(guildIds.map((guildId) => listener.untilEnd(guildId)));
    const [first, second] = await Promise.all(guildIds.map((guildId) => listener.take(guildId)));
    expect(second?.packets).toEqual(first?.packets);
    for (const guildId of guildIds) await listener.leave(guildId);
    expect(files().length).toBe(1);
    expect((await play("ranges/song.mp3")).packets).toEqual(first?.packets);
  }),
);
