// When MLS work may be done, on a clock that each piece of it advances.

import { describe, expect, it } from "vitest";
import { FRAME_MS } from "../../../../../src/media/format/audio-format.ts";
import { type LoopMember, TickLoop } from "../../../../../src/media/scheduler/tick-loop.ts";
import { GroupQueue, type GroupWaiter } from "../../../../../src/media/voice/dave/group-queue.ts";
import { createErrorBoundary } from "../../../../support/error-boundaries.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const PIECE_MS = 8;

/** A session with some pieces to do. */
class Session implements GroupWaiter {
  rankMs: number;
  #shareWaitMs = 0;
  readonly #clock: FakeClock;
  readonly #queue: GroupQueue;
  readonly #name: string;
  readonly #log: string[];
  #pieces: number;

  constructor(
    { clock, queue, log }: QueueEnvironment,
    { name = "", pieces = 1 }: { name?: string; pieces?: number } = {},
  ) {
    this.#clock = clock;
    this.#queue = queue;
    this.#log = log;
    this.#name = name;
    this.#pieces = pieces;
    this.rankMs = clock.now();
  }

  get shareWaitMs(): number {
    return this.#shareWaitMs;
  }

  set shareWaitMs(waitMs: number) {
    this.#shareWaitMs = waitMs;
  }

  serve(): boolean {
    this.#log.push(`${this.#name}@${Math.round(this.#clock.now())}`);
    this.#clock.stall(PIECE_MS);
    this.#queue.spend(PIECE_MS);
    this.rankMs = this.#clock.now();
    return --this.#pieces > 0;
  }
}

interface QueueEnvironment {
  readonly clock: FakeClock;
  readonly queue: GroupQueue;
  /** Which piece was done when. */
  readonly log: string[];
}

function createEnvironment(areFramesAhead: () => boolean = () => true): QueueEnvironment {
  const clock = new FakeClock();
  return { clock, queue: new GroupQueue({ clock, areFramesAhead }), log: [] };
}

function namesIn(log: readonly string[]): string {
  return log.map((line) => line.split("@")[0]).join("");
}

describe("MLS work beside players", () => {
  /** How many frames were late while 60 sessions of three pieces each began, and when all were done. */
  function crowd(heedsFrames: boolean): { late: number; doneMs: number } {
    const clock = new FakeClock();
    let late = 0;
    const loop = new TickLoop(clock, createErrorBoundary().boundary, { lookAheadFrames: 5 });
    const queue = new GroupQueue({ clock, areFramesAhead: () => !heedsFrames || loop.isAhead });
    for (let playerId = 0; playerId < 30; playerId++) {
      const member: LoopMember = {
        owner: [],
        playerId,
        prepare: () => {
          clock.stall(0.45);
          return true;
        },
        send: (deadlineMs) => {
          if (clock.now() > deadlineMs) late++;
        },
        onDeadlinesDropped: (frames) => {
          late += frames;
        },
        charge: () => undefined,
      };
      loop.add(member);
    }
    // Sessions that all begin at once are late at first.
    clock.advance(1000);
    late = 0;
    clock.advance(1000);
    expect(late).toBe(0);
    const startedMs = clock.now();
    const log: string[] = [];
    for (let count = 0; count < 60; count++) queue.enter(new Session({ clock, queue, log }, { pieces: 3 }));
    while (log.length < 180) clock.advance(FRAME_MS);
    return { late, doneMs: clock.now() - startedMs };
  }

  it("a piece for one session of a crowd does not ask all others for their share", () => {
    const environment = createEnvironment();
    const { clock, queue, log } = environment;
    let asked = 0;
    class Counting extends Session {
      override get shareWaitMs(): number {
        asked++;
        return 0;
      }
    }
    for (let count = 0; count < 100; count++) queue.enter(new Counting(environment, { name: "a" }));
    clock.advance(0);
    expect(log).toHaveLength(1);
    expect(asked).toBe(2);
  });

  it("a crowd of new sessions uses the time between players' frames, and no frame is late", () => {
    const { late, doneMs } = crowd(true);
    expect(late).toBe(0);
    // Players need 13.5 ms of each 20.
    expect(doneMs).toBeLessThan((1.2 * 180 * PIECE_MS * 20) / 6.5);
  });

  it("frames are late when the queue does not check them", () => {
    expect(crowd(false).late).toBeGreaterThan(100);
  });

  it("MLS work runs every 50 ms when frames are always short", () => {
    const environment = createEnvironment(() => false);
    expect(environment.queue.isFree).toBe(false);
    environment.queue.enter(new Session(environment, { pieces: 50 }));
    environment.clock.advance(1000);
    expect(environment.log.length).toBe(20);
    expect(environment.log[0]).toBe("@50");
    expect(environment.log[1]).toBe("@100");
  });
});

describe("many waiting sessions", () => {
  it("waiting sessions are served one piece per event loop iteration, so that timers and sockets run", () => {
    const environment = createEnvironment();
    const { clock, queue, log } = environment;
    for (const name of ["a", "b", "c"]) queue.enter(new Session(environment, { name }));
    const iterations: string[] = [];
    const otherWork = () => {
      iterations.push(namesIn(log));
      if (log.length < 3) clock.after(0, otherWork);
    };
    clock.after(0, otherWork);
    clock.advance(100);
    expect(iterations).toEqual(["a", "ab", "abc"]);
  });

  it("waiting sessions are served in order of arrival, and a returning one after those that waited", () => {
    const environment = createEnvironment();
    const { clock, queue, log } = environment;
    queue.enter(new Session(environment, { name: "a", pieces: 2 }));
    clock.stall(1);
    queue.enter(new Session(environment, { name: "b" }));
    clock.advance(100);
    expect(namesIn(log)).toBe("aba");
  });

  it("waiting sessions are not delayed by one that has used up its share", () => {
    const environment = createEnvironment();
    const { clock, queue, log } = environment;
    const heavy = new Session(environment, { name: "g" });
    heavy.shareWaitMs = 300;
    queue.enter(heavy);
    clock.advance(10);
    queue.enter(new Session(environment, { name: "a" }));
    clock.advance(20);
    expect(namesIn(log)).toBe("a");
    clock.advance(200);
    expect(namesIn(log)).toBe("a");
    heavy.shareWaitMs = 0;
    clock.advance(300);
    expect(namesIn(log)).toBe("ag");
  });

  it("waiters that leave are not served, and without waiters there is no timer", () => {
    const environment = createEnvironment(() => false);
    const { clock, queue, log } = environment;
    const gone = new Session(environment, { name: "g" });
    queue.enter(gone);
    queue.enter(new Session(environment, { name: "a" }));
    queue.leave(gone);
    clock.advance(1000);
    expect(namesIn(log)).toBe("a");
    queue.enter(gone);
    queue.leave(gone);
    expect(clock.pendingCount).toBe(0);
  });
});
