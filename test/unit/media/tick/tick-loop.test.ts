import { describe, expect, it } from "vitest";
import { FRAME_MS } from "../../../../src/media/format/audio-format.ts";
import { CATCH_UP_FRAMES_MAX, type LoopMember, TickLoop } from "../../../../src/media/tick/tick-loop.ts";
import { createBulkhead } from "../../../support/bulkheads.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

class RecordingPlayer implements LoopMember {
  readonly playerId: number;
  usedMs = 0;
  readonly sentAt: number[] = [];
  readonly deadlines: number[] = [];
  readonly calls: string[] = [];
  dropped = 0;
  prepared = 0;
  readonly #clock: FakeClock;
  readonly #prepareCostMs: number;

  constructor(clock: FakeClock, prepareCostMs = 0, playerId = 1) {
    this.playerId = playerId;
    this.#clock = clock;
    this.#prepareCostMs = prepareCostMs;
  }

  send(deadlineMs: number): void {
    this.sentAt.push(this.#clock.now());
    this.deadlines.push(deadlineMs);
    this.calls.push("send");
  }

  prepare(): void {
    this.prepared += 1;
    this.calls.push("prepare");
    this.#clock.stall(this.#prepareCostMs);
  }

  onDeadlinesDropped(frames: number): void {
    this.dropped += frames;
  }

  charge(usedMs: number): void {
    this.usedMs += usedMs;
  }
}

function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - times[index]!);
}

describe("the tick loop", () => {
  it("sends every 20 ms, and prepares before the first send and after each", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(10 * FRAME_MS);
    expect(player.calls.slice(0, 5)).toEqual(["prepare", "send", "prepare", "send", "prepare"]);
    expect(player.sentAt.length).toBe(10);
    expect(gaps(player.sentAt)).toEqual(Array(9).fill(FRAME_MS));
  });

  it("keeps its deadlines where they were after a late run: no drift", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(5 * FRAME_MS);
    clock.stall(7);
    clock.advance(5 * FRAME_MS);
    expect(new Set(gaps(player.deadlines))).toEqual(new Set([FRAME_MS]));
    expect(player.dropped).toBe(0);
  });

  it("catches up at most three frames, back to back", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
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

  it("never sends twice without preparing in between, however long a send takes", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const player = new RecordingPlayer(clock);
    const send = player.send.bind(player);
    player.send = (deadlineMs) => {
      send(deadlineMs);
      // The thread was not let run for a while.
      if (player.sentAt.length === 3) clock.stall(FRAME_MS + 2);
    };
    loop.add(player);
    clock.advance(10 * FRAME_MS);
    expect(player.calls.join(" ")).not.toContain("send send");
    expect(player.sentAt.length).toBe(10);
  });

  it("drops the deadlines it missed beyond that and says how many", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(2 * FRAME_MS);
    const before = player.sentAt.length;
    clock.stall(1000);
    clock.advance(1);
    expect(player.sentAt.length - before).toBe(1);
    expect(player.dropped).toBe(49);
    clock.advance(FRAME_MS * 3);
    expect(gaps(player.deadlines).slice(-2)).toEqual([FRAME_MS, FRAME_MS]);
  });

  it("serves few players in one waking", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const players = Array.from({ length: 25 }, () => new RecordingPlayer(clock));
    for (const player of players) loop.add(player);
    clock.advance(3 * FRAME_MS);
    expect(new Set(players.map((player) => player.deadlines[0]! % FRAME_MS)).size).toBe(1);
  });

  it("spreads many players evenly over the 20 ms", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
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

  it("sends on time although preparing another player takes long", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const slow = Array.from({ length: 10 }, () => new RecordingPlayer(clock, 1.5));
    const quick = new RecordingPlayer(clock);
    for (const player of [...slow, quick]) loop.add(player);
    clock.advance(50 * FRAME_MS);
    const lateness = quick.sentAt.map((time, index) => time - quick.deadlines[index]!);
    expect(Math.max(...lateness)).toBeLessThanOrEqual(3);
  });

  it("stops serving a player that was removed, also from within its own send", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
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
    expect(gaps(other.sentAt).every((gap) => gap === FRAME_MS)).toBe(true);
  });

  it("rests when nobody is there", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    const player = new RecordingPlayer(clock);
    loop.add(player);
    clock.advance(FRAME_MS * 2);
    loop.remove(player);
    clock.advance(FRAME_MS * 2);
    expect(clock.pendingCount).toBe(0);
  });

  it("reports the share of time it used and how late it was", () => {
    const clock = new FakeClock();
    const loop = new TickLoop(clock, createBulkhead().bulkhead);
    loop.add(new RecordingPlayer(clock, 4));
    loop.takeReport();
    clock.advance(1000);
    const report = loop.takeReport();
    expect(report.load).toBeGreaterThan(0.15);
    expect(report.load).toBeLessThan(0.25);
    expect(report.latenessMsMax).toBeLessThanOrEqual(2);
  });

  it("one player's exception is its own: the others are sent and prepared on time", () => {
    const clock = new FakeClock();
    const { bulkhead, faults } = createBulkhead();
    const loop = new TickLoop(clock, bulkhead);
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
    expect([before.sentAt.length, after.sentAt.length]).toEqual([10, 10]);
    expect([before.prepared, after.prepared]).toEqual([11, 11]);
    expect(new Set(faults.map(({ playerId }) => playerId))).toEqual(new Set([7]));
    expect(faults).toHaveLength(21);
  });

  it("what a player takes is charged to it, and it is marked as the one who is served", () => {
    const clock = new FakeClock();
    const { bulkhead, mark } = createBulkhead();
    const loop = new TickLoop(clock, bulkhead);
    const costly = new RecordingPlayer(clock, 2, 7);
    const other = new RecordingPlayer(clock, 0, 8);
    const marked: unknown[] = [];
    const prepare = costly.prepare.bind(costly);
    costly.prepare = () => {
      marked.push(mark.work);
      prepare();
    };
    loop.add(costly);
    loop.add(other);
    clock.advance(10 * FRAME_MS);
    expect(costly.usedMs).toBe(costly.prepared * 2);
    expect(other.usedMs).toBe(0);
    expect(marked[0]).toEqual({ owner: 7, activity: "prepare" });
    expect(mark.work).toBeUndefined();
  });
});
