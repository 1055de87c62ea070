import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PluginManifest } from "../../../../src/bridge/plugin-messages.ts";
import { NodeError } from "../../../../src/errors.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { PluginRunner, type PluginRunnerOptions } from "../../../../src/plugin-host/manage/plugin-runner.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakePluginThreads, manifestOf } from "../../../support/fake-plugin-threads.ts";
import { settle } from "../../../support/fake-workers.ts";
import { createPlanner } from "../../../support/planner-builders.ts";

const OWNER = ["address test"];

const MINUTE_MS = 60_000;
const MANIFEST = manifestOf("songs");

let clock: FakeClock;
let threads: FakePluginThreads;
let runner: PluginRunner;
let manifests: PluginManifest[];
let lines: { readonly message: string; readonly fields: object }[];
/** Requests of plugins to the node. */
let requests: Parameters<PluginRunnerOptions["onLoadRequested"]>[];

beforeEach(() => {
  clock = new FakeClock();
  threads = new FakePluginThreads(clock);
  [manifests, lines, requests] = [[], [], []];
  runner = create();
});
afterEach(() => runner.close());

function create(more: Partial<PluginRunnerOptions> = {}): PluginRunner {
  const http = { userAgent: "x", proxyUrl: undefined, connectTimeoutMs: 1, socketTimeoutMs: 1 };
  return new PluginRunner({
    name: "songs",
    entry: new URL("file:///plugin"),
    problem: undefined,
    threads,
    clock,
    settings: {
      module: "file:///songs.mjs",
      allow: [],
      hosts: {},
      http,
      ownProxyUrl: undefined,
      ownUserAgent: undefined,
      routing: undefined,
    },
    logger: createLogger((_level, message, fields) => lines.push({ message, fields })),
    onNamed: async () => ({ options: { a: "1" }, changes: {}, persisted: [] }),
    onPersisted: () => undefined,
    onManifest: (manifest) => manifests.push(manifest),
    onLoadRequested: (...args) => requests.push(args),
    onLoadAborted: () => undefined,
    onPlayerEvent: () => undefined,
    ...more,
  });
}

function ask(
  identifier = "one",
  signal = new AbortController().signal,
  timeoutMs = 20_000,
  owner = OWNER,
): Promise<unknown> {
  const work = runner.request({ type: "load", source: "songs", identifier, depth: 0, owner }, { signal, timeoutMs });
  // Checked later.
  work.catch(() => undefined);
  return work;
}

/** Asks until it is answered, so that the thread runs. */
async function run(): Promise<void> {
  const asked = ask();
  await settle();
  if (runner.state === "starting") await threads.last.ready(MANIFEST);
  await threads.last.reply();
  await asked;
}

/** It runs, and is lost at once. */
async function lose(): Promise<void> {
  await run();
  threads.last.exit(1);
}

