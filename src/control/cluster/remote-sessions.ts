// The sessions of other machines that have players here: opened, asked and ended by the machine of each, and relayed to
// it. Main thread; one for the node.
//
// A machine that has lost a session does not know that at once. Each call says in which revision of the session's owner
// record its sender owns it; one that is older than what is known here is refused.

import type { Bucket } from "../../cluster/bucket.ts";
import type { ClusterStore } from "../../cluster/cluster-store.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { Dialect } from "../sessions/dialect.ts";
import type { MessageRelay } from "../sessions/message-relay.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { NodeState } from "../state/node-state.ts";
import { NoGateway } from "./no-gateway.ts";
import { away, OwnerRecords } from "./owner-records.ts";
import { guildOf } from "./place-records.ts";
import { PLAYERS, type PlayerCall, playerCall, type RemoteSessionInfo } from "./player-calls.ts";
import type { PlayerReleases } from "./player-releases.ts";
import { readJson } from "./read-json.ts";
import { ownerKey, type SessionDirectory } from "./session-directory.ts";
import { SessionRelay } from "./session-relay.ts";

const REMOTE_SESSIONS_MAX = 20_000;
/** Ended sessions that are remembered. */
const ENDED_MAX = 10_000;
/** One without players, kept values, messages and calls ends after that time. */
const IDLE_MS_MAX = 60_000;
const CHECK_INTERVAL_MS = 10_000;
/** Owner records that are read with each check. */
const READS_MAX = 64;

interface RemoteSessionsOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly store: Pick<ClusterStore, "readSession">;
  readonly link: Pick<MachineLink, "call" | "serve">;
  readonly membership: Pick<
    Membership,
    "self" | "guard" | "machines" | "isAlive" | "isCaughtUp" | "isNatsAway" | "status" | "clockOffsetMs" | "onFenced"
  >;
  readonly directory: Pick<SessionDirectory, "homes" | "isComplete" | "learn" | "forget">;
  readonly sessions: Pick<Sessions, "get" | "own" | "openRemote" | "isClosed">;
  readonly state: Pick<NodeState, "adoptPlayers" | "flushed" | "isStoring">;
  readonly releases: Pick<PlayerReleases, "release">;
  readonly dialectOf: (version: Dialect["version"]) => Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A session that is remote here. */
interface Remote {
  readonly relay: SessionRelay;
  /** Calls about it that are being answered. */
  callCount: number;
  /** When it was last seen to be of use. */
  usedMs: number;
  /** Guilds of the requests among them, each as often as there are any. */
  readonly asked: string[];
  /** Its players are made again, and released, by one call after another. */
  ensuring: Promise<void>;
}

type EnsureCall = Extract<PlayerCall, { kind: "ensure" }>;

