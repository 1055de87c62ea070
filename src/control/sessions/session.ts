// One client: its players, and the socket to it or, while it is away, the messages buffered for it (protocol-v4.md
// section 4.7). It begins with a socket, or without one as if that had just been lost. Main thread; made by Sessions,
// filled by players through `send`.
//
//                                without a socket
//                                          |
//                                          v
//   connected --socket lost, resuming--> waiting --timeout--> destroyed
//       ^  \                              | | ^                  ^
//       |   `--socket lost, not resuming--|-|-|------------------|
//       `-------------resume--------------' v |                  |
//                                         remote ----------------'
//
// In a cluster it is remote on machines that have players of it while its client belongs to another one: what it sends
// goes to that machine.

import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
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
import { countFrames, type FrameCounts, frameStats, readFrameCounts } from "./frame-stats.ts";
import type { KeptValues } from "./kept-values.ts";
import type { SessionMemory } from "./memory-shares.ts";
import type { MessageRelay, RelayedMessage } from "./message-relay.ts";
import { Outbox } from "./outbox.ts";
import { type QueuedMessage, ResumeQueue, topicOf } from "./resume-queue.ts";
import type { CreatePlayer, SessionPlayer } from "./session-player.ts";
import { SessionPlayers } from "./session-players.ts";
import { NO_RECORDER, type SessionRecorder } from "./session-recorder.ts";
import type { ClientOrigin, SessionSocket } from "./session-socket.ts";

const STATS_INTERVAL_MS = 60_000;
const TIMEOUT_DEFAULT_S = 60;
/** The topic of the frames that another machine has counted, which are not for the client. */
const FRAMES = "frames";
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
  /** Its client is at another machine. Default: it is here, or waited for here. */
  readonly relay?: MessageRelay | undefined;
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
  /** See `Session.taken`. Default: nothing was. */
  readonly taken?: ReadonlyMap<string, number> | undefined;
}

/** The settings of a client; `undefined` leaves one unchanged. */
export interface SessionSettings {
  readonly resuming?: boolean | undefined;
  /** Seconds. */
  readonly timeout?: JsonInteger | undefined;
  /** The name under which a v3 client resumes; null for none. */
  readonly resumeKey?: string | null | undefined;
}

type Waiting = Pick<LeftOver, "waitMs" | "taken"> & { readonly messages: readonly QueuedMessage[] };

interface Connected {
  readonly kind: "connected";
  readonly socket: SessionSocket;
  readonly outbox: Outbox;
}

type State =
  | Connected
  | { readonly kind: "waiting"; readonly queue: ResumeQueue; readonly deadlineMs: number; timer: Timer }
  | { readonly kind: "remote"; readonly relay: MessageRelay }
  | { readonly kind: "destroyed" };

/**
 * Connected, waiting for its client, remote, or destroyed, which is final. Sends never wait: a client that does not read
 * is cut off.
 */
