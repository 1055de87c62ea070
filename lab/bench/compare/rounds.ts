// Runs a workload in rounds: both nodes are up from its beginning to its end and are measured in alternation, so that
// other load on the machine affects both; each round starts with the other node.

import { sleep } from "../../sleep.ts";
import { CannotPlay } from "../trouble.ts";
import { World } from "../world.ts";
import { Contestant, type NodePlan } from "./contestant.ts";
import type { Figures } from "./figures.ts";
import { type MeasuredNode, measureNode } from "./measure-node.ts";
import type { BenchRunOptions } from "./options.ts";
import type { Workload } from "./workload.ts";

/** The measurements of one node, in order; a failed one has no figures. */
interface NodeMeasurements {
  readonly name: string;
  readonly measurements: Figures[];
}

/** The results of a workload so far: filled during the run, and consistent even when the run is interrupted. */
export interface WorkloadResult {
  readonly name: string;
  readonly detail: string;
  readonly players: number;
  readonly seconds: number;
  readonly nodes: readonly NodeMeasurements[];
  /** Why measurements are missing, and what a real Discord would have refused. */
  readonly notes: string[];
}

/** Values shared by all measurements of a run. */
export interface RunEnvironment {
  readonly options: BenchRunOptions;
  readonly mediaRoot: string;
  /** Rejects when the user interrupts the run. */
  readonly interrupted: Promise<never>;
  readonly report: (line: string) => void;
}

/** Wait before the memory at rest is read. */
const REST_MS = 3000;
/** A node that fails this often cannot run the workload: the other one continues alone. */
const FAILURES_MAX = 2;

export function emptyResult(workload: Workload, { options }: RunEnvironment): WorkloadResult {
  return {
    name: workload.name,
    detail: workload.detail,
    players: playersOf(workload, options),
    seconds: options.seconds,
    nodes: options.plans.map(({ name }) => ({ name, measurements: [] })),
    notes: [],
  };
}

/** Fills `result`; rejects when the run cannot continue. */
export async function runRounds(
  workload: Workload,
  environment: RunEnvironment,
  result: WorkloadResult,
): Promise<void> {
  const { options } = environment;
  const order = measuringOrder(options.plans.length, options.rounds);
  if (workload.isFresh) {
    for (const index of order) {
      const plan = options.plans[index];
      if (plan === undefined) continue;
      await withNodes(environment, [plan], ([context]) =>
        measureOnce(workload, environment, { context, index, result }),
      );
    }
    return;
  }
  await withNodes(environment, options.plans, async (contexts) => {
    for (const index of order) await measureOnce(workload, environment, { context: contexts[index], index, result });
  });
}

/** Adds one measurement of a node to the result, unless it has failed too often. */
async function measureOnce(
  workload: Workload,
  { options, report }: RunEnvironment,
  { context, index, result }: { context: MeasuredNode | undefined; index: number; result: WorkloadResult },
): Promise<void> {
  const node = result.nodes[index];
  if (context === undefined || node === undefined || failuresOf(node) >= FAILURES_MAX) return;
  const figures = await measureNode(context, { workload, ...options, players: result.players }).catch(
    (error: unknown) => {
      if (!(error instanceof CannotPlay)) throw error;
      note(result, error.message);
      report(`  ${error.message}`);
      return {};
    },
  );
  const { startMs } = context.contestant;
  const isStartMeasured = workload.isFresh && startMs !== undefined && Object.keys(figures).length > 0;
  const all: Figures = isStartMeasured ? { ...figures, startMs } : figures;
  node.measurements.push(all);
  await noteViolations(context, result);
  if (Object.keys(all).length > 0) report(`  ${node.name}: ${briefly(all)}`);
}

function failuresOf({ measurements }: NodeMeasurements): number {
  return measurements.filter((figures) => Object.keys(figures).length === 0).length;
}

function note({ notes }: WorkloadResult, words: string): void {
  if (!notes.includes(words)) notes.push(words);
}

/** Records the violations since the last measurement. */
async function noteViolations({ world, contestant }: MeasuredNode, result: WorkloadResult): Promise<void> {
  const { violations } = await world.stats();
  for (const { kind, detail } of violations) {
    const words = `violation: ${kind}: ${detail}`;
    if (!result.notes.some((known) => known.endsWith(words))) note(result, `${contestant.name} ${words}`);
  }
}

/** The order of measurements, as indices of nodes: 0 1, 1 0, 0 1, … */
export function measuringOrder(nodes: number, rounds: number): readonly number[] {
  return Array.from({ length: rounds }, (_, round) => {
    const pair = Array.from({ length: nodes }, (__, index) => index);
    return round % 2 === 0 ? pair : pair.toReversed();
  }).flat();
}

/** Starts the nodes and their worlds, and ends them when `measure` has finished. */
export async function withNodes<T>(
  { options, mediaRoot, interrupted }: RunEnvironment,
  plans: readonly NodePlan[],
  measure: (contexts: readonly MeasuredNode[]) => Promise<T>,
): Promise<T> {
  const contestants: Contestant[] = [];
  const world = await World.start(mediaRoot);
  const work = async () => {
    for (const plan of plans) contestants.push(await Contestant.open(plan));
    await sleep(REST_MS);
    const attached = contestants.flatMap(({ pid, startMs }) => (startMs === undefined ? (pid ?? []) : []));
    const contexts = contestants.map((contestant) => ({
      world,
      contestant,
      restPssBytes: contestant.pssBytes(),
      ourPids: [process.pid, ...attached],
      daveVersion: options.daveVersion,
    }));
    return measure(contexts);
  };
  const working = work();
  try {
    return await Promise.race([working, interrupted]);
  } finally {
    working.catch(() => undefined); // it may have lost the race
    await Promise.all(contestants.map((contestant) => contestant.close()));
    world.close();
  }
}

export function playersOf(workload: Workload, { players }: BenchRunOptions): number {
  return workload.players === 0 ? 0 : (players ?? workload.players);
}

/** One line of progress for each measurement. */
function briefly(figures: Figures): string {
  const { cpuPercent, latenessMsP99, packetsMissing, firstAudioMsP99, startMs, othersPercent } = figures;
  const parts: readonly (readonly [string, number | undefined, string])[] = [
    ["CPU", cpuPercent, " %"],
    ["late p99", latenessMsP99, " ms"],
    ["missing", packetsMissing, ""],
    ["first audio p99", firstAudioMsP99, " ms"],
    ["start", startMs, " ms"],
    ["others", othersPercent, " %"],
  ];
  return parts
    .flatMap(([name, value, unit]) => (value === undefined ? [] : [`${name} ${value.toFixed(1)}${unit}`]))
    .join(", ");
}
