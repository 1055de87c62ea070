// Moves sessions between the machines of a cluster: new ones become known to all, one whose client comes to another
// machine is given to that, and those of machines that have died are taken over. Main thread; one for the node.
//
// Each session has a record that names its owner. It changes hands only by a write that expects the revision last seen, so
// that of several that want it one gets it.

import type { Bucket } from "../../cluster/bucket.ts";
import type { ClusterStore } from "../../cluster/cluster-store.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { StateRecord } from "../../state/state-store.ts";
import type { MessageRelay } from "../sessions/message-relay.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { NodeState } from "../state/node-state.ts";
import { type ClaimAnswer, claimAnswer, claimRequest, SESSION_ID } from "./claim-messages.ts";
import { LeftSessions } from "./left-sessions.ts";
import { away, OwnerRecords } from "./owner-records.ts";
import { ownerKey, type SessionDirectory, type SessionHome } from "./session-directory.ts";
import type { AskedSession, AskingClient, SessionHomes } from "./session-homes.ts";

const CLAIM = "claim";
/** Longest that a machine takes to find out whether a client is still there, and to store what is left of its session. */
const CLAIM_TIMEOUT_MS = 5000;
/** A client that resumes waits so long for the machine of its session to answer or to be taken for dead. */
const BRING_MS_MAX = 25_000;
/** It looks again so often, and asks again after that time, doubled with each time, if nothing has changed. */
const BRING_LOOK_MS = 250;
const BRING_ASK_MS_MAX = 2000;
/** Sessions of other machines are looked through this often, and soon after each change. */
const CHECK_INTERVAL_MS = 1000;
const CHECK_DELAY_MS = 20;
/** Sessions that are taken over at once. */
const TAKING_MAX = 8;

interface SessionClaimsOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly store: Pick<ClusterStore, "readSession" | "forget">;
  readonly link: Pick<MachineLink, "call" | "serve">;
  readonly membership: Pick<
    Membership,
    "self" | "guard" | "peers" | "loadOf" | "isAlive" | "isCaughtUp" | "isNatsAway" | "status" | "onFenced"
  >;
  readonly directory: Pick<
    SessionDirectory,
    "homes" | "machines" | "isComplete" | "learn" | "forget" | "withResumeKey"
  >;
  readonly sessions: Pick<Sessions, "own" | "all" | "newId">;
  readonly state: Pick<
    NodeState,
    "adopt" | "release" | "releaseClient" | "forget" | "flushed" | "isStoring" | "write" | "forgetAll"
  >;
  /** The players that sessions of this machine have elsewhere. */
  readonly places: SessionPlayerPlaces;
  /** The sessions that have players here and belong to other machines. */
  readonly remotes: RemoteKeeper;
  /** Ends the connection of a session whose client does not answer. */
  readonly endSilent: (session: Session) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Where the players of sessions are; player-places.ts is the real one. */
interface SessionPlayerPlaces {
  /** Of the records of a session that is to be opened here, those that are to be opened here. */
  split(sessionId: string, records: readonly StateRecord[]): readonly StateRecord[];
  /** It is open, after `split`: its other players are seen to. */
  opened(session: Session): void;
  /** Makes known that its players stay here, before another machine has it. @throws NodeError "cluster-away" */
  giving(session: Session): Promise<void>;
  /** Another machine has it. */
  forget(sessionId: string): void;
  /** It has ended. Resolves when no other machine has anything of it. */
  end(sessionId: string, epoch: () => number): Promise<void>;
}

/** remote-sessions.ts is the real one. */
interface RemoteKeeper {
  /**
   * The way of the messages of a session that becomes remote in this moment.
   * @throws NodeError "cluster-away"
   */
  newRelay(sessionId: string): MessageRelay;
}