export class Session implements EventSink {
  readonly id: string;
  readonly userId: string;
  readonly clientName: string | undefined;
  readonly dialect: Dialect;
  readonly owner: string | undefined;
  readonly account: string;
  readonly #options: SessionOptions;
  readonly #players: SessionPlayers;
  #isResuming = false;
  #resumeKey: string | null = null;
  /** Seconds, as the client set it, so possibly negative or huge. */
  #timeout: JsonInteger = TIMEOUT_DEFAULT_S;
  #statsTimer: Timer;
  /** Not for long: the constructor gives it another one. */
  #state: State = { kind: "destroyed" };
  #connection: SessionConnection | undefined;
  /** Of the messages that the operating system has not taken. */
  readonly #unsentBytes: BufferedBytes;
  readonly #recorder: SessionRecorder;
  #messageNumber = 0;
  /** The number of the last message taken from each machine that has players of it. */
  readonly #taken = new Map<string, number>();
  /** What each of them has counted last. */
  readonly #otherFrames = new Map<string, FrameCounts>();

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
    const { id: sessionId, userId, account } = options;
    this.#players = new SessionPlayers({
      ...options,
      ...{ sessionId, userId, account, sink: this },
      onChanged: (guildId) => this.#recorder.onPlayer(this, guildId),
      onKept: (guildId, plugin) => this.#recorder.onKept(this, guildId, plugin),
    });
    this.#unsentBytes = new BufferedBytes(options.memory.buffered);
    this.#set(options.settings ?? {});
    if (options.relay !== undefined) this.#state = { kind: "remote", relay: options.relay };
    else if (socket !== undefined) this.#state = this.#connectedBy(socket);
    else this.#wait(options.left);
    this.#statsTimer = this.#scheduleStats();
    if (this.isRemote) this.#recorder.onSession(this);
    if (socket === undefined) return;
    this.#connection = this.#connectionOf(socket, { isResumed: false });
    this.send({ op: "ready", resumed: false, sessionId: this.id });
    this.#sendStats();
  }

  get isConnected(): boolean {
    return this.#state.kind === "connected";
  }

  /** Its client is away and may come back. */
  get isWaiting(): boolean {
    return this.#state.kind === "waiting";
  }

  /** Its client is at another machine, which has the session; only some of its players are here. */
  get isRemote(): boolean {
    return this.#state.kind === "remote";
  }

  /** The id of this machine while the session is remote: messages are stored under it. */
  get relayedFrom(): string | undefined {
    return this.#state.kind === "remote" ? this.#state.relay.machineId : undefined;
  }

  /** The number of the last message taken from each machine that has players of it. */
  get taken(): ReadonlyMap<string, number> {
    return this.#taken;
  }

  /** Undefined: it is of an earlier process or remote, and its client has not come back. */
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

  /** It would outlive this machine, which makes it worth storing: it would wait for its client, or its client is elsewhere. */
  get isLasting(): boolean {
    return (this.#isResuming && this.#timeoutMs > 0 && this.#state.kind !== "destroyed") || this.isRemote;
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

  /** All of its players here, including those being destroyed. */
  get playerCount(): number {
    return this.#players.count;
  }

  /** Those that are here, by guild id, without those being destroyed. */
  get players(): ReadonlyMap<string, SessionPlayer> {
    return this.#players.all;
  }

  /** See `SessionPlayers.has`. */
  hasGuild(guildId: string): boolean {
    return this.#players.has(guildId);
  }

  /** What plugins keep for the guilds whose players are here. */
  get kept(): KeptValues {
    return this.#players.kept;
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
  updatePlayer(
    guildId: string,
    update: PlayerUpdate,
    options: { readonly isReplacing: boolean },
  ): Promise<SessionPlayer> {
    return this.#players.update(guildId, update, options);
  }

  /** Resolves when the guild's player that is being destroyed has ended; immediately if there is none. */
  untilGone(guildId: string): Promise<void> {
    return this.#players.untilGone(guildId);
  }

  /** Resolves when the player's last events have been sent; immediately if there is none. */
  destroyPlayer(guildId: string): Promise<void> {
    return this.#players.destroy(guildId);
  }

  /** See `SessionPlayers.release`. */
  releasePlayer(guildId: string): Promise<void> {
    return this.#players.release(guildId);
  }

  /** See `SessionPlayers.restore`. */
  restorePlayer(guildId: string, snapshot: PlayerIntent): SessionPlayer {
    return this.#players.restore(guildId, snapshot);
  }

  /** See `SessionPlayers.begin`. */
  beginPlayer(player: SessionPlayer): Promise<void> {
    return this.#players.begin(player);
  }

  send(message: OutgoingMessage): void {
    const state = this.#state;
    const isEvent = message.op === "event" || message.op === "extension";
    if (state.kind === "destroyed") return;
    if (state.kind === "remote") {
      // What is of the whole session, its machine sends.
      if (isEvent) this.#relay(state.relay, this.#queued(message));
      else if (message.op === "playerUpdate") state.relay.push(this.#queued(message));
      return;
    }
    // Not even written: nobody will read it.
    if (state.kind === "waiting" && message.op === "playerUpdate") return;
    this.#deliver(this.#queued(message), { isEvent });
  }

  /** Takes a message for its client from another machine, in order; one that came before has no effect. */
  receive({ machineId, number, topic, text }: RelayedMessage): void {
    if (topic === FRAMES) {
      const frames = readFrameCounts(text);
      if (frames !== undefined) this.#otherFrames.set(machineId, frames);
      return;
    }
    if (number === undefined) {
      if (this.isConnected) this.#deliver({ topic, text }, { isEvent: false });
      return;
    }
    if (this.#take(machineId, number)) this.#deliver({ topic, text, from: { machineId, number } }, { isEvent: true });
  }

  /** The machine of its client has taken the relayed message of that number, or it was dropped. Only while remote. */
  relayed(number: number): void {
    if (this.isRemote) this.#recorder.onMessageGone(this, number);
  }

  #relay(relay: MessageRelay, message: QueuedMessage): void {
    const numbered = { ...message, number: relay.nextNumber() };
    this.#recorder.onMessage(this, numbered);
    relay.push(numbered, this.#recorder.written());
  }

  #deliver(message: QueuedMessage, { isEvent }: { readonly isEvent: boolean }): void {
    const state = this.#state;
    if (state.kind === "waiting") state.queue.push(this.#waitingMessage(message));
    if (state.kind !== "connected") return;
    // Each is numbered, stored or not: in this order they wait for the client if its socket is lost.
    const numbered = isEvent ? this.#waitingMessage(message) : message;
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
    this.sendPlayerUpdates();
    this.#options.onEvent?.(sessionEvent("sessionResumed", this));
  }

  /** Sends the client where each player is that is here. */
  sendPlayerUpdates(): void {
    for (const player of this.players.values()) player.sendPlayerUpdate();
  }

  /** Its client is at another machine from now on, which has what waits for it. Only while waiting. */
  becomeRemote(relay: MessageRelay): void {
    if (this.#state.kind !== "waiting") throw new Error("only a waiting session can become remote");
    const { queue, timer } = this.#state;
    timer.cancel();
    this.#state = { kind: "remote", relay };
    queue.drain();
  }

  /**
   * Waits for its client from now on, which was at another machine before, with what that has left and then what it had
   * not taken. Only while remote.
   */
  becomeWaiting(settings: SessionSettings, left: LeftOver): void {
    if (this.#state.kind !== "remote") throw new Error("only a remote session can begin to wait");
    const { relay } = this.#state;
    const untaken = relay.close();
    for (const { number } of untaken) if (number !== undefined) this.#recorder.onMessageGone(this, number);
    this.#set(settings);
    this.#wait(left);
    // The machine that had it may have taken some without being heard, and the next one may be asked late to take some.
    for (const { topic, text, number } of untaken) this.receive({ machineId: relay.machineId, topic, text, number });
  }

  /** The socket is lost, for whatever reason. Waits for the client if it may resume, otherwise ends the session. */
  socketClosed(socket: SessionSocket): void {
    if (this.#state.kind !== "connected" || this.#state.socket !== socket) return;
    const unsent = this.#state.outbox.close();
    if (!this.#isResuming || this.#timeoutMs === 0) {
      this.destroy();
      return;
    }
    this.#wait({ waitMs: this.#timeoutMs, messages: unsent });
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
    else if (this.#state.kind === "remote") this.#state.relay.close();
    else this.#state.outbox.close();
    this.#state = { kind: "destroyed" };
    this.#recorder.onEnded(this);
    this.#statsTimer.cancel();
    this.#players.end();
    void this.playersGone().then(() => this.#options.memory.close());
    this.#options.onDestroyed(this);
  }

  /** Resolves when every player that is being destroyed has ended. */
  playersGone(): Promise<void> {
    return this.#players.gone();
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
    const frames = countFrames(this.players.values(), clock.epochMs());
    if (this.#state.kind === "remote") this.#state.relay.push({ topic: FRAMES, text: JSON.stringify(frames) });
    else this.send({ op: "stats", ...readStats(), frameStats: frameStats(frames, this.#otherFrames.values()) });
  }

  get #timeoutMs(): number {
    return Math.max(0, toNumber(this.#timeout)) * 1000;
  }

  /** Waits for the client from now on, with these messages for it. */
  #wait({ waitMs, messages, taken = new Map() }: Waiting = { waitMs: this.#timeoutMs, messages: [] }): void {
    for (const [machineId, number] of taken) this.#take(machineId, number);
    const queue = new ResumeQueue(this.memory, {
      onQueued: (message) => this.#recorder.onMessage(this, message),
      onDropped: ({ number }) => {
        if (number !== undefined) this.#recorder.onMessageGone(this, number);
      },
    });
    const deadlineMs = this.#options.clock.now() + waitMs;
    // First: how a message is stored depends on it.
    this.#state = { kind: "waiting", queue, deadlineMs, timer: this.#waitUntil(deadlineMs) };
    for (const message of messages) if (isRetained(message)) queue.push(this.#waitingMessage(this.#known(message)));
  }

  /** It was taken from another machine before, which may not know that. */
  #known(message: QueuedMessage): QueuedMessage {
    const { from } = message;
    if (from !== undefined) this.#take(from.machineId, from.number);
    return message;
  }

  /** False: it was taken before. */
  #take(machineId: string, number: number): boolean {
    const isNew = number > (this.#taken.get(machineId) ?? 0);
    if (isNew) this.#taken.set(machineId, number);
    return isNew;
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
