import { describe, expect, it } from "vitest";
import type { Owner } from "../../../../src/lib/owners.ts";
import { FRAME_MS } from "../../../../src/media/format/audio-format.ts";
import { CATCH_UP_FRAMES_MAX, type LoopMember, TickLoop } from "../../../../src/media/scheduler/tick-loop.ts";
import { createErrorBoundary } from "../../../support/error-boundaries.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const LOOK_AHEAD_FRAMES = 5;
const LOOK_AHEAD_MS = LOOK_AHEAD_FRAMES * FRAME_MS;

class RecordingPlayer implements LoopMember {
  readonly playerId: number;
  owner: Owner = [];
  /** It has something that may be sent ahead. */
  isReady = true;
  usedMs = 0;
  readonly sentAt: number[] = [];
  readonly deadlines: number[] = [];
  readonly calls: string[] = [];
  dropped = 0;
  prepared = 0;
  readonly #clock: FakeClock;
  prepareCostMs: number;

  constructor(clock: FakeClock, prepareCostMs = 0, playerId = 1) {
    this.playerId = playerId;
    this.#clock = clock;
    this.prepareCostMs = prepareCostMs;
  }

  send(deadlineMs: number): void {
    this.sentAt.push(this.#clock.now());
    this.deadlines.push(deadlineMs);
    this.calls.push("send");
  }

  prepare(): boolean {
    this.prepared += 1;
    this.calls.push("prepare");
    this.#clock.stall(this.prepareCostMs);
    return this.isReady;
  }

  onDeadlinesDropped(frames: number): void {
    this.dropped += frames;
  }

  charge(usedMs: number): void {
    this.usedMs += usedMs;
  }

  /** How far ahead of its deadline each frame was sent, milliseconds; negative: late. */
  get lookAheadsMs(): readonly number[] {
    return this.deadlines.map((deadlineMs, index) => deadlineMs - this.sentAt[index]!);
  }
}

function createLoop(
  lookAheadFrames = LOOK_AHEAD_FRAMES,
  yieldToPacer = (_: number): void => undefined,
  burstFrames = 1,
) {
  const clock = new FakeClock();
  const boundary = createErrorBoundary();
  const options = { lookAheadFrames, burstFrames, yieldToPacer };
  return { clock, ...boundary, loop: new TickLoop(clock, boundary.boundary, options) };
}

function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - times[index]!);
}

