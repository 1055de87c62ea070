import { beforeEach, describe, expect, test } from "vitest";
import { FilterBudget } from "../../../../../src/media/effects/filters/filter-budget.ts";
import {
  type CpuMeter,
  type FilterFault,
  GuardedFilter,
} from "../../../../../src/media/effects/filters/guarded-filter.ts";
import type { AudioProcessor, FilterFactory } from "../../../../../src/plugin-api/plugin.ts";

const FRAME = 960;

let nowMs: number;
let cpuMs: number;
let faults: FilterFault[];
let budget: FilterBudget;
const heartbeat = { enter: () => undefined, leave: () => undefined };
const meter: CpuMeter = { nowMs: () => nowMs, cpuMs: () => cpuMs };

beforeEach(() => {
  nowMs = 0;
  cpuMs = 0;
  faults = [];
  budget = new FilterBudget(meter.nowMs);
});

function guarded(create: FilterFactory, previous?: GuardedFilter): GuardedFilter {
  const onFault = (fault: FilterFault) => faults.push(fault);
  return new GuardedFilter({ create, settings: {}, playerId: 1, heartbeat, meter, budget, onFault }, previous);
}

/** The left side of a frame of ones. */
function run(filter: GuardedFilter, lengthSamples = FRAME): Float32Array {
  const left = new Float32Array(lengthSamples).fill(1);
  filter.process(left, new Float32Array(lengthSamples).fill(1), lengthSamples);
  return left;
}

const halving: AudioProcessor = {
  process(left, right, frames) {
    for (let sample = 0; sample < frames; sample++) {
      left[sample]! *= 0.5;
      right[sample]! *= 0.5;
    }
  },
};

/** Halves, and from its third frame on does this instead. */
function halvingUntil(fault: AudioProcessor["process"]): FilterFactory {
  let count = 0;
  return () => ({
    process(left, right, frames) {
      count += 1;
      if (count < 3) halving.process(left, right, frames);
      else fault(left, right, frames);
    },
  });
}

/** Takes that long for each frame, by both clocks. */
function taking(wallMs: number, ownMs = wallMs): FilterFactory {
  return () => ({
    process() {
      nowMs += wallMs;
      cpuMs += ownMs;
    },
  });
}

test("a filter changes the audio in place, frame by frame", () => {
  expect([
    ...new Set(
      run(
        guarded(() => halving),
        2500,
      ),
    ),
  ]).toEqual([0.5]);
  expect(faults).toEqual([]);
});

test.each([
  [
    "throws",
    "failed",
    () => {
      throw new Error("broken");
    },
  ],
  ["outputs NaN", "invalidSamples", (left: Float32Array) => left.fill(Number.NaN, 900, 901)],
  ["outputs infinity", "invalidSamples", (_: Float32Array, right: Float32Array) => right.fill(Infinity, 0, 1)],
  ["outputs absurdly loud samples", "invalidSamples", (left: Float32Array) => left.fill(1e30)],
  [
    "transfers its arrays",
    "invalidSamples",
    (left: Float32Array) => structuredClone(left, { transfer: [left.buffer as ArrayBuffer] }),
  ],
] as const)("a filter that %s is left out from that frame on, reported once, without a step", (_, reason, fault) => {
  const filter = guarded(halvingUntil(fault));
  run(filter);
  run(filter);
  const failed = run(filter);
  expect(failed[0]).toBeCloseTo(0.5, 2);
  expect(failed[120]).toBeCloseTo(0.75, 2);
  expect([...new Set(failed.subarray(240))]).toEqual([1]);
  expect([...new Set(run(filter))]).toEqual([1]);
  expect(faults.map((entry) => entry.reason)).toEqual([reason]);
  expect(filter.isEchoing).toBe(false);
});

describe("async functions", () => {
  const failing = async () => {
    throw new Error("in a promise");
  };
  const message = (call: string) => `TypeError: ${call} is async, which audio cannot wait for; make it synchronous`;

  // An unhandled rejection fails the whole file.
  test("a filter with an async process is left out after its first frame", () => {
    const filter = guarded(() => ({ process: failing as unknown as AudioProcessor["process"] }));
    for (let frame = 0; frame < 3; frame++) run(filter);
    expect(faults).toEqual([{ reason: "failed", message: message("process()") }]);
  });

  test("a filter with an async reset is left out", () => {
    const filter = guarded(() => ({ ...halving, reset: failing as unknown as () => void }));
    filter.jump();
    expect(faults).toEqual([{ reason: "failed", message: message("reset()") }]);
  });

  test("an async factory makes no filter", () => {
    expect(run(guarded(failing as unknown as FilterFactory)).at(-1)).toBe(1);
    expect(faults).toEqual([{ reason: "failed", message: message("creating it") }]);
  });

  test("other answers are ignored", () => {
    const filter = guarded(() => ({ process: (left) => left.fill(0.5) }));
    expect(run(filter).at(-1)).toBe(0.5);
    expect(faults).toEqual([]);
  });
});

