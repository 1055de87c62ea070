// One client: its players, and the socket to it or, while it is away, the messages buffered for it (protocol-v4.md
// section 4.7). It begins with a socket, or without one as if that had just been lost. Main thread; made by Sessions,
// filled by players through `send`.
//
//                                without a socket
//                                          |
//                                          v
//   connected --socket lost, resuming--> waiting --timeout--> destroyed
//       ^  \                                |                    ^
//       |   `--socket lost, not resuming----|--------------------'
//       `-------------resume----------------'

import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
import { NodeError } from "../../errors.ts";
import type { ByteBudget } from "../../lib/byte-budget.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { type JsonInteger, stringifyJson, toNumber } from "../../lib/json.ts";
import type { Logger } from "../../log/log.ts";
import type { SessionEvent } from "../../plugin-api/plugin.ts";
import type { PlayerIntent } from "../players/player-intent.ts";
import type { EventSink } from "../players/player-owner.ts";
import type { PlayerUpdate } from "../players/player-update.ts";
import type { OutgoingMessage } from "../protocol/outgoing-message.ts";
import type { StatsJson } from "../protocol/stats-json.ts";
import { BufferedBytes } from "./buffered-bytes.ts";
import type { Dialect } from "./dialect.ts";
import { frameStats } from "./frame-stats.ts";
import { KeptValues } from "./kept-values.ts";
import type { SessionMemory } from "./memory-shares.ts";
import { Outbox } from "./outbox.ts";
import { type QueuedMessage, ResumeQueue, topicOf } from "./resume-queue.ts";
import type { CreatePlayer, SessionPlayer } from "./session-player.ts";
import { NO_RECORDER, type SessionRecorder } from "./session-recorder.ts";
import type { ClientOrigin, SessionSocket } from "./session-socket.ts";

const STATS_INTERVAL_MS = 60_000;
const TIMEOUT_DEFAULT_S = 60;
/** Players of one session; all sessions of the node together have a bound too. */
const PLAYERS_MAX = 10_000;
/**
 * Players that end together end in batches: each has a connection to close, and thousands at once would interrupt those
 * of other clients. Four thousand have ended after a second.
 */
const ENDING_BATCH = 20;
const ENDING_INTERVAL_MS = 5;
/**
 * Longest a single timer may run: beyond it setTimeout would fire at once. Longer waits are put together from these.
 */
const TIMER_MAX_MS = 24 * 60 * 60 * 1000;

/** The connection that a session has, or had last. */
interface SessionConnection {
  /** When it was opened, Unix epoch milliseconds. */
  readonly sinceEpochMs: number;
  /** It continued a session that had lost its client. */
  readonly isResumed: boolean;
  readonly origin: ClientOrigin | undefined;
}

interface SessionOptions {
  readonly id: string;
  /** The bot's user id. */
  readonly userId: string;
  /** As the client calls itself, or undefined. */
  readonly clientName: string | undefined;
  readonly dialect: Dialect;
  /** Name of the key that it was opened with; undefined: with the password. */
  readonly owner: string | undefined;
  /** What all clients share is counted by it. */
  readonly account: string;
  /** Default: not resuming, 60 s, no resume key. */
  readonly settings?: SessionSettings | undefined;
  /** Of a session of an earlier process. Default: nothing is left of it. */
  readonly left?: LeftOver | undefined;
  /** Default: nothing outlives the process. */
  readonly recorder?: SessionRecorder | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly createPlayer: CreatePlayer;
  /** All that the session and its players keep is taken from it; closed when they have ended. */
  readonly memory: SessionMemory;
  /** Throws `players-exhausted` when the node has as many players as it may have, `key-limit` when its key has. */
  readonly checkPlayerCount: () => void;
  /** The node's stats without frame counts. */
  readonly readStats: () => StatsJson;
  /** A player was created or has been destroyed, or its client is back. */
  readonly onEvent?: ((event: OwnNodeEvent) => void) | undefined;
  /** The socket is lost and the session waits for its client. */
  readonly onWaiting: (session: Session) => void;
  readonly onDestroyed: (session: Session) => void;
}

/** What an earlier process has left of a session whose client is away. */
export interface LeftOver {
  /** How long it still waits for its client, in milliseconds. */
  readonly waitMs: number;
  /** What waits for the client, oldest first, with ascending numbers. */
  readonly messages: readonly (QueuedMessage & { readonly number: number })[];
}

