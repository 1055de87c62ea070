// Machines with sessions and fake players, in a cluster in memory: all that moves sessions is real. Times are those of a
// fake clock.

import { ClusterStore } from "../../src/cluster/cluster-store.ts";
import { DEAD_MS } from "../../src/cluster/lease-times.ts";
import { CONTRACT_VERSION, type MachineLoad } from "../../src/cluster/machine.ts";
import { Membership } from "../../src/cluster/membership.ts";
import { MACHINE_ROLES, type MachineRole } from "../../src/config/cluster-settings.ts";
import { V4_PROTOCOL } from "../../src/control/api/socket-protocol.ts";
import type { FormerLife } from "../../src/control/cluster/former-life.ts";
import { NodeCluster, type OpenedCluster } from "../../src/control/cluster/node-cluster.ts";
import { closeSessions } from "../../src/control/cluster/node-storage.ts";
import type { Session } from "../../src/control/sessions/session.ts";
import type { Sessions } from "../../src/control/sessions/sessions.ts";
import { NodeState } from "../../src/control/state/node-state.ts";
import { NodeError } from "../../src/errors.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { pause } from "../../src/lib/pause.ts";
import { type Random, systemRandom } from "../../src/lib/random.ts";
import { createLogger } from "../../src/log/log.ts";
import { FakeClock } from "./fake-clock.ts";
import type { FakeProcess } from "./fake-processes.ts";
import { FakeSessionPlayer } from "./fake-session-player.ts";
import { FakeSocket } from "./fake-socket.ts";
import { type MemoryBucket, MemoryNats } from "./memory-bucket.ts";
import { MemoryLinks } from "./memory-links.ts";
import { createSessions, EMPTY_UPDATE } from "./session-builders.ts";
import { untilSettled } from "./until-settled.ts";

/** A client, as the end point knows it. */
export const CLIENT = {
  userId: "1",
  clientName: "bot/1",
  dialect: V4_PROTOCOL,
  owner: undefined,
  account: "address test",
};
/** The same client, as it asks for a session of another machine. */
export const ASKING = { userId: "1", owner: undefined, version: "4" } as const;

/** What the machines of one cluster share. */
export class ClusterWorld {
  readonly clock = new FakeClock();
  readonly nats = new MemoryNats(this.clock);
  readonly links = new MemoryLinks();

  /** Time passes in small steps, and what waits for promises is done in each. */
  async pass(ms: number): Promise<void> {
    const stepMs = 10;
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      this.clock.advance(stepMs);
      await untilSettled();
    }
  }

  /** What `promise` gives, while time passes. */
  async within<T>(promise: Promise<T>, msMax = 2 * DEAD_MS): Promise<T> {
    let isOver = false;
    const settle = (): void => {
      isOver = true;
    };
    promise.then(settle, settle);
    await untilSettled();
    for (let passedMs = 0; !isOver && passedMs < msMax; passedMs += 10) await this.pass(10);
    return await promise;
  }
}

/** What a request asks of a player. */
export type PlayerChange = { readonly kind: "update"; readonly volume: number } | { readonly kind: "destroy" };

interface MachineOptions {
  /** Its wall clock is. */
  readonly aheadMs?: number;
  /** Default: both. */
  readonly roles?: readonly MachineRole[];
  /** Default: none. */
  readonly formerLife?: FormerLife;
  /** Default: that of the world. */
  readonly clock?: Clock;
  /** Of its ids. Default: that of the system. */
  readonly random?: Random;
  /** Chooses one of these machines for one more player. Default: itself. */
  readonly choose?: (machineIds: readonly string[]) => string | undefined;
  /** How long its next player takes to end. Default: no time. */
  readonly goodbyeMs?: () => number;
  /** By which others watch it. Default: none; its lease alone shows that it is alive. */
  readonly process?: FakeProcess;
}

/** A machine with sessions and fake players, in a cluster in memory. */
export class TestMachine {
  readonly name: string;
  readonly bucket: MemoryBucket;
  readonly players: FakeSessionPlayer[] = [];
  readonly sessions: Sessions;
  readonly state: NodeState;
  readonly cluster: NodeCluster;
  readonly opened: OpenedCluster;
  readonly lines: string[] = [];
  /** Called with each update that is carried out here. */
  onUpdate: () => void = () => undefined;
  /** Those of level "error", with their fields. */
  readonly errors: { readonly message: string; readonly fields: object }[] = [];
  /** Clients that do not answer a ping. */
  readonly silent = new Set<Session>();
  /** What it says of itself. */
  load: MachineLoad = { players: 0, load: 0, loadPerPlayer: 0.01, hasCapacity: true, isDraining: false };
  readonly #world: ClusterWorld;
  readonly #process: FakeProcess | undefined;

