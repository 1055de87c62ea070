import { expect, test } from "vitest";
import { WorkMark } from "../../../../src/bridge/work-mark.ts";
import { ThreadWatch } from "../../../../src/control/workers/thread-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function setup() {
  const clock = new FakeClock();
  const mark = new WorkMark(WorkMark.allocate());
  let silences = 0;
  const onSilent = () => {
    silences += 1;
  };
  const watch = new ThreadWatch({ mark, clock, intervalMs: 50, missesMax: 4, onSilent });
  watch.start();
  return { clock, mark, watch, silences: () => silences };
}

test("a thread whose mark does not beat for so many looks is told of once", () => {
  const { clock, silences } = setup();
  clock.advance(199);
  expect(silences()).toBe(0);
  clock.advance(1);
  expect(silences()).toBe(1);
  clock.advance(10_000);
  expect(silences()).toBe(1);
});

test("each beat makes the count begin anew", () => {
  const { clock, mark, silences } = setup();
  for (let round = 0; round < 20; round++) {
    clock.advance(150);
    mark.beat();
  }
  expect(silences()).toBe(0);
});

test("a main thread that stalls itself looks once, which is one miss", () => {
  const { clock, mark, silences } = setup();
  clock.advance(150);
  clock.stall(60_000);
  mark.beat();
  clock.advance(0);
  clock.advance(199);
  expect(silences()).toBe(0);
});

test("a thread that loads something large is given more time, and no longer", () => {
  const { clock, mark, silences } = setup();
  mark.loads();
  clock.advance(1_900);
  mark.loaded();
  expect(silences()).toBe(0);
  clock.advance(50);
  expect(silences()).toBe(1);
});

test("a watch that was stopped looks no more", () => {
  const { clock, watch, silences } = setup();
  watch.stop();
  clock.advance(10_000);
  expect(silences()).toBe(0);
  expect(clock.pendingCount).toBe(0);
});
