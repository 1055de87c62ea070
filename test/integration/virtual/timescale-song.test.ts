// Bots play nightcore, slow songs down and change settings while the music plays: the listener receives the whole song
// in the time that the tempo implies, and positions, seeks and end times are in song time. In virtual time.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findClicks, findGaps } from "../../../lab/listen/faults.ts";
import { pitchCents } from "../../../lab/listen/tone.ts";
import { openDemuxer } from "../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "../../support/memory-byte-source.ts";
import { SongListener } from "../../support/song-listener.ts";
import { createTrackBudget } from "../../support/track-budgets.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
const LENGTHS_MS: Readonly<Record<string, number>> = { "song.webm": 5000, "song.mp3": 2500 };
const FRAME_MS = 20;
/** Codecs fade in and out at the ends of a song. */
const EDGE_SAMPLES = 4800;
/** The steady tone of the left channel. */
const TONE_HZ = 440;

let virtual: VirtualTestEnvironment;
let listener: SongListener;
let packets: Uint8Array[];

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: MEDIA.pathname } });
  listener = await virtual.run(() => SongListener.join(virtual.env));
  const demuxer = await openDemuxer(
    new MemoryByteSource(readFileSync(new URL("song.webm", MEDIA))),
    {},
    createTrackBudget(),
  );
  packets = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    packets.push(Uint8Array.from(packet.data));
  }
});

afterAll(() => virtual.close());
const narrated = narrating(() => virtual);

function url(file: string): string {
  return `${virtual.env.media.url}/${file}`;
}

/** Song milliseconds per millisecond, from two reports of the player. */
async function observedRate(guildId: string): Promise<number> {
  const first = (await listener.bot.player(guildId)).state;
  await listener.untilReceived(guildId, listener.audioPacketCount(guildId) + 30);
  const second = (await listener.bot.player(guildId)).state;
  return (second.position - first.position) / (second.time - first.time);
}

describe("timescale", () => {
  test.each([
    ["song.webm", { speed: 1.2, pitch: 1.2 }, 1.2, 1.2],
    ["song.mp3", { speed: 1.2, pitch: 1.2 }, 1.2, 1.2],
    ["song.webm", { speed: 2 }, 2, 1],
    ["song.mp3", { speed: 0.85, pitch: 0.8 }, 0.85, 0.8],
    ["song.mp3", { rate: 0.7 }, 0.7, 0.7],
  ])(
    "plays the whole of %s at %j",
    narrated(async (file, timescale, tempo, pitch) => {
      const { packets: received, audio } = await listener.record(url(file), {
        daveVersion: 1,
        player: { filters: { timescale } },
      });
      const dueFrames = LENGTHS_MS[file]! / tempo / FRAME_MS;
      expect(Math.abs(received.length - dueFrames)).toBeLessThanOrEqual(2);
      const middle = audio.left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES);
      expect(Math.abs(pitchCents(middle, TONE_HZ * pitch, 48_000) ?? 1200)).toBeLessThan(3);
      expect(findGaps(middle)).toEqual([]);
      expect(findClicks(middle)).toEqual([]);
    }),
  );

  test(
    "keeps start, end time and position in song time",
    narrated(async () => {
      const guildId = await listener.openGuild(0);
      const player = { position: 1000, endTime: 3000, filters: { timescale: { speed: 2 } } };
      await listener.start(guildId, url("song.webm"), player);
      expect(Math.abs((await observedRate(guildId)) - 2)).toBeLessThan(0.2);
      await listener.untilEnd(guildId);
      const { packets: received } = await listener.take(guildId);
      expect(Math.abs(received.length - 50)).toBeLessThanOrEqual(2);
    }),
  );

  test(
    "seeks in song time",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, url("song.webm"), { filters: { timescale: { speed: 0.5 } } });
      await listener.untilReceived(guildId, 20);
      const { state } = await listener.bot.update(guildId, { position: 4000 });
      expect(state.position).toBeGreaterThanOrEqual(4000);
      const from = listener.audioPacketCount(guildId);
      await listener.untilEnd(guildId);
      const { packets: received } = await listener.take(guildId, from);
      // One second at half speed, and the audio of the old position that was in flight.
      expect(Math.abs(received.length - 100)).toBeLessThanOrEqual(6);
    }),
  );

  test(
    "a timescale is set, changed and removed while a song is passed through, and the file's own packets return",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, url("song.webm"));
      await listener.untilReceived(guildId, 30);
      await listener.bot.update(guildId, { filters: { timescale: { speed: 1.2, pitch: 1.2 } } });
      await listener.untilReceived(guildId, 65);
      await listener.bot.update(guildId, { filters: { timescale: { speed: 0.8 } } });
      await listener.untilReceived(guildId, 75);
      expect(Math.abs((await observedRate(guildId)) - 0.8)).toBeLessThan(0.1);
      await listener.bot.update(guildId, { filters: {} });
      const removedAt = listener.audioPacketCount(guildId);
      await listener.untilEnd(guildId);
      const { packets: received, audio } = await listener.take(guildId);
      const own = packets.map(hex);
      // 300 ms after it was removed at the latest.
      const last = received.slice(removedAt + 15).map(hex);
      expect(last.length).toBeGreaterThan(20);
      expect(last).toEqual(own.slice(-last.length));
      const middle = audio.left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES);
      expect(findClicks(middle)).toEqual([]);
      expect(findGaps(middle)).toEqual([]);
    }),
  );
});

function hex(packet: Uint8Array): string {
  return Buffer.from(packet).toString("hex");
}
