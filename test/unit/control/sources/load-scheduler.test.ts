import { beforeEach, describe, expect, test } from "vitest";
import { LoadScheduler } from "../../../../src/control/sources/load-scheduler.ts";
import { NodeError } from "../../../../src/errors.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";

const RUNNING_MAX = 512;
const CLIENT_MAX = 384;
const SITE_MAX = 384;
const CLIENT_SITE_MAX = 256;
const WAITING_MAX = 1000;
const FRESH_MAX = 32;
const FRESH_MS = 100;
/** Time until all permits are taken. */
const BEGUN_MS = (RUNNING_MAX / FRESH_MAX) * FRESH_MS;
const YIELD_AFTER_MS = 2000;
const NEVER = new AbortController().signal;

/** A requested load. */
interface Asked {
  readonly outcome: Promise<unknown>;
  readonly isRunning: () => boolean;
  readonly finish: () => void;
}

let clock: FakeClock;
let scheduler: LoadScheduler;

beforeEach(() => {
  clock = new FakeClock();
  scheduler = new LoadScheduler(clock);
});

function ask(client: string, site: string, signal = NEVER): Asked {
  let isRunning = false;
  let finish = (): void => undefined;
  const work = () => {
    isRunning = true;
    return new Promise<string>((resolve) => {
      finish = () => resolve("found");
    });
  };
  const outcome = scheduler.run({ owner: [client], site, signal }, work).catch((error: NodeError) => error.code);
  return { outcome, isRunning: () => isRunning, finish: () => finish() };
}

/** Requests this many loads of one client, each of a separate site unless one is named. */
function askMany(count: number, client: string, site?: string): Asked[] {
  return Array.from({ length: count }, (_, index) => ask(client, site ?? `${client}-${index}`));
}

/** Lets all loads start that have a permit. */
async function begun(): Promise<void> {
  for (let step = 0; step < RUNNING_MAX / FRESH_MAX; step++) {
    clock.advance(FRESH_MS);
    await settle();
  }
}

function runningOf(asked: readonly Asked[]): number {
  return asked.filter(({ isRunning }) => isRunning()).length;
}

