import { beforeEach, describe, expect, test } from "vitest";
import type { PlayableInput, ProbeResult } from "../../../src/bridge/playable-input.ts";
import { NodeError } from "../../../src/errors.ts";
import type { Owner } from "../../../src/lib/owners.ts";
import type { OpeningWork } from "../../../src/media/probe/track-opener.ts";
import { ProbeWorker } from "../../../src/media/probe-worker.ts";
import type { TrackBudget } from "../../../src/media/quota/track-budget.ts";
import { settle } from "../../support/fake-workers.ts";
import { createTrackBudget } from "../../support/track-budgets.ts";

const INPUT: PlayableInput = { kind: "http", url: "http://media.example/a", container: undefined };

interface Probe extends OpeningWork {
  readonly finish: (result: ProbeResult) => void;
  readonly fail: (error: unknown) => void;
}

let probes: Probe[];
let budgets: TrackBudget[];
let answers: unknown[];
let tasks: number[];
let worker: ProbeWorker;

beforeEach(() => {
  [probes, budgets, answers, tasks] = [[], [], [], []];
  worker = new ProbeWorker({
    opener: {
      probe: (_input, work) => new Promise((finish, fail) => probes.push({ ...work, finish, fail })),
    },
    tasks: {
      run: (owner, work) => {
        tasks.push(owner);
        return work();
      },
    },
    createBudget: (taskId, owner) => {
      const budget = createTrackBudget({ taskId, owner });
      budgets.push(budget);
      return budget;
    },
    answer: ({ requestId }, work) =>
      void work.then(
        (result) => answers.push([requestId, result]),
        (error: unknown) => answers.push([requestId, error]),
      ),
  });
});

function ask(requestId: number, owner: Owner = []): void {
  worker.execute({ type: "probe", requestId, owner, input: INPUT });
}

describe("a probe", () => {
  test("a probe is answered with its result or its error, each under its own name", async () => {
    ask(1);
    ask(2);
    const error = new NodeError("media-no-audio", "no audio");
    probes[1]?.fail(error);
    probes[0]?.finish({ kind: "empty" });
    await settle();
    expect(answers).toEqual(
      expect.arrayContaining([
        [1, { kind: "empty" }],
        [2, error],
      ]),
    );
    expect(tasks).toEqual([1, 2]);
  });

  test("a probe that nobody waits for any more is ended, others are not", async () => {
    ask(1);
    ask(2);
    worker.execute({ type: "abortProbe", requestId: 1 });
    worker.execute({ type: "abortProbe", requestId: 77 });
    expect(probes.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    probes[1]?.finish({ kind: "empty" });
    await settle();
    expect(answers).toContainEqual([2, { kind: "empty" }]);
  });

  test("a probe that has thrown an uncaught error is answered with the error, and ended", async () => {
    ask(1);
    const error = new TypeError("thrown from a timer");
    worker.end(1, error);
    await settle();
    expect(answers).toEqual([[1, error]]);
    expect(probes[0]?.signal.aborted).toBe(true);
  });

  test("a probe releases its memory when it is really over, not when it is asked to end", async () => {
    ask(1);
    const memory = budgets[0]?.memory;
    memory?.take(100, "tables");
    worker.end(1, new Error("enough"));
    memory?.take(100, "more tables");
    await settle();
    expect(memory?.usedBytes).toBe(200);
    probes[0]?.fail(new Error("closed"));
    await settle();
    expect(memory?.usedBytes).toBe(0);
  });

  test("that keeps the most is ended when all keep too much, and the next only if that was not enough", async () => {
    for (const [index, sizeBytes] of [30, 60, 40].entries()) {
      ask(index);
      budgets[index]?.memory.take(sizeBytes, "tables");
    }
    worker.makeSpace(130);
    expect(probes.map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
    worker.makeSpace(129);
    await settle();
    expect(answers).toMatchObject([[1, { code: "memory-exhausted" }]]);
    worker.makeSpace(70);
    expect(probes.map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
    worker.makeSpace(69);
    expect(probes.map(({ signal }) => signal.aborted)).toEqual([false, true, true]);
  });

  test("of the account that keeps the most is ended, not a larger one of another", async () => {
    for (const [index, [account, sizeBytes]] of (
      [
        ["honest", 50],
        ["greedy", 30],
        ["greedy", 40],
      ] as const
    ).entries()) {
      ask(index, [account]);
      budgets[index]?.memory.take(sizeBytes, "tables");
    }
    worker.makeSpace(119);
    await settle();
    expect(probes.map(({ signal }) => signal.aborted)).toEqual([false, false, true]);
  });
});
