// The cluster that this node is a machine of, as node.ts uses it: `openCluster` before the sessions, whose records are in
// it, then NodeCluster, which moves them. Without a cluster there is none of it. Main thread; one for the node.

import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
import type { Bucket } from "../../cluster/bucket.ts";
import { ClusterStore } from "../../cluster/cluster-store.ts";
import { connectCluster } from "../../cluster/connect-cluster.ts";
import type { LostReason } from "../../cluster/lease.ts";
import { dial } from "../../cluster/life-dial.ts";
import { LifeListener } from "../../cluster/life-listener.ts";
import { CONTRACT_VERSION, type Machine, type MachineLoad } from "../../cluster/machine.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import { Membership } from "../../cluster/membership.ts";
import { ProcessWatch } from "../../cluster/process-watch.ts";
import type { ClusterSettings } from "../../config/cluster-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { sharedTimeOffsetMs } from "../../lib/shared-time.ts";
import type { Logger } from "../../log/log.ts";
import { VERSION } from "../../version.ts";
import type { Dialect } from "../sessions/dialect.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { NodeState } from "../state/node-state.ts";
import type { ClusterReport } from "./cluster-status.ts";
import type { FormerLife } from "./former-life.ts";
import { MachineCalls } from "./machine-calls.ts";
import { MachineChooser, type PlaceWish } from "./machine-chooser.ts";
import { MachineReports } from "./machine-reports.ts";
import { PlayerPlaces } from "./player-places.ts";
import { PlayerReleases } from "./player-releases.ts";
import { RecordSweep } from "./record-sweep.ts";
import { RemoteSessions } from "./remote-sessions.ts";
import { SessionClaims } from "./session-claims.ts";
import { SessionDirectory } from "./session-directory.ts";
import type { AskedSession, AskingClient, SessionHomes } from "./session-homes.ts";
import type { AskedPlayer, HoldOptions, PlayerHold, SessionPlaces } from "./session-places.ts";

const REST = "rest";

interface ClusterHandlers {
  readonly onJoined: (machineId: string) => void;
  readonly onLost: (reason: LostReason) => void;
  readonly onMachines: () => void;
  readonly readLoad: () => MachineLoad;
}

/** Connected, or about to be; nothing is done in it before NodeCluster starts. */
export interface OpenedCluster {
  readonly link: MachineLink;
  readonly bucket: Bucket;
  readonly membership: Membership;
  readonly store: ClusterStore;
  readonly formerLife: Pick<FormerLife, "remember" | "close">;
  /** Who is told of this machine's place in the cluster, and says how busy it is. */
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
    roles: settings.roles,
    regions: settings.regions,
    version: VERSION,
    contract: CONTRACT_VERSION,
  };
  const membership = new Membership({
    ...options,
    ...{ bucket, link, self, formerIds: formerLife.ids, sharedOffsetMs: sharedTimeOffsetMs() },
    watchProcesses: (sight) =>
      new ProcessWatch({ ...options, ...sight, link, dial, listener: new LifeListener(options) }),
    readLoad: () => opened.handlers?.readLoad(),
    onJoined: (id) => opened.handlers?.onJoined(id),
    onLost: (reason) => opened.handlers?.onLost(reason),
    onMachines: () => opened.handlers?.onMachines(),
  });
  link.timeCalls(membership.natsTime);
  const store = new ClusterStore({ bucket, membership, clock: options.clock });
  const opened: OpenedCluster = { link, bucket, membership, store, formerLife, handlers: undefined };
  return opened;
}