describe("loads", () => {
  test("loads finish immediately while permits are free, however slow the others are", async () => {
    const slow = askMany(300, "heavy");
    await begun();
    const control = ask("heavy", "good");
    await settle();
    expect(runningOf(slow)).toBe(300);
    control.finish();
    expect(await control.outcome).toBe("found");
    // No load waits, so none has to yield.
    expect(clock.pendingCount).toBe(0);
  });

  test("only some loads start at a time: in a burst of one client, another comes before the waiting ones", async () => {
    const burst = askMany(200, "heavy");
    const control = ask("control", "good");
    await settle();
    expect(runningOf(burst)).toBe(FRESH_MAX);
    expect(control.isRunning()).toBe(false);
    burst[0]?.finish();
    await settle();
    expect(control.isRunning()).toBe(true);
    clock.advance(FRESH_MS - 1);
    expect(runningOf(burst)).toBe(FRESH_MAX);
    clock.advance(1);
    await settle();
    expect(runningOf(burst)).toBe(2 * FRESH_MAX);
  });

  test("one client never has all permits: another gets one immediately", async () => {
    const heavy = askMany(RUNNING_MAX, "heavy");
    await begun();
    const control = ask("control", "good");
    await settle();
    expect(runningOf(heavy)).toBe(CLIENT_MAX);
    expect(control.isRunning()).toBe(true);
  });

  test("one site never has all permits of a client: another site gets one immediately", async () => {
    const heavy = askMany(CLIENT_MAX, "one", "slow");
    await begun();
    const control = ask("one", "good");
    await settle();
    expect(runningOf(heavy)).toBe(CLIENT_SITE_MAX);
    expect(control.isRunning()).toBe(true);
  });

  test("one client never has all permits of a site: another gets one immediately", async () => {
    const heavy = askMany(CLIENT_MAX, "heavy", "search");
    await begun();
    const control = ask("control", "search");
    await settle();
    expect(control.isRunning()).toBe(true);
    expect(runningOf(heavy)).toBe(CLIENT_SITE_MAX);
  });

  test("a permit that becomes free goes to the client with the fewest, then to the site with the fewest", async () => {
    const first = askMany(CLIENT_MAX, "heavy");
    await begun();
    const second = askMany(RUNNING_MAX - CLIENT_MAX, "modest", "same");
    await begun();
    const heavy = ask("heavy", "new");
    const same = ask("modest", "same");
    const other = ask("modest", "other");
    const newcomer = ask("newcomer", "any");
    await settle();
    for (const [index, expected] of [newcomer, other, same].entries()) {
      expect(expected.isRunning()).toBe(false);
      second[index]?.finish();
      await settle();
      expect(expected.isRunning()).toBe(true);
    }
    expect(heavy.isRunning()).toBe(false);
    first[0]?.finish();
    await settle();
    expect(heavy.isRunning()).toBe(true);
  });

  test("a load older than 2 s yields to a waiting one: the oldest of the largest share", async () => {
    const early = askMany(RUNNING_MAX - CLIENT_MAX, "modest");
    await begun();
    const heavy = askMany(CLIENT_MAX, "heavy");
    await begun();
    const control = ask("heavy", "good");
    clock.advance(YIELD_AFTER_MS - BEGUN_MS - 1);
    await settle();
    expect(control.isRunning()).toBe(false);
    clock.advance(1);
    await settle();
    expect(control.isRunning()).toBe(true);
    expect(await heavy[0]?.outcome).toBe("load-busy");
    for (const asked of [...early, ...heavy.slice(1)]) asked.finish();
    for (const asked of [...early, ...heavy.slice(1)]) expect(await asked.outcome).toBe("found");
  });

  test("the loads of one site yield to loads of the same site, not of others", async () => {
    const modest = askMany(SITE_MAX - CLIENT_SITE_MAX, "modest", "slow");
    const slow = askMany(CLIENT_SITE_MAX, "one", "slow");
    await begun();
    const other = ask("one", "other");
    const waiting = ask("two", "slow");
    clock.advance(YIELD_AFTER_MS);
    await settle();
    expect(waiting.isRunning()).toBe(true);
    expect(await slow[0]?.outcome).toBe("load-busy");
    expect(runningOf(modest)).toBe(modest.length);
    for (const { finish } of modest) finish();
    expect(await modest[0]?.outcome).toBe("found");
    other.finish();
    expect(await other.outcome).toBe("found");
  });

  test("above 1000 waiting loads the last of the longest queue is refused", async () => {
    askMany(RUNNING_MAX - CLIENT_MAX, "modest");
    await begun();
    askMany(CLIENT_MAX, "heavy");
    await begun();
    const line = askMany(WAITING_MAX, "heavy");
    const control = ask("modest", "good");
    expect(await Promise.race([line.at(-1)?.outcome, line[0]?.outcome])).toBe("load-busy");
    // It is in line, and the first to be served.
    clock.advance(YIELD_AFTER_MS - BEGUN_MS);
    await settle();
    expect(control.isRunning()).toBe(true);
  });

  test("an aborted load leaves the queue, waiting or running", async () => {
    const abort = new AbortController();
    const slow = askMany(CLIENT_SITE_MAX - 1, "one", "slow");
    await begun();
    const running = ask("one", "slow", abort.signal);
    const waiting = ask("one", "slow", abort.signal);
    const next = ask("one", "slow");
    await settle();
    expect([running, waiting, next].map(({ isRunning }) => isRunning())).toEqual([true, false, false]);
    abort.abort(new NodeError("load-timeout", "enough"));
    expect(await Promise.all([running.outcome, waiting.outcome])).toEqual(["load-timeout", "load-timeout"]);
    await settle();
    expect(next.isRunning()).toBe(true);
    expect(waiting.isRunning()).toBe(false);
    for (const asked of [...slow, next]) asked.finish();
    await settle();
    expect(clock.pendingCount).toBe(0);
    await expect(
      scheduler.run({ owner: ["one"], site: "slow", signal: abort.signal }, async () => 1),
    ).rejects.toMatchObject({
      code: "load-timeout",
    });
  });
});