describe("a plugin's thread", () => {
  test("a plugin's thread starts with the first request, which it may receive before it is set up", async () => {
    expect(runner.state).toBe("idle");
    expect(threads.started).toHaveLength(0);
    const asked = ask();
    expect(runner.state).toBe("starting");
    threads.last.say({ type: "named", name: "songs" });
    await settle();
    expect(threads.last.commands).toMatchObject([
      { type: "load" },
      { type: "options", given: { options: { a: "1" } } },
    ]);
    threads.last.say({ type: "ready", manifest: MANIFEST });
    expect(runner.state).toBe("running");
    await threads.last.reply({ kind: "empty" });
    expect(await asked).toEqual({ kind: "empty" });
    expect(manifests).toEqual([MANIFEST]);
    await run();
    expect(threads.started).toHaveLength(1);
  });

  test("a plugin's thread ends after ten minutes without a request, disposes of its resources, and starts with the next", async () => {
    await run();
    clock.advance(10 * MINUTE_MS - 1);
    await run();
    const long = ask();
    clock.advance(11 * MINUTE_MS);
    await expect(long).rejects.toMatchObject({ code: "load-timeout" });
    clock.advance(10 * MINUTE_MS - 1);
    expect(runner.state).toBe("running");
    clock.advance(1);
    await settle();
    expect(runner.state).toBe("idle");
    expect(threads.last.all("dispose")).toHaveLength(1);
    expect(threads.alive).toHaveLength(0);
    await run();
    expect(threads.started).toHaveLength(2);
    expect(runner.lossCount).toBe(0);
  });

  test("a plugin's thread passes errors on with their codes", async () => {
    await run();
    const asked = ask();
    await threads.last.replyError(new NodeError("site-busy", "songs: 429"));
    await expect(asked).rejects.toMatchObject({ code: "site-busy", message: "songs: 429" });
  });

  test("a plugin's thread is notified of requests whose callers no longer wait, whether aborted or timed out", async () => {
    await run();
    const abort = new AbortController();
    const given = ask("one", abort.signal);
    const late = ask("two", undefined, 5000);
    const reason = new Error("gone");
    abort.abort(reason);
    await expect(given).rejects.toBe(reason);
    clock.advance(5000);
    const message = "the plugin songs did not answer within 5 s";
    await expect(late).rejects.toMatchObject({ code: "load-timeout", message });
    expect(threads.last.all("abort").map(({ requestId }) => requestId)).toEqual([2, 3]);
    await threads.last.reply({ kind: "empty" }, 2);
    await expect(ask("three", abort.signal)).rejects.toBe(reason);
    expect(threads.last.all("load")).toHaveLength(3);
  });

  test("a plugin's thread accepts 512 requests at most", async () => {
    await run();
    for (let index = 0; index < 512; index++) void ask(`${index}`);
    await expect(ask("more")).rejects.toMatchObject({ code: "load-busy" });
    await threads.last.reply();
    void ask("again");
    expect(threads.last.all("load")).toHaveLength(514);
  });

  test("above 512 requests a plugin's thread gives up one of the client with most, not another's", async () => {
    await run();
    const greedy = Array.from({ length: 512 }, (_, index) => ask(`${index}`, undefined, undefined, ["a", "a, 1"]));
    const others = [ask("twin", undefined, undefined, ["b", "b, 1"]), ask("sub", undefined, undefined, ["a", "a, 2"])];
    await expect(greedy[511]).rejects.toMatchObject({ code: "load-busy" });
    await expect(greedy[510]).rejects.toMatchObject({ code: "load-busy" });
    expect(threads.last.all("abort")).toHaveLength(2);
    for (const { requestId } of threads.last.all("load").slice(-2)) await threads.last.reply(undefined, requestId);
    expect(await Promise.all(others)).toEqual([{ kind: "empty" }, { kind: "empty" }]);
  });

  test("a report of the thread contains the state of its backends and its counters", async () => {
    await run();
    const backends = [
      { name: "api", state: "closed", succeeded: 1, failed: 0, lastError: undefined, openUntilMs: undefined },
    ] as const;
    threads.last.say({ type: "report", backends, counts: { pages: 3 } });
    expect(runner).toMatchObject({ backends, counts: { pages: 3 } });
    threads.last.say({ type: "log", level: "info", message: "hello", fields: { a: 1 } });
    expect(lines).toContainEqual({ message: "hello", fields: { a: 1, plugin: "songs" } });
  });
});

