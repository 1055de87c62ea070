import { beforeEach, describe, expect, test } from "vitest";
import { HOSTILE_SCRIPTS } from "../../../lab/sites/youtube/player-scripts.ts";
import type { Solved, Solver } from "../../../plugins/youtube/script-unlocker.ts";
import type { SolverJob, SolverReply } from "../../../plugins/youtube/solver-session.ts";
import { createSolverThread, type StartPort } from "../../../plugins/youtube/solver-thread.ts";
import { Owners } from "../../../src/lib/owners.ts";
import { pause } from "../../../src/lib/pause.ts";
import type { PluginHost } from "../../../src/plugin-api/plugin.ts";
import { runWork } from "../../../src/plugin-host/runtime/current-work.ts";
import { Semaphore } from "../../../src/plugin-host/runtime/host/semaphore.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { until } from "../../support/input-builders.ts";
import { inThisThread, startYoutubeBench } from "../../support/youtube-bench.ts";

/** A thread that answers when the test says so. */
class ScriptedThread {
  readonly jobs: SolverJob[] = [];
  isEnded = false;
  readonly #on: Parameters<StartPort>[0];

  constructor(on: Parameters<StartPort>[0]) {
    this.#on = on;
  }

  reply(reply: SolverReply): void {
    this.#on.reply(reply);
  }

  exit(why: string): void {
    this.#on.gone(why);
  }

  get lastJob(): SolverJob {
    const job = this.jobs.at(-1);
    if (job === undefined) throw new Error("it has no job");
    return job;
  }
}

const NEVER = new AbortController().signal;
const SCRIPT = { text: "the script", isPrepared: false };
const REQUEST = { scriptId: "s", script: SCRIPT, challenges: { challenge: "abcdef" } };
const SOLUTIONS = { challenge: "fedcba" };

let clock: FakeClock;
let threads: ScriptedThread[];
let solver: Solver;

beforeEach(() => {
  clock = new FakeClock();
  threads = [];
  const start: StartPort = (on) => {
    const thread = new ScriptedThread(on);
    threads.push(thread);
    return {
      post: (job) => void thread.jobs.push(job),
      end: () => {
        thread.isEnded = true;
      },
    };
  };
  const sleep = async (delayMs: number, signal: AbortSignal): Promise<void> => {
    await pause(clock, delayMs, signal);
    signal.throwIfAborted();
  };
  const pool: PluginHost["pool"] = (what, { concurrencyMax, waitingMax, yieldAfterMs = 0 }) => {
    return new Semaphore(clock, { what, runningMax: concurrencyMax, waitingMax, yieldAfterMs });
  };
  solver = createSolverThread({ clock: { now: () => clock.epochMs(), sleep }, pool }, start);
});

function solve(request = REQUEST, signal = NEVER): Promise<Solved> {
  return solver.solve(request, signal);
}

/** Until all pending callbacks have run. */
async function settle(): Promise<void> {
  for (let iteration = 0; iteration < 20; iteration++) await Promise.resolve();
}

async function answerWithScript(thread: ScriptedThread | undefined): Promise<void> {
  await settle();
  thread?.reply({ jobId: thread.lastJob.jobId, kind: "solved", solutions: SOLUTIONS, prepared: "prepared" });
}

async function solveFirst(): Promise<void> {
  const work = solve();
  await settle();
  await answerWithScript(threads[0]);
  expect(await work).toMatchObject({ solutions: SOLUTIONS });
}

