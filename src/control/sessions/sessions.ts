// All sessions of the node: who is connected, who is away and may resume (protocol-v4.md section 4.7). Main thread; the
// WebSocket endpoint opens and resumes them here, the REST routes find them here.

import { getHeapStatistics } from "node:v8";
import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { CLOSE_GOING_AWAY, CLOSE_POLICY } from "../../lib/close-codes.ts";
import { Counts } from "../../lib/counts.ts";
import { moreThan, type Owner } from "../../lib/owners.ts";
import type { Random } from "../../lib/random.ts";
import type { Logger } from "../../log/log.ts";
import type { SessionEvent } from "../../plugin-api/plugin.ts";
import { ownerOf } from "../access/account.ts";
import type { Limits } from "../access/identity.ts";
import type { StatsJson } from "../protocol/stats-json.ts";
import type { Dialect } from "./dialect.ts";
import { MemoryShares } from "./memory-shares.ts";
import type { MessageRelay } from "./message-relay.ts";
import { type LeftOver, Session, type SessionSettings, sessionEvent } from "./session.ts";
import type { CreatePlayer, SessionPlayer } from "./session-player.ts";
import type { SessionRecorder } from "./session-recorder.ts";
import type { SessionSocket } from "./session-socket.ts";

const ID_LENGTH = 16;
const ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Bytes at and above this would make some letters likelier than others. */
const ID_BYTE_LIMIT = 256 - (256 % ID_ALPHABET.length);

/** Players of all sessions together. */
const PLAYERS_MAX = 20_000;
/** An account, or a user of one, with more than `own` players must leave `left` of all to others. */
const ACCOUNT_PLAYERS = { own: 1000, left: 2500 };
const USER_PLAYERS = { own: 500, left: 3750 };
/** Share of the heap that clients may store in total. */
const MEMORY_SHARE = 0.25;
const MEMORY_MAX_BYTES = 512 * 1024 * 1024;
/**
 * Sessions whose client is away, of one account and of all. Each may ask to wait without end, so the oldest must end at
 * some time.
 */
const ACCOUNT_WAITING_MAX = 1000;
const WAITING_MAX = 8000;

/** Options that `Sessions` passes on to each session. */
export interface SessionsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly createPlayer: CreatePlayer;
  /** How many sessions and players the owner of that name may have; undefined names the password. */
  readonly limitsOf: (owner: string | undefined) => Pick<Limits, "sessions" | "players">;
  /** Told of all that is to outlive the process. Default: nothing is. */
  readonly recorder?: SessionRecorder | undefined;
  /** It begins or ceases to drain. */
  readonly onDraining?: () => void;
  /** A client has connected, so players may follow soon. */
  readonly onOpened?: () => void;
  /** Something has happened to a session, or to whether a player is there. `owner`: its client. Default: nobody is told. */
  readonly onEvent?: ((event: OwnNodeEvent, owner: Owner) => void) | undefined;
  /** Memory, CPU and uptime of the node, and whether it holds back. */
  readonly readNodeStats: () => Pick<StatsJson, "uptime" | "memory" | "cpu" | "tonearm">;
}

/** The client's data from the handshake. */
export interface SessionClient {
  readonly userId: string;
  readonly clientName: string | undefined;
  readonly dialect: Dialect;
  /** Name of its key; undefined: it has shown the password. */
  readonly owner: string | undefined;
  /** Its account: see `accountFor`. */
  readonly account: string;
}

interface NewSession {
  readonly id: string;
  readonly client: SessionClient;
  readonly socket: SessionSocket | undefined;
  readonly settings?: SessionSettings;
  readonly left?: LeftOver;
  readonly relay?: MessageRelay;
}

