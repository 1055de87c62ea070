// Moves sessions between the machines of a cluster: new ones become known to all, one whose client comes to another
// machine is given to that, and those of machines that have died are taken over. Main thread; one for the node.
//
// Each session has a record that names its owner. It changes hands only by a write that expects the revision last seen, so
// that of several that want it one gets it.

import { z } from "zod";
import type { Bucket, BucketChange } from "../../cluster/bucket.ts";
import type { ClusterStore } from "../../cluster/cluster-store.ts";
import type { MachineLink } from "../../cluster/machine-link.ts";
import type { Membership } from "../../cluster/membership.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { NodeState } from "../state/node-state.ts";
import { chosenFor } from "./rendezvous.ts";
import { ownerKey, ownerValue, readHome, type SessionDirectory, type SessionHome } from "./session-directory.ts";
import type { AskedSession, AskingClient, SessionHomes } from "./session-homes.ts";

const CLAIM = "claim";
/** Longest that a machine takes to find out whether a client is still there, and to store what is left of its session. */
const CLAIM_TIMEOUT_MS = 5000;
/** A client that resumes waits so long for the machine of its session to answer or to be taken for dead. */
const BRING_MS_MAX = 25_000;
const BRING_RETRY_MS = 250;
const WRITE_TIMEOUT_MS = 3000;
/** A client that comes before the cluster is joined waits so long. */
const JOIN_WAIT_MS = 3000;
/** Sessions of other machines are looked through this often, and soon after each change. */
const CHECK_INTERVAL_MS = 1000;
const CHECK_DELAY_MS = 20;
/** Sessions that are taken over at once. */
const TAKING_MAX = 8;
/** Whatever else a client says is no id, and no part of a key. */
const SESSION_ID = /^[a-z0-9]{1,64}$/;

const claimRequest = z.strictObject({
  sessionId: z.string().regex(SESSION_ID),
  userId: z.string(),
  owner: z.string().nullable(),
  version: z.enum(["3", "4"]),
});

const claimAnswer = z.discriminatedUnion("kind", [
  /** It is the caller's from that revision of its owner record on. */
  z.strictObject({ kind: z.literal("given"), revision: z.int().positive() }),
  /** Its client is still there, or it is not that client's. */
  z.strictObject({ kind: z.literal("kept") }),
  /** It is not there. */
  z.strictObject({ kind: z.literal("unknown") }),
]);

type ClaimAnswer = z.infer<typeof claimAnswer>;

interface SessionClaimsOptions {
  readonly bucket: Pick<Bucket, "write" | "get">;
  readonly store: Pick<ClusterStore, "readSession">;
  readonly link: Pick<MachineLink, "call" | "serve">;
  readonly membership: Pick<
    Membership,
    "self" | "guard" | "peers" | "isAlive" | "isCaughtUp" | "isNatsAway" | "status"
  >;
  readonly directory: Pick<SessionDirectory, "homes" | "isComplete" | "learn" | "withResumeKey">;
  readonly sessions: Pick<Sessions, "get" | "all" | "newId">;
  readonly state: Pick<NodeState, "adopt" | "release" | "flushed" | "isStoring" | "remove" | "forgetAll">;
  /** Ends the connection of a session whose client does not answer. */
  readonly endSilent: (session: Session) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
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
  #left: string[] = [];
  #takingCount = 0;
  #timer: Timer | undefined;
  #isCheckingSoon = false;
  #joined: (() => void)[] = [];
  #stopServing: (() => void) | undefined;
  #life = 0;
  #isClosed = false;

  constructor(options: SessionClaimsOptions) {
    this.#options = options;
  }

  get counts(): Readonly<Record<"adopted" | "given" | "taken", number>> {
    return this.#counts;
  }

  /** Whether it is this machine's, as far as this machine knows. */
  isOwn(sessionId: string): boolean {
    return this.#own.has(sessionId);
  }

  /** This machine has that id from now on. */
  onJoined(machineId: string): void {
    this.#stopServing?.();
    this.#stopServing = this.#options.link.serve(machineId, CLAIM, (request, from) => this.#onClaim(request, from));
    for (const resolve of this.#joined.splice(0)) resolve();
    this.checkSoon();
  }

  /** Other machines may have all sessions by now: they end here, without a word to anybody. */
  onLost(): void {
    this.#life++;
    this.#stopServing?.();
    this.#stopServing = undefined;
    this.#own.clear();
    this.#ended.clear();
    this.#left = [];
    this.#options.state.forgetAll();
    for (const session of this.#options.sessions.all()) session.drop();
  }

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
    if (this.#own.has(id) || this.#reserving.has(id) || this.#moving.has(id)) return;
    this.#reserve(id).catch((error: unknown) => {
      this.#options.logger.warn("cluster: a session could not be made known, and was ended", { sessionId: id, error });
      this.#options.sessions.get(id)?.drop();
    });
  }

