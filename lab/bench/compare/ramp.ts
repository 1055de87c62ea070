// `--ramp`: finds how many players each node carries before packets are more than a frame late or one in a thousand is
// missing, and how many that is per core. A node that refuses one does not carry them. The searches of the nodes
// alternate, so that both see the same machine.

import { CannotPlay } from "../trouble.ts";
import type { Figures } from "./figures.ts";
import { type MeasuredNode, measureNode } from "./measure-node.ts";
import { RampSearch } from "./ramp-search.ts";
import { type RunEnvironment, withNodes } from "./rounds.ts";
import type { Workload } from "./workload.ts";

/** One frame: the jitter that the smallest listener buffer tolerates. */
const LATENESS_MS_MAX = 20;
/** As a share of those due. */
const MISSING_SHARE_MAX = 0.001;
/** The listener has practically no CPU time left. */
const LISTENER_PERCENT_MAX = 85;

interface RampStep {
  readonly players: number;
  readonly isHeld: boolean;
  /** The reason why it is not held. */
  readonly reason?: string;
  readonly figures: Figures;
}

/** The results of one node so far; filled during the search. */
interface RampNode {
  readonly name: string;
  readonly steps: RampStep[];
}

export interface RampResult {
  readonly name: string;
  readonly detail: string;
  readonly nodes: readonly RampNode[];
}

/** The result of the search for one node. */
interface RampFinding {
  readonly held: number;
  /** By the share of one core that the node used while it carried them; undefined where that was not measured. */
  readonly playersPerCore: number | undefined;
  readonly broke: { readonly players: number; readonly reason: string } | undefined;
}

export function emptyRamp({ name, detail }: Workload, { options }: RunEnvironment): RampResult {
  return { name, detail, nodes: options.plans.map((plan) => ({ name: plan.name, steps: [] })) };
}

/** Fills `result`; rejects when the run cannot continue. */
export async function runRamp(workload: Workload, environment: RunEnvironment, result: RampResult): Promise<void> {
  const { plans, ramp, players = workload.players } = environment.options;
  const searches = plans.map(() => new RampSearch({ start: players, playersMax: ramp?.playersMax ?? players }));
  await withNodes(environment, plans, async (contexts) => {
    while (searches.some(({ next }) => next !== undefined)) {
      for (const [index, context] of contexts.entries()) {
        const search = searches[index];
        if (search?.next === undefined) continue;
        const step = await tryStep(context, workload, { environment, players: search.next });
        search.report(step.isHeld);
        result.nodes[index]?.steps.push(step);
        environment.report(
          `  ${context.contestant.name}: ${step.players} players ${step.isHeld ? "held" : step.reason}`,
        );
      }
    }
  });
}

async function tryStep(
  context: MeasuredNode,
  workload: Workload,
  { environment, players }: { readonly environment: RunEnvironment; readonly players: number },
): Promise<RampStep> {
  const attempt = async (): Promise<RampStep> => {
    try {
      const figures = await measureNode(context, { workload, ...environment.options, players });
      const reason = whyNotCarried(figures);
      return { players, isHeld: reason === undefined, figures, ...(reason !== undefined && { reason }) };
    } catch (error) {
      if (!(error instanceof CannotPlay)) throw error;
      return { players, isHeld: false, reason: error.message, figures: {} };
    }
  };
  return attemptTwice(attempt);
}

/** Repeats a failed attempt once, in case the machine and not the node was the cause. */
export async function attemptTwice<T extends { readonly isHeld: boolean }>(attempt: () => Promise<T>): Promise<T> {
  const first = await attempt();
  return first.isHeld ? first : attempt();
}

/** Undefined: this number of players is carried. */
export function whyNotCarried({
  latenessMsP99 = 0,
  packetsDue = 0,
  packetsMissing = 0,
  framesLeftOut = 0,
  listenerCpuPercent = 0,
}: Figures): string | undefined {
  const reasons = [
    latenessMsP99 > LATENESS_MS_MAX ? `late by ${latenessMsP99.toFixed(1)} ms at p99` : "",
    packetsMissing > MISSING_SHARE_MAX * packetsDue
      ? `${packetsMissing} packets missing (${framesLeftOut} skipped by the node)`
      : "",
  ].filter((reason) => reason !== "");
  if (reasons.length === 0) return undefined;
  const isListenerFull = listenerCpuPercent > LISTENER_PERCENT_MAX;
  if (isListenerFull) reasons.push(`the listener itself at ${listenerCpuPercent.toFixed(0)} % of a core`);
  return reasons.join(", ");
}

export function findingOf({ steps }: RampNode): RampFinding {
  const held = steps.filter(({ isHeld }) => isHeld).toSorted((a, b) => b.players - a.players)[0];
  const broke = steps.filter(({ isHeld }) => !isHeld).toSorted((a, b) => a.players - b.players)[0];
  const cpuPercent = held?.figures.cpuPercent ?? 0;
  return {
    held: held?.players ?? 0,
    playersPerCore: held === undefined || cpuPercent === 0 ? undefined : (held.players / cpuPercent) * 100,
    broke: broke === undefined ? undefined : { players: broke.players, reason: broke.reason ?? "" },
  };
}