export class SessionClaims implements SessionHomes {
  readonly #options: SessionClaimsOptions;
  /** Revisions of the owner records of the sessions that are here, or about to be opened. */
  readonly #own = new Map<string, number>();
  /** Being made known, so that nobody takes them for left behind. */
  readonly #reserving = new Set<string>();
  /** Have ended here; their records are still being removed. */
  readonly #ended = new Set<string>();
  /** Coming or going. */
  readonly #moving = new Map<string, Promise<void>>();
  readonly #counts = { adopted: 0, given: 0, taken: 0 };
  /** Left behind, and waiting for their turn to be taken. */
  readonly #left = new Set<string>();
  readonly #owners: OwnerRecords;
  readonly #leftSessions: LeftSessions;
  #takingCount = 0;
  #timer: Timer | undefined;
  #isCheckingSoon = false;
  #stopServing: (() => void) | undefined;
  #life = 0;
  #isClosed = false;

  constructor(options: SessionClaimsOptions) {
    this.#options = options;
    this.#owners = new OwnerRecords(options);
    const isLeftHere = (id: string): boolean => this.#isLeftHere(id);
    this.#leftSessions = new LeftSessions({ ...options, isLeftHere });
  }

  get counts(): Readonly<Record<"adopted" | "given" | "taken", number>> {
    return this.#counts;
  }

  /** Whether it is this machine's, as far as this machine knows. */
  isOwn(sessionId: string): boolean {
    return this.#own.has(sessionId);
  }

  /** The revision of the record that says that the session is this machine's; undefined: it is not. */
  epochOf(sessionId: string): number | undefined {
    const revision = this.#own.get(sessionId);
    return revision && this.#newest(sessionId, revision);
  }

