import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ProbeResult } from "../../../../src/bridge/playable-input.ts";
import type { LinkSource } from "../../../../src/control/workers/link-source.ts";
import { Lookups } from "../../../../src/control/workers/lookups.ts";
import type { RouteSource } from "../../../../src/control/workers/route-source.ts";
import { systemThreads } from "../../../../src/control/workers/threads.ts";
import { NodeError } from "../../../../src/errors.ts";
import { type Clock, systemClock } from "../../../../src/lib/clock.ts";
import { createLogger, type LogFields } from "../../../../src/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { inputSettings } from "../../../support/input-builders.ts";
import { linkTo } from "../../../support/scripted-links.ts";

const IDLE_MS = 15_000;
const START_MS = 15_250;
const EMPTY: ProbeResult = { kind: "empty" };

interface Line {
  readonly message: string;
  readonly fields: LogFields;
}

let clock: FakeClock;
let lines: Line[];
let lookups: Lookups;
/** Called for each line that is logged. */
let onLine: () => void;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  onLine = () => undefined;
});
afterEach(() => lookups.close());

function start(
  options: { script?: "broken" | "mute"; routes?: RouteSource; links?: LinkSource; clock?: Clock } = {},
): void {
  const { script = "obedient-lookups" } = options;
  lookups = new Lookups({
    threads: systemThreads,
    entry: new URL(`../../../support/worker-scripts/${script}.mjs`, import.meta.url),
    settings: inputSettings,
    heapMegabytesMax: 32,
    clock,
    ...options,
    logger: createLogger((_level, message, fields) => {
      lines.push({ message, fields });
      onLine();
    }),
  });
}

/** Has the thread do something, see worker-scripts/obedient-lookups.mjs. */
function ask(url: string, signal = new AbortController().signal): Promise<ProbeResult> {
  return lookups.probe({ kind: "http", url, container: undefined }, { signal });
}

function logged(start: string): readonly Line[] {
  return lines.filter(({ message }) => message.startsWith(start));
}

/** Resolves when as many lines that begin so have been logged. */
function seen(start: string, count = 1): Promise<void> {
  return untilLogged(() => logged(start).length >= count);
}

function untilLogged(isEnough: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    onLine = () => {
      if (isEnough()) resolve();
    };
    onLine();
  });
}

describe("looking inputs up", () => {
  test("no thread runs before there is something to look up", async () => {
    start();
    expect(clock.pendingCount).toBe(0);
    expect(await ask("nothing")).toEqual(EMPTY);
  });

  test("passes answers, errors and log lines on", async () => {
    start();
    expect(await ask("nothing")).toEqual(EMPTY);
    await expect(ask("fail")).rejects.toMatchObject({ code: "media-no-audio", message: "no sound" });
    expect(lines).toContainEqual({ message: "asked probe", fields: { requestId: 2, thread: "look-ups" } });
  });

  test("one that nobody waits for any more is ended on the thread as well", async () => {
    start();
    const abort = new AbortController();
    const waiting = ask("wait", abort.signal);
    await seen("asked probe");
    const reason = new NodeError("load-timeout", "enough");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await seen("asked abortProbe");
    expect(logged("asked abortProbe")[0]?.fields).toMatchObject({ requestId: 1 });
    await expect(ask("nothing", abort.signal)).rejects.toBe(reason);
  });

  test("a wish for an address is answered, and what failed is passed on", async () => {
    const failed: unknown[] = [];
    start({
      routes: {
        answer: ({ routeId }) => ({ type: "route", routeId, address: "192.0.2.1" }),
        onFailure: ({ address }) => failed.push(address),
      },
    });
    void ask("route").catch(() => undefined);
    await seen("asked route");
    void ask("ban").catch(() => undefined);
    await ask("nothing");
    expect(failed).toEqual(["192.0.2.9"]);
  });

  test("a wish for a link is answered", async () => {
    start({ links: { link: async ({ track }) => linkTo(`http://site.example/${track.sourceName}`) } });
    void ask("link").catch(() => undefined);
    await seen("asked link");
  });

  test("a wish for a link is answered with an error where nobody has any", async () => {
    start();
    void ask("link").catch(() => undefined);
    await seen("asked linkError");
  });

  test("the thread is ended after 15 s without a look-up, and started again by the next", async () => {
    start();
    await ask("nothing");
    expect(clock.pendingCount).toBe(1);
    clock.advance(IDLE_MS - 1);
    await ask("nothing");
    clock.advance(IDLE_MS);
    expect(clock.pendingCount).toBe(0);
    expect(await ask("nothing")).toEqual(EMPTY);
    expect(logged("look-up thread ready")).toHaveLength(2);
  });

  test("closing ends the thread, and nothing is looked up after it", async () => {
    start();
    await ask("nothing");
    await lookups.close();
    await lookups.close();
    await expect(ask("nothing")).rejects.toMatchObject({ code: "worker-lost" });
    expect(clock.pendingCount).toBe(0);
  });
});

