import { beforeEach, describe, expect, test } from "vitest";
import { ARRIVE_MS_MAX, NatsTime } from "../../../src/cluster/nats-time.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const HOUR_MS = 3_600_000;
const SERVERS_MS = 1_800_000_000_000;

/** Of a machine whose clocks have nothing to do with those of the servers, nor of others. */
class Side {
  readonly clock: FakeClock;
  readonly time: NatsTime;
  /** By which the clock of the servers is ahead of where it began. */
  serversAheadMs = 0;
  readonly #beganMs: number;

  constructor(nowMs: number, epochMs: number) {
    this.clock = new FakeClock({ nowMs, epochMs });
    this.time = new NatsTime(this.clock);
    this.#beganMs = nowMs;
  }

  get serversMs(): number {
    return SERVERS_MS + this.serversAheadMs + this.clock.now() - this.#beganMs;
  }

  /** A renewal that is stored after one time, and comes back after another. */
  renew(requestMs: number, answerMs: number): void {
    const sentMs = this.clock.now();
    this.clock.advance(requestMs);
    const storedMs = this.serversMs;
    this.clock.advance(answerMs);
    this.time.measured(sentMs, storedMs);
  }
}

let caller: Side;
let called: Side;

beforeEach(() => {
  caller = new Side(5000, SERVERS_MS - HOUR_MS);
  called = new Side(90_000_000, SERVERS_MS + HOUR_MS);
  for (const side of [caller, called]) side.renew(10, 10);
});

/** A call takes so long; it was said to be sent at `sentMs`. */
function isLateAfter(ms: number, sentMs = caller.time.epochMs ?? 0): boolean {
  called.clock.advance(ms);
  return called.time.isLate(sentMs);
}

describe("a call", () => {
  test("is late after its time, by whatever the clocks of both machines differ", () => {
    expect(isLateAfter(ARRIVE_MS_MAX)).toBe(false);
    expect(isLateAfter(30)).toBe(true);
  });

  test("is not late while the time is not known, and does not say when it was sent", () => {
    const side = new Side(0, 0);
    expect(side.time.epochMs).toBeUndefined();
    expect(side.time.isLate(0)).toBe(false);
  });

  test("is not late for what a slow network leaves unknown", () => {
    const slow = new Side(0, 0);
    // Stored at once and seen late: the guess is wrong by all that it may be.
    slow.renew(0, 3000);
    expect(slow.time.epochMs).toBeUndefined();
    const sentMs = slow.serversMs;
    slow.clock.advance(ARRIVE_MS_MAX - 100);
    expect(slow.time.isLate(sentMs)).toBe(false);
    slow.clock.advance(3200);
    expect(slow.time.isLate(sentMs)).toBe(true);
  });
});

describe("a process that stood still", () => {
  test("carries out no call that came before, whichever it hears of first: the call or its renewal", () => {
    const sentMs = called.serversMs;
    // Sent before, and heard behind it.
    called.renew(10, 15_000);
    expect(called.time.isLate(sentMs)).toBe(true);
    expect(called.time.isLate(called.serversMs - ARRIVE_MS_MAX - 100)).toBe(true);
    expect(called.time.isLate(called.serversMs - ARRIVE_MS_MAX)).toBe(false);
    expect(called.time.epochMs).toBeGreaterThan(called.serversMs - 50);
  });
});

describe("the clock of the servers", () => {
  test("that runs apart from that of the machine is less known by the hour", () => {
    called.clock.advance(HOUR_MS);
    expect(called.time.epochMs).toBeUndefined();
    // It may be 3.6 s further by now.
    expect(called.time.isLate(called.serversMs - ARRIVE_MS_MAX - 3000)).toBe(false);
    called.renew(100, 100);
    expect(called.time.isLate(called.serversMs - ARRIVE_MS_MAX - 300)).toBe(true);
  });

  test("that has jumped is known with the next quick renewal", () => {
    for (const side of [caller, called]) side.serversAheadMs = -HOUR_MS;
    caller.renew(10, 10);
    expect(isLateAfter(0)).toBe(true);
    called.renew(10, 10);
    expect(isLateAfter(0)).toBe(false);
  });

  test("that has jumped is known with the next renewal, however slow that is", () => {
    for (const side of [caller, called]) side.serversAheadMs = -HOUR_MS;
    caller.renew(10, 10);
    called.renew(1000, 1000);
    expect(isLateAfter(0, called.serversMs)).toBe(false);
    expect(isLateAfter(ARRIVE_MS_MAX + 2100, called.serversMs - 1)).toBe(true);
  });
});
