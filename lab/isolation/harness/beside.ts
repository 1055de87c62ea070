// The honest twin of an attack: another client repeats one operation before and during it, and must not notice.

import { sleep } from "../../sleep.ts";
import { within } from "../../within.ts";
import { type Attack, summary } from "./attack.ts";

const INTERVAL_MS = 250;
/** Operations before the attack: the measure for those beside it. */
const CONTROL_COUNT = 4;
/** How much longer than the slowest of these the 95th percentile may take. */
const LATER_MS_MAX = 300;
/** Pending at one time: a node that does not answer is not overloaded. */
const IN_FLIGHT_MAX = 8;
const ANSWER_MS_MAX = 6000;

/** The operation with that number; resolves with its outcome in a word. */
type Operation = (number: number) => Promise<string>;

interface Twin {
  readonly honest: Operation;
  /** The outcome of `honest` when all is well. */
  readonly expected: string;
  readonly strike: () => Promise<string>;
  /** How much later an answer may be; default 300 ms. */
  readonly laterMsMax?: number;
}

/**
 * Runs `honest` every 250 ms during `strike`. Each other outcome is a problem of the attack, and a 95th percentile far
 * above that of the time before is a delay. The case counts only when `honest` succeeds before the attack.
 */
export async function beside(
  { problems, delays }: Pick<Attack, "problems" | "delays">,
  { honest, expected, strike, laterMsMax = LATER_MS_MAX }: Twin,
): Promise<string> {
  const timed = async (number: number) => {
    const startedMs = performance.now();
    const asked = honest(number).catch((error: Error) => error.message);
    return { outcome: (await within(asked, ANSWER_MS_MAX)) ?? "no answer", ms: performance.now() - startedMs };
  };
  const before = [];
  for (let number = 0; number < CONTROL_COUNT; number++) before.push(await timed(number));
  const early = otherThan(expected, before);
  if (early.length > 0) {
    problems.push(`the honest client failed before the attack: ${summary(early)}`);
    return "nothing was tried";
  }
  const during: ReturnType<typeof timed>[] = [];
  let [isOver, inFlight] = [false, 0];
  const repeat = async (): Promise<void> => {
    while (!isOver) {
      if (inFlight < IN_FLIGHT_MAX) {
        inFlight += 1;
        during.push(timed(CONTROL_COUNT + during.length).finally(() => (inFlight -= 1)));
      }
      await sleep(INTERVAL_MS);
    }
  };
  const striking = strike().finally(() => {
    isOver = true;
  });
  const [answer] = await Promise.all([striking, repeat()]);
  const results = await Promise.all(during);
  const failed = otherThan(expected, results);
  if (failed.length > 0) problems.push(`the honest client beside it: ${summary(failed)}, of ${results.length}`);
  const allowedMs = Math.max(...before.map(({ ms }) => ms)) + laterMsMax;
  const lateMs = percentile95(results.map(({ ms }) => ms));
  if (lateMs > allowedMs) {
    delays.push(`the honest client waits ${lateMs.toFixed(0)} ms, allowed are ${allowedMs.toFixed(0)}`);
  }
  return `honest client: ${results.length - failed.length} of ${results.length}, ${lateMs.toFixed(0)} ms; ${answer}`;
}

function otherThan(expected: string, results: readonly { readonly outcome: string }[]): string[] {
  return results.map(({ outcome }) => outcome).filter((outcome) => outcome !== expected);
}

function percentile95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? 0;
}
