import { afterEach, beforeEach, expect, test } from "vitest";
import { HOSTILE_SCRIPTS, type PlayerScript, REVERSE_SCRIPT } from "../../../lab/sites/youtube/player-scripts.ts";
import type { Challenges } from "../../../plugins/youtube/sandbox.ts";
import type { Solver } from "../../../plugins/youtube/script-unlocker.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { pause } from "../../../src/lib/pause.ts";

/** As it is built: a thread runs compiled code. */
const BUILT = new URL("../../../dist/plugins/youtube/solver-thread.js", import.meta.url).href;

const NEVER = new AbortController().signal;

let solver: Solver;

beforeEach(async () => {
  // The same module in its compiled form.
  const built = (await import(BUILT)) as typeof import("../../../plugins/youtube/solver-thread.ts");
  const { createSolverThread } = built;
  const sleep = async (delayMs: number, signal: AbortSignal): Promise<void> => {
    await pause(systemClock, delayMs, signal);
    signal.throwIfAborted();
  };
  const pool = () => ({ run: <Value>(work: (signal: AbortSignal) => Promise<Value>) => work(NEVER) });
  solver = createSolverThread({ clock: { now: () => systemClock.epochMs(), sleep }, pool });
});

afterEach(() => solver.close());

async function solve({ id, text }: PlayerScript): Promise<Challenges> {
  const script = { text, isPrepared: false };
  return (await solver.solve({ scriptId: id, script, challenges: { challenge: "abcdef" } }, NEVER)).solutions;
}

test("a player script is solved in a separate thread, without blocking this one", async () => {
  const solved = solve(REVERSE_SCRIPT);
  let iterations = 0;
  const counting = setInterval(() => {
    iterations += 1;
  }, 1);
  expect(await solved).toEqual({ challenge: "fedcba", signature: undefined });
  clearInterval(counting);
  expect(iterations).toBeGreaterThan(2);
});

test("a player script that never ends or takes all memory is ended with its thread, the next is solved", async () => {
  await expect(solve(HOSTILE_SCRIPTS["loops endlessly when it solves"])).rejects.toThrow("took too long");
  await expect(solve(HOSTILE_SCRIPTS["takes all memory when it solves"])).rejects.toThrow("the player script failed");
  expect(await solve(REVERSE_SCRIPT)).toMatchObject({ challenge: "fedcba" });
});

test("a player script that makes the parser take all memory ends that thread only", async () => {
  // Six megabytes of which each byte is a node of the tree. On a slow machine it is time that runs out first.
  const text = `(function(){var sts={sts:1};var a=[${"[],".repeat(2 * 2 ** 20)}]})()`;
  await expect(solve({ ...REVERSE_SCRIPT, id: "heavy", text })).rejects.toThrow(
    /thread ended|no function that unlocks|took more than/,
  );
  expect(await solve(REVERSE_SCRIPT)).toMatchObject({ challenge: "fedcba" });
});
