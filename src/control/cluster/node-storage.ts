// Where what clients have asked for is stored: in a folder of this machine, or in the records that a cluster shares. At
// the start and the end of the node. Main thread.

import type { NodeConfig } from "../../config/node-config.ts";
import { openStateStore } from "../../state/open-state.ts";
import { derivedKey } from "../../state/state-key.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { NodeState } from "../state/node-state.ts";
import { FormerLife } from "./former-life.ts";
import { type NodeCluster, type OpenedCluster, type OpenOptions, openCluster } from "./node-cluster.ts";
import { SharedKnowledge } from "./shared-knowledge.ts";

export interface NodeStorage {
  readonly state: NodeState;
  /** Undefined: the node is alone. */
  readonly cluster: OpenedCluster | undefined;
  readonly shared: SharedKnowledge | undefined;
}

/** @throws NodeError "state-in-use", "cluster-unusable" */
export async function openStorage(config: NodeConfig, options: OpenOptions): Promise<NodeStorage> {
  const { clock, logger } = options;
  if (config.cluster !== undefined) {
    const formerLife = await FormerLife.open({ settings: config.state, clock, logger });
    const cluster = await openCluster(config.cluster, { ...options, formerLife });
    const { bucket, store, membership } = cluster;
    const shared = { offsetMs: () => membership.clockOffsetMs };
    const state = new NodeState({ opened: { kind: "open", store, setAside: undefined }, shared, clock, logger });
    const nameKey = await derivedKey(config.cluster.key, Buffer.from(`tonearm cluster names: ${config.cluster.name}`));
    const knowledge = new SharedKnowledge({ bucket, membership, nameKey, clock, logger });
    knowledge.start();
    return { state, cluster, shared: knowledge };
  }
  const { isEnabled, path, key } = config.state;
  const opened = isEnabled ? await openStateStore({ path, key, clock, logger }) : undefined;
  return { state: new NodeState({ opened, clock, logger }), cluster: undefined, shared: undefined };
}

interface Closing {
  readonly state: NodeState;
  readonly sessions: Sessions;
  readonly cluster: NodeCluster | undefined;
}

/** Ends all sessions here; those that outlive it are stored as they are now. Others take them over only afterwards. */
export async function closeSessions({ state, sessions, cluster }: Closing): Promise<void> {
  // Nothing may come in between: it would be answered and not be stored.
  if (state.isStoring) sessions.disconnect();
  state.freeze();
  cluster?.stop();
  await sessions.close();
  if (cluster === undefined) return;
  await state.close();
  await cluster.leave();
}