  /** A write whose answer was lost may have been done again. */
  #newest(id: string, revision: number): number {
    const { directory, membership } = this.#options;
    const home = directory.homes.get(id);
    return home !== undefined && home.machineId === membership.self?.id ? Math.max(home.revision, revision) : revision;
  }

  /** This machine has that id from now on. */
  onJoined(machineId: string): void {
    this.#stopServing?.();
    this.#stopServing = this.#options.link.serve(machineId, CLAIM, (request, from) => this.#onClaim(request, from));
    this.#owners.onJoined();
    this.checkSoon();
  }

  /** Other machines may have all sessions by now: they end here, without a word to anybody. */
  onLost(): void {
    this.#life++;
    this.#stopServing?.();
    this.#stopServing = undefined;
    this.#own.clear();
    this.#ended.clear();
    this.#left.clear();
    this.#options.state.forgetAll();
    for (const session of this.#options.sessions.all()) {
      session.drop();
      // This machine may get it again, under another id.
      void this.#start(session.id, () => session.playersGone());
    }
  }

  /** Sessions go on elsewhere from now on, whatever becomes of them here. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#stopServing?.();
  }

  reserve(): Promise<string> {
    return this.#reserve(this.#options.sessions.newId());
  }

  cancel(id: string): void {
    this.onClosed(id);
  }

  /** A session was opened: one whose id was not reserved, as two clients came at once, is made known now. */
  onOpened(id: string): void {
    const isRemote = this.#options.sessions.own(id) === undefined;
    if (isRemote || this.#own.has(id) || this.#reserving.has(id) || this.#moving.has(id)) return;
    const known = this.#reserve(id).then(() => {
      if (this.#options.sessions.own(id) === undefined) this.onClosed(id);
    });
    known.catch((error: unknown) => {
      this.#options.logger.warn("cluster: a session could not be made known, and was ended", { sessionId: id, error });
      this.#options.sessions.own(id)?.drop();
    });
  }

  /** A session has ended. */
  onClosed(id: string): void {
    const revision = this.#own.get(id);
    if (revision === undefined || this.#isClosed) return;
    this.#own.delete(id);
    this.#ended.add(id);
    const life = this.#life;
    // After all other records of it, which would be found by nobody without this one.
    void this.#options.places
      .end(id, () => this.#newest(id, revision))
      .then(() => {
        if (life === this.#life) this.#options.state.write(ownerKey(id), undefined);
      });
  }

  bring(asked: AskedSession, client: AskingClient): Promise<void> | undefined {
    const id = "sessionId" in asked ? asked.sessionId : this.#options.directory.withResumeKey(asked.resumeKey, client);
    return id !== undefined && SESSION_ID.test(id) ? this.#bring(id, client) : undefined;
  }

  /**
   * The id of the machine that has the session; undefined: it is here or nowhere.
   * @throws NodeError "cluster-away"
   */
  async machineOf(sessionId: string): Promise<string | undefined> {
    if (!SESSION_ID.test(sessionId)) return undefined;
    await this.#moving.get(sessionId);
    if (this.#options.sessions.own(sessionId) !== undefined) return undefined;
    const home = this.#options.directory.homes.get(sessionId) ?? (await this.#owners.read(sessionId));
    const { self } = this.#options.membership;
    return home === undefined || home.machineId === self?.id ? undefined : home.machineId;
  }

  /** Looks soon for sessions that have no living owner; without it, once in a while. */
  checkSoon(): void {
    if (this.#isCheckingSoon) return;
    this.#isCheckingSoon = true;
    this.#check(CHECK_DELAY_MS);
  }

  #check(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#isCheckingSoon = false;
      this.#check(CHECK_INTERVAL_MS);
      this.#queueLeft();
    });
  }

  async #reserve(id: string): Promise<string> {
    this.#reserving.add(id);
    try {
      const self = await this.#owners.untilJoined();
      const life = this.#life;
      const revision = await this.#owners.write(id, self.id, 0);
      if (life !== this.#life) throw away("this machine has just lost its place in the cluster");
      this.#own.set(id, revision);
      this.#options.directory.learn(id, { machineId: self.id, revision });
      return id;
    } finally {
      this.#reserving.delete(id);
    }
  }

  async #bring(id: string, client: AskingClient): Promise<void> {
    const { clock, sessions, membership } = this.#options;
    const endMs = clock.now() + BRING_MS_MAX;
    for (let askMs = BRING_LOOK_MS; ; askMs = Math.min(2 * askMs, BRING_ASK_MS_MAX)) {
      await this.#moving.get(id);
      if (sessions.own(id) !== undefined) return;
      const self = await this.#owners.untilJoined();
      const home = await this.#owners.read(id);
      if (home === undefined) return;
      if (home.machineId === self.id) {
        if (this.#moving.has(id)) continue;
        if (!this.#isLeftHere(id)) return;
        await this.#start(id, () => this.#take(id, home));
      } else if (!membership.isAlive(home.machineId)) await this.#start(id, () => this.#take(id, home));
      else if ((await this.#claim(id, { home, client })) === "kept") return;
      if (sessions.own(id) !== undefined) return;
      if (clock.now() > endMs || this.#isClosed) throw away("the machine that has the session does not answer");
      await this.#untilChanged(id, home, askMs);
    }
  }

  /** Until the session, or its machine, is another than before; that time at the longest. */
  async #untilChanged(id: string, home: SessionHome, msMax: number): Promise<void> {
    const { clock, directory, membership } = this.#options;
    for (const endMs = clock.now() + msMax; clock.now() < endMs; ) {
      await pause(clock, BRING_LOOK_MS);
      const isSame = directory.homes.get(id)?.revision === home.revision && membership.isAlive(home.machineId);
      if (!isSame || this.#moving.has(id)) return;
    }
  }

  /** `kept`: it stays where it is. */
  async #claim(
    id: string,
    { home, client }: { readonly home: SessionHome; readonly client: AskingClient },
  ): Promise<ClaimAnswer["kind"]> {
    const { userId, version, owner } = client;
    const life = this.#life;
    const request = JSON.stringify({ sessionId: id, userId, owner: owner ?? null, version });
    let answer: ClaimAnswer;
    try {
      const text = await this.#options.link.call(home.machineId, CLAIM, request, { timeoutMs: CLAIM_TIMEOUT_MS });
      answer = claimAnswer.parse(JSON.parse(text));
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      this.#options.logger.debug("cluster: a session could not be claimed yet", { sessionId: id, error });
      return "unknown";
    }
    if (answer.kind === "given") {
      const { revision } = answer;
      await this.#start(id, () => this.#open(id, { revision, life }));
      if (this.#own.has(id)) this.#counts.taken++;
    }
    return answer.kind;
  }

  /** Another machine's client has come back there. */
  async #onClaim(text: string, from: string): Promise<string> {
    const { sessionId, userId, owner, version } = claimRequest.parse(JSON.parse(text));
    const { sessions, endSilent } = this.#options;
    await this.#moving.get(sessionId);
    const session = sessions.own(sessionId);
    let answer: ClaimAnswer = { kind: "unknown" };
    if (session !== undefined && this.#own.has(sessionId)) {
      const isTheirs =
        session.userId === userId && session.owner === (owner ?? undefined) && session.dialect.version === version;
      if (isTheirs) await endSilent(session);
      if (isTheirs && session.isWaiting) answer = await this.#give(session, from);
      // Another has come first, or it has ended.
      else if (sessions.own(sessionId) === session) answer = { kind: "kept" };
    }
    return JSON.stringify(answer satisfies ClaimAnswer);
  }

  async #give(session: Session, to: string): Promise<ClaimAnswer> {
    const { membership, store, state, places, remotes, directory, logger } = this.#options;
    const { id } = session;
    // Where it is from then on must be known to live, and what is not stored would be lost.
    const canGive = (): boolean => state.isStoring && membership.peers().some((machine) => machine.id === to);
    let answer: ClaimAnswer = { kind: "unknown" };
    await this.#start(id, async () => {
      const expected = this.#own.get(id);
      if (expected === undefined || !session.isWaiting || !canGive()) return;
      const life = this.#life;
      const areStaying = session.dialect.version === "4" && (session.playerCount > 0 || !session.kept.isEmpty);
      if (areStaying) await places.giving(session);
      if (life !== this.#life || !session.isWaiting || !canGive()) return;
      const keys = areStaying ? state.releaseClient(session) : state.release(session);
      this.#own.delete(id);
      // Where its players are stays stored.
      places.forget(id);
      if (areStaying) session.becomeRemote(remotes.newRelay(id));
      else session.drop();
      // Nothing may sound at two places, and what is stored must be all.
      await Promise.all([areStaying || session.playersGone(), state.flushed()]);
      if (life !== this.#life) return;
      if (!state.isStoring) throw away("what is left of the session cannot be stored");
      const revision = await this.#owners.write(id, to, expected);
      state.forget(keys);
      store.forget(keys);
      directory.learn(id, { machineId: to, revision });
      this.#counts.given++;
      answer = { kind: "given", revision };
      logger.info("cluster: a session was given to another machine: its client is there", { sessionId: id, to });
    });
    return answer;
  }

  /** From a machine that has died, or from this one, which was to give it away or has got it in vain. */
  async #take(id: string, { machineId, revision: expected }: SessionHome): Promise<void> {
    const { directory, state } = this.#options;
    const self = await this.#owners.untilJoined();
    const life = this.#life;
    const isOwn = machineId === self.id;
    if (isOwn) {
      // What was left when it was to be given away is a part of it.
      await state.flushed();
      if (!state.isStoring) throw away("what is left of the session cannot be stored");
    }
    let revision: number;
    try {
      // An earlier write of this machine may be under way: it does not count after this one.
      revision = await this.#owners.write(id, self.id, expected);
    } catch (error) {
      if (error instanceof NodeError && error.code === "cluster-conflict") await this.#owners.read(id);
      throw error;
    }
    if (life !== this.#life) return;
    directory.learn(id, { machineId: self.id, revision });
    await this.#open(id, { revision, life });
    if (isOwn || !this.#own.has(id)) return;
    this.#counts.adopted++;
    this.#options.logger.info("cluster: a session was taken over", { sessionId: id, from: machineId });
  }

  /** It is this machine's since that revision, in that life: its records are opened. Without any it has ended. */
  async #open(id: string, { revision, life }: { readonly revision: number; readonly life: number }): Promise<void> {
    const { membership, store, sessions, state, places } = this.#options;
    if (this.#isKnownHere(id)) return;
    const records = await store.readSession(id, { key: ownerKey(id), revision });
    if (life !== this.#life || membership.self === undefined || this.#isClosed) return;
    this.#own.set(id, revision);
    state.adopt(places.split(id, records));
    const session = sessions.own(id);
    if (session !== undefined) {
      places.opened(session);
      return;
    }
    // Its client was not to come back, or there is no memory for it. Machines with players of it see that it has ended.
    places.forget(id);
    for (const { key } of records) state.write(key, undefined);
    this.onClosed(id);
  }

  #queueLeft(): void {
    const { homes } = this.#options.directory;
    for (const id of this.#ended) if (!homes.has(id)) this.#ended.delete(id);
    this.#dropOthers();
    const { ids, isAll } = this.#leftSessions.find();
    for (const id of ids) if (!this.#moving.has(id)) this.#left.add(id);
    if (!isAll) this.checkSoon();
    while (this.#left.size > 0 && this.#takingCount < TAKING_MAX) void this.#takeLeft();
  }

  /** Sessions here whose record names another machine since: old records were put back, which nobody here has written. */
  #dropOthers(): void {
    const { directory, membership, sessions, state, logger } = this.#options;
    const { self } = membership;
    if (self === undefined) return;
    for (const [id, revision] of this.#own) {
      const home = directory.homes.get(id);
      if (home === undefined || home.revision <= revision || home.machineId === self.id || this.#moving.has(id))
        continue;
      logger.warn("cluster: a session was ended here: its record says that another machine has it", { sessionId: id });
      this.#own.delete(id);
      const session = sessions.own(id);
      if (session === undefined) continue;
      state.release(session);
      this.#options.places.forget(id);
      session.drop();
      void this.#start(id, () => session.playersGone());
    }
  }

  async #takeLeft(): Promise<void> {
    const { membership, directory } = this.#options;
    this.#takingCount++;
    for (const id of this.#left) {
      this.#left.delete(id);
      const home = directory.homes.get(id);
      if (home === undefined) continue;
      const isHere = home.machineId === membership.self?.id;
      if (isHere ? !this.#isLeftHere(id) : membership.isAlive(home.machineId)) continue;
      await this.#start(id, () => this.#take(id, home));
      if (this.#isClosed) break;
    }
    this.#takingCount--;
  }

  /** It is said to be here, and is not. */
  #isLeftHere(id: string): boolean {
    return !this.#isKnownHere(id) && !this.#moving.has(id);
  }

  /** It is here, about to be opened, or has ended here. */
  #isKnownHere(id: string): boolean {
    const isKnown = this.#own.has(id) || this.#reserving.has(id) || this.#ended.has(id);
    return isKnown || this.#options.sessions.own(id) !== undefined;
  }

  /** Moves one, after whatever moves it already. What stands in the way now is tried again with the next check. */
  async #start(id: string, move: () => Promise<void>): Promise<void> {
    while (this.#moving.has(id)) await this.#moving.get(id);
    const moving = move()
      .then(() => this.checkSoon())
      .catch((error: unknown) => {
        const isExpected = error instanceof NodeError && error.fault !== "ourselves";
        const isLate = error instanceof NodeError && error.code === "cluster-conflict";
        const level = isExpected || isLate ? "debug" : "error";
        this.#options.logger[level]("cluster: a session could not be moved", { sessionId: id, error });
      })
      .finally(() => this.#moving.delete(id));
    this.#moving.set(id, moving);
    await moving;
  }
}
