// What events did to the sound: gaps of struck players, and steadiness of all others, with times given by the test.

import { expect, test } from "vitest";
import type { Fault, Subject } from "../../../../lab/chaos/schedule.ts";
import { judgeSound, machineAt, type SoundRecord, without } from "../../../../lab/chaos/sound.ts";
import type { Interruption } from "../../../../lab/chaos/sound-log.ts";

const AUDIO: Subject = { name: "audio-1", role: "audio" };
const GATEWAY: Subject = { name: "gateway-1", role: "gateway" };

function happening(subject: Subject, fromMs: number, toMs = fromMs + 5000, fault: Fault = "kill") {
  return { subject, fault, fromMs, toMs };
}

function interruption(guildId: string, fromMs: number, toMs: number, more: Partial<Interruption> = {}): Interruption {
  return { guildId, fromMs, toMs, missing: 0, isNewStream: false, skipped: 0, ...more };
}

/** Guild 1 is on audio-1, guild 2 on audio-2. */
function record(parts: Partial<SoundRecord>): SoundRecord {
  return {
    guildIds: ["1", "2"],
    interruptions: [],
    happenings: [],
    sendings: [
      { guildId: "1", machine: "audio-1", fromMs: 0 },
      { guildId: "2", machine: "audio-2", fromMs: 0 },
    ],
    fromMs: 0,
    toMs: 200_000,
    ...parts,
  };
}

test("the gap after a machine's death is that of its players, and the others are beside it", () => {
  const { hit, beside, losses } = judgeSound(
    record({
      happenings: [happening(AUDIO, 50_000)],
      interruptions: [
        interruption("1", 49_500, 49_570),
        interruption("1", 49_990, 52_500, { missing: 124, isNewStream: true }),
        interruption("2", 51_000, 51_090, { missing: 1 }),
      ],
    }),
  );
  expect(hit).toEqual(new Map([["kill-audio", [2510]]]));
  expect(beside.get("kill-audio")).toEqual({ guildSeconds: 26, missing: 1, late: 0, newStreams: 0, longestMs: 90 });
  expect(losses).toEqual([]);
});

test("a blip of a machine that wakes does not end the gap, a second of sound does", () => {
  const interruptions = [interruption("1", 50_000, 70_000), interruption("1", 70_100, 73_000)];
  const gaps = (...more: readonly Interruption[]) =>
    judgeSound(record({ happenings: [happening(AUDIO, 50_000)], interruptions: [...interruptions, ...more] })).hit;
  expect(gaps()).toEqual(new Map([["kill-audio", [23_000]]]));
  expect(gaps(interruption("1", 74_001, 74_500))).toEqual(new Map([["kill-audio", [23_000]]]));
});

test("a struck player without a gap counts with 0", () => {
  expect(judgeSound(record({ happenings: [happening(AUDIO, 50_000)] })).hit).toEqual(new Map([["kill-audio", [0]]]));
});

test("a gateway's death must interrupt nobody, and a new stream or a long gap is a loss", () => {
  const happenings = [happening(GATEWAY, 50_000)];
  const { hit, beside, losses } = judgeSound(
    record({
      happenings,
      interruptions: [
        interruption("1", 52_000, 52_040, { isNewStream: true }),
        interruption("2", 53_000, 54_001),
        interruption("2", 55_000, 56_000),
      ],
    }),
  );
  expect(hit).toEqual(new Map());
  expect(beside.get("kill-gateway")).toEqual({ guildSeconds: 52, missing: 0, late: 3, newStreams: 1, longestMs: 1001 });
  expect(losses).toEqual([
    expect.stringMatching(/^guild 1 joined voice again at 52\.0 s for 40 ms.*kill-gateway gateway-1 was 2\.0 s before/),
    expect.stringMatching(/^guild 2 was interrupted at 53\.0 s for 1001 ms/),
  ]);
});

