// Empties this machine before it ends, while it and the others live: it takes no new sessions and players, and those that
// can go on elsewhere do. Main thread; at SIGTERM, and when an operator asks for it (`tonearm drain`).

import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { isMovable } from "./machine-drain.ts";
import type { NodeCluster } from "./node-cluster.ts";

const LOOK_MS = 50;

interface NodeDrainOptions {
  readonly sessions: Pick<Sessions, "all" | "drain">;
  /** Undefined: the node is alone, and nothing can go on elsewhere. */
  readonly cluster: Pick<NodeCluster, "releasedCount" | "canMovePlayers"> | undefined;
  readonly clock: Clock;
}

/** What has become of the players. */
export interface Drained {
  /** Have gone on elsewhere meanwhile. */
  readonly moved: number;
  /** Are still here. */
  readonly left: number;
}

/**
 * Drains the node from now on. Resolves when no player is left that can go on elsewhere, at once where no machine takes
 * any, and after that time at the latest.
 */
export async function drainNode(
  { sessions, cluster, clock }: NodeDrainOptions,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<Drained> {
  const before = cluster?.releasedCount ?? 0;
  const endMs = clock.now() + timeoutMs;
  const count = (all: ReturnType<Sessions["all"]>): number =>
    all.reduce((sum, { playerCount }) => sum + playerCount, 0);
  const areLeaving = (): boolean => cluster?.canMovePlayers === true && count(sessions.all().filter(isMovable)) > 0;
  sessions.drain(true);
  while (areLeaving() && clock.now() < endMs) await pause(clock, Math.min(LOOK_MS, endMs - clock.now()));
  return { moved: (cluster?.releasedCount ?? 0) - before, left: count(sessions.all()) };
}