  /** A session has ended. */
  onClosed(id: string): void {
    if (!this.#own.delete(id)) return;
    this.#ended.add(id);
    // After all other records of it, which would be found by nobody without this one.
    this.#options.state.remove(ownerKey(id));
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
    if (this.#options.sessions.get(sessionId) !== undefined) return undefined;
    const home = this.#options.directory.homes.get(sessionId) ?? (await this.#readHome(sessionId));
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
      this.#queueLeft();
      this.#check(CHECK_INTERVAL_MS);
    });
  }

  async #reserve(id: string): Promise<string> {
    this.#reserving.add(id);
    try {
      const self = await this.#untilJoined();
      const life = this.#life;
      const revision = await this.#write({ key: ownerKey(id), value: ownerValue(self.id), expected: 0 });
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
    for (;;) {
      await this.#moving.get(id);
      if (sessions.get(id) !== undefined) return;
      const self = await this.#untilJoined();
      const home = await this.#readHome(id);
      if (home === undefined) return;
      if (home.machineId === self.id) {
        if (this.#isLeftHere(id)) await this.#start(id, () => this.#open(id, home.revision));
        return;
      }
      if (!membership.isAlive(home.machineId)) await this.#start(id, () => this.#take(id, home, "adopted"));
      else if ((await this.#claim(id, { home, client })) === "over") return;
      if (clock.now() > endMs) throw away("the machine that has the session does not answer");
      await pause(clock, BRING_RETRY_MS);
    }
  }

  /** `over`: it is here now, or stays where it is. */
  async #claim(
    id: string,
    { home, client }: { readonly home: SessionHome; readonly client: AskingClient },
  ): Promise<"over" | "again"> {
    const { userId, version, owner } = client;
    const request = JSON.stringify({ sessionId: id, userId, owner: owner ?? null, version });
    let answer: ClaimAnswer;
    try {
      const text = await this.#options.link.call(home.machineId, CLAIM, request, { timeoutMs: CLAIM_TIMEOUT_MS });
      answer = claimAnswer.parse(JSON.parse(text));
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      this.#options.logger.debug("cluster: a session could not be claimed yet", { sessionId: id, error });
      return "again";
    }
    if (answer.kind === "kept") return "over";
    if (answer.kind === "unknown") return "again";
    const { revision } = answer;
    await this.#start(id, () => this.#open(id, revision));
    this.#counts.taken++;
    return "over";
  }

  /** Another machine's client has come back there. */
  async #onClaim(text: string, from: string): Promise<string> {
    const { sessionId, userId, owner, version } = claimRequest.parse(JSON.parse(text));
    await this.#moving.get(sessionId);
    const session = this.#options.sessions.get(sessionId);
    let answer: ClaimAnswer = { kind: "unknown" };
    if (session !== undefined && this.#own.has(sessionId)) {
      const isTheirs =
        session.userId === userId && session.owner === (owner ?? undefined) && session.dialect.version === version;
      if (isTheirs) await this.#options.endSilent(session);
      answer = isTheirs && session.isWaiting ? await this.#give(session, from) : { kind: "kept" };
    }
    return JSON.stringify(answer satisfies ClaimAnswer);
  }

  async #give(session: Session, to: string): Promise<ClaimAnswer> {
    const { state, directory, logger } = this.#options;
    const { id } = session;
    let answer: ClaimAnswer = { kind: "unknown" };
    await this.#start(id, async () => {
      const expected = this.#own.get(id);
      if (expected === undefined || !session.isWaiting) return;
      state.release(session);
      this.#own.delete(id);
      session.drop();
      // Nothing may sound at two places, and what is stored must be all.
      await Promise.all([session.playersGone(), state.flushed()]);
      if (!state.isStoring) throw away("what is left of the session cannot be stored");
      const revision = await this.#write({ key: ownerKey(id), value: ownerValue(to), expected });
      directory.learn(id, { machineId: to, revision });
      this.#counts.given++;
      answer = { kind: "given", revision };
      logger.info("cluster: a session was given to another machine: its client is there", { sessionId: id, to });
    });
    return answer;
  }

  /** From a machine that has died, or has left it behind. */
  async #take(id: string, { revision: expected }: SessionHome, kind: "adopted"): Promise<void> {
    const self = await this.#untilJoined();
    const revision = await this.#write({ key: ownerKey(id), value: ownerValue(self.id), expected });
    this.#options.directory.learn(id, { machineId: self.id, revision });
    await this.#open(id, revision);
    this.#counts[kind]++;
  }

  /** It is this machine's since that revision: its records are opened. Without any it has ended. */
  async #open(id: string, revision: number): Promise<void> {
    const { store, sessions, state } = this.#options;
    const life = this.#life;
    const records = await store.readSession(id, { key: ownerKey(id), revision });
    if (life !== this.#life || this.#isClosed) return;
    this.#own.set(id, revision);
    state.adopt(records);
    // Its client was not to come back, or there is no memory for it.
    if (sessions.get(id) === undefined) this.onClosed(id);
  }

  /** Sessions whose owner is dead and that are this machine's turn, and those that were given to it in vain. */
  #queueLeft(): void {
    const { membership, directory } = this.#options;
    const { self } = membership;
    if (self === undefined || !directory.isComplete || !membership.isCaughtUp || membership.isNatsAway) return;
    for (const id of this.#ended) if (!directory.homes.has(id)) this.#ended.delete(id);
    const peerIds = membership.peers().map(({ id }) => id);
    const queued = new Set(this.#left);
    for (const [id, { machineId }] of directory.homes) {
      if (queued.has(id) || this.#moving.has(id)) continue;
      if (machineId === self.id ? !this.#isLeftHere(id) : membership.isAlive(machineId)) continue;
      if (machineId === self.id || chosenFor(id, peerIds) === self.id) this.#left.push(id);
    }
    while (this.#left.length > 0 && this.#takingCount < TAKING_MAX) void this.#takeLeft();
  }

  async #takeLeft(): Promise<void> {
    const { membership, directory, logger } = this.#options;
    this.#takingCount++;
    for (let id = this.#left.shift(); id !== undefined && !this.#isClosed; id = this.#left.shift()) {
      const sessionId = id;
      const home = directory.homes.get(id);
      if (home === undefined) continue;
      const isHere = home.machineId === membership.self?.id;
      if (isHere ? !this.#isLeftHere(id) : membership.isAlive(home.machineId)) continue;
      await this.#start(id, () =>
        isHere ? this.#open(sessionId, home.revision) : this.#take(sessionId, home, "adopted"),
      );
      if (!isHere && this.#own.has(id))
        logger.info("cluster: a session was taken over", { sessionId, from: home.machineId });
    }
    this.#takingCount--;
  }

  /** It is said to be here, and is not. */
  #isLeftHere(id: string): boolean {
    const isKnown = this.#own.has(id) || this.#reserving.has(id) || this.#ended.has(id) || this.#moving.has(id);
    return !isKnown && this.#options.sessions.get(id) === undefined;
  }

  /** Moves one, after whatever moves it already. What stands in the way now is tried again with the next check. */
  async #start(id: string, move: () => Promise<void>): Promise<void> {
    while (this.#moving.has(id)) await this.#moving.get(id);
    const moving = move()
      .catch((error: unknown) => {
        const isExpected = error instanceof NodeError && error.fault !== "ourselves";
        const isLate =
          error instanceof NodeError && (error.code === "cluster-conflict" || error.code === "cluster-fenced");
        const level = isExpected || isLate ? "debug" : "error";
        this.#options.logger[level]("cluster: a session could not be moved", { sessionId: id, error });
      })
      .finally(() => {
        this.#moving.delete(id);
        this.checkSoon();
      });
    this.#moving.set(id, moving);
    await moving;
  }

  async #readHome(id: string): Promise<SessionHome | undefined> {
    await this.#untilJoined();
    const entry = await this.#options.bucket.get(ownerKey(id));
    const home = entry && readHome(entry);
    if (home !== undefined) this.#options.directory.learn(id, home);
    return home;
  }

  async #write(change: BucketChange): Promise<number> {
    const { guard } = this.#options.membership;
    if (guard === undefined) throw away("this machine is not part of it");
    const [revision] = await this.#options.bucket.write([change], { guard, timeoutMs: WRITE_TIMEOUT_MS });
    if (revision === undefined) throw new Error("a write has no revision");
    return revision;
  }

  async #untilJoined(): Promise<{ readonly id: string }> {
    const { membership, clock } = this.#options;
    if (membership.self === undefined) {
      await Promise.race([new Promise<void>((resolve) => this.#joined.push(resolve)), pause(clock, JOIN_WAIT_MS)]);
    }
    const { self, status } = membership;
    if (self !== undefined && !membership.isNatsAway) return self;
    throw away("reason" in status ? status.reason : "this machine is not part of it");
  }
}

function away(reason: string): NodeError {
  return new NodeError("cluster-away", `the other machines of the cluster cannot be reached: ${reason}`);
}