test("a packet of a song that is left out or comes again is a loss at any time but around what strikes its machine", () => {
  const lost = (fromMs: number, skipped: number, toMs = fromMs + 40) => interruption("1", fromMs, toMs, { skipped });
  const losses = (...interruptions: readonly Interruption[]) =>
    judgeSound(record({ happenings: [happening(GATEWAY, 50_000), happening(AUDIO, 100_000)], interruptions })).losses;
  expect(losses(lost(100_500, 5))).toEqual([]);
  expect(losses(interruption("1", 5000, 5040, { skipped: 1, missing: 1 }))).toEqual([]);
  expect(losses(lost(5000, 1))).toEqual([
    "guild 1 lost 1 packets at 5.0 s for 40 ms, though its machine was well; nothing had happened before",
  ]);
  expect(losses(lost(80_000, -2))).toEqual([
    expect.stringMatching(/^guild 1 heard 2 packets again at 80\.0 s .*; kill-gateway gateway-1 was 30\.0 s before$/),
  ]);
});

test("more packets missing beside an event than while nothing happens are a loss", () => {
  const losses = (...missing: readonly (readonly [atMs: number, missing: number])[]) =>
    judgeSound(
      record({
        happenings: [happening(GATEWAY, 50_000)],
        interruptions: missing.map(([atMs, count]) => interruption("1", atMs, atMs + 200, { missing: count })),
      }),
    ).losses;
  expect(losses([51_000, 26])).toEqual([]);
  expect(losses([51_000, 60])).toEqual(["beside kill-gateway 60 packets are missing, 23.1 of 1000"]);
  expect(losses([51_000, 60], [10_000, 200])).toEqual([]);
});

test("on a starved machine pauses of some seconds are noise, new streams are not", () => {
  const starving = interruption("2", 5000, 5900, { missing: 200 });
  const judged = (...more: readonly Interruption[]) => judgeSound(record({ interruptions: [starving, ...more] }));
  const losses = (...more: readonly Interruption[]) => judged(...more).losses.length;
  expect([judged().isStarved, judgeSound(record({})).isStarved]).toEqual([true, false]);
  expect(losses(interruption("1", 60_000, 64_000))).toBe(0);
  expect(losses(interruption("1", 60_000, 66_000))).toBe(1);
  expect(losses(interruption("1", 60_000, 60_100, { isNewStream: true }))).toBe(1);
});

test("a player whose own machine is struck at about the same time says nothing of another event", () => {
  const { beside, losses } = judgeSound(
    record({
      happenings: [happening(AUDIO, 48_000), happening(GATEWAY, 50_000)],
      interruptions: [interruption("1", 52_000, 70_000, { isNewStream: true })],
    }),
  );
  expect(losses).toEqual([]);
  expect(beside.get("kill-gateway")?.guildSeconds).toBeCloseTo(26 + 2);
});

test("a player that has moved is struck with the machine that it is on by then", () => {
  const { hit } = judgeSound(
    record({
      happenings: [happening(AUDIO, 50_000)],
      sendings: [
        { guildId: "1", machine: "audio-1", fromMs: 0 },
        { guildId: "1", machine: "audio-2", fromMs: 40_000 },
        { guildId: "2", machine: undefined, fromMs: 0 },
      ],
    }),
  );
  expect(hit).toEqual(new Map());
});

test("undisturbed seconds are those far from all events", () => {
  const { undisturbed } = judgeSound(
    record({
      happenings: [happening(GATEWAY, 50_000, 80_000)],
      interruptions: [interruption("1", 20_000, 20_100, { missing: 2 }), interruption("1", 60_000, 60_100)],
    }),
  );
  // 49 s before it, and those from 10 s after its end on.
  expect(undisturbed).toEqual({ guildSeconds: 2 * (49 + 110), missing: 2, late: 0, newStreams: 0, longestMs: 100 });
});

test("the machine of a guild is the one whose stream began last", () => {
  const { sendings } = record({});
  expect([machineAt(sendings, "2", 5), machineAt(sendings, "2", -1)]).toEqual(["audio-2", undefined]);
});

test("spans are taken out of a span", () => {
  expect(without([0, 100], [[-5, 10], [50, 60], [90, 200]])).toEqual([[10, 50], [60, 90]]); // biome-ignore format: pairs
  expect(without([0, 100], [[0, 100]])).toEqual([]);
});
