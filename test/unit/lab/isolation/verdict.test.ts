import { expect, test } from "vitest";
import type { WindowResult } from "../../../../lab/isolation/harness/listening-post.ts";
import { judge, type Measured, repeatedProblems } from "../../../../lab/isolation/harness/verdict.ts";

interface WindowTraits {
  readonly gapMs?: number;
  readonly packets?: number;
  readonly silentPackets?: number;
  readonly versionMs?: number;
  readonly versionFailures?: number;
  readonly ownDelayMs?: number;
}

function windowOf(traits: WindowTraits = {}): WindowResult {
  const { gapMs = 25, packets = 200, silentPackets = 0, versionMs = 5, versionFailures = 0, ownDelayMs = 3 } = traits;
  const received = { guildId: "1", packets, silentPackets, gapMsP50: 20, gapMsP99: 21, gapMsMax: gapMs };
  return { seconds: 4, received: [received], versionMsMax: versionMs, versionFailures, ownDelayMsMax: ownDelayMs };
}

function measured(attack: WindowTraits, changes: Partial<Measured> = {}): Measured {
  const memory = { beforeBytes: 100e6, afterBytes: 110e6, backAfterSeconds: 1 };
  const nothing = { losses: [], delays: [], lostWorkers: 0, hasNodeEnded: false, memory };
  return { control: windowOf(), attack: windowOf(attack), ...nothing, ...changes };
}

test("an attack without an effect on control players is no problem", () => {
  expect(judge(measured({}))).toEqual([]);
});

test("a gap may be 40 ms longer than in the control, and no more", () => {
  expect(judge(measured({ gapMs: 65 }))).toEqual([]);
  expect(judge(measured({ gapMs: 66 }))).toEqual(["a gap of 66 ms, allowed are 65"]);
});

test("time for which the listeners themselves were starved is subtracted", () => {
  expect(judge(measured({ gapMs: 160, versionMs: 190, ownDelayMs: 103 }))).toEqual([]);
  expect(judge(measured({ gapMs: 170, ownDelayMs: 103 }))).toEqual(["a gap of 170 ms, allowed are 165"]);
});

test("packets without audio count as missing, and so do absent ones", () => {
  expect(judge(measured({ packets: 196 }))).toEqual([]);
  expect(judge(measured({ packets: 180 }))).toEqual(["10 % of a control player's audio is missing"]);
  expect(judge(measured({ silentPackets: 100 }))).toEqual(["50 % of a control player's audio is missing"]);
});

test("GET /version may take 100 ms more than in the control, and must not fail", () => {
  expect(judge(measured({ versionMs: 105 }))).toEqual([]);
  expect(judge(measured({ versionMs: 106 }))).toEqual(["GET /version took 106 ms, allowed are 105"]);
  expect(judge(measured({ versionFailures: 1 }))).toEqual(["GET /version failed 1 times"]);
});

test("losses are reported however busy the machine was", () => {
  const problems = judge(measured({}, { lostWorkers: 1, losses: ["a control player has lost its track"] }));
  expect(problems).toEqual(["1 audio worker(s) lost", "a control player has lost its track"]);
  expect(judge(measured({}, { hasNodeEnded: true }))).toContain("the node ended");
});

test("memory that is not released in time is a problem", () => {
  const memory = { beforeBytes: 100e6, afterBytes: 300e6, backAfterSeconds: undefined };
  expect(judge(measured({}, { memory }))).toEqual(["memory of 300 MB after 20 s, before it was 100 MB"]);
});

test("only a problem of each attempt counts, whatever its figures", () => {
  const gap = (ms: number) => `a gap of ${ms} ms, allowed are ${ms - 1.5}`;
  const slow = "GET /version took 134 ms, allowed are 123";
  const of = (...all: string[][]) => repeatedProblems(all.map((problems) => ({ problems })));
  expect(of([gap(79)])).toEqual([gap(79)]);
  expect(of([gap(79), slow], [gap(90)])).toEqual([gap(90)]);
  expect(of([gap(79)], [slow])).toEqual([]);
  expect(of([gap(79)], [])).toEqual([]);
  expect(of([gap(79)], [gap(80)], [slow])).toEqual([]);
});
