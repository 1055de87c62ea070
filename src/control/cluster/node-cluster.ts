// The cluster that this node is a machine of, as node.ts uses it: `openCluster` before the sessions, whose records are in
// it, then NodeCluster, which moves them. Without a cluster there is none of it. Main thread; one for the node.

import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
import type { Bucket } from "../../cluster/bucket.ts";
import { ClusterStore } from "../../cluster/cluster-store.ts";
import { connectCluster } from "../../cluster/connect-cluster.ts";
import type { LostReason } from "../../cluster/lease.ts";
import { CONTRACT_VERSION, type Machine } from "../../cluster/machine.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import { Membership } from "../../cluster/membership.ts";
import type { ClusterSettings } from "../../config/cluster-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { sharedTimeOffsetMs } from "../../lib/shared-time.ts";
import type { Logger } from "../../log/log.ts";
import { VERSION } from "../../version.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { NodeState } from "../state/node-state.ts";
import type { ClusterReport } from "./cluster-status.ts";
import type { FormerLife } from "./former-life.ts";
import { SessionClaims } from "./session-claims.ts";
import { SessionDirectory } from "./session-directory.ts";
import type { AskedSession, AskingClient, SessionHomes } from "./session-homes.ts";
import type { SessionPlaces } from "./session-places.ts";

const REST = "rest";
/** A request may wait for a track to be loaded, as long as one that comes from a client. */
const REST_TIMEOUT_MS = 60_000;

interface ClusterHandlers {
  readonly onJoined: (machineId: string) => void;
  readonly onLost: (reason: LostReason) => void;
  readonly onMachines: () => void;
}

/** Connected, or about to be; nothing is done in it before NodeCluster starts. */
export interface OpenedCluster {
  readonly link: MachineLink;
  readonly bucket: Bucket;
  readonly membership: Membership;
  readonly store: ClusterStore;
  readonly formerLife: Pick<FormerLife, "remember" | "close">;
  /** Who is told of this machine's place in the cluster. */
  handlers: ClusterHandlers | undefined;
}

export interface OpenOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** @throws NodeError "cluster-unusable" where the settings cannot work. */
export async function openCluster(
  settings: ClusterSettings,
  { formerLife, ...options }: OpenOptions & { readonly formerLife: FormerLife },
): Promise<OpenedCluster> {
  const { link, bucket } = await connectCluster(settings, options);
  const self: Omit<Machine, "id"> = {
    name: settings.machine,
    region: settings.region,
    version: VERSION,
    contract: CONTRACT_VERSION,
  };
  const membership = new Membership({
    ...options,
    ...{ bucket, link, self, formerIds: formerLife.ids, sharedOffsetMs: sharedTimeOffsetMs() },
    onJoined: (id) => opened.handlers?.onJoined(id),
    onLost: (reason) => opened.handlers?.onLost(reason),
    onMachines: () => opened.handlers?.onMachines(),
  });
  const store = new ClusterStore({ bucket, membership, clock: options.clock });
  const opened: OpenedCluster = { link, bucket, membership, store, formerLife, handlers: undefined };
  return opened;
}

interface NodeClusterOptions {
  readonly opened: OpenedCluster;
  readonly sessions: Pick<Sessions, "get" | "all" | "newId">;
  readonly state: Pick<NodeState, "adopt" | "release" | "flushed" | "isStoring" | "remove" | "forgetAll">;
  /** Ends the connection of a session whose client does not answer. */
  readonly endSilent: (session: Session) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A request that another machine has, or is getting. */
interface Call {
  readonly machineId: string;
  readonly giveUp: (error: NodeError) => void;
}

export class NodeCluster implements SessionPlaces, SessionHomes {
  readonly #options: NodeClusterOptions;
  readonly #directory: SessionDirectory;
  readonly #claims: SessionClaims;
  readonly #counts = { forwarded: 0, forwardsFailed: 0, lost: 0 };
  readonly #calls = new Set<Call>();
  #onCall: ((request: string) => Promise<string>) | undefined;
  #stopServing: (() => void) | undefined;
  #lives = 0;

