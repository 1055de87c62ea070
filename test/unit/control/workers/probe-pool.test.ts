import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ProbeResult } from "../../../../src/bridge/playable-input.ts";
import type { LinkSource } from "../../../../src/control/workers/link-source.ts";
import { ProbePool } from "../../../../src/control/workers/probe-pool.ts";
import type { RouteSource } from "../../../../src/control/workers/route-source.ts";
import { systemThreads } from "../../../../src/control/workers/threads.ts";
import { NodeError } from "../../../../src/errors.ts";
import { type Clock, systemClock } from "../../../../src/lib/clock.ts";
import type { Owner } from "../../../../src/lib/owners.ts";
import { createLogger, type LogFields } from "../../../../src/log/log.ts";
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
let probePool: ProbePool;
/** Called for each line that is logged. */
let onLine: () => void;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  onLine = () => undefined;
});
afterEach(() => probePool.close());

function start(
  options: { script?: "broken" | "mute"; routes?: RouteSource; links?: LinkSource; clock?: Clock } = {},
): void {
  const { script = "obedient-probe" } = options;
  probePool = new ProbePool({
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

/** Makes the thread do something, see the worker script. */
function ask(url: string, signal = new AbortController().signal, owner: Owner = []): Promise<ProbeResult> {
  return probePool.probe({ kind: "http", url, container: undefined }, { owner, signal });
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
  test("no thread runs before there is an input to probe", async () => {
    start();
    expect(clock.pendingCount).toBe(0);
    expect(await ask("nothing")).toEqual(EMPTY);
  });

  test("passes answers, errors and log lines on", async () => {
    start();
    expect(await ask("nothing")).toEqual(EMPTY);
    await expect(ask("fail")).rejects.toMatchObject({ code: "media-no-audio", message: "no audio" });
    expect(lines).toContainEqual({ message: "asked probe", fields: { requestId: 2, thread: "probe" } });
  });

  test("a probe that nobody waits for any more is ended on the thread as well", async () => {
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

  test("a route request is answered, and failed addresses are passed on", async () => {
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

  test("a link request is answered", async () => {
    start({ links: { link: async ({ track }) => linkTo(`http://site.example/${track.sourceName}`) } });
    void ask("link").catch(() => undefined);
    await seen("asked link");
  });

  test("a link request is answered with an error where there is no link source", async () => {
    start();
    void ask("link").catch(() => undefined);
    await seen("asked linkError");
  });

  test("the probe thread ends after 15 s without a probe, and the next probe starts it again", async () => {
    start();
    await ask("nothing");
    expect(clock.pendingCount).toBe(1);
    clock.advance(IDLE_MS - 1);
    await ask("nothing");
    clock.advance(IDLE_MS);
    expect(clock.pendingCount).toBe(0);
    expect(await ask("nothing")).toEqual(EMPTY);
    expect(logged("probe thread ready")).toHaveLength(2);
  });

  test("closing the pool ends the thread, and no input is probed afterwards", async () => {
    start();
    await ask("nothing");
    await probePool.close();
    await probePool.close();
    await expect(ask("nothing")).rejects.toMatchObject({ code: "worker-lost" });
    expect(clock.pendingCount).toBe(0);
  });
});

describe("a probe thread that is lost", () => {
  test.each(["exit", "throw", "fill-heap"])(
    "a probe whose thread is lost %s is given up after one isolated retry",
    async (how) => {
      start();
      const abort = new AbortController();
      const reason = new NodeError("load-timeout", "enough");
      const innocent = [ask("wait", abort.signal), ask("wait", abort.signal)];
      await seen("asked probe", 2);
      const culprit = ask(`${how} named`);
      await expect(culprit).rejects.toMatchObject({ code: "probe-crashed", cause: { code: "worker-lost" } });
      // Asked again on the thread that replaced the lost one, and still waiting there. The last messages of a thread
      // that is lost may be lost with it, so those of the culprit are not counted.
      const askedOf = (id: number) => logged("asked probe").filter(({ fields }) => fields.requestId === id).length;
      await untilLogged(() => askedOf(1) === 2 && askedOf(2) === 2);
      expect(askedOf(3)).toBeLessThanOrEqual(2);
      abort.abort(reason);
      for (const probe of innocent) await expect(probe).rejects.toBe(reason);
    },
  );

  test("that hangs is given up, and so is what made it hang", async () => {
    start({ clock: systemClock });
    const abort = new AbortController();
    const reason = new NodeError("load-timeout", "enough");
    const control = ask("wait", abort.signal);
    await expect(ask("hang named")).rejects.toMatchObject({
      code: "probe-crashed",
      cause: { message: "the probe thread shows no sign of life any more" },
    });
    expect(await ask("nothing")).toEqual(EMPTY);
    abort.abort(reason);
    await expect(control).rejects.toBe(reason);
  });

  test("a suspect that did not cause the loss is answered", async () => {
    start();
    await ask("nothing");
    const suspect = ask("suspect");
    const culprit = expect(ask("exit")).rejects.toMatchObject({ code: "probe-crashed" });
    expect(await suspect).toEqual(EMPTY);
    await culprit;
  });

  test("without anybody named, all are asked once more and then given up", async () => {
    start();
    const all = await Promise.allSettled([ask("wait"), ask("exit")]);
    for (const probe of all) expect(probe).toMatchObject({ status: "rejected", reason: { code: "probe-crashed" } });
    expect(logged("probe thread lost")).toHaveLength(2);
    expect(await ask("nothing")).toEqual(EMPTY);
  });

  test("suspects are probed one after the other, so each loss has one culprit", async () => {
    start();
    await ask("nothing");
    const abort = new AbortController();
    const reason = new NodeError("load-timeout", "enough");
    const suspect = ask("suspect wait", abort.signal);
    await expect(ask("exit")).rejects.toMatchObject({ code: "probe-crashed" });
    const culprit = ask("exit named");
    await seen("probe thread lost", 4);
    // Time enough for an isolated thread to start and be lost.
    await expect(ask("exit")).rejects.toMatchObject({ code: "probe-crashed" });
    abort.abort(reason);
    await expect(suspect).rejects.toBe(reason);
    await expect(culprit).rejects.toMatchObject({ code: "probe-crashed" });
  });

  test("a suspect does not wait for the suspect of another client, however long that takes", async () => {
    start();
    await ask("nothing");
    const abort = new AbortController();
    const greedy = ask("suspect wait", abort.signal, ["greedy"]);
    await expect(ask("exit")).rejects.toMatchObject({ code: "probe-crashed" });
    await ask("nothing");
    const control = ask("suspect", undefined, ["honest"]);
    await expect(ask("exit")).rejects.toMatchObject({ code: "probe-crashed" });
    expect(await control).toEqual(EMPTY);
    const reason = new NodeError("load-timeout", "enough");
    abort.abort(reason);
    await expect(greedy).rejects.toBe(reason);
  });

  test("a thread that cannot start says so after two tries", async () => {
    start({ script: "broken" });
    await expect(ask("nothing")).rejects.toMatchObject({
      code: "probe-crashed",
      cause: { message: expect.stringContaining("the probe thread stopped by an error") },
    });
  });

  test("a thread that never says that it has started is lost as well", async () => {
    start({ script: "mute" });
    const answer = expect(ask("nothing")).rejects.toMatchObject({
      code: "probe-crashed",
      cause: { message: "the probe thread did not start for 15000 ms" },
    });
    clock.advance(START_MS - 1);
    expect(logged("probe thread lost")).toHaveLength(0);
    clock.advance(1);
    expect(logged("probe thread lost")).toHaveLength(1);
    clock.advance(START_MS);
    await answer;
  });
});
