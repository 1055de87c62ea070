// All sessions of the node: who is connected, who is away and may resume (protocol-v4.md section 4.7). Main thread; the
// WebSocket endpoint opens and resumes them here, the REST routes find them here.

import { getHeapStatistics } from "node:v8";
import { NodeError } from "../../errors.ts";
import { ByteBudget } from "../../lib/byte-budget.ts";
import type { Clock } from "../../lib/clock.ts";
import { CLOSE_GOING_AWAY, CLOSE_POLICY } from "../../lib/close-codes.ts";
import type { Random } from "../../lib/random.ts";
import type { Logger } from "../../log/log.ts";
import type { Limits } from "../access/identity.ts";
import type { StatsJson } from "../protocol/stats-json.ts";
import type { Dialect } from "./dialect.ts";
import { Session, type SessionSettings, type SessionSocket } from "./session.ts";
import type { CreatePlayer, SessionPlayer } from "./session-player.ts";

const ID_LENGTH = 16;
const ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Bytes at and above this would make some letters likelier than others. */
const ID_BYTE_LIMIT = 256 - (256 % ID_ALPHABET.length);

/** Players of all sessions together. */
const PLAYERS_MAX = 20_000;
/** Share of the heap that clients may store in total. */
const MEMORY_SHARE = 0.25;
const MEMORY_MAX_BYTES = 512 * 1024 * 1024;
/** Share of that for one session. */
const SESSION_SHARE = 0.5;
/** Sessions whose client is away. Each may ask to wait without end, so the oldest must end at some time. */
const WAITING_MAX = 1000;

/** Options that `Sessions` passes on to each session. */
export interface SessionsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly createPlayer: CreatePlayer;
  /** How many sessions and players the owner of that name may have; undefined names the password. */
  readonly limitsOf: (owner: string | undefined) => Pick<Limits, "sessions" | "players">;
  /** A client has connected, so players may follow soon. */
  readonly onOpened?: () => void;
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
}