interface NodeClusterOptions {
  readonly opened: OpenedCluster;
  readonly sessions: Pick<Sessions, "get" | "own" | "all" | "newId" | "openRemote" | "isClosed">;
  readonly state: NodeState;
  readonly dialectOf: (version: Dialect["version"]) => Dialect;
  /** The machine for one more player. Default: by region, capacity and load. */
  readonly choose?: (wish: PlaceWish) => string | undefined;
  /** Ends the connection of a session whose client does not answer. */
  readonly endSilent: (session: Session) => Promise<void>;
  /** How busy this machine is now. */
  readonly readLoad: () => MachineLoad;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class NodeCluster implements SessionPlaces, SessionHomes {
  /** What all machines say of themselves. */
  readonly reports: MachineReports;
  readonly #options: NodeClusterOptions;
  readonly #directory: SessionDirectory;
  readonly #claims: SessionClaims;
  readonly #places: PlayerPlaces;
  readonly #remotes: RemoteSessions;
  readonly #calls: MachineCalls;
  readonly #releases: PlayerReleases;
  readonly #sweep: RecordSweep;
  readonly #counts = { forwarded: 0, forwardsFailed: 0, lost: 0 };
  #onCall: ((request: string) => Promise<string>) | undefined;
  #stopServing: (() => void) | undefined;
  #lives = 0;

  constructor(options: NodeClusterOptions) {
    this.#options = options;
    const { opened } = options;
    const { bucket, store, link, membership } = opened;
    const directory = new SessionDirectory({
      bucket,
      onChanged: (sessionId) => {
        this.#remotes.onChanged(sessionId);
        this.#claims.checkSoon();
      },
    });
    this.#directory = directory;
    this.#releases = new PlayerReleases({ ...options, store });
    const parts = { ...options, bucket, store, link, membership, directory, releases: this.#releases };
    this.#calls = new MachineCalls({ link, membership, clock: options.clock });
    this.reports = new MachineReports({ link, membership, calls: this.#calls, clock: options.clock });
    this.#remotes = new RemoteSessions(parts);
    const chooser = new MachineChooser({ membership, clock: options.clock });
    this.#places = new PlayerPlaces({
      ...parts,
      calls: this.#calls,
      epochOf: (sessionId) => this.#claims.epochOf(sessionId),
      choose: options.choose ?? ((wish) => chooser.choose(wish)),
    });
    this.#claims = new SessionClaims({ ...parts, places: this.#places, remotes: this.#remotes });
    this.#sweep = new RecordSweep(parts);
    opened.handlers = {
      onJoined: (id) => this.#onJoined(id),
      onLost: (reason) => this.#onLost(reason),
      onMachines: () => this.#onMachines(),
      readLoad: options.readLoad,
    };
  }

  /** Joins it, and goes on trying; then sessions that nobody has come here. */
  start(): void {
    this.#directory.start();
    this.#options.opened.membership.start();
    this.#sweep.start();
  }

  /** Call it before the sessions end here: they go on elsewhere. */
  stop(): void {
    this.#stopServing?.();
    this.reports.close();
    this.#sweep.close();
    this.#claims.close();
    this.#remotes.close();
    this.#places.close();
  }

  /** Call it when the sessions have ended here and what is left of them is stored: others take them over at once. */
  async leave(): Promise<void> {
    const { membership, link, formerLife } = this.#options.opened;
    this.stop();
    this.#directory.close();
    await membership.leave();
    await Promise.all([link.close(), formerLife.close()]);
  }

  /** This machine begins or ceases to drain: the others are told at once, and its players go on elsewhere. */
  onDraining(): void {
    this.#options.opened.membership.renewSoon();
    this.#places.onMachines();
  }

  /** Players that have gone on elsewhere while this machine lives, since the process started. */
  get releasedCount(): number {
    return this.#releases.count;
  }

  /** There is another machine that would take players of this one. */
  get canMovePlayers(): boolean {
    return this.#places.canMove;
  }

  /** What has happened to a session. */
  onEvent({ type, ...event }: OwnNodeEvent): void {
    if (!("sessionId" in event)) return;
    const { sessionId } = event;
    if (type === "sessionOpened") this.#claims.onOpened(sessionId);
    else if (type === "sessionResumed") this.#places.onResumed(sessionId);
    else if (type === "sessionClosed") this.#claims.onClosed(sessionId);
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
    const isHere = this.#claims.isOwn(sessionId) || this.#options.sessions.own(sessionId) !== undefined;
    return isHere ? undefined : this.#claims.machineOf(sessionId);
  }

  call(machineId: string, request: string): Promise<string> {
    return this.#counted(() => this.#calls.call(machineId, REST, request));
  }

  async #counted(call: () => Promise<string>): Promise<string> {
    this.#counts.forwarded++;
    try {
      return await call();
    } catch (error) {
      this.#counts.forwardsFailed++;
      throw error;
    }
  }

  #onMachines(): void {
    this.#calls.onMachines();
    this.reports.onMachines();
    this.#remotes.onMachines();
    this.#places.onMachines();
    this.#claims.checkSoon();
  }

  onCall(handler: (request: string) => Promise<string>): void {
    this.#onCall = handler;
  }

  holdPlayer(sessionId: string, guildId: string, options: HoldOptions): Promise<PlayerHold> | undefined {
    return this.#places.hold(sessionId, guildId, options);
  }

  playerMachines(sessionId: string): readonly string[] {
    return this.#places.machinesOf(sessionId);
  }

  callPlayer(machineId: string, about: AskedPlayer, request: string): Promise<string> {
    return this.#counted(() => this.#places.ask(machineId, about, request));
  }

  onPlayerCall(handler: (request: string) => Promise<string>): void {
    this.#remotes.onPlayerCall(handler);
  }

  report(): ClusterReport {
    const { membership } = this.#options.opened;
    const { self, status, machines } = membership;
    const { homes, machines: owners } = this.#directory;
    const sessionsElsewhere = homes.size - (owners.get(self?.id ?? "")?.size ?? 0);
    return {
      status,
      machine: self,
      machines: machines.map((machine) => ({ ...machine, players: membership.loadOf(machine.id)?.players })),
      sessionsElsewhere,
      counts: { ...this.#claims.counts, ...this.#counts },
    };
  }

  #onJoined(machineId: string): void {
    const onCall = this.#onCall;
    this.#stopServing?.();
    if (onCall !== undefined) this.#stopServing = this.#options.opened.link.serve(machineId, REST, onCall);
    this.reports.onJoined(machineId);
    this.#options.opened.formerLife.remember(machineId);
    this.#remotes.onJoined(machineId);
    this.#places.onJoined(machineId);
    this.#claims.onJoined(machineId);
  }

  #onLost(reason: LostReason): void {
    this.#lives++;
    this.#counts.lost++;
    this.#stopServing?.();
    this.#stopServing = undefined;
    this.reports.close();
    const count = this.#options.sessions.all().length;
    this.#remotes.onLost();
    this.#places.onLost();
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