describe("time", () => {
  /** In time, where they leave any. */
  function play(filters: readonly GuardedFilter[], frameCount: number): void {
    for (let frame = 0; frame < frameCount; frame++) {
      const nextMs = nowMs + 20;
      for (const filter of filters) run(filter);
      nowMs = Math.max(nowMs, nextMs);
    }
  }

  test("a filter that takes 15 ms a frame is removed within four frames", () => {
    const filter = guarded(taking(15));
    for (let frame = 0; frame < 4; frame++) run(filter);
    expect(faults).toMatchObject([{ reason: "tooSlow" }]);
    expect(nowMs).toBeLessThanOrEqual(60);
  });

  test("a filter that takes 3 ms a frame stays, and one that takes 5 ms does not", () => {
    for (const [ms, count] of [
      [3, 0],
      [5, 1],
    ] as const) {
      faults = [];
      play([guarded(taking(ms))], 200);
      expect(faults).toHaveLength(count);
    }
  });

  test("a machine that is busy with other things condemns no filter", () => {
    const filters = Array.from({ length: 10 }, () => guarded(taking(50, 0.5)));
    play(filters, 500);
    expect(faults).toEqual([]);
  });

  test("a system that counts CPU time in steps, which fall together with frames, condemns no filter", () => {
    let count = 0;
    const process = (): void => {
      nowMs += count++ === 0 ? 30 : 3;
      cpuMs += 10;
    };
    play([guarded(() => ({ process })), guarded(() => ({ process }))], 1000);
    expect(faults).toEqual([]);
  });

  /** Takes that long for one frame of so many. */
  function takingEach(frames: number, ms: number): FilterFactory {
    let count = 0;
    return () => ({
      process() {
        if (count++ % frames !== 0) return;
        cpuMs += ms;
        nowMs += ms;
      },
    });
  }

  test("a slow frame now and then is no fault", () => {
    play([guarded(takingEach(50, 15)), guarded(takingEach(20, 30))], 3000);
    expect(faults).toEqual([]);
  });

  test.each([26, 1400])("a frame of 400 ms in every %i is one", (frames) => {
    play([guarded(takingEach(frames, 400))], frames + 1);
    expect(faults).toMatchObject([{ reason: "tooSlow", message: "it takes 400 ms of CPU time for 20 ms of audio" }]);
  });

  test("filters that are fast enough alone, but not together: those that take most are removed within 3 s", () => {
    const light = guarded(taking(0.5));
    const heavy = Array.from({ length: 6 }, () => guarded(taking(3.9)));
    play([light, ...heavy], 150);
    expect(faults).toHaveLength(4);
    expect(faults[0]?.message).toMatch(/^filters of plugins take \d+ % .* may take 50 %, .* take most: \d+ %$/);
    expect(light.isEchoing).toBe(true);
    play([light, ...heavy], 500);
    expect(faults).toHaveLength(4);
  });

  test.each([
    ["has been replaced", 0, (heavy: GuardedFilter) => [guarded(taking(0.1), heavy)]],
    [
      "has ended",
      0,
      (heavy: GuardedFilter) => {
        heavy.release();
        return [];
      },
    ],
    [
      "has failed",
      3,
      (heavy: GuardedFilter) => {
        heavy.jump();
        return [];
      },
    ],
  ] as const)("what a filter has taken that %s condemns none", (_, failedCount, change) => {
    const reset = (): never => {
      throw new Error("broken");
    };
    const heavy = Array.from({ length: 3 }, () => guarded(() => ({ ...taking(3)({}, undefined), reset })));
    const others = [guarded(taking(3.5)), guarded(taking(3.5))];
    play([...heavy, ...others], 95);
    expect(budget.isJudging).toBe(true);
    play([...heavy.flatMap(change), ...others], 100);
    expect(faults.map(({ reason }) => reason)).toEqual(Array.from({ length: failedCount }, () => "failed"));
    expect(budget.isJudging).toBe(false);
  });

  test("a filter that takes long to reset is removed", () => {
    const reset = (): void => {
      nowMs += 60;
      cpuMs += 60;
    };
    const filter = guarded(() => ({ ...halving, reset }));
    filter.jump();
    expect(faults).toEqual([{ reason: "tooSlow", message: "reset() took 60 ms of CPU time" }]);
  });

  test("a filter that takes long to create is not used", () => {
    const filter = guarded(() => {
      nowMs += 60;
      cpuMs += 60;
      return halving;
    });
    expect(faults).toMatchObject([{ reason: "tooSlow" }]);
    expect(run(filter).at(-1)).toBe(1);
  });

  test.each([
    ["50 ms", 50, 50],
    ["long on a busy machine", 500, 5],
    ["a step of the system's CPU time", 5, 60],
  ])("a filter that takes %s to create is used", (_, wallMs, ownMs) => {
    guarded(() => {
      nowMs += wallMs;
      cpuMs += ownMs;
      return halving;
    });
    expect(faults).toEqual([]);
  });
});

test.each([
  ["nothing", () => undefined as unknown as AudioProcessor],
  ["no process()", () => ({}) as AudioProcessor],
])("a factory that makes %s is a fault", (_, create) => {
  expect(run(guarded(create)).at(-1)).toBe(1);
  expect(faults).toMatchObject([{ reason: "failed", message: "TypeError: it made nothing that has a process()" }]);
});

test("the factory gets the processor before, and a seek resets it", () => {
  const given: (AudioProcessor | undefined)[] = [];
  let resets = 0;
  const processor = { ...halving, reset: () => void resets++ };
  const create: FilterFactory = (_, previous) => {
    given.push(previous);
    return processor;
  };
  const filter = guarded(create, guarded(create));
  filter.jump();
  expect(given).toEqual([undefined, processor]);
  expect(resets).toBe(1);
});