/** One for the node. Bounds what sessions may have together: players, memory, and how many may wait. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Sessions that have ended and still have players being destroyed. */
  readonly #ending = new Set<Session>();
  readonly #memory = new ByteBudget({
    owner: "the node",
    limitBytes: Math.min(MEMORY_MAX_BYTES, getHeapStatistics().heap_size_limit * MEMORY_SHARE),
  });
  #isClosed = false;
  #isDraining = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Opens a session on a socket whose handshake is done; sends `ready` and the first `stats`. */
  open(socket: SessionSocket, client: SessionClient): Session {
    return this.#add({ id: this.#newId(), client, socket });
  }

  /**
   * Opens a session of an earlier process, under its id and with its settings: it waits for its client as if the socket
   * had just been lost, and ends after its timeout. The bounds of waiting sessions apply.
   */
  openWaiting(id: string, client: SessionClient, settings: SessionSettings): Session {
    if (this.#sessions.has(id)) throw new Error(`there is a session ${id} already`);
    const session = this.#add({ id, client, socket: undefined, settings });
    this.#onWaiting(session);
    return session;
  }

  #add({ id, client, socket, settings }: NewSession): Session {
    const session = new Session(
      {
        ...client,
        id,
        settings,
        clock: this.#options.clock,
        logger: this.#options.logger.child({ sessionId: id }),
        createPlayer: this.#options.createPlayer,
        memory: new ByteBudget({
          owner: "the session",
          limitBytes: this.#memory.limitBytes * SESSION_SHARE,
          parent: this.#memory,
        }),
        checkPlayerCount: () => this.#checkPlayerCount(client.owner),
        readStats: () => this.stats(),
        onWaiting: (waiting) => this.#onWaiting(waiting),
        onDestroyed: (ending) => this.#forget(ending),
      },
      socket,
    );
    this.#sessions.set(id, session);
    if (socket !== undefined) this.#options.onOpened?.();
    if (this.#isClosed) session.close(CLOSE_GOING_AWAY);
    return session;
  }

  #onWaiting(session: Session): void {
    this.#endOthersUnderItsKey(session);
    this.#endOldestWaiting();
  }

  /**
   * Whether the owner may have one more session. At its maximum, the one that has waited longest for its client is
   * ended; "limit" when all are connected.
   */
  makeSpaceFor(owner: string | undefined): "available" | "limit" | "draining" {
    if (this.#isDraining) return "draining";
    const { sessions: countMax } = this.#options.limitsOf(owner);
    if (countMax === Number.POSITIVE_INFINITY) return "available";
    const owned = [...this.#sessions.values()].filter((session) => session.owner === owner);
    if (owned.length < countMax) return "available";
    const waiting = owned.find(({ isWaiting }) => isWaiting);
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
  }

  /** Closes and ends all sessions whose owner is no longer known. */
  endUnowned(isKnown: (owner: string) => boolean): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.owner !== undefined && !isKnown(session.owner)) session.close(CLOSE_POLICY);
    }
  }

  /** The session as REST sees it: only while its client is connected. */
  connected(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.isConnected ? session : undefined;
  }

  /** All sessions that have not ended, including those whose client is away. */
  all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** The session, in whatever state it is. */
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

  /** The Stats object without frame counts. Sessions whose client is away do not count. */
  stats(): StatsJson {
    let players = 0;
    let playingPlayers = 0;
    for (const session of this.#sessions.values()) {
      if (!session.isConnected) continue;
      players += session.players.size;
      for (const player of session.players.values()) if (player.isPlaying) playingPlayers++;
    }
    return { frameStats: null, players, playingPlayers, ...this.#options.readNodeStats() };
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
    this.#ending.add(session);
    void session.playersGone().then(() => this.#ending.delete(session));
  }

  #checkPlayerCount(owner: string | undefined): void {
    if (this.#isDraining)
      throw new NodeError("node-draining", "the node is draining: it accepts no new players; use another node");
    let count = 0;
    let ownCount = 0;
    for (const session of [...this.#sessions.values(), ...this.#ending]) {
      count += session.playerCount;
      if (session.owner === owner) ownCount += session.playerCount;
    }
    const { players: ownMax } = this.#options.limitsOf(owner);
    if (ownCount >= ownMax) {
      throw new NodeError(
        "key-limit",
        `the key ${owner} has reached its limit of ${ownMax} players: destroy one first`,
      );
    }
    if (count < PLAYERS_MAX) return;
    throw new NodeError(
      "players-exhausted",
      `the node has reached its limit of ${PLAYERS_MAX} players: use another node`,
    );
  }

  /** When too many wait: ends the oldest session of the user that has most of them. */
  #endOldestWaiting(): void {
    const waiting = [...this.#sessions.values()].filter(({ isWaiting }) => isWaiting);
    if (waiting.length <= WAITING_MAX) return;
    const counts = new Map<string, number>();
    for (const { userId } of waiting) counts.set(userId, (counts.get(userId) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const oldest = waiting.find(({ userId }) => counts.get(userId) === most);
    this.#options.logger.warn("too many sessions wait for their clients: the oldest was ended", {
      userId: oldest?.userId,
      waiting: waiting.length,
    });
    oldest?.destroy();
  }

  #newId(): string {
    let id = "";
    while (id.length < ID_LENGTH) {
      for (const byte of this.#options.random.bytes(ID_LENGTH)) {
        if (byte < ID_BYTE_LIMIT && id.length < ID_LENGTH) id += ID_ALPHABET[byte % ID_ALPHABET.length];
      }
    }
    return this.#sessions.has(id) ? this.#newId() : id;
  }
}

/** Whether it is the session, or one of those, of that client under that resume key. */
function isUnder(session: Session, key: string, { userId, owner }: Pick<SessionClient, "userId" | "owner">): boolean {
  return session.resumeKey === key && session.userId === userId && session.owner === owner;
}
