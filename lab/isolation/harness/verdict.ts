// The pass criteria: how far an attack may affect other players. Pure: from measurements to problems.

import type { WindowResult } from "./listening-post.ts";

/** How much longer the longest gap may be than without attack. */
export const GAP_TOLERANCE_MS = 40;
/** The allowed share of missing audio packets, of those that a control would have had. */
const MISSING_SHARE_MAX = 0.03;
/** How long GET /version may take. */
const VERSION_MS_MAX = 100;
/** The allowed memory increase, as a factor, and when it is measured. */
export const MEMORY_FACTOR = 1.2;
export const MEMORY_WITHIN_SECONDS = 20;

export interface Measured {
  /** The control measurement without attack, just before. */
  readonly control: WindowResult;
  readonly attack: WindowResult;
  /** Events that the control client received and should not have. */
  readonly losses: readonly string[];
  /** What has become slower for others, as the case itself has found. */
  readonly delays: readonly string[];
  readonly lostWorkers: number;
  readonly hasNodeEnded: boolean;
  readonly memory: MemoryCourse;
}

export interface MemoryCourse {
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** When memory was back to the allowed level; undefined: not in time. */
  readonly backAfterSeconds: number | undefined;
}

/** The problems, a sentence each; empty: the control players were not affected. */
export function judge(measured: Measured): string[] {
  return [...lossesIn(measured), ...measured.delays, ...delaysIn(measured)];
}

/** The problems that occur at each attempt, with whatever figures; as the last one words them. */
export function repeatedProblems(attempts: readonly { readonly problems: readonly string[] }[]): readonly string[] {
  const kindOf = (problem: string): string => problem.replaceAll(/\d+(?:\.\d+)?/g, "0");
  const isIn = (problem: string, { problems }: { readonly problems: readonly string[] }): boolean =>
    problems.some((other) => kindOf(other) === kindOf(problem));
  return attempts.at(-1)?.problems.filter((problem) => attempts.every((each) => isIn(problem, each))) ?? [];
}

/** Problems that a busy machine never causes. */
export function lossesIn({ losses, lostWorkers, hasNodeEnded }: Measured): string[] {
  return [
    ...(hasNodeEnded ? ["the node ended"] : []),
    ...(lostWorkers > 0 ? [`${lostWorkers} audio worker(s) lost`] : []),
    ...losses,
  ];
}

function delaysIn({ control, attack, hasNodeEnded, memory }: Measured): string[] {
  const problems: string[] = [];
  const gapMs = longestGapMs(attack);
  const gapLimitMs = gapLimitOf(control, attack);
  if (gapMs > gapLimitMs) problems.push(`a gap of ${gapMs.toFixed(0)} ms, allowed are ${gapLimitMs.toFixed(0)}`);
  const share = missingShare(control, attack) - starvedMs(control, attack) / 1000 / attack.seconds;
  if (share > MISSING_SHARE_MAX) problems.push(`${(share * 100).toFixed(0)} % of a control player's audio is missing`);
  const versionLimitMs = VERSION_MS_MAX + control.versionMsMax + starvedMs(control, attack);
  if (attack.versionFailures > 0) problems.push(`GET /version failed ${attack.versionFailures} times`);
  if (attack.versionMsMax > versionLimitMs) {
    problems.push(`GET /version took ${attack.versionMsMax.toFixed(0)} ms, allowed are ${versionLimitMs.toFixed(0)}`);
  }
  if (!hasNodeEnded && memory.backAfterSeconds === undefined) {
    const [before, after] = [memory.beforeBytes, memory.afterBytes].map((bytes) => (bytes / 1e6).toFixed(0));
    problems.push(`memory of ${after} MB after ${MEMORY_WITHIN_SECONDS} s, before it was ${before} MB`);
  }
  return problems;
}

export function longestGapMs({ received }: WindowResult): number {
  return Math.max(0, ...received.map(({ gapMsMax }) => gapMsMax));
}

/** The missing share of the control player that lost most. */
export function missingShare(control: WindowResult, attack: WindowResult): number {
  const rateOf = (window: WindowResult, guildId: string) => {
    const received = window.received.find((one) => one.guildId === guildId);
    return received === undefined ? 0 : (received.packets - received.silentPackets) / window.seconds;
  };
  return Math.max(0, ...control.received.map(({ guildId }) => 1 - rateOf(attack, guildId) / rateOf(control, guildId)));
}

export function gapLimitOf(control: WindowResult, attack: WindowResult): number {
  return longestGapMs(control) + GAP_TOLERANCE_MS + starvedMs(control, attack);
}

/** How much longer than in the control the listening process was starved: caused by the machine, not by the node. */
function starvedMs(control: WindowResult, attack: WindowResult): number {
  return Math.max(0, attack.ownDelayMsMax - control.ownDelayMsMax);
}
