import { beforeEach, describe, expect, it } from "vitest";
import { createRepairBuckets, SilenceWatch, type Stall } from "../../../../src/media/player/silence-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const HANGS: Stall = { kind: "reopen", cause: "inputStarved", isHeld: false };
const STALLS: Stall = { kind: "reopen", cause: "network", isHeld: false };
const HELD: Stall = { kind: "rejoin", cause: "daveNotReady", isHeld: true };
const SWALLOWED: Stall = { kind: "rejoin", cause: "daveNotReady", isHeld: false };
const RECONNECTS: Stall = { kind: "rejoin", cause: "voiceNotReady", isHeld: true };

let clock: FakeClock;
let watch: SilenceWatch;

beforeEach(() => {
  clock = new FakeClock();
  watch = create();
});

function create(repairs = createRepairBuckets(clock), trackStuckThresholdMs = 10_000, account = "a"): SilenceWatch {
  return new SilenceWatch({ clock, trackStuckThresholdMs, repairs: () => repairs.of([account]) });
}

/** Looks twice a second; after how many milliseconds repairs were due. */
function silence(stall: Stall | undefined, forMs: number, of = watch): number[] {
  const dueMs: number[] = [];
  for (let passedMs = 500; passedMs <= forMs; passedMs += 500) {
    clock.advance(500);
    if (of.isRepairDue(stall)) dueMs.push(passedMs);
  }
  return dueMs;
}

describe("a silent player that should send audio", () => {
  it.each([
    ["a reader or decoder that hangs", HANGS, 5000],
    ["a server that does not send", STALLS, 90_000],
    ["frames that are held for DAVE", HELD, 10_000],
    ["frames that DAVE does not encrypt", SWALLOWED, 60_000],
    ["a voice gateway that is being connected", RECONNECTS, 120_000],
  ])("a silent player is repaired once, because of %s, after the component's own timeouts", (_what, stall, afterMs) => {
    expect(silence(stall, 600_000)).toEqual([afterMs]);
  });

  it("a silent player is repaired before its track is reported as stuck, but not within five seconds", () => {
    expect(silence(HANGS, 20_000, create(undefined, 30_000))).toEqual([15_000]);
    expect(silence(HANGS, 20_000, create(undefined, 500))).toEqual([5000]);
  });

  it("a silent player is repaired again when it has sent audio in between, four times an hour at most", () => {
    const repairs: number[] = [];
    for (let round = 0; round < 10; round++) {
      repairs.push(...silence(HANGS, 5000));
      watch.onSent();
      expect(watch.isRepairDue(HANGS)).toBe(false);
    }
    expect(repairs).toHaveLength(4);
  });

  it("a silent player's waiting time starts again for another track", () => {
    expect(silence(HANGS, 4500)).toEqual([]);
    watch.reset();
    expect(silence(HANGS, 4500)).toEqual([]);
    expect(silence(HANGS, 500)).toEqual([500]);
  });

  it("a silent player waits while another of its account is repaired, when very many are silent at once", () => {
    const repairs = createRepairBuckets(clock);
    const many = Array.from({ length: 50 }, () => create(repairs, 10_000, "greedy"));
    const other = create(repairs, 10_000, "honest");
    let [count, otherCount] = [0, 0];
    for (let passedMs = 0; passedMs < 60_000; passedMs += 500) {
      clock.advance(500);
      for (const each of many) if (each.isRepairDue(HANGS)) count++;
      if (other.isRepairDue(HANGS)) otherCount++;
    }
    expect([count, otherCount]).toEqual([10, 1]);
  });
});

describe("a player that needs no repair", () => {
  it("a player that sends needs no repair", () => {
    for (let passedMs = 0; passedMs < 600_000; passedMs += 500) {
      watch.onSent();
      clock.advance(500);
      expect(watch.isRepairDue(HANGS)).toBe(false);
    }
  });

  it("a player with short stalls now and then needs no repair", () => {
    for (let round = 0; round < 10; round++) {
      expect(silence(HANGS, 4500)).toEqual([]);
      expect(silence(undefined, 500)).toEqual([]);
    }
  });

  it("a player whose thread was blocked for a minute needs no repair", () => {
    expect(silence(HANGS, 500)).toEqual([]);
    clock.stall(60_000);
    expect(watch.isRepairDue(HANGS)).toBe(false);
    expect(watch.silentMs).toBe(1000);
  });
});
