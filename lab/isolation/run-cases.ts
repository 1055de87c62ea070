// Runs hostile cases one after the other against one node: a control without attack, the attack, the aftermath. A case
// that fails in a way that a busy machine can cause as well is repeated with a control as long as the attack, and
// counts if one of its problems occurs at each try; all tries are reported.

import { seededRandom } from "../seeded-random.ts";
import { sleep } from "../sleep.ts";
import { within } from "../within.ts";
import { Attack } from "./harness/attack.ts";
import { Harness } from "./harness/harness.ts";
import type { HostileCase, Strike } from "./harness/hostile-case.ts";
import type { NodeSetting } from "./harness/node-context.ts";
import type { NodeUnderTest } from "./harness/node-under-test.ts";
import {
  judge,
  lossesIn,
  MEMORY_FACTOR,
  MEMORY_WITHIN_SECONDS,
  type Measured,
  type MemoryCourse,
  repeatedProblems,
} from "./harness/verdict.ts";

export interface NamedCase extends HostileCase {
  readonly layer: string;
}

interface RunOptions {
  readonly startNode: (setting: NodeSetting) => Promise<NodeUnderTest>;
  readonly cases: readonly NamedCase[];
  readonly seed: number;
  /** Length of the first control, and maximum play time of hostile tracks; by default the cases set it. */
  readonly controlSeconds?: number;
  readonly attackSecondsMax?: number;
  /** Listening time after the attack; default 1000 ms. */
  readonly aftermathMs?: number;
  readonly onResult?: (result: CaseResult) => void;
}

export interface Attempt extends Measured {
  /** The node's answer to the hostile track or request. */
  readonly answer: string;
  readonly problems: readonly string[];
}

export interface CaseResult {
  readonly layer: string;
  readonly name: string;
  readonly what: string;
  readonly outcome: "pass" | "fail";
  /** One attempt, or more while problems repeat. */
  readonly attempts: readonly Attempt[];
}

const CONTROL_SECONDS = 3;
const ATTACK_SECONDS = 4;
/** The time after the attack, such as the end of its sessions, is part of it. */
const AFTERMATH_MS = 1000;
/** A fault repeats itself; what a busy machine causes does not, or not for long. */
const ATTEMPTS_MAX = 3;
/** What a case takes besides, on a quiet machine: joining, settling, reading the memory. */
const OVERHEAD_SECONDS = 2;
const START_SECONDS = 8;
/** Time limit of a case, whatever it waits for. */
const CASE_TIMEOUT_MS = 45_000;
const MEMORY_POLL_MS = 500;
/** Smaller increases are garbage. */
const MEMORY_NOISE_BYTES = 16e6;

/** How long a run takes on a quiet machine if no case is repeated, seconds. */
export function expectedSeconds({
  cases,
  controlSeconds = CONTROL_SECONDS,
  attackSecondsMax = Number.POSITIVE_INFINITY,
}: Pick<RunOptions, "cases" | "controlSeconds" | "attackSecondsMax">): number {
  const ofCase = ({ seconds = ATTACK_SECONDS }: HostileCase) =>
    controlSeconds + Math.min(seconds, attackSecondsMax) + AFTERMATH_MS / 1000 + OVERHEAD_SECONDS;
  return cases.reduce((sum, one) => sum + ofCase(one), START_SECONDS);
}

export async function runCases(options: RunOptions): Promise<CaseResult[]> {
  const harness = await Harness.start(options.startNode, options.cases[0]?.node);
  const results: CaseResult[] = [];
  try {
    for (const hostile of options.cases) {
      await harness.restore({
        wasHarmed: results.at(-1)?.outcome === "fail",
        setting: hostile.node ?? "plain",
      });
      const result = await runCase(harness, hostile, options);
      options.onResult?.(result);
      results.push(result);
    }
  } finally {
    await harness.close();
  }
  return results;
}

