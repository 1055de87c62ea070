import { describe, expect, test } from "vitest";
import { type Reaction, ReconnectPlan, reactionsTo } from "../../../../../src/media/voice/connection/close-policy.ts";
import { fixedRandom } from "../../../../support/voice-builders.ts";

function reactions(code: number, times: number): (Reaction | undefined)[] {
  const plan = new ReconnectPlan(fixedRandom);
  return Array.from({ length: times }, () => plan.next({ code, nowMs: 0, isResumable: true })?.reaction);
}

describe("reactions to close codes (discord-voice.md 1.7)", () => {
  test.each([1001, 1005, 1006, 1011, 1012, 3999])("close code %i is resumed five times, then given up", (code) => {
    expect(reactions(code, 6)).toEqual(["resume", "resume", "resume", "resume", "resume", undefined]);
  });

  test.each([1000, 4000, 4001, 4002, 4013, 4020])("close code %i is resumed once, then given up", (code) => {
    expect(reactions(code, 2)).toEqual(["resume", undefined]);
  });

  test.each([4003, 4005, 4009])("close code %i is identified again once, then given up", (code) => {
    expect(reactions(code, 2)).toEqual(["identify", undefined]);
  });

  test.each([4004, 4006, 4011, 4012, 4014, 4017, 4021, 4022, 4007, 4999])(
    "close code %i is given up at once",
    (code) => {
      expect(reactions(code, 1)).toEqual([undefined]);
      expect(reactionsTo(code)).toEqual([]);
    },
  );

  test("close code 4015 is resumed, then identified again, then given up", () => {
    expect(reactions(4015, 3)).toEqual(["resume", "identify", undefined]);
  });

  test("close code 4016 is tried once more with the mode every server knows", () => {
    expect(reactions(4016, 2)).toEqual(["identifyWithXchacha", undefined]);
  });
});

describe("the reconnect plan", () => {
  test("the reconnect plan waits 0, 1, 2, 4, 8 seconds, give or take a quarter, plus a spread of at most 250 ms", () => {
    const plan = new ReconnectPlan(fixedRandom);
    const delays = Array.from({ length: 5 }, () => plan.next({ code: 1006, nowMs: 0, isResumable: true })?.delayMs);
    expect(delays).toEqual([125, 1125, 2125, 4125, 8125]);
    for (const unit of [0, 0.999]) {
      const edge = new ReconnectPlan({ ...fixedRandom, unit: () => unit });
      edge.next({ code: 1006, nowMs: 0, isResumable: true });
      const delayMs = edge.next({ code: 1006, nowMs: 0, isResumable: true })?.delayMs ?? 0;
      expect(delayMs).toBeGreaterThanOrEqual(750);
      expect(delayMs).toBeLessThanOrEqual(1500);
    }
  });

  test("a session that cannot be resumed is identified again", () => {
    const plan = new ReconnectPlan(fixedRandom);
    expect(plan.next({ code: 1006, nowMs: 0, isResumable: false })?.reaction).toBe("identify");
  });

  test("the reconnect count is reset after 30 s of a working session, not before", () => {
    const plan = new ReconnectPlan(fixedRandom);
    const next = (nowMs: number) => plan.next({ code: 4000, nowMs, isResumable: true })?.reaction;
    expect(next(0)).toBe("resume");
    plan.markWorking(1000);
    expect(next(30_999)).toBeUndefined();
    plan.markWorking(40_000);
    expect(next(70_000)).toBe("resume");
  });

  test("a session that resumes again and again without lasting is given up after six attempts of all kinds", () => {
    const plan = new ReconnectPlan(fixedRandom);
    const codes = [1006, 1006, 4000, 4001, 4002, 4013, 4015];
    const attempts = codes.map((code, index) => {
      plan.markWorking(index * 1000);
      return plan.next({ code, nowMs: index * 1000 + 500, isResumable: true });
    });
    expect(attempts.map((attempt) => attempt !== undefined)).toEqual([true, true, true, true, true, true, false]);
  });

  test("an outage of more than a minute is given up", () => {
    const plan = new ReconnectPlan(fixedRandom);
    expect(plan.next({ code: 1006, nowMs: 0, isResumable: true })).toBeDefined();
    expect(plan.next({ code: 1006, nowMs: 60_000, isResumable: true })).toBeDefined();
    expect(plan.next({ code: 1006, nowMs: 60_001, isResumable: true })).toBeUndefined();
  });
});
