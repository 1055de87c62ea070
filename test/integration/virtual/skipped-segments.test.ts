// A segment of a song is skipped by a marker: the listener hears the jump within 40 ms of its mark, without a gap or a
// click, passed through and transcoded, at normal speed and at 1.25 times that. In virtual time.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { findClicks, findGaps } from "../../../lab/listen/faults.ts";
import { Player } from "../../../src/control/players/player.ts";
import type { MarkerRequest } from "../../../src/control/players/player-markers.ts";
import { SongListener } from "../../support/song-listener.ts";
import { makeSong } from "../../support/song-signal.ts";
import { findLanding } from "../../support/song-verdict.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const MEDIA = new URL("../../fixtures/media/", import.meta.url);
const LENGTHS_MS = { "song.webm": 5000, "song.mp3": 2500, "song.ogg": 2500 } as const;
const FRAME_MS = 20;
const DEVIATION_MS_MAX = 40;
/** Codecs fade in and out at the ends of a song. */
const EDGE_SAMPLES = 4800;
const [FROM_MS, TO_MS] = [903, 1511];

interface Report {
  readonly id: number;
  readonly outcome: string;
  readonly epochMs: number;
  /** When it was told. */
  readonly toldMs: number;
}

let virtual: VirtualTestEnvironment;
let listener: SongListener;
let updates: MockInstance<Player["update"]>;
let reports: Report[];

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: MEDIA.pathname } });
  listener = await virtual.run(() => SongListener.join(virtual.env));
});
afterAll(() => virtual.close());
beforeEach(() => {
  updates = vi.spyOn(Player.prototype, "update");
  reports = [];
});
afterEach(() => updates.mockRestore());
const narrated = narrating(() => virtual);

/** On the track of the player that was updated last. */
function setMarkers(...markers: MarkerRequest[]): void {
  const player = updates.mock.contexts.at(-1) as Player;
  const { clock } = virtual;
  const isSet = player.setMarkers("test", markers, (id, outcome, epochMs) =>
    reports.push({ id, outcome, epochMs, toldMs: clock.epochMs() }),
  );
  expect(isSet).toBe(true);
}

/** Plays a song with a skipped segment, at a speed that also raises its pitch. */
async function playSkipping(file: keyof typeof LENGTHS_MS, rate: number) {
  const filters = rate === 1 ? {} : { timescale: { speed: rate, pitch: rate } };
  const guildId = await listener.openGuild(1);
  await listener.start(guildId, `${virtual.env.media.url}/${file}`, { filters });
  setMarkers({ id: 1, positionMs: FROM_MS, skipToMs: TO_MS }, { id: 2, positionMs: 1200 }, { id: 3, positionMs: 2000 });
  await listener.untilEnd(guildId);
  const recording = await listener.take(guildId);
  const epochsMs = listener
    .framesOf(guildId)
    .map(({ arrivalMs }) => arrivalMs + virtual.clock.epochMs() - virtual.clock.now());
  await listener.leave(guildId);
  return { ...recording, epochsMs };
}

describe("a skipped segment", () => {
  test.each([
    ["song.webm", 1],
    ["song.mp3", 1],
    ["song.ogg", 1],
    ["song.webm", 1.25],
    ["song.mp3", 1.25],
    ["song.ogg", 1.25],
  ] as const)(
    "of %s at %d times the speed is left out within 40 ms of its mark",
    narrated(async (file, rate) => {
      const { packets, audio, missingFrames, epochsMs } = await playSkipping(file, rate);
      const lengthMs = LENGTHS_MS[file];
      expect(missingFrames).toBe(0);
      // As the listener would hear the song without a skip.
      const whole = makeSong(0, { sampleRateHz: 48_000 / rate, lengthMs });
      const behindJump = audio.left.subarray(0, ((FROM_MS + 800) / rate) * 48);
      const target = { targetMs: TO_MS / rate, withinMs: 900 / rate };
      const landingMs = findLanding(whole, behindJump, target).songMs * rate;
      expect(Math.abs(landingMs - TO_MS)).toBeLessThan(DEVIATION_MS_MAX);
      const leftMs = packets.length * FRAME_MS * rate - (lengthMs - landingMs);
      expect(Math.abs(leftMs - FROM_MS)).toBeLessThan(DEVIATION_MS_MAX);
      const middle = audio.left.subarray(EDGE_SAMPLES, -EDGE_SAMPLES);
      expect(findGaps(middle)).toEqual([]);
      expect(findClicks(middle)).toEqual([]);

      expect(reports.map(({ id, outcome }) => [id, outcome])).toEqual([
        [1, "reached"],
        [2, "bypassed"],
        [3, "reached"],
      ]);
      const passedMs = [FROM_MS, FROM_MS, FROM_MS + 2000 - TO_MS];
      for (const [index, { epochMs }] of reports.entries()) {
        const heardMs = (epochsMs[0] ?? 0) + passedMs[index]! / rate;
        expect(Math.abs(epochMs - heardMs)).toBeLessThan(DEVIATION_MS_MAX);
      }
    }),
  );

  test(
    "is not skipped twice when its worker is lost behind it, and markers are reported once",
    narrated(async () => {
      const guildId = await listener.openGuild(1);
      await listener.start(guildId, `${virtual.env.media.url}/song.webm`);
      setMarkers(
        { id: 1, positionMs: FROM_MS, skipToMs: TO_MS },
        { id: 2, positionMs: 1600 },
        { id: 3, positionMs: 3000 },
      );
      await listener.untilReceived(guildId, 70);
      expect(reports.map(({ id }) => id)).toEqual([1, 2]);
      for (const thread of virtual.threads.audio) thread.end(1);
      await listener.untilEnd(guildId);
      expect(reports.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(["1 reached", "2 reached", "3 reached"]);
    }),
  );
});