/** The settings of a client; `undefined` leaves one unchanged. */
export interface SessionSettings {
  readonly resuming?: boolean | undefined;
  /** Seconds. */
  readonly timeout?: JsonInteger | undefined;
  /** The name under which a v3 client resumes; null for none. */
  readonly resumeKey?: string | null | undefined;
}

type Waiting = Pick<LeftOver, "waitMs"> & { readonly messages: readonly QueuedMessage[] };

interface Connected {
  readonly kind: "connected";
  readonly socket: SessionSocket;
  readonly outbox: Outbox;
}

type State =
  | Connected
  | { readonly kind: "waiting"; readonly queue: ResumeQueue; readonly deadlineMs: number; timer: Timer }
  | { readonly kind: "destroyed" };

/**
 * Connected, waiting for its client, or destroyed, which is final. Sends never wait: a client that does not read is cut
 * off.
 */
export class Session implements EventSink {
  readonly id: string;
  readonly userId: string;
  readonly clientName: string | undefined;
  readonly dialect: Dialect;
  readonly owner: string | undefined;
  readonly account: string;
  /** What plugins keep for its guilds. */
  readonly kept: KeptValues;
  readonly #options: SessionOptions;
  readonly #players = new Map<string, SessionPlayer>();
  /** Players being destroyed: their guild gets a new one only afterwards. */
  readonly #leaving = new Map<string, Promise<void>>();
  #endings: Promise<void> = Promise.resolve();
  #isResuming = false;
  #resumeKey: string | null = null;
  /** Seconds, as the client set it, so possibly negative or huge. */
  #timeout: JsonInteger = TIMEOUT_DEFAULT_S;
  #statsTimer: Timer;
  #state: State;
  #connection: SessionConnection | undefined;
  /** Of the messages that the operating system has not taken. */
  readonly #unsentBytes: BufferedBytes;
  readonly #recorder: SessionRecorder;
  #messageNumber = 0;

  /** Without a socket the client is away, and the session waits for it. */
  constructor(options: SessionOptions, socket: SessionSocket | undefined) {
    this.id = options.id;
    this.userId = options.userId;
    this.clientName = options.clientName;
    this.dialect = options.dialect;
    this.owner = options.owner;
    this.account = options.account;
    this.#options = options;
    this.#recorder = options.recorder ?? NO_RECORDER;
    this.kept = new KeptValues(options.memory.stored, (guildId, plugin) =>
      this.#recorder.onKept(this, guildId, plugin),
    );
    this.#unsentBytes = new BufferedBytes(options.memory.buffered);
    this.#set(options.settings ?? {});
    this.#state = socket === undefined ? this.#waitingWith(options.left) : this.#connectedBy(socket);
    this.#statsTimer = this.#scheduleStats();
    if (socket === undefined) return;
    this.#connection = this.#connectionOf(socket, { isResumed: false });
    this.send({ op: "ready", resumed: false, sessionId: this.id });
    this.#sendStats();
  }

  /** Only then REST finds it. */
  get isConnected(): boolean {
    return this.#state.kind === "connected";
  }

  /** Its client is away and may come back. */
  get isWaiting(): boolean {
    return this.#state.kind === "waiting";
  }

  /** Undefined: it is of an earlier process, and its client has not come back. */
  get connection(): SessionConnection | undefined {
    return this.#connection;
  }

  /** Whether it waits when its client goes; as the client set it, at first false. */
  get resuming(): boolean {
    return this.#isResuming;
  }

  /** Seconds that it waits then, as the client set it: possibly negative or huge. At first 60. */
  get timeout(): JsonInteger {
    return this.#timeout;
  }

  /** The name under which a v3 client resumes; null for none. */
  get resumeKey(): string | null {
    return this.#resumeKey;
  }

  /** It would wait for its client, which makes it worth storing. */
  get isLasting(): boolean {
    return this.#isResuming && this.#timeoutMs > 0 && this.#state.kind !== "destroyed";
  }

  /** How long it still waits for its client, in milliseconds; undefined while the client is there. */
  get waitMs(): number | undefined {
    return this.#state.kind === "waiting" ? this.#state.deadlineMs - this.#options.clock.now() : undefined;
  }