describe("a look-up thread that is lost", () => {
  test.each(["exit", "throw", "fill-heap"])(
    "by %s: whose work it was is given up after once more alone",
    async (how) => {
      start();
      const abort = new AbortController();
      const reason = new NodeError("load-timeout", "enough");
      const innocent = [ask("wait", abort.signal), ask("wait", abort.signal)];
      await seen("asked probe", 2);
      const guilty = ask(`${how} named`);
      await expect(guilty).rejects.toMatchObject({ code: "lookup-crashed", cause: { code: "worker-lost" } });
      // Asked again on the thread that replaced the lost one, and still waiting there. The last words of a thread that
      // is lost may be lost with it, so those of the guilty one are not counted.
      const askedOf = (id: number) => logged("asked probe").filter(({ fields }) => fields.requestId === id).length;
      await untilLogged(() => askedOf(1) === 2 && askedOf(2) === 2);
      expect(askedOf(3)).toBeLessThanOrEqual(2);
      abort.abort(reason);
      for (const lookup of innocent) await expect(lookup).rejects.toBe(reason);
    },
  );

  test("that hangs is given up, and so is what made it hang", async () => {
    start({ clock: systemClock });
    const abort = new AbortController();
    const reason = new NodeError("load-timeout", "enough");
    const honest = ask("wait", abort.signal);
    await expect(ask("hang named")).rejects.toMatchObject({
      code: "lookup-crashed",
      cause: { message: "the look-up thread shows no sign of life any more" },
    });
    expect(await ask("nothing")).toEqual(EMPTY);
    abort.abort(reason);
    await expect(honest).rejects.toBe(reason);
  });

  test("a suspect that had nothing to do with it is answered", async () => {
    start();
    await ask("nothing");
    const suspect = ask("suspect");
    const guilty = expect(ask("exit")).rejects.toMatchObject({ code: "lookup-crashed" });
    expect(await suspect).toEqual(EMPTY);
    await guilty;
  });

  test("without anybody named, all are asked once more and then given up", async () => {
    start();
    const all = await Promise.allSettled([ask("wait"), ask("exit")]);
    for (const lookup of all) expect(lookup).toMatchObject({ status: "rejected", reason: { code: "lookup-crashed" } });
    expect(logged("the look-up thread was lost")).toHaveLength(2);
    expect(await ask("nothing")).toEqual(EMPTY);
  });

  test("suspects are looked at one after the other, so each loss has one to blame", async () => {
    start();
    await ask("nothing");
    const abort = new AbortController();
    const reason = new NodeError("load-timeout", "enough");
    const suspect = ask("suspect wait", abort.signal);
    await expect(ask("exit")).rejects.toMatchObject({ code: "lookup-crashed" });
    const guilty = ask("exit named");
    await seen("the look-up thread was lost", 4);
    // Time enough for a thread of its own to start and be lost.
    await expect(ask("exit")).rejects.toMatchObject({ code: "lookup-crashed" });
    abort.abort(reason);
    await expect(suspect).rejects.toBe(reason);
    await expect(guilty).rejects.toMatchObject({ code: "lookup-crashed" });
  });

  test("a thread that cannot start says so after two tries", async () => {
    start({ script: "broken" });
    await expect(ask("nothing")).rejects.toMatchObject({
      code: "lookup-crashed",
      cause: { message: expect.stringContaining("the look-up thread stopped by an error") },
    });
  });

  test("a thread that never says that it has started is lost as well", async () => {
    start({ script: "mute" });
    const answer = expect(ask("nothing")).rejects.toMatchObject({
      code: "lookup-crashed",
      cause: { message: "the look-up thread did not start for 15000 ms" },
    });
    clock.advance(START_MS - 1);
    expect(logged("the look-up thread was lost")).toHaveLength(0);
    clock.advance(1);
    expect(logged("the look-up thread was lost")).toHaveLength(1);
    clock.advance(START_MS);
    await answer;
  });
});
