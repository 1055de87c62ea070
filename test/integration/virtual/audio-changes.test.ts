// The audio that a listener receives when a client changes the volume, pauses, seeks, or one track follows another: the
// song continues without a click or a gap, and Opus returns to the exact packets of the file. In virtual time.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { levelDb } from "../../../lab/listen/compare.ts";
import { findClicks, findGaps } from "../../../lab/listen/faults.ts";
import { decodeReceived, isBitExact, type StereoAudio } from "../../../lab/listen/received.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { volumeGain } from "../../../src/media/effects/filters/volume.ts";
import { openDemuxer } from "../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "../../support/memory-byte-source.ts";
import { SongListener } from "../../support/song-listener.ts";
import { makeSong } from "../../support/song-signal.ts";
import { findLanding, judgeSong } from "../../support/song-verdict.ts";
import { createTrackBudget } from "../../support/track-budgets.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
const FRAME_SAMPLES = 960;
/** Codecs fade in and out at the ends of a song. */
const EDGE_SAMPLES = 4800;

let virtual: VirtualTestEnvironment;
let env: TestEnvironment;
let listener: SongListener;
/** The packets of song.webm, and the audio that a listener decodes from them. */
let packets: Uint8Array[];
let passed: StereoAudio;

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: MEDIA.pathname } });
  env = virtual.env;
  listener = await virtual.run(() => SongListener.join(env));
  const demuxer = await openDemuxer(
    new MemoryByteSource(readFileSync(new URL("song.webm", MEDIA))),
    {},
    createTrackBudget(),
  );
  packets = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    packets.push(Uint8Array.from(packet.data));
  }
  passed = await decodeReceived(packets);
});

afterAll(() => virtual.close());
const narrated = narrating(() => virtual);

/** Clicks away from the ends; the packets of silence at a pause are part of the received audio. */
async function clicksIn(guildId: string): Promise<number[]> {
  const { left } = await decodeReceived(listener.framesOf(guildId).map(({ opus }) => opus));
  return findClicks(left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES));
}

describe("a listener", () => {
  test(
    "a volume change is audible at once, and at volume 100 the file's own packets return",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, `${env.media.url}/song.webm`);
      await listener.untilReceived(guildId, 60);
      await listener.bot.update(guildId, { volume: 50 });
      await listener.untilReceived(guildId, 150);
      await listener.bot.update(guildId, { volume: 100 });
      await listener.untilEnd(guildId);
      const received = await listener.take(guildId);

      expect(received.packets).toHaveLength(packets.length);
      const isOwn = received.packets.map((packet, index) => Buffer.compare(packet, packets[index]!) === 0);
      const [firstChanged, lastChanged] = [isOwn.indexOf(false), isOwn.lastIndexOf(false)];
      expect(firstChanged).toBeGreaterThanOrEqual(60);
      expect(lastChanged).toBeLessThan(packets.length - 20);
      expect(isBitExact(packets, received.packets.slice(lastChanged + 1))).toBe(true);

      // In between it is the same song at another level, not shifted by a single sample.
      const middle = [(firstChanged + 5) * FRAME_SAMPLES, (lastChanged - 5) * FRAME_SAMPLES] as const;
      const [own, other] = [passed.left.subarray(...middle), received.audio.left.subarray(...middle)];
      const gain = volumeGain(50);
      expect(levelDb(other) - levelDb(own)).toBeCloseTo(20 * Math.log10(gain), 0);
      const residue = other.map((value, index) => value - gain * own[index]!);
      expect(levelDb(other) - levelDb(residue)).toBeGreaterThan(25);
      expect(findClicks(received.audio.left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES))).toEqual([]);
      expect(findGaps(received.audio.left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES))).toEqual([]);
    }),
  );

  test(
    "a pause is sent as silence, followed by the packet after the last one played",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, `${env.media.url}/song.webm`);
      await listener.untilReceived(guildId, 60);
      await listener.bot.update(guildId, { paused: true });
      await listener.untilSilence(guildId);
      await listener.bot.update(guildId, { paused: false });
      await listener.untilEnd(guildId);
      expect((await listener.take(guildId)).packets.map(hex)).toEqual(packets.map(hex));
      expect(await clicksIn(guildId)).toEqual([]);
    }),
  );

  test(
    "a decoded song continues after a pause where it stopped",
    narrated(async () => {
      const guildId = await listener.openGuild(0);
      await listener.start(guildId, `${env.media.url}/song.mp3`);
      await listener.untilReceived(guildId, 40);
      await listener.bot.update(guildId, { paused: true });
      await listener.untilSilence(guildId);
      await listener.bot.update(guildId, { paused: false });
      await listener.untilEnd(guildId);
      const { audio } = await listener.take(guildId);
      const verdict = judgeSong(song(2500), audio);
      expect(verdict.signalToNoiseDb).toBeGreaterThan(25);
      expect(verdict).toMatchObject({ gapCount: 0 });
      expect(await clicksIn(guildId)).toEqual([]);
    }),
  );

  test.each([
    ["song.webm", 5000, 500, 3300],
    ["song.webm", 5000, 3000, 700],
    ["song.mp3", 2500, 100, 1500],
  ])(
    "a seek in %s (%i ms) jumps from after %i to %i ms without a click",
    narrated(async (file, lengthMs, position, targetMs) => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, `${env.media.url}/${file}`, { position });
      await listener.untilReceived(guildId, 20);
      const from = listener.audioPacketCount(guildId);
      await listener.bot.update(guildId, { position: targetMs });
      await listener.untilReceived(guildId, from + 45);
      const { audio } = await listener.take(guildId, from);
      const landing = findLanding(song(lengthMs).left, audio.left, { targetMs, withinMs: 1500 });
      expect(Math.abs(landing.songMs - targetMs)).toBeLessThan(20);
      expect(await clicksIn(guildId)).toEqual([]);
      await listener.bot.destroy(guildId);
    }),
  );

  test(
    "the next track follows the last frame of the one before",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, `${env.media.url}/song.mp3`);
      await listener.untilEnd(guildId);
      const from = listener.audioPacketCount(guildId);
      await listener.start(guildId, `${env.media.url}/song.webm`);
      await listener.untilEnd(guildId);
      const [all, second] = [await listener.take(guildId), await listener.take(guildId, from)];
      const first = all.packets.slice(0, all.packets.length - second.packets.length);
      expect(judgeSong(song(2500), await decodeReceived(first)).signalToNoiseDb).toBeGreaterThan(25);
      expect(second.packets.map(hex)).toEqual(packets.map(hex));
    }),
  );

  test(
    "the old track plays until its replacement is ready",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, `${env.media.url}/song.webm`);
      await listener.untilReceived(guildId, 60);
      const from = listener.audioPacketCount(guildId);
      await listener.start(guildId, `${env.media.url}/song.ogg`);
      await listener.untilEnd(guildId);
      const frames = listener.framesOf(guildId);
      // No silence before the end.
      expect(frames.slice(0, -5).filter(({ isSilence }) => isSilence)).toEqual([]);
      const { audio } = await listener.take(guildId, from);
      const landing = findLanding(song(2500).left, audio.left, { targetMs: 0, withinMs: 2500 });
      expect(landing.songMs).toBeLessThan(20);
    }),
  );
});

/** The song as it was before any encoder. */
function song(lengthMs: number): StereoAudio {
  const options = { sampleRateHz: 48_000, lengthMs };
  return { left: makeSong(0, options), right: makeSong(1, options) };
}

function hex(packet: Uint8Array): string {
  return Buffer.from(packet).toString("hex");
}