describe("the tick loop", () => {
  it("the tick loop makes the first frame at once, then its look-ahead, and then one every 20 ms", () => {
    const { clock, loop } = createLoop();
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(1);
    expect(player.deadlines.length).toBeGreaterThanOrEqual(LOOK_AHEAD_FRAMES);
    expect(player.deadlines[0]).toBeLessThanOrEqual(clock.now() + FRAME_MS);
    const before = player.deadlines.length;
    clock.advance(10 * FRAME_MS);
    expect(player.deadlines.length - before).toBe(10);
    expect(new Set(gaps(player.deadlines))).toEqual(new Set([FRAME_MS]));
    expect(player.calls.join(" ")).not.toContain("send send");
  });

  it("the tick loop keeps at least its look-ahead ready, and not much more", () => {
    const { clock, loop } = createLoop();
    const players = Array.from({ length: 60 }, () => new RecordingPlayer(clock));
    for (const player of players) loop.add(player);
    clock.advance(50 * FRAME_MS);
    for (const player of players) {
      const settled = player.lookAheadsMs.slice(LOOK_AHEAD_FRAMES);
      expect(Math.min(...settled)).toBeGreaterThan(LOOK_AHEAD_MS - 1 - FRAME_MS);
      expect(Math.max(...settled)).toBeLessThan(LOOK_AHEAD_MS + FRAME_MS);
    }
  });

  it("the tick loop misses no deadline when it is blocked for less than its look-ahead", () => {
    const { clock, loop } = createLoop();
    const player = new RecordingPlayer(clock);
    loop.add(player);
    for (let stall = 0; stall < 20; stall++) {
      clock.advance(10 * FRAME_MS);
      clock.stall(LOOK_AHEAD_MS - FRAME_MS - 1);
    }
    clock.advance(1);
    expect(Math.min(...player.lookAheadsMs)).toBeGreaterThanOrEqual(0);
    expect(new Set(gaps(player.deadlines))).toEqual(new Set([FRAME_MS]));
  });

  it.each<[string, Owner, Owner]>([
    ["another account", ["key 1", "key 1, user 1"], ["key 2", "key 2, user 1"]],
    ["another client of the account", ["key 1", "key 1, user 1"], ["key 1", "key 1, user 2"]],
  ])("the tick loop makes no player late when 400 players of %s are rewound", (_whose, attacker, honest) => {
    const { clock, loop } = createLoop();
    const players = (owner: Owner, count: number) =>
      Array.from({ length: count }, () => {
        const player = new RecordingPlayer(clock, 0.02);
        player.owner = owner;
        loop.add(player);
        clock.advance(1);
        return player;
      });
    const own = players(honest, 20);
    const others = players(attacker, 400);
    clock.advance(20 * FRAME_MS);
    for (const player of others) player.prepareCostMs = 0.3;
    const settledCount = own[0]!.deadlines.length;
    for (let round = 0; round < 10; round++) {
      for (const player of others) loop.rewind(player, LOOK_AHEAD_FRAMES);
      clock.advance(3 * FRAME_MS);
    }
    clock.advance(1000);
    const aheadMs = own.flatMap((player) => player.lookAheadsMs.slice(settledCount));
    expect(Math.min(...aheadMs)).toBeGreaterThan(FRAME_MS);
    expect(Math.max(...others.map(({ dropped }) => dropped))).toBeGreaterThan(0);
  });

  it("the tick loop misses no deadline when much other work lets it catch up in between", () => {
    const { clock, loop } = createLoop();
    const player = new RecordingPlayer(clock, 0.3);
    loop.add(player);
    clock.advance(10 * FRAME_MS);
    const settledCount = player.deadlines.length;
    for (let piece = 0; piece < 400; piece++) {
      clock.stall(1.5);
      loop.catchUp();
    }
    clock.advance(1);
    expect(Math.min(...player.lookAheadsMs.slice(settledCount))).toBeGreaterThan(LOOK_AHEAD_MS / 2);
    expect(new Set(gaps(player.deadlines))).toEqual(new Set([FRAME_MS]));
  });

  it("the tick loop leaves the thread to other work between two runs, and when nothing is due", () => {
    const { clock, loop } = createLoop();
    const players = Array.from({ length: 100 }, () => new RecordingPlayer(clock, 0.3));
    for (const player of players) loop.add(player);
    const startedMs = clock.now();
    let otherMs = 0;
    while (clock.now() - startedMs < 1000) {
      clock.stall(0.5);
      otherMs += 0.5;
      loop.catchUp();
    }
    expect(otherMs).toBeGreaterThan(450);
    expect(otherMs).toBeLessThan(700);
    const calls = players.map(({ prepared }) => prepared);
    loop.close();
    clock.stall(100);
    loop.catchUp();
    expect(players.map(({ prepared }) => prepared)).toEqual(calls);
  });

  it("the tick loop yields between frames, but not while a player is short of them", () => {
    const ahead: boolean[] = [];
    const { clock, loop } = createLoop(LOOK_AHEAD_FRAMES, () => ahead.push(loop.isAhead));
    const players = Array.from({ length: 10 }, (_, index) => new RecordingPlayer(clock, 0, index + 1));
    for (const player of players) loop.add(player);
    clock.advance(10 * FRAME_MS);
    ahead.length = 0;
    clock.advance(10 * FRAME_MS);
    expect(ahead.length).toBe(100);
    clock.stall(LOOK_AHEAD_MS - FRAME_MS);
    clock.advance(10 * FRAME_MS);
    expect(ahead).not.toContain(false);
  });

  it("the tick loop yields with the time at which the frame before it was finished", () => {
    const times: [number, number][] = [];
    const { clock, loop } = createLoop(LOOK_AHEAD_FRAMES, (nowMs) => times.push([nowMs, clock.now()]), 3);
    loop.add(new RecordingPlayer(clock, 0.5));
    clock.advance(20 * FRAME_MS);
    expect(times.length).toBeGreaterThan(10);
    for (const [givenMs, nowMs] of times) expect(givenMs).toBe(nowMs);
  });

  it("the tick loop reports whether a player is short of frames that could be ready", () => {
    const { clock, loop } = createLoop();
    expect(loop.isAhead).toBe(true);
    const player = new RecordingPlayer(clock);
    loop.add(player);
    expect(loop.isAhead).toBe(false);
    clock.advance(10 * FRAME_MS);
    expect(loop.isAhead).toBe(true);
    clock.stall(2 * FRAME_MS);
    expect(loop.isAhead).toBe(true);
    clock.stall(2.5 * FRAME_MS);
    expect(loop.isAhead).toBe(false);
    clock.advance(1);
    expect(loop.isAhead).toBe(true);
    loop.rewind(player, 4);
    expect(loop.isAhead).toBe(false);
    // Nobody can wait for what cannot be made ahead.
    player.isReady = false;
    clock.advance(FRAME_MS);
    expect(loop.isAhead).toBe(true);
    loop.remove(player);
    expect(loop.isAhead).toBe(true);
  });

  it("the tick loop serves a player with nothing to send ahead when its frame is due", () => {
    const { clock, loop } = createLoop();
    const player = new RecordingPlayer(clock);
    player.isReady = false;
    loop.add(player);
    clock.advance(10 * FRAME_MS);
    expect(player.sentAt.length).toBe(10);
    expect(Math.max(...player.lookAheadsMs)).toBeLessThanOrEqual(1);
    expect(Math.min(...player.lookAheadsMs)).toBeGreaterThanOrEqual(0);
    player.isReady = true;
    clock.advance(2 * FRAME_MS);
    expect(player.lookAheadsMs.at(-1)).toBeGreaterThan(LOOK_AHEAD_MS - FRAME_MS);
    expect(new Set(gaps(player.deadlines))).toEqual(new Set([FRAME_MS]));
  });

  it("the tick loop makes revoked frames again, at once and for the same deadlines", () => {
    const { clock, loop } = createLoop();
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(10 * FRAME_MS);
    const lost = player.deadlines.slice(-4);
    const before = player.deadlines.length;
    loop.rewind(player, 4);
    clock.advance(1);
    expect(player.deadlines.slice(before, before + 4)).toEqual(lost);
    clock.advance(5 * FRAME_MS);
    expect(new Set(gaps(player.deadlines.slice(before)))).toEqual(new Set([FRAME_MS]));
  });

  it("the tick loop serves players that are short of frames before those that are not", () => {
    const { clock, loop } = createLoop();
    const slow = Array.from({ length: 20 }, () => new RecordingPlayer(clock, 0.9));
    for (const player of slow) loop.add(player);
    clock.advance(50 * FRAME_MS);
    const late = new RecordingPlayer(clock, 0.9);
    loop.add(late);
    clock.advance(10 * FRAME_MS);
    expect(Math.min(...late.lookAheadsMs)).toBeGreaterThanOrEqual(0);
  });

  it("the tick loop begins no frame before its start time", () => {
    const { clock, loop } = createLoop(1);
    const player = new RecordingPlayer(clock);
    loop.add(player, 85);
    clock.advance(200);
    expect(player.deadlines[0]).toBeGreaterThanOrEqual(85);
    expect(player.deadlines[0]).toBeLessThan(85 + FRAME_MS);
    expect(player.sentAt[0]).toBeGreaterThanOrEqual(player.deadlines[0]! - FRAME_MS - 8);
  });

  it("the tick loop catches up at most three frames, back to back", () => {
    const { clock, loop } = createLoop(0);
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(2 * FRAME_MS);
    const before = player.sentAt.length;
    clock.stall(CATCH_UP_FRAMES_MAX * FRAME_MS + FRAME_MS / 2);
    clock.advance(1);
    expect(player.sentAt.length - before).toBeGreaterThanOrEqual(CATCH_UP_FRAMES_MAX);
    expect(player.dropped).toBe(0);
    expect(gaps(player.deadlines).every((gap) => gap === FRAME_MS)).toBe(true);
  });

  it.each([0, LOOK_AHEAD_FRAMES])(
    "the tick loop drops the deadlines it missed beyond that and reports how many, look-ahead %i",
    (lookAheadFrames) => {
      const { clock, loop } = createLoop(lookAheadFrames);
      const player = new RecordingPlayer(clock);
      loop.add(player);
      clock.advance(2 * FRAME_MS);
      const [before, lastMs] = [player.sentAt.length, player.deadlines.at(-1)!];
      clock.stall(1000);
      clock.advance(1);
      const firstMs = player.deadlines[before]!;
      expect(player.dropped).toBeGreaterThan(40);
      expect(firstMs - lastMs).toBe((player.dropped + 1) * FRAME_MS);
      expect(Math.abs(clock.now() - firstMs)).toBeLessThanOrEqual(FRAME_MS);
      clock.advance(FRAME_MS * 3);
      expect(gaps(player.deadlines.slice(before)).every((gap) => gap === FRAME_MS)).toBe(true);
    },
  );

  it("the tick loop serves few players in one wake-up", () => {
    const { clock, loop } = createLoop();
    const players = Array.from({ length: 25 }, () => new RecordingPlayer(clock));
    for (const player of players) loop.add(player);
    clock.advance(3 * FRAME_MS);
    expect(new Set(players.map((player) => player.deadlines[0]! % FRAME_MS)).size).toBe(1);
  });

  it("the tick loop spreads many players evenly over the 20 ms", () => {
    const { clock, loop } = createLoop();
    const players = Array.from({ length: 200 }, () => new RecordingPlayer(clock));
    for (const player of players) loop.add(player);
    clock.advance(3 * FRAME_MS);
    const perPhase = new Map<number, number>();
    for (const player of players) {
      const phase = player.deadlines[0]! % FRAME_MS;
      perPhase.set(phase, (perPhase.get(phase) ?? 0) + 1);
    }
    expect([...perPhase.keys()].sort((a, b) => a - b)).toEqual([0, 4, 8, 12, 16]);
    expect(Math.max(...perPhase.values()) - Math.min(...perPhase.values())).toBeLessThanOrEqual(1);
  });

  it("the tick loop wakes for several phases at once", () => {
    const { clock, loop } = createLoop();
    const players = Array.from({ length: 125 }, () => new RecordingPlayer(clock));
    for (const player of players) loop.add(player);
    clock.advance(10 * FRAME_MS);
    const before = clock.setCount;
    clock.advance(50 * FRAME_MS);
    expect(clock.setCount - before).toBeLessThanOrEqual(50 * 3);
  });

  it("the tick loop stops serving a player that was removed, also from within its own send", () => {
    const { clock, loop } = createLoop();
    const other = new RecordingPlayer(clock);
    const leaving = new (class extends RecordingPlayer {
      override send(deadlineMs: number): void {
        super.send(deadlineMs);
        loop.remove(this);
      }
    })(clock);
    loop.add(leaving);
    loop.add(other);
    clock.advance(5 * FRAME_MS);
    expect(leaving.sentAt.length).toBe(1);
    expect(other.sentAt.length).toBeGreaterThanOrEqual(4);
    expect(gaps(other.deadlines).every((gap) => gap === FRAME_MS)).toBe(true);
  });

  it("the tick loop sleeps without players", () => {
    const { clock, loop } = createLoop();
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(FRAME_MS * 2);
    loop.remove(player);
    clock.advance(FRAME_MS * 2);
    expect(clock.pendingCount).toBe(0);
  });

  it("the tick loop reports the share of time it used", () => {
    const { clock, loop } = createLoop();
    loop.add(new RecordingPlayer(clock, 4));
    clock.advance(200);
    loop.takeLoad();
    clock.advance(1000);
    const load = loop.takeLoad();
    expect(load).toBeGreaterThan(0.15);
    expect(load).toBeLessThan(0.25);
  });

  it("one player's exception affects no other: their frames are made and sent on time", () => {
    const { clock, loop, faults } = createLoop();
    const failing = new RecordingPlayer(clock, 0, 7);
    failing.send = () => {
      throw new Error("send");
    };
    failing.prepare = () => {
      throw new Error("prepare");
    };
    const [before, after] = [new RecordingPlayer(clock), new RecordingPlayer(clock)];
    for (const player of [before, failing, after]) loop.add(player);
    clock.advance(10 * FRAME_MS);
    for (const { deadlines } of [before, after]) {
      expect(deadlines.length).toBeGreaterThanOrEqual(10 + LOOK_AHEAD_FRAMES - 1);
      expect(gaps(deadlines).every((gap) => gap === FRAME_MS)).toBe(true);
    }
    expect(new Set(faults.map(({ playerId }) => playerId))).toEqual(new Set([7]));
    expect(faults.length).toBeGreaterThan(10);
  });

  it("the time of all frames of a burst is charged to their player", () => {
    const { clock, loop } = createLoop(LOOK_AHEAD_FRAMES, undefined, 3);
    const [costly, other] = [new RecordingPlayer(clock, 1, 7), new RecordingPlayer(clock, 0, 8)];
    for (const player of [costly, other]) loop.add(player);
    clock.advance(20 * FRAME_MS);
    expect([costly.usedMs, other.usedMs]).toEqual([costly.prepared, 0]);
  });

  it("a player's time is charged to it, and it is named while it is served", () => {
    const { clock, loop, heartbeat } = createLoop();
    const costly = new RecordingPlayer(clock, 2, 7);
    const other = new RecordingPlayer(clock, 0, 8);
    const marked: unknown[] = [];
    const prepare = costly.prepare.bind(costly);
    costly.prepare = () => {
      marked.push(heartbeat.currentTask);
      return prepare();
    };
    loop.add(costly);
    loop.add(other);
    clock.advance(10 * FRAME_MS);
    expect(costly.usedMs).toBe(costly.prepared * 2);
    expect(other.usedMs).toBe(0);
    expect(marked[0]).toEqual({ owner: 7, activity: "prepare" });
    expect(heartbeat.currentTask).toBeUndefined();
  });
});

