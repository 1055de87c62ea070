// `--ramp`: how many players each node carries before packets come more than a frame late or not at all, and how many
// that is for a core. The nodes' searches go on in turns, so that the machine is the same for both.

import { CannotPlay } from "../trouble.ts";
import type { Figures } from "./figures.ts";
import { RampSearch } from "./ramp-search.ts";
import { type RunGround, withNodes } from "./rounds.ts";
import { type TurnPlace, takeTurn } from "./turn.ts";
import type { Workload } from "./workload.ts";

/** One frame: what the smallest listener's buffer takes. */
const LATENESS_MS_MAX = 20;
/** The listener is as good as out of processor. */
const LISTENER_PERCENT_MAX = 85;

interface RampStep {
  readonly players: number;
  readonly isHeld: boolean;
  /** Why not. */
  readonly reason?: string;
  readonly figures: Figures;
}

/** What one node came to so far; filled as the search goes on. */
export interface RampNode {
  readonly name: string;
  readonly steps: RampStep[];
}

export interface RampResult {
  readonly name: string;
  readonly detail: string;
  readonly nodes: readonly RampNode[];
}

/** What the search has found for one node. */
export interface RampFinding {
  readonly held: number;
  /** By the share of one core that the node used while it carried them; undefined where that was not measured. */
  readonly playersPerCore: number | undefined;
  readonly broke: { readonly players: number; readonly reason: string } | undefined;
}

export function emptyRamp({ name, detail }: Workload, { options }: RunGround): RampResult {
  return { name, detail, nodes: options.plans.map((plan) => ({ name: plan.name, steps: [] })) };
}

/** Fills `result`; rejects when the run cannot go on. */
export async function runRamp(workload: Workload, ground: RunGround, result: RampResult): Promise<void> {
  const { plans, ramp, players = workload.players } = ground.options;
  const searches = plans.map(() => new RampSearch({ start: players, playersMax: ramp?.playersMax ?? players }));
  await withNodes(ground, plans, async (places) => {
    while (searches.some(({ next }) => next !== undefined)) {
      for (const [index, place] of places.entries()) {
        const search = searches[index];
        if (search?.next === undefined) continue;
        const step = await tryStep(place, workload, { ground, players: search.next });
        search.tell(step.isHeld);
        result.nodes[index]?.steps.push(step);
        ground.tell(`  ${place.contestant.name}: ${step.players} players ${step.isHeld ? "held" : step.reason}`);
      }
    }
  });
}

async function tryStep(
  place: TurnPlace,
  workload: Workload,
  { ground, players }: { readonly ground: RunGround; readonly players: number },
): Promise<RampStep> {
  const attempt = async (): Promise<RampStep> => {
    try {
      const figures = await takeTurn(place, { workload, ...ground.options, players });
      const reason = whyNotCarried(figures);
      return { players, isHeld: reason === undefined, figures, ...(reason !== undefined && { reason }) };
    } catch (error) {
      if (!(error instanceof CannotPlay)) throw error;
      return { players, isHeld: false, reason: error.message, figures: {} };
    }
  };
  return lookTwice(attempt);
}

/** Before it believes that the node, and not the machine for a moment, is what failed. */
export async function lookTwice<T extends { readonly isHeld: boolean }>(attempt: () => Promise<T>): Promise<T> {
  const first = await attempt();
  return first.isHeld ? first : attempt();
}

/** Undefined: so many players are carried. */
export function whyNotCarried({
  latenessMsP99 = 0,
  packetsMissing = 0,
  framesLeftOut = 0,
  listenerCpuPercent = 0,
}: Figures): string | undefined {
  const reasons = [
    latenessMsP99 > LATENESS_MS_MAX ? `late by ${latenessMsP99.toFixed(1)} ms at p99` : "",
    packetsMissing > 0 ? `${packetsMissing} packets missing (${framesLeftOut} left out by the node)` : "",
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