export class RemoteSessions {
  readonly #options: RemoteSessionsOptions;
  readonly #remotes = new Map<string, Remote>();
  /** Of sessions that their machine has ended here: the revision of the owner record of which it said so. */
  readonly #ended = new BoundedMap<string, number>(ENDED_MAX);
  readonly #owners: OwnerRecords;
  readonly #noGateway: NoGateway;
  #onRequest: (request: string) => Promise<string> = () =>
    Promise.reject(new NodeError("cluster-away", "the machine is being started: try again"));
  #messageNumber = 0;
  #stopServing: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(options: RemoteSessionsOptions) {
    this.#options = options;
    this.#owners = new OwnerRecords(options);
    this.#noGateway = new NoGateway(options);
  }

  /** Sets what answers the requests of clients about players of remote sessions. Call it before the cluster is joined. */
  onPlayerCall(handler: (request: string) => Promise<string>): void {
    this.#onRequest = handler;
  }

  /** This machine has that id from now on. */
  onJoined(machineId: string): void {
    this.#stop();
    this.#owners.onJoined();
    this.#stopServing = this.#options.link.serve(machineId, PLAYERS, (request, from) => this.#onCall(request, from));
    this.#checkLater();
  }

  /** This machine has lost its id. Its remote sessions are to be dropped, like all others. */
  onLost(): void {
    this.#stop();
  }

  close(): void {
    this.#stop();
  }

  /**
   * The way of the messages of a session that is to become remote in this moment; closed, it is remote no longer.
   * @throws NodeError "cluster-away" while this machine is not part of the cluster
   */
  newRelay(sessionId: string): MessageRelay {
    const { sessions, clock, membership } = this.#options;
    const { self } = membership;
    if (self === undefined) throw away("this machine is not part of it");
    const relay = new SessionRelay({
      ...this.#options,
      sessionId,
      machineId: self.id,
      nextNumber: () => ++this.#messageNumber,
      session: () => sessions.get(sessionId),
      onClosed: () => this.#remotes.delete(sessionId),
    });
    this.#remotes.set(sessionId, { relay, callCount: 0, usedMs: clock.now(), asked: [], ensuring: Promise.resolve() });
    return relay;
  }

  /** The directory has learned where that session is, or that it has ended; undefined: of any number of them. */
  onChanged(sessionId: string | undefined): void {
    if (sessionId === undefined) this.#check();
    else if (this.#options.directory.homes.has(sessionId)) this.#remotes.get(sessionId)?.relay.wake();
    else this.#end(sessionId);
  }

  /** Machines have come or gone. */
  onMachines(): void {
    for (const { relay } of this.#remotes.values()) relay.wake();
  }

  #stop(): void {
    this.#stopServing?.();
    this.#stopServing = undefined;
    this.#timer?.cancel();
  }

  async #onCall(text: string, from: string): Promise<string> {
    const { data: call } = playerCall.safeParse(readJson(text));
    if (call === undefined) throw new NodeError("internal", "another machine has sent a call that is not understood");
    this.#admit(call, from);
    switch (call.kind) {
      case "request":
        return await this.#within(call.session, (remote) => this.#carryOut(remote, call, from));
      case "ensure":
        return await this.#within(call.session, async (remote) =>
          JSON.stringify({ missing: await inOrder(remote, () => this.#ensure(remote, call, from)) }),
        );
      case "release":
        return JSON.stringify({ released: await this.#release(call, from) });
      case "holds":
        return JSON.stringify({ holds: await this.#holds(call.sessionId, call.guildId) });
      case "sendUpdates":
        this.#options.sessions.get(call.sessionId)?.sendPlayerUpdates();
        return "";
      case "end":
        await this.#endFor(call);
        return "";
    }
  }

  /** @throws NodeError "cluster-away" when the sender does not have the session (any more), or it has ended. */
  #admit(call: PlayerCall, from: string): void {
    const { directory, sessions } = this.#options;
    const id = sessionOf(call);
    directory.learn(id, { machineId: from, revision: call.epoch });
    const home = directory.homes.get(id);
    const hasEnded = (this.#ended.get(id) ?? 0) >= call.epoch;
    // It may have been told before, without being heard.
    if (call.kind === "end" && (hasEnded || home === undefined)) return;
    const isTheirs = home?.machineId === from && home.revision === call.epoch && sessions.own(id) === undefined;
    if (!isTheirs || hasEnded)
      throw new NodeError("cluster-away", "the session has moved to another machine, or ended: try again");
    if (sessions.isClosed) throw new NodeError("cluster-away", "the machine is being stopped: try again");
  }

  /** As `#admit`, after something was waited for. */
  #admitAgain(remote: Remote, call: PlayerCall, from: string): void {
    this.#admit(call, from);
    if (this.#remotes.get(sessionOf(call)) !== remote)
      throw new NodeError("cluster-away", "the session has just ended");
  }

  /** Its guild counts as used from the arrival on: the gateway may have given the request up. */
  async #carryOut(remote: Remote, call: Extract<PlayerCall, { kind: "request" }>, from: string): Promise<string> {
    const { asked } = remote;
    const { guildId, request } = call;
    if (guildId !== null) asked.push(guildId);
    try {
      // A player that is being made again must not be made as a new one.
      await remote.ensuring;
      this.#admitAgain(remote, call, from);
      return await this.#onRequest(request);
    } finally {
      if (guildId !== null) asked.splice(asked.indexOf(guildId), 1);
    }
  }

  /** With the session, which is opened for it and does not end for want of use meanwhile. */
  async #within(info: RemoteSessionInfo, answer: (remote: Remote) => Promise<string>): Promise<string> {
    const remote = this.#remotes.get(info.id) ?? this.#open(info);
    remote.callCount++;
    try {
      return await answer(remote);
    } finally {
      remote.callCount--;
      remote.usedMs = this.#options.clock.now();
    }
  }

  /** @throws NodeError "memory-exhausted", "cluster-away" */
  #open({ id, userId, clientName, owner, account }: RemoteSessionInfo): Remote {
    const { sessions, dialectOf } = this.#options;
    if (this.#remotes.size >= REMOTE_SESSIONS_MAX) {
      throw new NodeError("memory-exhausted", `the machine has players of ${REMOTE_SESSIONS_MAX} sessions of others`);
    }
    const client = { userId, clientName: clientName ?? undefined, owner: owner ?? undefined, account };
    const relay = this.newRelay(id);
    try {
      sessions.openRemote(id, { ...client, dialect: dialectOf("4") }, relay);
    } catch (error) {
      relay.close();
      throw error;
    }
    const remote = this.#remotes.get(id);
    if (remote === undefined) throw new NodeError("cluster-away", "the session has just ended");
    return remote;
  }

  /** Resolves with the guilds of which there is nothing, here or stored. */
  async #ensure(remote: Remote, call: EnsureCall, from: string): Promise<readonly string[]> {
    const { sessions, state, store } = this.#options;
    const { session: info, epoch, guildIds, atLeast = { key: ownerKey(info.id), revision: epoch } } = call;
    this.#admitAgain(remote, call, from);
    const session = sessions.get(info.id);
    const absent = new Set(guildIds.filter((guildId) => session?.players.has(guildId) === false));
    if (session === undefined || absent.size === 0) return [];
    await Promise.all(Array.from(absent, (guildId) => session.untilGone(guildId)));
    // What was ended here must not be found there.
    await state.flushed();
    const records = (await store.readSession(info.id, atLeast)).filter((record) => absent.has(guildOf(record) ?? ""));
    this.#admitAgain(remote, call, from);
    state.adoptPlayers(session, records);
    const missing = [...absent].filter((guildId) => !this.#isGuildUsed(info.id, guildId));
    // Records of what could not be made again are removed; afterwards another machine may write them.
    if (missing.length > 0) await state.flushed();
    return missing;
  }

  /**
   * Those that are being asked for something stay, and all while there are events that their gateway has not taken.
   * @throws NodeError "cluster-away" when that is so for one that was released before: it does not stay
   */
  async #release(call: Extract<PlayerCall, { kind: "release" }>, from: string): Promise<readonly string[]> {
    const { sessions, releases } = this.#options;
    const remote = this.#remotes.get(call.sessionId);
    if (remote === undefined) return await releases.release(undefined, call.guildIds, () => true);
    return await inOrder(remote, async () => {
      this.#admitAgain(remote, call, from);
      const session = sessions.get(call.sessionId);
      return await releases.release(session, call.guildIds, (guildId, player) => {
        const isBusy = remote.asked.includes(guildId) || !remote.relay.hasPassedEvents;
        // The gateway has not heard the answer.
        if (isBusy && session?.hasGuild(guildId) !== true)
          throw away("a player has left, but not all that it has said");
        return !isBusy && !(call.isIdleOnly && player?.isPlaying === true);
      });
    });
  }

  /** @throws NodeError "cluster-away" when there is nothing, but its records may still be there */
  async #holds(sessionId: string, guildId: string): Promise<boolean> {
    const { sessions, state } = this.#options;
    await sessions.get(sessionId)?.untilGone(guildId);
    if (this.#isGuildUsed(sessionId, guildId)) return true;
    // Afterwards another machine may write them.
    await state.flushed();
    if (!state.isStoring) throw away("the end of a player cannot be stored");
    return this.#isGuildUsed(sessionId, guildId);
  }

  /** It has a player here, something that is kept for it, or a request that may make them. */
  #isGuildUsed(sessionId: string, guildId: string): boolean {
    const isAsked = this.#remotes.get(sessionId)?.asked.includes(guildId) === true;
    return isAsked || this.#options.sessions.get(sessionId)?.hasGuild(guildId) === true;
  }

  /** @throws NodeError "cluster-away" when it has ended here, and that could not be stored */
  async #endFor({ sessionId, epoch }: Extract<PlayerCall, { kind: "end" }>): Promise<void> {
    const { sessions, state } = this.#options;
    const session = sessions.get(sessionId);
    this.#end(sessionId);
    // Calls that are late do not open it again. Its owner record is there until its machine, or the next one, removes it.
    this.#ended.set(sessionId, epoch);
    await Promise.all([session?.playersGone(), state.flushed()]);
    if (!state.isStoring) throw away("the end of a session cannot be stored");
  }

  #checkLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(CHECK_INTERVAL_MS, () => {
      this.#check();
      this.#checkLater();
    });
  }

  #check(): void {
    const { directory, clock } = this.#options;
    const now = clock.now();
    this.#noGateway.check(this.#remotes.keys());
    let readCount = 0;
    for (const [id, remote] of [...this.#remotes]) {
      if (this.#isUsed(id, remote)) remote.usedMs = now;
      if (now - remote.usedMs >= IDLE_MS_MAX) this.#end(id);
      else if (directory.isComplete && !directory.homes.has(id) && readCount++ < READS_MAX) void this.#verify(id);
    }
  }

  #isUsed(id: string, { relay, callCount }: Remote): boolean {
    const session = this.#options.sessions.get(id);
    const hasPlayers = session !== undefined && session.playerCount > 0;
    const [kept] = session?.kept.list() ?? [];
    return callCount > 0 || !relay.isEmpty || hasPlayers || kept !== undefined;
  }

  /** Ends a session that is nowhere; never rejects. */
  async #verify(id: string): Promise<void> {
    try {
      if ((await this.#owners.read(id)) === undefined) this.#end(id);
    } catch (error) {
      this.#options.logger.debug("cluster: the owner of a session could not be read", { sessionId: id, error });
    }
  }

  #end(id: string): void {
    if (this.#remotes.has(id)) this.#options.sessions.get(id)?.drop();
  }
}

/** As `work`, after whatever makes or releases its players already. */
async function inOrder<T>(remote: Remote, work: () => Promise<T>): Promise<T> {
  const done = remote.ensuring.then(work);
  remote.ensuring = done.then(
    () => undefined,
    () => undefined,
  );
  return await done;
}

function sessionOf(call: PlayerCall): string {
  return "session" in call ? call.session.id : call.sessionId;
}
