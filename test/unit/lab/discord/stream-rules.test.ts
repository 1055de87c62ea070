// Rules over time, with the time given by the test: op 5 and silence, lateness, the Resume buffer.

import { describe, expect, test } from "vitest";
import { ArrivalStatistics } from "../../../../lab/discord/arrival-statistics.ts";
import { FaultScript } from "../../../../lab/discord/faults.ts";
import { ReplayBuffer } from "../../../../lab/discord/replay-buffer.ts";
import { StopRules } from "../../../../lab/discord/stop-rules.ts";

function newRules(): { readonly rules: StopRules; readonly reported: string[] } {
  const reported: string[] = [];
  return { rules: new StopRules((kind) => reported.push(kind)), reported };
}

/** `count` frames, 20 ms apart; returns the time of the last. */
function feed(
  rules: StopRules,
  { count, isSilence = false, fromMs }: { count: number; isSilence?: boolean; fromMs: number },
) {
  for (let frame = 0; frame < count; frame++) rules.onFrame(isSilence, fromMs + 20 * frame);
  return fromMs + 20 * (count - 1);
}

describe("op 5 and silence", () => {
  test("audio, five silence frames, op 5 zero are accepted, and so is audio after that", () => {
    const { rules, reported } = newRules();
    rules.onSpeaking(1, 0);
    feed(rules, { count: 10, fromMs: 0 });
    feed(rules, { count: 5, isSilence: true, fromMs: 200 });
    rules.onSpeaking(0, 281);
    rules.onSpeaking(1, 5000);
    feed(rules, { count: 10, fromMs: 5000 });
    rules.settle(5200, true);
    expect(reported).toEqual([]);
  });

  test("op 5 may arrive up to 500 ms behind the audio, or ahead of the silence", () => {
    const { rules, reported } = newRules();
    rules.onFrame(false, 0);
    rules.onSpeaking(1, 500);
    feed(rules, { count: 3, fromMs: 500 });
    rules.onSpeaking(0, 541);
    expect(rules.isStopping).toBe(true);
    feed(rules, { count: 4, isSilence: true, fromMs: 900 });
    expect(rules.isStopping).toBe(true);
    rules.onFrame(true, 1041);
    expect(rules.isStopping).toBe(false);
    rules.settle(10_000, true);
    expect(reported).toEqual([]);
  });

  test("op 5 of a stop may arrive behind the audio after it, once for each stop", () => {
    const { rules, reported } = newRules();
    rules.onSpeaking(1, 0);
    feed(rules, { count: 3, fromMs: 0 });
    feed(rules, { count: 5, isSilence: true, fromMs: 60 });
    feed(rules, { count: 10, fromMs: 160 });
    rules.onSpeaking(0, 360);
    rules.onSpeaking(1, 361);
    expect(rules.isStopping).toBe(false);
    feed(rules, { count: 3, fromMs: 361 });
    rules.onSpeaking(0, 421);
    rules.settle(600, true);
    expect(reported).toEqual(["silence-missing"]);
  });

  test("a first op 5 zero that the audio overtakes ends nothing", () => {
    const { rules, reported } = newRules();
    rules.onFrame(false, 0);
    rules.onSpeaking(0, 1);
    rules.onSpeaking(1, 2);
    feed(rules, { count: 10, fromMs: 20 });
    expect(reported).toEqual([]);
  });

  test("op 5 more than 500 ms late, or missing, is reported once", () => {
    const late = newRules();
    late.rules.onFrame(false, 0);
    late.rules.onSpeaking(1, 501);
    expect(late.reported).toEqual(["speaking-missing"]);
    const never = newRules();
    feed(never.rules, { count: 50, fromMs: 0 });
    never.rules.settle(1000, true);
    expect(never.reported).toEqual(["speaking-missing"]);
  });

  test("short audio without op 5 is reported with what follows, not with the op 5 of later audio", () => {
    const { rules, reported } = newRules();
    feed(rules, { count: 10, fromMs: 0 });
    feed(rules, { count: 5, isSilence: true, fromMs: 200 });
    rules.onSpeaking(0, 5000);
    expect(reported).toEqual(["speaking-missing"]);
    rules.onSpeaking(1, 10_000);
    rules.settle(10_000, true);
    expect(reported).toEqual(["speaking-missing"]);
  });

  test("four silence frames at a stop are too few", () => {
    const { rules, reported } = newRules();
    rules.onSpeaking(1, 0);
    feed(rules, { count: 3, fromMs: 0 });
    feed(rules, { count: 4, isSilence: true, fromMs: 60 });
    rules.onSpeaking(0, 130);
    rules.onSpeaking(1, 631);
    expect(reported).toEqual(["silence-missing"]);
  });

  test("audio that stops without silence frames is reported after a second", () => {
    const { rules, reported } = newRules();
    rules.onSpeaking(1, 0);
    rules.onFrame(false, 0);
    rules.settle(1000, true);
    expect(reported).toEqual([]);
    rules.settle(1001, true);
    expect(reported).toEqual(["silence-missing"]);
  });

  test("op 5 with 1 just before the first audio after a second's pause implies a zero in between", () => {
    const { rules, reported } = newRules();
    rules.onSpeaking(1, 0);
    rules.onFrame(false, 0);
    feed(rules, { count: 5, isSilence: true, fromMs: 20 });
    rules.onSpeaking(0, 120);
    rules.onSpeaking(1, 1099);
    rules.onFrame(false, 1101);
    rules.settle(1200, true);
    expect(reported).toEqual([]);
  });

  test("silence without op 5 zero is reported, unless the client has no connection to send it on", () => {
    for (const isReachable of [true, false]) {
      const { rules, reported } = newRules();
      rules.onSpeaking(1, 0);
      rules.onFrame(false, 0);
      feed(rules, { count: 5, isSilence: true, fromMs: 20 });
      rules.settle(2000, isReachable);
      expect(reported).toEqual(isReachable ? ["speaking-not-cleared"] : []);
    }
  });
});

