// `--moments`: a small node is killed at random moments, in the middle of requests and writes, also while its client is
// away or it has just been started. After each, all that was answered must be there, and each event must have come once,
// in order. The same seed gives the same requests, not the same times. Lab only.

import { seededRandom } from "../seeded-random.ts";
import { sleep } from "../sleep.ts";
import { REPEATED } from "./event-ledger.ts";
import { MomentClient } from "./moment-client.ts";
import { NodeRuns } from "./node-runs.ts";
import { Surroundings } from "./surroundings.ts";

export interface MomentsOptions {
  readonly seed: number;
  readonly moments: number;
  /** To draw from; more often, if repeated. */
  readonly kinds: readonly Kind[];
  /** Reports all lines of the last moment. */
  readonly isVerbose: boolean;
  readonly report: (line: string) => void;
}

export interface MomentsResult {
  readonly moments: number;
  /** How many of each kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Answered requests, and events. */
  readonly checks: Readonly<Record<string, number>>;
  readonly losses: readonly string[];
  /** Those among them of events that came a second time after a restart. */
  readonly repeated: readonly string[];
}

/**
 * - `asking`: killed in the middle of requests
 * - `quiet`: killed after all were answered
 * - `away`: the client goes away, tracks end, killed
 * - `soon`: killed soon after the client was resumed
 * - `twice`: killed in the middle of requests, and again while it starts
 * - `stays`: the control, for the rules of the lab: the client goes away, and comes back to the same process
 */
export const KINDS = ["asking", "asking", "asking", "quiet", "away", "soon", "twice", "stays"] as const;
type Kind = (typeof KINDS)[number];

const STEPS_MAX = 14;
const PAUSE_MS_MAX = 90;
const AWAY_MS_MAX = 2500;
const KILLED_AFTER_MS_MAX = 6;
const LOG_LINES_SHOWN = 60;

export async function runMoments(options: MomentsOptions): Promise<MomentsResult> {
  const random = seededRandom(options.seed);
  const surroundings = await Surroundings.start();
  const runs = await NodeRuns.prepare({ hasState: true, environment: { TONEARM_WORKERS_COUNT: "1" } });
  const losses: string[] = [];
  const kinds: Record<string, number> = {};
  let log: string[] = [];
  const note = (line: string): void => {
    const stamped = `${new Date().toISOString().slice(14, 23)} ${line}`;
    if (isLast && options.isVerbose) options.report(`  ${stamped}`);
    log.push(stamped);
  };
  let isLast = options.moments === 1;
  try {
    await runs.start();
    const client = await MomentClient.open({ surroundings, runs, random, note });
    for (let number = 1; number <= options.moments; number++) {
      isLast = number === options.moments;
      const kind = options.kinds[Math.floor(random() * options.kinds.length)] ?? "asking";
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      log = [];
      note(`moment ${number}: ${kind}`);
      const isEnded = await liveUntilEnd(kind, client, random);
      if (isEnded) await startAgain(kind, { client, runs, random, note });
      const lost = await client.resumeAndJudge();
      losses.push(...lost.map((loss) => `moment ${number} (${kind}): ${loss}`));
      if (lost.length > 0) reportLosses(`seed ${options.seed} moment ${number} (${kind})`, { lost, log, options });
    }
    client.close();
    const repeated = losses.filter((loss) => loss.includes(REPEATED));
    return { moments: options.moments, kinds, checks: client.checks, losses, repeated };
  } finally {
    await runs.close();
    await surroundings.close();
  }
}

/** Returns whether the node has ended. */
async function liveUntilEnd(kind: Kind, client: MomentClient, random: () => number): Promise<boolean> {
  const steps = kind === "soon" ? Math.floor(random() * 2) : 2 + Math.floor(random() * STEPS_MAX);
  for (let step = 0; step < steps; step++) {
    client.askSome();
    await sleep(random() * PAUSE_MS_MAX);
  }
  if (kind === "away" || kind === "stays") {
    client.endTracksSoon();
    await client.untilAnswered();
    const isAway = await client.leave();
    if (isAway) await sleep(random() * AWAY_MS_MAX);
    if (isAway && kind === "stays") return false;
  } else if (kind === "quiet") {
    await client.untilAnswered();
    await sleep(random() * PAUSE_MS_MAX);
  } else {
    client.askSome();
    await soon(random() * KILLED_AFTER_MS_MAX);
  }
  await client.kill();
  return true;
}

/** With the log of the guilds that lost something. */
function reportLosses(
  moment: string,
  { lost, log, options }: { lost: readonly string[]; log: readonly string[]; options: MomentsOptions },
): void {
  for (const loss of lost) options.report(`LOSS ${moment}: ${loss}`);
  if (options.isVerbose) return;
  const guilds = new Set(lost.map((loss) => /^guild \d+/.exec(loss)?.[0]));
  const lines = log.filter((line) => {
    const guild = /guild \d+/.exec(line)?.[0];
    return guild === undefined || guilds.has(guild);
  });
  for (const line of lines.slice(-LOG_LINES_SHOWN)) options.report(`    ${line}`);
}

/** The node is started; of the kind `twice` it is killed once more while it starts. */
async function startAgain(
  kind: Kind,
  {
    client,
    runs,
    random,
    note,
  }: { client: MomentClient; runs: NodeRuns; random: () => number; note: (line: string) => void },
): Promise<void> {
  if (kind === "twice") {
    runs.spawn();
    const share = random();
    if (share < 0.5) await sleep(share * 2000);
    else {
      await runs.untilListening().catch(() => undefined);
      await sleep((share - 0.5) * 600);
    }
    note("killed while it started");
    await client.kill();
  }
  await runs.start();
  note("listening again");
}

/** Waits with a precision that timers do not have. */
async function soon(ms: number): Promise<void> {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs) await new Promise((resolve) => setImmediate(resolve));
}
