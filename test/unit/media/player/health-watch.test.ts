// When a track counts as stuck, with time passed in: not for the time in which the whole process stood still.

import { expect, test } from "vitest";
import type { PlainEvent } from "../../../../src/bridge/channel.ts";
import type { PlayerId } from "../../../../src/bridge/commands.ts";
import { HealthWatch } from "../../../../src/media/player/health-watch.ts";
import type { PlayingTrack } from "../../../../src/media/player/playing-track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const CHECK_MS = 500;
const THRESHOLD_MS = 10_000;

function watched() {
  const clock = new FakeClock();
  const sent: PlainEvent[] = [];
  const watch = new HealthWatch({
    playerId: 1 as PlayerId,
    clock,
    trackStuckThresholdMs: THRESHOLD_MS,
    send: (event) => sent.push(event),
  });
  // The members that the watch reads.
  const track = { trackId: 7, cpuQuota: { check: () => undefined }, isStuckReported: false } as unknown as PlayingTrack;
  const check = (): void => {
    watch.check({ hasOthers: false, threadLoad: 0 }, { track, hasVoice: true, isFlowing: false });
  };
  const waitFor = (ms: number): void => {
    for (let waitedMs = 0; waitedMs < ms; waitedMs += CHECK_MS) {
      clock.advance(CHECK_MS);
      check();
    }
  };
  return { clock, watch, check, waitFor, sent };
}

test("a track without audio for the threshold is stuck, and that is told once", () => {
  const { waitFor, sent } = watched();
  waitFor(THRESHOLD_MS - CHECK_MS);
  expect(sent).toEqual([]);
  waitFor(CHECK_MS);
  expect(sent).toMatchObject([{ type: "trackStuck", thresholdMs: THRESHOLD_MS }]);
  waitFor(THRESHOLD_MS);
  expect(sent).toHaveLength(1);
});

test("the time in which the process stood still does not count", () => {
  const { clock, check, waitFor, sent } = watched();
  waitFor(1000);
  clock.stall(60_000);
  check();
  expect(sent).toEqual([]);
  // A pause of up to 2 s is none.
  waitFor(THRESHOLD_MS - 1000 - 2000 - CHECK_MS);
  expect(sent).toEqual([]);
  waitFor(CHECK_MS);
  expect(sent).toHaveLength(1);
});

test("audio sent ahead counts until it is due, as far as that has come", () => {
  const { clock, watch, check, waitFor, sent } = watched();
  waitFor(THRESHOLD_MS - CHECK_MS);
  watch.onSent(clock.now() + 20);
  check();
  waitFor(THRESHOLD_MS - CHECK_MS);
  expect(sent).toEqual([]);
  waitFor(CHECK_MS);
  expect(sent).toHaveLength(1);
});

test("audio that came meanwhile is not in the future", () => {
  const { clock, watch, check, waitFor, sent } = watched();
  clock.stall(60_000);
  watch.onFlowing();
  check();
  waitFor(THRESHOLD_MS);
  expect(sent).toHaveLength(1);
});