  constructor(world: ClusterWorld, name: string, options: MachineOptions = {}) {
    const { aheadMs = 0, formerLife, random = systemRandom, roles = MACHINE_ROLES } = options;
    const clock = wrongBy(aheadMs, options.clock ?? world.clock);
    const bucket = world.nats.connect(clock);
    this.#world = world;
    this.#process = options.process;
    this.name = name;
    this.bucket = bucket;
    const logger = createLogger((level, message, fields) => {
      this.lines.push(message);
      if (level === "error") this.errors.push({ message, fields });
    });
    const link = world.links.of(bucket);
    const opened: OpenedCluster = {
      bucket,
      link,
      membership: new Membership({
        ...{ bucket, link, clock, logger, random },
        formerIds: formerLife?.ids,
        watchProcesses: options.process?.watch({ link, clock, random }),
        self: { name, roles, regions: [], version: "1", contract: CONTRACT_VERSION },
        readLoad: () => opened.handlers?.readLoad(),
        onJoined: (id) => opened.handlers?.onJoined(id),
        onLost: (reason) => opened.handlers?.onLost(reason),
        onMachines: () => opened.handlers?.onMachines(),
      }),
      get store(): ClusterStore {
        return store;
      },
      formerLife: formerLife ?? { remember: () => undefined, close: async () => undefined },
      handlers: undefined,
    };
    link.timeCalls(opened.membership.natsTime);
    const store = new ClusterStore({ bucket, membership: opened.membership, clock });
    this.opened = opened;
    this.state = new NodeState({
      opened: { kind: "open", store, setAside: undefined },
      shared: { offsetMs: () => opened.membership.clockOffsetMs },
      clock,
      logger,
    });
    this.sessions = createSessions({
      ...{ clock, random },
      recorder: this.state.recorder,
      onEvent: (event) => this.cluster.onEvent(event),
      createPlayer: (owner) => {
        const player = new FakeSessionPlayer(owner);
        const goodbyeMs = options.goodbyeMs?.() ?? 0;
        const destroy = player.destroy.bind(player);
        player.destroy = () => {
          if (goodbyeMs > 0 && !player.isDestroyed) player.goodbye = pause(clock, goodbyeMs);
          return destroy();
        };
        this.players.push(player);
        return player;
      },
    });
    const cluster = new NodeCluster({
      ...{ opened, sessions: this.sessions, state: this.state, clock, logger },
      dialectOf: () => V4_PROTOCOL,
      choose: () => (options.choose ?? (() => this.id))(opened.membership.peers().map(({ id }) => id)),
      endSilent: async (session) => {
        if (this.silent.has(session)) session.disconnect();
      },
      readLoad: () => this.load,
    });
    this.cluster = cluster;
    cluster.onPlayerCall((text) => this.#carryOut(text));
  }

  get id(): string {
    return this.opened.membership.self?.id ?? "nobody";
  }

  async start(): Promise<this> {
    await this.begin();
    await this.#world.pass(100);
    return this;
  }

  /** It joins when time passes. */
  async begin(): Promise<void> {
    await this.state.restore({
      sessions: this.sessions,
      dialectOf: () => V4_PROTOCOL,
      isKnownOwner: () => true,
      allowedFilters: (_owner, filters) => filters,
      onSession: () => undefined,
    });
    void this.state.begin();
    this.cluster.start();
  }

  /** As the end point does for a new client. */
  async open(socket = new FakeSocket()): Promise<Session> {
    return this.sessions.open(socket, CLIENT, await this.#world.within(this.cluster.reserve()));
  }

  /** A session that would wait for its client, with a player of guild 7. */
  async openLasting(socket = new FakeSocket()): Promise<Session> {
    const session = await this.open(socket);
    session.configure({ resuming: true, timeout: 600 });
    await session.updatePlayer("7", EMPTY_UPDATE, { isReplacing: true });
    playerOf(session).onChanged();
    await this.#world.pass(100);
    return session;
  }

  /**
   * As a request of a client about a player does: carried out where that is, now or from now on. The answer says whether it
   * is stored there.
   */
  async ask(sessionId: string, guildId: string, change: PlayerChange): Promise<{ readonly isStored: boolean }> {
    const { cluster } = this;
    const isMaking = change.kind === "update";
    const hold = await cluster.holdPlayer(sessionId, guildId, { isMaking, region: undefined });
    const text = JSON.stringify({ sessionId, guildId, change });
    let mayBeGone = true;
    try {
      const about = { sessionId, guildId };
      const answer =
        hold?.machineId === undefined
          ? await this.#carryOut(text)
          : await cluster.callPlayer(hold.machineId, about, text);
      mayBeGone = !isMaking;
      return JSON.parse(answer) as { isStored: boolean };
    } finally {
      hold?.release({ mayBeGone });
    }
  }

  async #carryOut(text: string): Promise<string> {
    const { sessionId, guildId, change } = JSON.parse(text) as {
      // as `ask` wrote it
      sessionId: string;
      guildId: string;
      change: PlayerChange;
    };
    const session = this.sessions.connected(sessionId);
    if (session === undefined) throw new NodeError("request-refused", "no such session");
    const { lives } = this.cluster;
    if (change.kind === "destroy") void session.destroyPlayer(guildId);
    else {
      this.onUpdate();
      const player = (await session.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true })) as FakeSessionPlayer;
      player.intent = { ...player.intent, volume: change.volume };
      player.isPlaying = true;
      player.onChanged();
    }
    await this.state.written();
    if (lives !== this.cluster.lives) throw new NodeError("cluster-away", "this machine has lost its sessions");
    return JSON.stringify({ isStored: this.state.isStoring });
  }

  /** As the end point does for a client that returns. */
  async bring(sessionId: string): Promise<Session | undefined> {
    await this.#world.within(this.cluster.bring({ sessionId }, ASKING) ?? Promise.resolve());
    return this.sessions.get(sessionId);
  }

  /** As at the end of the process. */
  close(): Promise<void> {
    return closeSessions({ state: this.state, sessions: this.sessions, cluster: this.cluster });
  }

  /** The process is gone, with its connection. */
  kill(): void {
    this.bucket.cut();
    const { handlers } = this.#world.links;
    for (const key of handlers.keys()) if (key.startsWith(this.id)) handlers.delete(key);
    this.#process?.end();
  }
}

function wrongBy(aheadMs: number, clock: Clock): Clock {
  return {
    now: () => clock.now(),
    epochMs: () => clock.epochMs() + aheadMs,
    after: (delayMs, callback) => clock.after(delayMs, callback),
  };
}

/** The player of guild 7. */
export function playerOf(session: Session | undefined): FakeSessionPlayer {
  return session?.players.get("7") as FakeSessionPlayer; // made by openLasting
}
