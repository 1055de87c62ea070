// Which packets of a guild are missing or late, with times and timestamps given by the test.

import { expect, test } from "vitest";
import { SoundLog } from "../../../../lab/chaos/sound-log.ts";

const GUILD = "1";
const TICKS = 960;

function heard(...packets: readonly (readonly [ssrc: number, frame: number, arrivalMs: number])[]): SoundLog {
  const log = new SoundLog();
  for (const [ssrc, frame, arrivalMs] of packets)
    log.hear(GUILD, { ssrc, timestamp: (frame * TICKS) >>> 0, arrivalMs });
  return log;
}

test("packets that follow each other in time leave no trace", () => {
  const log = heard([1, 0, 0], [1, 1, 20], [1, 2, 80]);
  expect(log.interruptions).toEqual([]);
  expect(log.packetCount).toBe(3);
  expect(log.lastMs(GUILD)).toBe(80);
});

test("a packet that is more than three frames behind the one before is late, and none is missing", () => {
  expect(heard([1, 0, 0], [1, 1, 61]).interruptions).toEqual([
    { guildId: GUILD, fromMs: 0, toMs: 61, missing: 0, isNewStream: false, skipped: 0 },
  ]);
});

test("frames are missing by their timestamps, also across the end of their numbers", () => {
  const last = 2 ** 32 / TICKS;
  expect(heard([1, 0, 0], [1, 3, 60]).interruptions).toMatchObject([{ missing: 2 }]);
  expect(heard([1, last - 1, 0], [1, last + 1, 40]).interruptions).toMatchObject([{ missing: 1 }]);
});

test("a new stream is told apart, and its missing frames are counted by the time", () => {
  expect(heard([1, 7, 0], [2, 5000, 20]).interruptions).toMatchObject([{ missing: 0, isNewStream: true }]);
  expect(heard([1, 7, 0], [2, 5000, 1000]).interruptions).toMatchObject([{ missing: 49, isNewStream: true }]);
});

test("packets of a song are left out or come again by their numbers, unless another stream goes on", () => {
  const steps = (...numbers: readonly number[]) => {
    const log = new SoundLog();
    for (const [index, number] of numbers.entries())
      log.hear(GUILD, { ssrc: 1, timestamp: index * TICKS, arrivalMs: index * 20, number });
    log.hear(GUILD, { ssrc: 2, timestamp: 0, arrivalMs: numbers.length * 20, number: 500 });
    return log.interruptions.map(({ skipped, isNewStream }) => [skipped, isNewStream]);
  };
  expect(steps(7, 8, 9)).toEqual([[0, true]]);
  expect(steps(7, 9, 9)).toEqual([[1, false], [-1, false], [0, true]]); // biome-ignore format: pairs
});

test("guilds are looked at one by one", () => {
  const log = new SoundLog();
  log.hear("1", { ssrc: 1, timestamp: 0, arrivalMs: 0 });
  log.hear("2", { ssrc: 2, timestamp: 9 * TICKS, arrivalMs: 500 });
  expect(log.interruptions).toEqual([]);
});
