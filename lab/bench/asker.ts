// Sends requests to a node at a fixed pace, whether or not earlier ones were answered, and records the duration and
// outcome of each. Requests still unanswered at the end of a phase are awaited outside of it.

import { sleep } from "../sleep.ts";
import type { Bot } from "../test-environment/bot.ts";

/**
 * One request: `number` is never used twice, `round` counts the requests of its kind in a phase. Resolves with the
 * outcome.
 */
export type Question = (bot: Bot, number: number, round: number) => Promise<string>;

/** The results of one kind of request, for requests sent within the phase; times in milliseconds. */
export interface Asked {
  readonly answersMs: readonly number[];
  /** Each outcome with its count. */
  readonly outcomes: ReadonlyMap<string, number>;
}

interface AskOptions {
  readonly bot: Bot;
  readonly everyMs: number;
  readonly seconds: number;
}

/** Counts across all kinds and phases: an answer from a cache would measure nothing. */
let questionCount = 0;

/** Resolves when the time is over, with what waits for the rest. */
export async function askForSeconds(
  question: Question,
  { bot, everyMs, seconds }: AskOptions,
): Promise<() => Promise<Asked>> {
  const answersMs: number[] = [];
  const outcomes = new Map<string, number>();
  const running = new Set<Promise<void>>();
  let round = 0;
  const ask = async (): Promise<void> => {
    const startedMs = performance.now();
    const outcome = await question(bot, ++questionCount, round++).catch((error: unknown) => `no answer: ${error}`);
    answersMs.push(performance.now() - startedMs);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  };
  const startedMs = performance.now();
  for (let nextMs = startedMs; nextMs < startedMs + seconds * 1000; nextMs += everyMs) {
    await sleep(Math.max(0, nextMs - performance.now()));
    const asking = ask().finally(() => running.delete(asking));
    running.add(asking);
  }
  await sleep(Math.max(0, startedMs + seconds * 1000 - performance.now()));
  return async () => {
    await Promise.all(running);
    return { answersMs, outcomes };
  };
}

/** Looks an identifier up: `track`, `search`, … or the error's message. */
export function loadOf(identifierOf: (number: number) => string): Question {
  return async (bot, number) => {
    const { loadType, data } = (await bot.load(identifierOf(number))).body;
    return loadType === "error" ? (data as { readonly message: string }).message : loadType;
  };
}

/** Any GET: its status. */
export function get(path: string): Question {
  return async (bot) => String((await bot.request("GET", path)).status);
}