/** One for the node. Bounds what sessions may have together: players, memory, and how many may wait. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Sessions that have ended and still have players being destroyed. */
  readonly #ending = new Set<Session>();
  /** Sessions whose client went away, in that order; those that have been resumed since are among them. */
  readonly #waiting = new Set<Session>();
  readonly #memory = new MemoryShares({
    limitBytes: Math.min(MEMORY_MAX_BYTES, getHeapStatistics().heap_size_limit * MEMORY_SHARE),
  });
  #isClosed = false;
  #isDraining = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Opens a session on a socket whose handshake is done; sends `ready` and the first `stats`. Default id: a new one.
   * @throws NodeError "memory-exhausted"
   */
  open(socket: SessionSocket, client: SessionClient, id = this.newId()): Session {
    return this.#add({ id, client, socket });
  }

  /**
   * Opens a session of an earlier process or of another machine, under its id, with its settings and with what was left
   * of it: it waits for its client. One that is remote becomes that. The bounds of waiting sessions apply.
   * @throws NodeError "memory-exhausted"
   */
  openWaiting(
    id: string,
    client: SessionClient,
    { settings, left }: Required<Pick<NewSession, "settings" | "left">>,
  ): Session {
    const remote = this.#sessions.get(id);
    if (remote !== undefined && !remote.isRemote) throw new Error(`there is a session ${id} already`);
    remote?.becomeWaiting(settings, left);
    const session = remote ?? this.#add({ id, client, socket: undefined, settings, left });
    this.#onWaiting(session);
    return session;
  }

  /**
   * Opens a session whose client is at another machine, for the players that it has here.
   * @throws NodeError "memory-exhausted"
   */
  openRemote(id: string, client: SessionClient, relay: MessageRelay): Session {
    if (this.#sessions.has(id)) throw new Error(`there is a session ${id} already`);
    return this.#add({ id, client, socket: undefined, relay });
  }

  #add({ id, client, socket, settings, left, relay }: NewSession): Session {
    const session = new Session(
      {
        ...client,
        id,
        settings,
        left,
        relay,
        recorder: this.#options.recorder,
        clock: this.#options.clock,
        logger: this.#options.logger.child({ sessionId: id }),
        createPlayer: this.#options.createPlayer,
        memory: this.#memory.open(client.account),
        checkPlayerCount: () => this.#checkPlayerCount(id, client),
        readStats: () => this.stats(),
        onEvent: (event) => this.#options.onEvent?.(event, ownerOf(client.account, `user ${client.userId}`)),
        onWaiting: (waiting) => this.#onWaiting(waiting),
        onDestroyed: (ending) => this.#forget(ending),
      },
      socket,
    );
    this.#sessions.set(id, session);
    this.#tell("sessionOpened", session);
    if (socket !== undefined) this.#options.onOpened?.();
    if (this.#isClosed) session.close(CLOSE_GOING_AWAY);
    return session;
  }

  #onWaiting(session: Session): void {
    this.#waiting.delete(session);
    this.#waiting.add(session);
    // The next process decides which of them are too many.
    if (this.#isClosed) return;
    this.#tell("sessionParked", session);
    this.#endOthersUnderItsKey(session);
    this.#endOldestWaiting(session.account);
  }

  /**
   * Whether the client may have one more session. When its key has its maximum, the one that has waited longest for its
   * client is ended; "limit" when all are connected.
   */
  makeSpaceFor({
    owner,
    account,
  }: Pick<SessionClient, "owner" | "account">): "available" | "limit" | "draining" | "memory" {
    if (this.#isDraining) return "draining";
    if (!this.#memory.hasCapacity(account)) return "memory";
    const { sessions: countMax } = this.#options.limitsOf(owner);
    if (countMax === Number.POSITIVE_INFINITY) return "available";
    const owned = [...this.#sessions.values()].filter((session) => session.owner === owner && !session.isRemote);
    if (owned.length < countMax) return "available";
    const waiting = this.#waitingNow().find((session) => session.owner === owner);
    if (waiting === undefined || owned.length > countMax) return "limit";
    this.#options.logger.warn(
      "session limit of its key reached: the session that waited longest for its client was ended",
      {
        sessionId: waiting.id,
        key: owner,
      },
    );
    waiting.destroy();
    return "available";
  }

  /** The node will stop when the current players have ended: no new sessions and players are accepted. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  drain(isOn: boolean): void {
    if (isOn === this.#isDraining) return;
    this.#isDraining = isOn;
    this.#options.logger.warn(
      isOn ? "draining: new sessions and players are refused" : "draining ended: new sessions and players are accepted",
    );
    this.#options.onDraining?.();
  }

  /** Closes and ends all sessions whose owner is no longer known. */
  endUnowned(isKnown: (owner: string) => boolean): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.owner !== undefined && !session.isRemote && !isKnown(session.owner)) session.close(CLOSE_POLICY);
    }
  }

  /** The session as REST sees it: only while its client is connected, here or as another machine says that asks. */
  connected(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.isConnected || session?.isRemote ? session : undefined;
  }

  /** The session, if this machine has it: connected or waiting. */
  own(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.isRemote ? undefined : session;
  }

  /** All sessions that have not ended, including those whose client is away. */
  all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** The session, in whatever state it is; remote, too. */
  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /**
   * The session of a v3 client under its resume key: one that waits, otherwise one that is connected. Each user of an
   * owner has a separate set of keys: many clients use one that their library has chosen.
   */
  withResumeKey(key: string, client: Pick<SessionClient, "userId" | "owner">): Session | undefined {
    const sessions = [...this.#sessions.values()].filter((session) => isUnder(session, key, client));
    return sessions.find(({ isWaiting }) => isWaiting) ?? sessions[0];
  }

  /** The players of a guild in all sessions that `isMeant`, of clients that are away too. */
  playersOf(guildId: string, isMeant: (session: Session) => boolean): SessionPlayer[] {
    const found: SessionPlayer[] = [];
    for (const session of this.#sessions.values()) {
      const player = session.players.get(guildId);
      if (player !== undefined && isMeant(session)) found.push(player);
    }
    return found;
  }

  /** The Stats object without frame counts: players that are here. Sessions whose client is away do not count. */
  stats(): StatsJson {
    let players = 0;
    let playingPlayers = 0;
    for (const session of this.#sessions.values()) {
      if (session.isWaiting) continue;
      players += session.players.size;
      for (const player of session.players.values()) if (player.isPlaying) playingPlayers++;
    }
    return { frameStats: null, players, playingPlayers, ...this.#options.readNodeStats() };
  }

  /** No client is accepted any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Ends the connections of all sessions that wait for their clients then, without a closing handshake: libraries come
   * back after that as after a crash, and several do not after a close code. No client is accepted from now on.
   */
  disconnect(): void {
    this.#isClosed = true;
    for (const session of this.#sessions.values()) session.disconnect();
  }

  /** Closes every socket with 1001 and ends all sessions; resolves when their players have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const sessions = [...this.#sessions.values(), ...this.#ending];
    for (const session of sessions) session.close(CLOSE_GOING_AWAY);
    await Promise.all(sessions.map((session) => session.playersGone()));
  }

  /** Only the last session that waits under a key can be asked for. */
  #endOthersUnderItsKey(session: Session): void {
    const { resumeKey } = session;
    if (resumeKey === null) return;
    for (const other of this.#sessions.values()) {
      if (isUnder(other, resumeKey, session) && other !== session && other.isWaiting) other.destroy();
    }
  }

  #forget(session: Session): void {
    this.#sessions.delete(session.id);
    this.#waiting.delete(session);
    this.#ending.add(session);
    void session.playersGone().then(() => {
      this.#ending.delete(session);
      this.#tell("sessionClosed", session);
    });
  }

  #tell(type: SessionEvent["type"], session: Session): void {
    this.#options.onEvent?.(sessionEvent(type, session), ownerOf(session.account, `user ${session.userId}`));
  }

  #checkPlayerCount(id: string, { owner, account, userId }: SessionClient): void {
    // The machine of a remote session has chosen this one before it knew, and has the player go on elsewhere soon.
    if (this.#isDraining && this.own(id) !== undefined)
      throw new NodeError("node-draining", "the node is draining: it accepts no new players; use another node");
    let count = 0;
    let ownCount = 0;
    let accountCount = 0;
    let userCount = 0;
    for (const session of [...this.#sessions.values(), ...this.#ending]) {
      count += session.playerCount;
      if (session.owner === owner) ownCount += session.playerCount;
      if (session.account !== account) continue;
      accountCount += session.playerCount;
      if (session.userId === userId) userCount += session.playerCount;
    }
    const { players: ownMax } = this.#options.limitsOf(owner);
    if (ownCount >= ownMax) {
      throw new NodeError(
        "key-limit",
        `the key ${owner} has reached its limit of ${ownMax} players: destroy one first`,
      );
    }
    const leftMin = Math.max(
      accountCount < ACCOUNT_PLAYERS.own ? 0 : ACCOUNT_PLAYERS.left,
      userCount < USER_PLAYERS.own ? 0 : USER_PLAYERS.left,
    );
    if (count < PLAYERS_MAX - leftMin) return;
    throw new NodeError(
      "players-exhausted",
      count < PLAYERS_MAX
        ? `the last ${leftMin} players of the node are for clients with fewer: destroy some or use another node`
        : `the node has reached its limit of ${PLAYERS_MAX} players: use another node`,
    );
  }

  /** In the order in which their clients went away. */
  #waitingNow(): readonly Session[] {
    for (const session of this.#waiting) if (!session.isWaiting) this.#waiting.delete(session);
    return [...this.#waiting];
  }

  /** When too many wait: of the account, or of all. */
  #endOldestWaiting(account: string): void {
    const waiting = this.#waitingNow();
    const ofAccount = waiting.filter((session) => session.account === account);
    if (ofAccount.length > ACCOUNT_WAITING_MAX) this.#endOneOf(ofAccount);
    else if (waiting.length > WAITING_MAX) this.#endOneOf(waiting);
  }

  /** Ends the oldest session of the account, and then user, that has most of them; one without players first. */
  #endOneOf(waiting: readonly Session[]): void {
    const candidates = waiting.map((session) => ({ session, owner: ownerOf(session.account, session.userId) }));
    const counts = new Counts();
    for (const { owner } of candidates) counts.addEach(owner);
    const [first, ...others] = candidates;
    if (first === undefined) return;
    const { session } = others.reduce((best, other) => (isEndedBefore(other, best, counts) ? other : best), first);
    const { id: sessionId, userId, owner: key } = session;
    this.#options.logger.warn("too many sessions wait for their clients: the oldest was ended", {
      sessionId,
      userId,
      ...(key === undefined ? {} : { key }),
      waiting: waiting.length,
    });
    session.destroy();
  }

  /** An id that no session of this node has. */
  newId(): string {
    let id = "";
    while (id.length < ID_LENGTH) {
      for (const byte of this.#options.random.bytes(ID_LENGTH)) {
        if (byte < ID_BYTE_LIMIT && id.length < ID_LENGTH) id += ID_ALPHABET[byte % ID_ALPHABET.length];
      }
    }
    return this.#sessions.has(id) ? this.newId() : id;
  }
}

/** Whether it is the session, or one of those, of that client under that resume key. */
function isUnder(session: Session, key: string, { userId, owner }: Pick<SessionClient, "userId" | "owner">): boolean {
  return session.resumeKey === key && session.userId === userId && session.owner === owner;
}

interface Candidate {
  readonly session: Session;
  readonly owner: Owner;
}

function isEndedBefore(candidate: Candidate, other: Candidate, counts: Counts): boolean {
  const more = moreThan(candidate.owner, other.owner, counts);
  return more > 0 || (more === 0 && candidate.session.playerCount === 0 && other.session.playerCount > 0);
}