describe("a thread that is lost", () => {
  test.each(["exits", "throws", "hangs"])("a thread that is lost rejects all its requests: it %s", async (how) => {
    await run();
    const asked = [ask("one"), ask("two")];
    if (how === "exits") threads.last.exit(1);
    else if (how === "throws") threads.last.emit("error", new Error("out of memory"));
    else {
      threads.last.isHanging = true;
      clock.advance(10_000);
    }
    for (const work of asked) await expect(work).rejects.toMatchObject({ code: "plugin-lost" });
    expect(runner).toMatchObject({ state: how === "hangs" ? "idle" : "resting", lossCount: 1 });
    expect(runner.trouble).toMatch(/^the thread of the plugin songs /);
    expect(threads.alive).toHaveLength(0);
  });

  test("a thread without requests is not taken to hang", async () => {
    await run();
    threads.last.isHanging = true;
    clock.advance(5 * MINUTE_MS);
    expect(runner).toMatchObject({ state: "running", lossCount: 0 });
  });

  test("a lost thread restarts after a pause, which doubles up to a minute with further losses", async () => {
    const pauses: number[] = [];
    for (let index = 0; index < 8; index++) {
      await lose();
      let seconds = 0;
      for (; runner.state === "resting"; seconds++) clock.advance(1000);
      pauses.push(seconds);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  test("a lost thread refuses requests in the meantime, and reports when it restarts", async () => {
    await lose();
    clock.advance(100);
    const message = /^the plugin songs stopped 1 times; it restarts in 1 s: the thread of the plugin songs exited/;
    await expect(ask()).rejects.toMatchObject({ code: "plugin-lost", message: expect.stringMatching(message) });
    expect(threads.started).toHaveLength(1);
  });

  test("a thread lost after a minute of life restarts at once, and its pauses start from the shortest again", async () => {
    for (let index = 0; index < 4; index++) {
      await lose();
      clock.advance(MINUTE_MS);
    }
    await run();
    clock.advance(MINUTE_MS);
    threads.last.exit(1);
    expect(runner.state).toBe("idle");
    await lose();
    expect(runner.state).toBe("resting");
    clock.advance(1000);
    expect(runner.state).toBe("idle");
  });

  test("a starting thread that is silent for 15 s counts as lost, too", async () => {
    const asked = ask("one", undefined, 30_000);
    clock.advance(15_250);
    await expect(asked).rejects.toMatchObject({ code: "plugin-lost" });
    expect(runner).toMatchObject({ state: "resting", lossCount: 1 });
  });
});

describe("a thread that is lost before anything is known of its plugin", () => {
  test("a thread lost before its manifest is known restarts after its pauses, without requests, until it is set up", async () => {
    const started = runner.start();
    threads.last.exit(1);
    await expect(started).rejects.toMatchObject({ code: "worker-lost" });
    expect(runner).toMatchObject({ state: "resting", lossCount: 1 });
    clock.advance(999);
    expect(threads.started).toHaveLength(1);
    clock.advance(1);
    expect(runner.state).toBe("starting");
    threads.last.exit(1);
    clock.advance(1999);
    expect(runner.state).toBe("resting");
    clock.advance(1);
    await threads.last.ready(MANIFEST);
    expect(runner).toMatchObject({ state: "running", lossCount: 2 });
    expect([threads.started.length, manifests.length]).toEqual([3, 1]);
    // From now on it starts on demand, and ends when it is idle.
    clock.advance(10 * MINUTE_MS);
    await settle();
    expect(runner.state).toBe("idle");
    await lose();
    clock.advance(MINUTE_MS);
    expect(threads.started).toHaveLength(4);
  });

  test("a thread lost before its manifest is known does not restart once it is off, closed, or reloaded by hand", async () => {
    for (const end of ["off", "closed", "reloaded"]) {
      runner = create();
      const count = threads.started.length;
      runner.start().catch(() => undefined);
      threads.last.exit(1);
      if (end === "closed") await runner.close();
      if (end === "reloaded") {
        const reloaded = runner.reload();
        await threads.last.ready(MANIFEST);
        await reloaded;
      }
      clock.advance(1000);
      if (end === "off") threads.last.say({ type: "unusable", name: "songs", problem: "no", areOptionsWrong: false });
      clock.advance(5 * MINUTE_MS);
      expect(threads.started.length - count).toBe(end === "closed" ? 1 : 2);
      await runner.close();
    }
  });
});

describe("a program that a plugin's thread runs", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  /** One that runs until it is killed. */
  async function runProgram(): Promise<{ readonly pid: number; readonly exited: Promise<unknown> }> {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
    children.push(child);
    await once(child, "spawn");
    threads.last.say({ type: "program", pid: child.pid!, isRunning: true }); // it was spawned
    return { pid: child.pid!, exited: once(child, "exit").then(([, signal]) => signal) }; // the same
  }

  test.each(["exits", "hangs", "is closed while it hangs"])(
    "a program ends when its plugin's thread %s",
    async (how) => {
      await run();
      const { exited } = await runProgram();
      void ask();
      if (how === "exits") threads.last.exit(1);
      else {
        threads.last.isHanging = true;
        threads.last.isObedient = false;
        if (how !== "hangs") void runner.close();
        clock.advance(10_000);
      }
      expect(await exited).toBe("SIGKILL");
    },
  );

  test("a program that has ended is forgotten, as its process id may be reused", async () => {
    await run();
    const other = await runProgram();
    threads.last.say({ type: "program", pid: other.pid, isRunning: false });
    const own = await runProgram();
    threads.last.exit(1);
    expect(await own.exited).toBe("SIGKILL");
    process.kill(other.pid, "SIGTERM");
    expect(await other.exited).toBe("SIGTERM");
  });
});

describe("a plugin that cannot be set up", () => {
  test("a plugin that cannot be set up is off, reports why, and does not restart", async () => {
    const asked = ask();
    threads.last.say({ type: "unusable", name: undefined, problem: "no default export", areOptionsWrong: false });
    const error = { code: "plugin-off", message: "the plugin songs is off: no default export" };
    await expect(asked).rejects.toMatchObject(error);
    await expect(ask()).rejects.toMatchObject(error);
    expect(runner).toMatchObject({ state: "off", trouble: "no default export", lossCount: 0 });
    expect(threads.started).toHaveLength(1);
    expect(threads.alive).toHaveLength(0);
    expect(lines).toMatchObject([{ fields: { plugin: "songs", problem: "no default export" } }]);
  });

  test("a plugin is off from the start if its error is known", async () => {
    runner = create({ problem: "an option is wrong" });
    expect(runner.state).toBe("off");
    await expect(ask()).rejects.toMatchObject({ code: "plugin-off" });
    await expect(runner.start()).rejects.toMatchObject({ code: "plugin-off" });
    expect(threads.started).toHaveLength(0);
  });

  test("a plugin that cannot be set up, or is lost, rejects the start with the reason", async () => {
    const off = runner.start();
    threads.last.say({ type: "unusable", name: "songs", problem: "no", areOptionsWrong: false });
    await expect(off).rejects.toMatchObject({ code: "plugin-off" });
    runner = create();
    const lost = runner.start();
    threads.last.exit(1);
    await expect(lost).rejects.toMatchObject({ code: "worker-lost" });
  });

  test("a plugin that was off works again after a reload", async () => {
    const first = ask();
    threads.last.say({ type: "unusable", name: "songs", problem: "no", areOptionsWrong: false });
    await expect(first).rejects.toThrow();
    const reloaded = runner.reload();
    await threads.last.ready(MANIFEST);
    await reloaded;
    expect(runner).toMatchObject({ state: "running", trouble: undefined });
    await run();
    expect(threads.started).toHaveLength(2);
  });
});

describe("reloading a plugin", () => {
  test("a reload switches to the new thread once it is set up, and ends the old one", async () => {
    await run();
    const [before] = threads.started;
    const reloaded = runner.reload();
    const asked = ask();
    await before?.reply();
    expect(await asked).toEqual({ kind: "empty" });
    await threads.last.ready(manifestOf("songs", { version: "2.0.0" }));
    await reloaded;
    expect(manifests.map(({ version }) => version)).toEqual(["1.0.0", "2.0.0"]);
    expect(before?.isEnded).toBe(true);
    await run();
    expect(threads.last.all("load")).toHaveLength(1);
  });

  test("a reload lets the old thread finish its pending requests", async () => {
    await run();
    const [before] = threads.started;
    const asked = ask("slow");
    const reloaded = runner.reload();
    await threads.last.ready(MANIFEST);
    await reloaded;
    expect(before?.isEnded).toBe(false);
    // It may ask others to finish its work, and is answered itself.
    before?.say({ type: "loadRequested", askId: 1, identifier: "x", depth: 1, owner: OWNER });
    requests[0]?.[1].send({ type: "loaded", askId: 1, answer: { kind: "empty" } });
    expect([before?.all("loaded").length, threads.last.all("loaded").length]).toEqual([1, 0]);
    await before?.reply({ kind: "empty" });
    expect(await asked).toEqual({ kind: "empty" });
    await settle();
    expect(before?.isEnded).toBe(true);
    expect(threads.last.all("load")).toHaveLength(0);
  });

  test("a reload lets the listeners of the old thread end what they have started", async () => {
    const listening = manifestOf("songs", { isListening: true });
    const asked = ask();
    await threads.last.ready(listening);
    const [before] = threads.started;
    await before?.reply();
    await asked;
    const reloaded = runner.reload();
    await threads.last.ready(listening);
    await reloaded;
    await settle();
    expect([before?.all("drain").length, before?.isEnded]).toEqual([1, false]);
    await before?.reply({ kind: "told" });
    await settle();
    expect(before?.isEnded).toBe(true);
  });

  test("a reload gives the old thread 20 s to finish", async () => {
    await run();
    const [before] = threads.started;
    const asked = ask("slow", undefined, 60_000);
    const reloaded = runner.reload();
    await threads.last.ready(MANIFEST);
    await reloaded;
    clock.advance(20_000);
    await expect(asked).rejects.toMatchObject({ code: "plugin-lost" });
    await settle();
    expect(before?.isEnded).toBe(true);
  });

  test.each(["is unusable", "is lost"])("a reload keeps the old thread when the new one %s", async (how) => {
    await run();
    const reloaded = runner.reload();
    if (how === "is lost") threads.last.exit(1);
    else threads.last.say({ type: "unusable", name: "songs", problem: "no", areOptionsWrong: false });
    const message = expect.stringMatching(/^reloading the plugin songs failed: .+; the old one stays in use$/);
    await expect(reloaded).rejects.toMatchObject({ code: "plugin-off", message });
    expect(runner).toMatchObject({ state: "running", lossCount: 0, trouble: undefined });
    const asked = ask();
    await threads.started[0]?.reply();
    expect(await asked).toEqual({ kind: "empty" });
  });

  test("concurrent reloads are one", async () => {
    await run();
    const reloads = [runner.reload(), runner.reload(), runner.reload()];
    expect(threads.started).toHaveLength(2);
    await threads.last.ready(MANIFEST);
    await Promise.all(reloads);
    await settle();
    expect(threads.alive).toHaveLength(1);
    const again = runner.reload();
    await threads.last.ready(MANIFEST);
    await again;
    await settle();
    expect(threads.started).toHaveLength(3);
    expect(threads.alive).toHaveLength(1);
  });

  test("a reload leaves no thread behind that was started in the meantime", async () => {
    const reloaded = runner.reload();
    const [fresh] = threads.started;
    const asked = ask();
    expect(threads.started).toHaveLength(2);
    await threads.last.ready(MANIFEST);
    await threads.last.reply();
    await asked;
    await fresh?.ready(MANIFEST);
    await reloaded;
    await settle();
    expect(threads.alive).toEqual([fresh]);
  });

  test("a reload resets the restart pauses: a loss right after it has a pause", async () => {
    await run();
    clock.advance(2 * MINUTE_MS);
    const reloaded = runner.reload();
    await threads.last.ready(MANIFEST);
    await reloaded;
    threads.last.exit(1);
    expect(runner.state).toBe("resting");
  });
});

describe("closing", () => {
  test("closing ends the thread, rejects its requests, and refuses further ones", async () => {
    await run();
    const asked = ask();
    await runner.close();
    await expect(asked).rejects.toMatchObject({ code: "plugin-lost" });
    expect(threads.last.all("dispose")).toHaveLength(1);
    expect(threads.alive).toHaveLength(0);
    await runner.close();
    for (const work of [ask(), runner.start(), runner.reload()])
      await expect(work).rejects.toMatchObject({ code: "plugin-lost" });
    expect(threads.started).toHaveLength(1);
    clock.advance(60 * MINUTE_MS);
    expect(clock.pendingCount).toBe(0);
  });

  test("closing waits for 1.5 s at most", async () => {
    await run();
    threads.last.isObedient = false;
    let isClosed = false;
    const closed = runner.close().then(() => {
      isClosed = true;
    });
    clock.advance(1499);
    await settle();
    expect(isClosed).toBe(false);
    clock.advance(1);
    await closed;
    expect(threads.alive).toHaveLength(0);
  });

  test("closing ends starting and finishing threads, too, and rejects those waiting for them", async () => {
    const started = runner.start();
    await runner.close();
    await expect(started).rejects.toMatchObject({ code: "plugin-lost" });
    runner = create();
    await run();
    void ask();
    const first = runner.reload();
    await threads.last.ready(MANIFEST);
    await first;
    const second = runner.reload();
    expect(threads.alive).toHaveLength(3);
    await runner.close();
    await expect(second).rejects.toMatchObject({ code: "plugin-lost" });
    expect(threads.alive).toHaveLength(0);
  });
});

test("a thread's request for an address is answered by the planner, which also receives its failures", async () => {
  const { planner } = createPlanner({ ipBlocks: ["192.0.2.8/31"] });
  runner = create({ routes: planner });
  void ask();
  await threads.last.ready(manifestOf("songs"));
  threads.last.say({ type: "routeRequested", routeId: 1, families: [4], preferred: "192.0.2.9" });
  threads.last.say({ type: "routeFailed", address: "192.0.2.9", reason: "banned" });
  threads.last.say({ type: "routeRequested", routeId: 2, families: [4], preferred: "192.0.2.9" });
  threads.last.say({ type: "routeFailed", address: "192.0.2.8", reason: "banned" });
  threads.last.say({ type: "routeRequested", routeId: 3, families: [4] });
  expect(threads.last.all("route")).toEqual([
    { type: "route", routeId: 1, address: "192.0.2.9" },
    { type: "route", routeId: 2, address: "192.0.2.8" },
  ]);
  expect(threads.last.all("routeError")).toMatchObject([{ routeId: 3, error: { code: "routes-exhausted" } }]);
});