describe("a tick loop that makes bursts", () => {
  const BURST_FRAMES = 3;
  const createBurstLoop = () => createLoop(LOOK_AHEAD_FRAMES, undefined, BURST_FRAMES);
  /** Players of several phases, of which some came between two turns. */
  const crowd = ({ clock, loop }: ReturnType<typeof createBurstLoop>): readonly RecordingPlayer[] =>
    Array.from({ length: 60 }, (_, index) => {
      const player = new RecordingPlayer(clock, 0, index);
      loop.add(player);
      clock.advance(index % 7);
      return player;
    });

  it("serves the players of all phases when it wakes, once in so many frame times", () => {
    const bench = createBurstLoop();
    const players = crowd(bench);
    bench.clock.advance(200);
    const settledMs = bench.clock.now();
    bench.clock.advance(1200);

    const times = players.flatMap(({ sentAt }) => sentAt.filter((atMs) => atMs > settledMs));
    const wakes = [...new Set(times)].sort((one, other) => one - other);
    expect(wakes).toHaveLength(1200 / (BURST_FRAMES * FRAME_MS));
    expect(Math.min(...gaps(wakes))).toBeGreaterThan(BURST_FRAMES * FRAME_MS - FRAME_MS);
    for (const player of players) {
      const settled = player.lookAheadsMs.slice(2 * LOOK_AHEAD_FRAMES);
      expect(Math.min(...settled)).toBeGreaterThan(LOOK_AHEAD_MS - FRAME_MS - 1);
      expect(Math.max(...settled)).toBeLessThan(LOOK_AHEAD_MS + BURST_FRAMES * FRAME_MS);
      expect(new Set(gaps(player.deadlines))).toEqual(new Set([FRAME_MS]));
    }
  });

  it("takes turns with another one, whenever the players of both came", () => {
    const { clock, boundary, loop } = createBurstLoop();
    const other = new TickLoop(clock, boundary, { lookAheadFrames: LOOK_AHEAD_FRAMES, burstFrames: BURST_FRAMES });
    loop.setTurn(-1e6);
    other.setTurn(-1e6 + 30);
    const players = Array.from({ length: 60 }, (_, index) => new RecordingPlayer(clock, 0, index));
    const startMs = clock.now();
    for (const [index, player] of players.entries()) {
      (index % 2 === 0 ? loop : other).add(player);
      clock.advance(index % 7);
    }
    clock.advance(200);
    const settledMs = clock.now();
    clock.advance(10 * BURST_FRAMES * FRAME_MS);

    const turnOf = (atMs: number) => (atMs + 1e6) % (BURST_FRAMES * FRAME_MS);
    const turns = [0, 1].map((remainder) =>
      players
        .filter((_, index) => index % 2 === remainder)
        .flatMap(({ sentAt }) => sentAt.filter((atMs) => atMs > settledMs).map(turnOf)),
    );
    expect(settledMs - startMs).toBeGreaterThan(200);
    for (const [index, seen] of turns.entries()) {
      expect(seen).toHaveLength(30 * 10 * BURST_FRAMES);
      // A burst starts when the first frames are needed: within one frame time of its turn.
      expect(Math.min(...seen)).toBeGreaterThanOrEqual(index * 30 - 1);
      expect(Math.max(...seen)).toBeLessThan(index * 30 + FRAME_MS);
    }
    for (const player of players) {
      const settled = player.lookAheadsMs.slice(2 * LOOK_AHEAD_FRAMES);
      expect(Math.min(...settled)).toBeGreaterThan(LOOK_AHEAD_MS - FRAME_MS - 1);
      expect(Math.max(...settled)).toBeLessThan(LOOK_AHEAD_MS + BURST_FRAMES * FRAME_MS);
    }
  });

  it("makes the frames of one player in a row, but for those that are short of them", () => {
    const { clock, loop } = createBurstLoop();
    const order: number[] = [];
    const players = [0, 1].map((playerId) => {
      const player = new RecordingPlayer(clock, 0, playerId);
      const send = player.send.bind(player);
      player.send = (deadlineMs) => {
        order.push(playerId);
        send(deadlineMs);
      };
      loop.add(player);
      return player;
    });
    clock.advance(500);
    order.length = 0;
    clock.advance(BURST_FRAMES * FRAME_MS);
    expect(order).toEqual(order[0] === 0 ? [0, 0, 0, 1, 1, 1] : [1, 1, 1, 0, 0, 0]);

    order.length = 0;
    for (const player of players) loop.rewind(player, 7);
    clock.advance(1);
    const shared = order.slice(0, 4);
    expect(shared.filter((playerId) => playerId === 0)).toHaveLength(2);
  });

  it("makes the first frames of a player at once, and those again that were taken back", () => {
    const { clock, loop } = createBurstLoop();
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(1);
    expect(player.deadlines.length).toBeGreaterThanOrEqual(LOOK_AHEAD_FRAMES);
    clock.advance(31);
    const made = player.deadlines.length;
    loop.rewind(player, 4);
    clock.advance(1);
    expect(player.deadlines.slice(made)).toEqual(player.deadlines.slice(made - 4, made));
  });

  it("checks a player without a frame when one is due, and gives it its look-ahead as soon as it has some", () => {
    const { clock, loop } = createBurstLoop();
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(500);
    player.isReady = false;
    clock.advance(300);
    const made = player.deadlines.length;
    expect(player.lookAheadsMs.at(-1)).toBeLessThan(1);
    clock.advance(5 * FRAME_MS);
    expect(player.deadlines.length - made).toBe(5);

    player.isReady = true;
    clock.advance(FRAME_MS);
    expect(player.lookAheadsMs.at(-1)).toBeGreaterThan(LOOK_AHEAD_MS - FRAME_MS - 1);
    expect(player.dropped).toBe(0);
  });
});