describe("the solver's thread", () => {
  test("the solver thread starts with the first job and its script, which is sent again only on request", async () => {
    expect(threads).toEqual([]);
    await solveFirst();
    expect(threads[0]?.lastJob.script).toEqual(SCRIPT);
    const again = solve();
    await settle();
    expect(threads[0]?.lastJob.script).toBeUndefined();
    threads[0]?.reply({ jobId: threads[0].lastJob.jobId, kind: "solved", solutions: SOLUTIONS });
    await again;
    const other = solve({ ...REQUEST, scriptId: "t", script: { ...SCRIPT, text: "another script" } });
    await settle();
    threads[0]?.reply({ jobId: threads[0].lastJob.jobId, kind: "script-requested" });
    await answerWithScript(threads[0]);
    expect(await other).toMatchObject({ solutions: SOLUTIONS });
    expect(threads[0]?.lastJob.script).toEqual({ text: "another script", isPrepared: false });
    expect(threads).toHaveLength(1);
  });

  test("the solver thread ends after a minute without work, and its successor gets the script as it is", async () => {
    const first = solve();
    await settle();
    await answerWithScript(threads[0]);
    expect(await first).toMatchObject({ prepared: "prepared" });
    await settle();
    clock.advance(59_999);
    await settle();
    expect(threads[0]?.isEnded).toBe(false);
    clock.advance(1);
    await settle();
    expect(threads[0]?.isEnded).toBe(true);
    const second = solve({ ...REQUEST, script: { text: "prepared", isPrepared: true } });
    await settle();
    await answerWithScript(threads[1]);
    await second;
    expect(threads[1]?.lastJob.script).toEqual({ text: "prepared", isPrepared: true });
  });

  test("a solver thread that takes more than 15 s for a script is ended, and the next job gets another", async () => {
    const work = solve();
    const failed = expect(work).rejects.toMatchObject({
      // It may have been the machine.
      isScriptUseless: false,
      message: expect.stringContaining("more than 15000 ms"),
    });
    await settle();
    clock.advance(14_999);
    await settle();
    expect(threads[0]?.isEnded).toBe(false);
    clock.advance(1);
    await failed;
    expect(threads[0]?.isEnded).toBe(true);
    const next = solve();
    await settle();
    clock.advance(29_999);
    expect(threads[1]?.isEnded, "it has twice the time").toBe(false);
    await answerWithScript(threads[1]);
    expect(await next).toMatchObject({ solutions: SOLUTIONS });
  });

  test("a solver thread that takes more than 4 s for a solution is ended", async () => {
    await solveFirst();
    const failed = expect(solve()).rejects.toThrow("more than 4000 ms");
    await settle();
    clock.advance(4000);
    await failed;
    expect(threads[0]?.isEnded).toBe(true);
  });

  test("a solver thread that ends fails only its job", async () => {
    const failed = expect(solve()).rejects.toThrow("the solver's thread ended: out of memory");
    const waiting = solve();
    await settle();
    threads[0]?.exit("out of memory");
    await failed;
    await settle();
    await answerWithScript(threads[1]);
    expect(await waiting).toMatchObject({ solutions: SOLUTIONS });
  });

  test("the solver thread is discarded with a script that failed", async () => {
    const failed = expect(solve()).rejects.toMatchObject({ message: "why", isScriptUseless: false });
    await settle();
    const jobId = threads[0]?.lastJob.jobId ?? 0;
    threads[0]?.reply({ jobId, kind: "failed", message: "why", isScriptUseless: false });
    await failed;
    expect(threads[0]?.isEnded).toBe(true);
  });

  test("the solver thread has one job at a time, and a bounded queue", async () => {
    const works = Array.from({ length: 33 }, () => solve());
    works.forEach((work) => void work.catch(() => undefined));
    await expect(solve()).rejects.toMatchObject({ kind: "busy" });
    await settle();
    expect(threads[0]?.jobs).toHaveLength(1);
    solver.close();
    const outcomes = await Promise.allSettled(works);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    expect(threads).toHaveLength(1);
    expect(threads[0]?.isEnded).toBe(true);
  });

  test("the next job of the solver thread is that of the client with fewest, and none whose caller has left", async () => {
    const as = (account: string, script: string, signal = NEVER): Promise<unknown> => {
      const work = { depth: 0, owners: new Owners([account]), route: undefined };
      return runWork(work, () => solve({ ...REQUEST, scriptId: script }, signal)).catch(() => undefined);
    };
    const abort = new AbortController();
    void as("greedy", "first");
    await settle();
    const left = as("greedy", "left", abort.signal);
    for (let count = 0; count < 40; count++) void as("greedy", "more");
    void as("honest", "honest");
    abort.abort();
    expect(await left).toBeUndefined();
    // None is ended for others: each has its own limit.
    clock.advance(14_999);
    await answerWithScript(threads[0]);
    await settle();
    threads[0]?.reply({ jobId: threads[0].lastJob.jobId, kind: "script-requested" });
    await settle();
    expect(threads[0]?.jobs.map(({ scriptId }) => scriptId)).toEqual(["first", "honest", "honest"]);
  });

  test("answers of an earlier job change nothing", async () => {
    const work = solve();
    await settle();
    threads[0]?.reply({ jobId: 99, kind: "solved", solutions: { challenge: "of another" } });
    await answerWithScript(threads[0]);
    expect(await work).toMatchObject({ solutions: SOLUTIONS });
  });
});

describe("a script that fails", () => {
  test("a script that fails is not used for ten minutes, while clients without one play", async () => {
    const clock = new FakeClock();
    const starts: number[] = [];
    const startPort: StartPort = (on) => {
      starts.push(clock.now());
      return inThisThread()(on);
    };
    const options = (site: { options: { mediaHosts: string[] } }) => ({
      ...site.options,
      clients: ["MWEB", "VISIONOS"],
    });
    const { site, bench, close } = await startYoutubeBench({ clock, startPort, options });
    site.script = HOSTILE_SCRIPTS["has no function that unlocks"];
    for (const id of ["song0000001", "song0000002"]) {
      const [track] = await bench.loadTracks("youtube", id);
      const link = await bench.resolve("youtube", track?.encoded ?? "");
      expect(link.kind === "link" && new URL(link.url).searchParams.get("c")).toBe("VISIONOS");
    }
    expect(starts).toHaveLength(1);
    clock.advance(10 * 60_000);
    const [track] = await bench.loadTracks("youtube", "song-_00003");
    await bench.resolve("youtube", track?.encoded ?? "");
    await until(() => starts.length === 2);
    await close();
  });

  test.each([
    ["answers the question", "gave no solution for n"],
    ["answers its own failure", "gave no solution for n"],
    ["answers a megabyte", "answered too much"],
  ] as const)("a script that fails because it %s is reported", async (name, text) => {
    const options = (site: { options: { mediaHosts: string[] } }) => ({
      ...site.options,
      clients: ["MWEB"],
      clientsOnly: "true",
    });
    const { site, bench, close } = await startYoutubeBench({ options });
    site.script = HOSTILE_SCRIPTS[name];
    const [track] = await bench.loadTracks("youtube", "song0000001");
    const failure = await bench.resolve("youtube", track?.encoded ?? "").catch((error: unknown) => String(error));
    expect(failure).toContain(text);
    await close();
  });
});