  /** What waits for the client, oldest first; empty while it is there. */
  get waitingMessages(): readonly QueuedMessage[] {
    return this.#state.kind === "waiting" ? this.#state.queue.messages : [];
  }

  /** The budget of its players and buffered messages. */
  get memory(): ByteBudget {
    return this.#options.memory.stored;
  }

  /** The budget of messages that are under way. */
  get buffered(): ByteBudget {
    return this.#options.memory.buffered;
  }

  /** All of its players, including those being destroyed. */
  get playerCount(): number {
    return this.#players.size + this.#leaving.size;
  }

  /** By guild id, without those being destroyed. */
  get players(): ReadonlyMap<string, SessionPlayer> {
    return this.#players;
  }

  /** Takes effect at the next loss of the client. */
  configure(settings: SessionSettings): void {
    this.#set(settings);
    this.#recorder.onSession(this);
  }

  #set({ resuming, timeout, resumeKey }: SessionSettings): void {
    if (resumeKey !== undefined) this.#resumeKey = resumeKey;
    if (resuming !== undefined) this.#isResuming = resuming;
    if (timeout !== undefined) this.#timeout = timeout;
  }

  /**
   * Resolves with the guild's player when it has applied the update. Where there is none it is created, after one that
   * is being destroyed has ended, and destroyed again if no update of it succeeds. Rejects as `SessionPlayer.update`,
   * or with `players-exhausted`, `key-limit`, `memory-exhausted` or `node-draining`.
   */
  async updatePlayer(
    guildId: string,
    update: PlayerUpdate,
    options: { readonly isReplacing: boolean },
  ): Promise<SessionPlayer> {
    while (this.#leaving.has(guildId)) await this.untilGone(guildId);
    // Nothing may come between finding the player and asking it: an unused one could be destroyed there.
    const player = this.#players.get(guildId) ?? this.#createPlayer(guildId);
    try {
      await player.update(update, options);
    } catch (error) {
      if (player.isUnused && this.#players.get(guildId) === player) void this.destroyPlayer(guildId);
      throw error;
    }
    return player;
  }

  /** Resolves when the guild's player that is being destroyed has ended; immediately if there is none. */
  async untilGone(guildId: string): Promise<void> {
    await this.#leaving.get(guildId);
  }

  /** Resolves when the player's last events have been sent; immediately if there is none. */
  async destroyPlayer(guildId: string): Promise<void> {
    const player = this.#players.get(guildId);
    if (player === undefined) return this.#leaving.get(guildId);
    this.#players.delete(guildId);
    this.#recorder.onPlayer(this, guildId);
    // A client may set values before its first update, which may fail.
    if (!player.isUnused) this.kept.drop(guildId);
    const leaving = this.#destroyPlayer(player).finally(() => {
      this.#leaving.delete(guildId);
      this.#options.onEvent?.({ type: "playerDestroyed", sessionId: this.id, guildId });
    });
    this.#leaving.set(guildId, leaving);
    return leaving;
  }

  send(message: OutgoingMessage): void {
    const state = this.#state;
    if (state.kind === "destroyed") return;
    if (state.kind === "waiting") {
      if (message.op !== "playerUpdate") state.queue.push(this.#waitingMessage(this.#queued(message)));
      return;
    }
    const queued = this.#queued(message);
    // Each is numbered, stored or not: in this order they wait for the client if its socket is lost.
    const isEvent = message.op === "event" || message.op === "extension";
    const numbered = isEvent ? this.#waitingMessage(queued) : queued;
    const isStored = isEvent && this.#recorder.isStored(this);
    if (isStored) this.#recorder.onMessage(this, numbered);
    state.outbox.push(numbered, isStored ? this.#recorder.written() : undefined);
    // After the push, so that the message that exceeds the bound is among the buffered ones.
    if (state.outbox.isFull) this.#dropSlowClient(state.socket);
  }

  /**
   * Continues on a new socket. Only while waiting. Sends `ready`, then the buffered messages, then one update per
   * player.
   */
  resume(socket: SessionSocket): void {
    if (this.#state.kind !== "waiting") throw new Error("only a waiting session can be resumed");
    const { queue, timer } = this.#state;
    timer.cancel();
    this.#state = this.#connectedBy(socket);
    this.#connection = this.#connectionOf(socket, { isResumed: true });
    if (queue.droppedCount > 0)
      this.#logger.warn("resume queue full: older messages for the client were dropped", { count: queue.droppedCount });
    this.#recorder.onSession(this);
    this.send({ op: "ready", resumed: true, sessionId: this.id });
    for (const message of queue.drain()) this.#resend(message);
    for (const player of this.#players.values()) player.sendPlayerUpdate();
    this.#options.onEvent?.(sessionEvent("sessionResumed", this));
  }

  /** The socket is lost, for whatever reason. Waits for the client if it may resume, otherwise ends the session. */
  socketClosed(socket: SessionSocket): void {
    if (this.#state.kind !== "connected" || this.#state.socket !== socket) return;
    const unsent = this.#state.outbox.close();
    if (!this.#isResuming || this.#timeoutMs === 0) {
      this.destroy();
      return;
    }
    this.#state = this.#waitingWith({ waitMs: this.#timeoutMs, messages: unsent });
    this.#recorder.onSession(this);
    this.#options.onWaiting(this);
  }

  /** Ends the connection of a session that waits for its client then; others stay connected. */
  disconnect(): void {
    if (this.#state.kind !== "connected" || !this.isLasting) return;
    const { socket } = this.#state;
    this.socketClosed(socket);
    socket.terminate();
  }

  /** Says goodbye with a close code and ends the session. */
  close(code: number): void {
    const state = this.#state;
    if (state.kind === "connected") state.outbox.flush();
    this.destroy();
    if (state.kind === "connected") state.socket.close(code);
  }

  /** Ends the session without a closing handshake: its client comes back as after a crash, and finds it elsewhere. */
  drop(): void {
    const state = this.#state;
    this.destroy();
    if (state.kind === "connected") state.socket.terminate();
  }

  /** Ends the session and all its players. */
  destroy(): void {
    if (this.#state.kind === "destroyed") return;
    if (this.#state.kind === "waiting") this.#state.timer.cancel();
    else this.#state.outbox.close();
    this.#state = { kind: "destroyed" };
    this.#recorder.onEnded(this);
    this.#statsTimer.cancel();
    this.#endings = new Promise((resolve) => this.#endPlayers(resolve));
    void this.playersGone().then(() => this.#options.memory.close());
    this.#options.onDestroyed(this);
  }

  #endPlayers(onAllEnding: () => void): void {
    for (const guildId of [...this.#players.keys()].slice(0, ENDING_BATCH)) {
      // #destroyPlayer logs its failures.
      void this.destroyPlayer(guildId);
    }
    if (this.#players.size === 0) onAllEnding();
    else this.#options.clock.after(ENDING_INTERVAL_MS, () => this.#endPlayers(onAllEnding));
  }

  /** Resolves when every player that is being destroyed has ended. */
  async playersGone(): Promise<void> {
    await this.#endings;
    await Promise.all(this.#leaving.values());
  }

  #createPlayer(guildId: string): SessionPlayer {
    if (this.#state.kind === "destroyed") throw new NodeError("player-destroyed", "the session has ended");
    if (this.playerCount >= PLAYERS_MAX) {
      throw new NodeError("players-exhausted", `a session can have ${PLAYERS_MAX} players: destroy some of them first`);
    }
    this.#options.checkPlayerCount();
    const player = this.#newPlayer(guildId, { isHeld: false });
    this.#players.set(guildId, player);
    this.#options.onEvent?.({ type: "playerCreated", sessionId: this.id, guildId });
    return player;
  }

  /**
   * Makes a player of an earlier process again. It is silent until its `begin`, and nothing is sent to the client.
   * Throws `memory-exhausted`, and there is no such player.
   */
  restorePlayer(guildId: string, snapshot: PlayerIntent): SessionPlayer {
    const player = this.#newPlayer(guildId, { isHeld: true });
    try {
      player.restore(snapshot);
    } catch (error) {
      void this.#destroyPlayer(player);
      throw error;
    }
    this.#players.set(guildId, player);
    return player;
  }

  /** Lets a restored player go on, if it is still there. Resolves as its `begin`. */
  async beginPlayer(player: SessionPlayer): Promise<void> {
    const { guildId } = player;
    if (this.#players.get(guildId) !== player) return;
    this.#options.onEvent?.({ type: "playerCreated", sessionId: this.id, guildId });
    await player.begin();
  }

  #newPlayer(guildId: string, { isHeld }: { readonly isHeld: boolean }): SessionPlayer {
    const { userId, id: sessionId, account, memory } = this;
    const onChanged = (): void => this.#recorder.onPlayer(this, guildId);
    return this.#options.createPlayer({
      ...{ guildId, userId, sessionId, account, memory, isHeld, onChanged },
      sink: this,
    });
  }

  async #destroyPlayer(player: SessionPlayer): Promise<void> {
    try {
      await player.destroy();
    } catch (error) {
      this.#logger.error("destroying a player failed", { guildId: player.guildId, error });
    }
  }

  /** Sends a buffered message on the new socket, or returns it to the queue if that one is lost already. */
  #resend(message: QueuedMessage): void {
    if (this.#state.kind === "connected") this.#state.outbox.push(message);
    else if (this.#state.kind === "waiting") this.#state.queue.push(this.#waitingMessage(message));
  }

  #connectedBy(socket: SessionSocket): Connected {
    const outbox = new Outbox({
      socket,
      bytes: this.#unsentBytes,
      onTaken: ({ number }) => {
        if (number !== undefined) this.#recorder.onMessageGone(this, number);
      },
      onFull: () => this.#dropSlowClient(socket),
    });
    return { kind: "connected", socket, outbox };
  }

  #dropSlowClient(socket: SessionSocket): void {
    this.#logger.warn("client disconnected: it does not read its messages", {
      backlogBytes: socket.bufferedAmount,
    });
    this.socketClosed(socket);
    socket.terminate();
  }

  #scheduleStats(): Timer {
    return this.#options.clock.after(STATS_INTERVAL_MS, () => {
      this.#statsTimer = this.#scheduleStats();
      this.#sendStats();
    });
  }

  #sendStats(): void {
    const { clock, readStats } = this.#options;
    this.send({ op: "stats", ...readStats(), frameStats: frameStats(this.#players.values(), clock.epochMs()) });
  }

  get #timeoutMs(): number {
    return Math.max(0, toNumber(this.#timeout)) * 1000;
  }

  /** Waits for the client from now on, with these messages for it. */
  #waitingWith({ waitMs, messages }: Waiting = { waitMs: this.#timeoutMs, messages: [] }): State {
    const queue = new ResumeQueue(this.memory, {
      onQueued: (message) => this.#recorder.onMessage(this, message),
      onDropped: ({ number }) => {
        if (number !== undefined) this.#recorder.onMessageGone(this, number);
      },
    });
    for (const message of messages) if (isRetained(message)) queue.push(this.#waitingMessage(message));
    const deadlineMs = this.#options.clock.now() + waitMs;
    return { kind: "waiting", queue, deadlineMs, timer: this.#waitUntil(deadlineMs) };
  }

  /** One that has waited before has its number. */
  #waitingMessage(message: QueuedMessage): QueuedMessage {
    const { number = this.#messageNumber + 1 } = message;
    this.#messageNumber = Math.max(this.#messageNumber, number);
    return { ...message, number };
  }

  #waitUntil(deadlineMs: number): Timer {
    const remainingMs = deadlineMs - this.#options.clock.now();
    return this.#options.clock.after(Math.min(remainingMs, TIMER_MAX_MS), () => {
      if (this.#state.kind !== "waiting") return;
      if (remainingMs <= TIMER_MAX_MS) this.destroy();
      else this.#state.timer = this.#waitUntil(deadlineMs);
    });
  }

  #queued(message: OutgoingMessage): QueuedMessage {
    return { topic: topicOf(message), text: stringifyJson(this.dialect.write(message)) };
  }

  #connectionOf({ origin }: SessionSocket, { isResumed }: Pick<SessionConnection, "isResumed">): SessionConnection {
    return { sinceEpochMs: this.#options.clock.epochMs(), isResumed, origin };
  }

  get #logger(): Logger {
    return this.#options.logger;
  }
}

/** For plugins. */
export function sessionEvent(
  type: SessionEvent["type"],
  { id: sessionId, userId, clientName }: Pick<Session, "id" | "userId" | "clientName">,
): OwnNodeEvent {
  return { type, sessionId, userId, clientName };
}

/** Messages about a past moment are not worth buffering; nor is `ready`, which each socket gets again. */
function isRetained(message: QueuedMessage): boolean {
  return message.topic !== "playerUpdate" && message.topic !== "ready";
}