async function runCase(harness: Harness, hostile: NamedCase, options: RunOptions): Promise<CaseResult> {
  const first = await attempt(harness, hostile, {
    ...options,
    controlSeconds: options.controlSeconds ?? CONTROL_SECONDS,
  });
  const attempts = [first];
  while (repeatedProblems(attempts).length > 0 && attempts.length < ATTEMPTS_MAX && !hasLosses(attempts)) {
    await harness.restore({ wasHarmed: true, setting: hostile.node ?? "plain" });
    attempts.push(await attempt(harness, hostile, { ...options, controlSeconds: Math.min(first.attack.seconds, 20) }));
  }
  const { layer, name, what } = hostile;
  const outcome = repeatedProblems(attempts).length > 0 || hasLosses(attempts) ? "fail" : "pass";
  return { layer, name, what, outcome, attempts };
}

function hasLosses(attempts: readonly Attempt[]): boolean {
  return attempts.some((each) => lossesIn(each).length > 0);
}

async function attempt(
  harness: Harness,
  hostile: NamedCase,
  options: RunOptions & { readonly controlSeconds: number },
): Promise<Attempt> {
  const { seed, controlSeconds, attackSecondsMax = Number.POSITIVE_INFINITY, aftermathMs = AFTERMATH_MS } = options;
  const { node, players, post } = harness;
  const control = await harness.measure(() => sleep(controlSeconds * 1000));
  const beforeBytes = await node.memoryBytes();
  const [messageCount, lostBefore] = [players.messageCount, node.lostWorkers];
  const seconds = Math.min(hostile.seconds ?? ATTACK_SECONDS, attackSecondsMax);
  const { url, password, context } = node;
  const attack = await Attack.start({ url, password, context, post, random: seededRandom(seed), seconds });
  const strike = await armed(hostile, attack);
  let answer = "";
  const window = await harness.measure(async () => {
    answer = await answerOf(strike);
    await attack.close();
    await sleep(aftermathMs);
  });
  const hasNodeEnded = node.hasEnded;
  const measured: Measured = {
    control,
    attack: window,
    losses: [...attack.problems, ...(hasNodeEnded ? [] : await players.lossesSince(messageCount))],
    delays: attack.delays,
    lostWorkers: node.lostWorkers - lostBefore,
    hasNodeEnded,
    memory: await memoryCourse(node, beforeBytes),
  };
  return { ...measured, answer, problems: judge(measured) };
}

/** A case that cannot be prepared has failed; the others still run. */
async function armed(hostile: NamedCase, attack: Attack): Promise<Strike> {
  try {
    return await hostile.arm(attack);
  } catch (error) {
    attack.problems.push(`the case cannot be made ready: ${error instanceof Error ? error.message : error}`);
    return () => Promise.resolve("nothing was tried");
  }
}

async function answerOf(strike: Strike): Promise<string> {
  try {
    return (await within(strike(), CASE_TIMEOUT_MS)) ?? "the case did not come to an end";
  } catch (error) {
    return `the node could not be asked: ${error instanceof Error ? error.message : error}`;
  }
}

/** Waits until memory is back, or time is up. */
async function memoryCourse(node: NodeUnderTest, beforeBytes: number): Promise<MemoryCourse> {
  const startedMs = performance.now();
  const allowedBytes = Math.max(beforeBytes * MEMORY_FACTOR, beforeBytes + MEMORY_NOISE_BYTES);
  let afterBytes = Number.POSITIVE_INFINITY;
  for (;;) {
    if (node.hasEnded) return { beforeBytes, afterBytes: 0, backAfterSeconds: undefined };
    afterBytes = await node.memoryBytes().catch(() => afterBytes); // it may be too busy to answer
    const elapsedSeconds = (performance.now() - startedMs) / 1000;
    if (afterBytes <= allowedBytes) return { beforeBytes, afterBytes, backAfterSeconds: elapsedSeconds };
    if (elapsedSeconds > MEMORY_WITHIN_SECONDS) return { beforeBytes, afterBytes, backAfterSeconds: undefined };
    await sleep(MEMORY_POLL_MS);
  }
}