  constructor(options: NodeClusterOptions) {
    this.#options = options;
    const { opened } = options;
    const { bucket, store, link, membership } = opened;
    this.#directory = new SessionDirectory({ bucket, onChanged: () => this.#claims.checkSoon() });
    this.#claims = new SessionClaims({ ...options, bucket, store, link, membership, directory: this.#directory });
    opened.handlers = {
      onJoined: (id) => this.#onJoined(id),
      onLost: (reason) => this.#onLost(reason),
      onMachines: () => this.#onMachines(),
    };
  }

  /** Joins it, and goes on trying; then sessions that nobody has come here. */
  start(): void {
    this.#directory.start();
    this.#options.opened.membership.start();
  }

  /** Call it when the sessions have ended here and what is left of them is stored: others take them over at once. */
  async leave(): Promise<void> {
    const { membership, link, formerLife } = this.#options.opened;
    this.#stopServing?.();
    this.#claims.close();
    this.#directory.close();
    await membership.leave();
    await Promise.all([link.close(), formerLife.close()]);
  }

  /** What has happened to a session. */
  onEvent({ type, ...event }: OwnNodeEvent): void {
    if (!("sessionId" in event)) return;
    if (type === "sessionOpened") this.#claims.onOpened(event.sessionId);
    else if (type === "sessionClosed") this.#claims.onClosed(event.sessionId);
  }

  reserve(): Promise<string> {
    return this.#claims.reserve();
  }

  cancel(id: string): void {
    this.#claims.cancel(id);
  }

  bring(asked: AskedSession, client: AskingClient): Promise<void> | undefined {
    return this.#claims.bring(asked, client);
  }

  get lives(): number {
    return this.#lives;
  }

  elsewhere(sessionId: string): Promise<string | undefined> | undefined {
    const isHere = this.#claims.isOwn(sessionId) || this.#options.sessions.get(sessionId) !== undefined;
    return isHere ? undefined : this.#claims.machineOf(sessionId);
  }

  async call(machineId: string, request: string): Promise<string> {
    this.#counts.forwarded++;
    let giveUp: ((error: NodeError) => void) | undefined;
    const gone = new Promise<never>((_resolve, reject) => {
      giveUp = reject;
    });
    const call: Call = { machineId, giveUp: (error) => giveUp?.(error) };
    this.#calls.add(call);
    try {
      const answer = this.#options.opened.link.call(machineId, REST, request, { timeoutMs: REST_TIMEOUT_MS });
      return await Promise.race([answer, gone]);
    } catch (error) {
      this.#counts.forwardsFailed++;
      throw error;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** NATS does not say that a machine has died which had taken a request. */
  #onMachines(): void {
    const { membership } = this.#options.opened;
    for (const { machineId, giveUp } of this.#calls) {
      if (!membership.isAlive(machineId))
        giveUp(new NodeError("cluster-away", "the machine of the session has died while it had the request"));
    }
    this.#claims.checkSoon();
  }

  onCall(handler: (request: string) => Promise<string>): void {
    this.#onCall = handler;
  }

  report(): ClusterReport {
    const { self, status, machines } = this.#options.opened.membership;
    const { homes, machines: owners } = this.#directory;
    const sessionsElsewhere = homes.size - (owners.get(self?.id ?? "")?.size ?? 0);
    return {
      status,
      machine: self,
      machines,
      sessionsElsewhere,
      counts: { ...this.#claims.counts, ...this.#counts },
    };
  }

  #onJoined(machineId: string): void {
    const onCall = this.#onCall;
    this.#stopServing?.();
    if (onCall !== undefined) this.#stopServing = this.#options.opened.link.serve(machineId, REST, onCall);
    this.#options.opened.formerLife.remember(machineId);
    this.#claims.onJoined(machineId);
  }

  #onLost(reason: LostReason): void {
    this.#lives++;
    this.#counts.lost++;
    this.#stopServing?.();
    this.#stopServing = undefined;
    const count = this.#options.sessions.all().length;
    this.#claims.onLost();
    const why =
      reason === "cut-off"
        ? "this machine has lost the others, which may play its players by now"
        : "the others have taken this machine for dead, and its players over";
    this.#options.logger.error(`cluster: ${why}: its sessions were ended here, and their clients find them elsewhere`, {
      sessions: count,
    });
  }
}