describe("lateness", () => {
  test("lateness is measured against the absolute schedule of the earliest packet", () => {
    const statistics = new ArrivalStatistics();
    // Late start by 3 ms, then on time, then one 10 ms late: against the anchor of the on-time ones.
    const arrivals = [3, 20, 40, 70, 80];
    for (const [index, arrivalMs] of arrivals.entries()) statistics.add(0xffff_fc40 + 960 * index, 1000 + arrivalMs);
    const summary = statistics.summary();
    expect(summary).toMatchObject({ packets: 5, bunchedPackets: 0 });
    expect(summary.latenessMsMax).toBeCloseTo(10);
    expect(summary.latenessMsP50).toBeCloseTo(0, 0);
    expect(summary.gapMsMax).toBeCloseTo(30);
  });

  test("lateness does not drift with packets that are 20.1 ms apart: they are later and later", () => {
    const statistics = new ArrivalStatistics();
    for (let index = 0; index <= 100; index++) statistics.add(960 * index, 20.1 * index);
    expect(statistics.summary().latenessMsMax).toBeCloseTo(10);
    expect(statistics.summary().latenessMsP99).toBeCloseTo(9.9, 0);
  });

  test("lateness ignores a pause between runs of audio and skipped timestamps, but not a stall", () => {
    const statistics = new ArrivalStatistics();
    statistics.add(0, 0);
    statistics.endRun();
    statistics.add(960, 5000);
    statistics.add(960 * 11, 5200);
    expect(statistics.summary().latenessMsMax).toBe(0);
    statistics.add(960 * 12, 5920);
    expect(statistics.summary().latenessMsMax).toBe(700);
  });

  test("lateness of several streams can be merged and cleared", () => {
    const one = new ArrivalStatistics();
    const other = new ArrivalStatistics();
    for (let index = 0; index < 99; index++) one.add(960 * index, 20 * index);
    other.add(0, 0);
    other.add(960, 70);
    const all = new ArrivalStatistics();
    all.merge(one);
    all.merge(other);
    expect(all.summary()).toMatchObject({ packets: 101, latenessMsP50: 0.1, latenessMsMax: 50, gapMsMax: 70 });
    expect(all.summary()).toMatchObject({ latenessMsP99: 0.1, latenessMsP999: 50 });
    expect(all.summary()).toMatchObject({ packetsLate20Ms: 1, packetsLate60Ms: 0 });
    one.clear();
    expect(one.summary()).toEqual({
      packets: 0,
      latenessMsP50: 0,
      latenessMsP99: 0,
      latenessMsP999: 0,
      latenessMsMax: 0,
      packetsLate20Ms: 0,
      packetsLate60Ms: 0,
      gapMsMax: 0,
      bunchedPackets: 0,
    });
  });
});

describe("the Resume buffer", () => {
  test("the Resume buffer returns the messages after a number, across the wrap", () => {
    const buffer = new ReplayBuffer(65_535);
    for (let message = 0; message < 3; message++) buffer.add((seq) => String(seq), 0);
    expect(buffer.after(-1)?.map((message) => message.data)).toEqual(["65535", "0", "1"]);
    expect(buffer.after(65_535)?.map((message) => message.seq)).toEqual([0, 1]);
    expect(buffer.after(1)).toEqual([]);
    expect(buffer.after(2)).toBeUndefined();
  });

  test("the Resume buffer has 256 messages and cannot replay older ones", () => {
    const buffer = new ReplayBuffer(0);
    for (let message = 0; message < 257; message++) buffer.add((seq) => String(seq), 0);
    expect(buffer.after(0)).toBeUndefined();
    expect(buffer.after(-1)).toBeUndefined();
    expect(buffer.after(1)?.length).toBe(255);
  });

  test("the Resume buffer accepts acknowledgements that grow and are not two seconds behind", () => {
    const buffer = new ReplayBuffer(65_535);
    expect(buffer.judgeAck(-1, 0)).toBeUndefined();
    for (let message = 0; message < 3; message++) buffer.add((seq) => String(seq), 1000);
    expect(buffer.judgeAck(-1, 3000)).toBeUndefined();
    expect(buffer.judgeAck(-1, 3001)).toContain("leaves out 65535");
    expect(buffer.judgeAck(0, 1000)).toBeUndefined();
    expect(buffer.judgeAck(65_535, 1000)).toContain("went back");
    expect(buffer.judgeAck(1, 9000)).toBeUndefined();
    expect(buffer.judgeAck(2, 9000)).toContain("never sent");
    expect(buffer.judgeAck(undefined, 9000)).toContain("not a number");
  });
});

test("faults are injected in script order, as often as set, and can be cleared", () => {
  const script = new FaultScript();
  script.add("ready", { kind: "withhold" }).add("ready", { kind: "close", code: 4015 }, 2);
  expect(script.take("hello")).toBeUndefined();
  const kinds = Array.from({ length: 4 }, () => script.take("ready")?.kind);
  expect(kinds).toEqual(["withhold", "close", "close", undefined]);
  script.add("hello", { kind: "withhold" }, Number.POSITIVE_INFINITY).clear("hello");
  expect(script.take("hello")).toBeUndefined();
});
