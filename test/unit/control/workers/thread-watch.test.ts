import { expect, test } from "vitest";
import { Heartbeat } from "../../../../src/bridge/heartbeat.ts";
import { ThreadWatch } from "../../../../src/control/workers/thread-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const CHECK_INTERVAL_MS = 200;

/** `cpuShare` of the time passing is used by the thread, and `queuedShare` waited for; undefined: not known. */
function setup(cpuShare: number | undefined, queuedShare = 0) {
  const clock = new FakeClock();
  const heartbeat = new Heartbeat(Heartbeat.allocate());
  let silences = 0;
  const watch = new ThreadWatch({
    heartbeat,
    clock,
    intervalMs: CHECK_INTERVAL_MS,
    readTimes: () => {
      const nowMs = clock.now();
      return cpuShare === undefined ? undefined : { cpuMs: nowMs * cpuShare, queuedMs: nowMs * queuedShare };
    },
    onSilent: () => {
      silences += 1;
    },
  });
  watch.start();
  return { clock, heartbeat, watch, silences: () => silences };
}

/** Checks after which a thread without a heartbeat is reported. */
function checksUntilSilent(
  { clock, silences }: ReturnType<typeof setup>,
  meanwhile: () => void = () => undefined,
): number {
  for (let check = 1; check <= 1000; check++) {
    meanwhile();
    clock.advance(CHECK_INTERVAL_MS);
    if (silences() > 0) return check;
  }
  return Number.POSITIVE_INFINITY;
}

test("a thread that runs without a heartbeat is reported after 0.8 s, once", () => {
  const bench = setup(1);
  expect(checksUntilSilent(bench)).toBe(4);
  bench.clock.advance(60_000);
  expect(bench.silences()).toBe(1);
});

test("one that hardly gets to run is given as much processor time", () => {
  expect(checksUntilSilent(setup(0.25))).toBe(11);
});

test("a thread that does not run at all is reported after three seconds", () => {
  expect(checksUntilSilent(setup(0))).toBe(15);
});

test("a thread that gets hardly any processor time is not reported before it has had its time", () => {
  expect(checksUntilSilent(setup(0.05, 0.95))).toBe(51);
  expect(checksUntilSilent(setup(0, 0.9))).toBe(Number.POSITIVE_INFINITY);
});

test("one that waits for a processor now and then, but for something else most of the time, is", () => {
  expect(checksUntilSilent(setup(0.01, 0.4))).toBe(15);
});

test("where processor time is not known, after five looks", () => {
  expect(checksUntilSilent(setup(undefined))).toBe(5);
});

test("each heartbeat restarts the count", () => {
  const { clock, heartbeat, silences } = setup(1);
  for (let round = 0; round < 50; round++) {
    clock.advance(600);
    heartbeat.beat();
  }
  expect(silences()).toBe(0);
});

test("a main thread that stalls itself looks once, which is one miss", () => {
  const { clock, heartbeat, silences } = setup(undefined);
  clock.advance(200);
  clock.stall(60_000);
  clock.advance(0);
  clock.advance(200);
  expect(silences()).toBe(0);
  heartbeat.beat();
});

test("one that begins one work after the other has five times as long to come round to its timers", () => {
  const bench = setup(undefined);
  let work = 0;
  expect(checksUntilSilent(bench, () => bench.heartbeat.enter(++work, "read"))).toBe(25);
});

test("a watch that was stopped looks no more", () => {
  const { clock, watch, silences } = setup(1);
  watch.stop();
  clock.advance(10_000);
  expect(silences()).toBe(0);
  expect(clock.pendingCount).toBe(0);
});
