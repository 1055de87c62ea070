import { expect, test } from "vitest";
import { WorkMark } from "../../../../src/bridge/work-mark.ts";
import { ThreadWatch } from "../../../../src/control/workers/thread-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const LOOK_MS = 50;

/** `cpuShare` of the time passing is used by the thread, and `queuedShare` waited for; undefined: not known. */
function setup(cpuShare: number | undefined, queuedShare = 0) {
  const clock = new FakeClock();
  const mark = new WorkMark(WorkMark.allocate());
  let silences = 0;
  const watch = new ThreadWatch({
    ...{ mark, clock, intervalMs: LOOK_MS },
    readTimes: () => {
      const nowMs = clock.now();
      return cpuShare === undefined ? undefined : { cpuMs: nowMs * cpuShare, queuedMs: nowMs * queuedShare };
    },
    onSilent: () => {
      silences += 1;
    },
  });
  watch.start();
  return { clock, mark, watch, silences: () => silences };
}

/** Looks after which a thread that does not beat is told of. */
function looksUntilSilent(
  { clock, silences }: ReturnType<typeof setup>,
  meanwhile: () => void = () => undefined,
): number {
  for (let look = 1; look <= 1000; look++) {
    meanwhile();
    clock.advance(LOOK_MS);
    if (silences() > 0) return look;
  }
  return Number.POSITIVE_INFINITY;
}

test("a thread that runs without beating is told of after two thirds of a second, once", () => {
  const bench = setup(1);
  expect(looksUntilSilent(bench)).toBe(13);
  bench.clock.advance(60_000);
  expect(bench.silences()).toBe(1);
});

test("one that hardly gets to run is given as much processor time", () => {
  expect(looksUntilSilent(setup(0.25))).toBe(43);
});

test("one that does not run at all is told of after three seconds", () => {
  expect(looksUntilSilent(setup(0))).toBe(60);
});

test("one that others leave hardly a processor is not told of before it has had its time", () => {
  expect(looksUntilSilent(setup(0.05, 0.95))).toBe(203);
  expect(looksUntilSilent(setup(0, 0.9))).toBe(Number.POSITIVE_INFINITY);
});

test("one that waits for a processor now and then, but for something else most of the time, is", () => {
  expect(looksUntilSilent(setup(0.01, 0.4))).toBe(60);
});

test("where processor time is not known, after 18 looks", () => {
  expect(looksUntilSilent(setup(undefined))).toBe(18);
});

test("each beat makes the count begin anew", () => {
  const { clock, mark, silences } = setup(1);
  for (let round = 0; round < 50; round++) {
    clock.advance(600);
    mark.beat();
  }
  expect(silences()).toBe(0);
});

test("a main thread that stalls itself looks once, which is one miss", () => {
  const { clock, mark, silences } = setup(undefined);
  clock.advance(400);
  clock.stall(60_000);
  clock.advance(0);
  clock.advance(400);
  expect(silences()).toBe(0);
  mark.beat();
});

test("one that begins one work after the other has five times as long to come round to its timers", () => {
  const bench = setup(undefined);
  let work = 0;
  expect(looksUntilSilent(bench, () => bench.mark.enter(++work, "read"))).toBe(90);
});

test("a watch that was stopped looks no more", () => {
  const { clock, watch, silences } = setup(1);
  watch.stop();
  clock.advance(10_000);
  expect(silences()).toBe(0);
  expect(clock.pendingCount).toBe(0);
});
