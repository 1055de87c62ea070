// Opens the sessions of an earlier process again, and lets their players go on: those that sounded first. Main thread;
// at the start.

import { NodeError } from "../../errors.ts";
import type { FilterSettings } from "../../filters/filter-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { PlayerIntent } from "../players/player-intent.ts";
import type { Dialect } from "../sessions/dialect.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionPlayer } from "../sessions/session-player.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { StoredSession } from "./read-records.ts";
import { recordKey } from "./session-records.ts";
import type { RestoredCounts } from "./state-status.ts";

/** A session waits at least this long for its client: that the node was away is not the client's fault. */
const WAIT_MS_MIN = 30_000;
/** Players that begin at once: each joins its voice channel, whose handshake takes time on the thread of others. */
const BEGINNING_MAX = 32;

export interface RestoreOptions {
  readonly sessions: Pick<Sessions, "openWaiting">;
  readonly dialectOf: (version: Dialect["version"]) => Dialect;
  /** Whether the key of that name still exists. */
  readonly isKnownOwner: (owner: string) => boolean;
  /**
   * Without those that the configuration has switched off, or that the key of that name (undefined: the password) may not
   * use; the same object when all may be used.
   */
  readonly allowedFilters: (owner: string | undefined, filters: FilterSettings) => FilterSettings;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RestoredState {
  readonly sessions: readonly Session[];
  /** In the order in which they are to begin. */
  readonly players: readonly RestoredPlayer[];
  readonly counts: RestoredCounts;
  /** Keys of the records of what could not be restored. */
  readonly lost: readonly string[];
}

/** Opens them all, waiting for their clients; their players are silent. What does not fit into memory is left out. */
export function restoreSessions(stored: readonly StoredSession[], options: RestoreOptions): RestoredState {
  // As their clients went away; those whose clients were there come last. The bounds end the first ones.
  const ordered = stored.toSorted((a, b) => waitedUntil(a) - waitedUntil(b));
  const opened = ordered.map((entry) => ({ entry, ...restoreSession(entry, options) }));
  const lost: string[] = [];
  const sessions: Session[] = [];
  const players: RestoredPlayer[] = [];
  for (const { entry, session, players: own } of opened) {
    // One that was opened later may have ended it.
    if (session?.isWaiting !== true) {
      lost.push(...entry.keys);
      continue;
    }
    sessions.push(session);
    players.push(...own);
    lost.push(...lostOf(entry, session));
  }
  const count = stored.reduce((sum, { players: all }) => sum + all.length, 0);
  if (players.length < count)
    options.logger.warn("state: not all players were restored", { restored: players.length, stored: count });
  const cutCount = players.filter(({ isCut }) => isCut).length;
  if (cutCount > 0)
    options.logger.warn("state: players were restored without filters that are not allowed any more", {
      players: cutCount,
    });
  const soundingFirst = [...players.filter((one) => one.isSounding), ...players.filter((one) => !one.isSounding)];
  return {
    sessions,
    players: soundingFirst,
    counts: { sessions: sessions.length, players: players.length },
    lost,
  };
}

function waitedUntil({ record }: StoredSession): number {
  return record.deadlineEpochMs ?? Number.POSITIVE_INFINITY;
}

/** Keys of what the session has not taken over: for lack of memory, or beyond the bounds of its queue. */
function lostOf({ players, kept, messages }: StoredSession, session: Session): readonly string[] {
  const left = new Set(session.waitingMessages.map(({ number }) => number));
  const { id } = session;
  return [
    ...players.flatMap(({ guildId }) =>
      session.players.has(guildId) ? [] : [recordKey.player(id, guildId), recordKey.track(id, guildId)],
    ),
    ...kept.flatMap(({ guildId, plugin }) =>
      session.kept.get(guildId, plugin) === undefined ? [recordKey.kept(id, guildId, plugin)] : [],
    ),
    ...messages.flatMap(({ number }) => (left.has(number) ? [] : [recordKey.message(id, number)])),
  ];
}

export interface RestoredPlayer {
  readonly session: Pick<Session, "beginPlayer">;
  readonly player: SessionPlayer;
  readonly isSounding: boolean;
  /** Some of its filters are not allowed any more. */
  readonly isCut: boolean;
}

function isSounding({ track, isPaused, voice }: PlayerIntent): boolean {
  return track !== undefined && !isPaused && voice?.isClosed === false;
}

/** With its players, as far as there is memory for them. Those that are here already stay as they are. */
function restoreSession(
  entry: StoredSession,
  options: RestoreOptions,
): { readonly session: Session | undefined; readonly players: readonly RestoredPlayer[] } {
  const session = openSession(entry, options);
  if (session?.isWaiting !== true) return { session, players: [] };
  return { session, players: restorePlayers(session, entry.players, options) };
}

/**
 * Makes players of a session again, as far as there is memory for them; silent until they begin. Those that are here
 * already stay as they are, and are not in the result.
 */
export function restorePlayers(
  session: Session,
  players: StoredSession["players"],
  options: Pick<RestoreOptions, "allowedFilters">,
): readonly RestoredPlayer[] {
  return players.flatMap((stored) => {
    if (session.players.has(stored.guildId)) return [];
    const restored = restorePlayer(session, stored, options);
    if (restored === undefined) session.kept.drop(stored.guildId);
    return restored ?? [];
  });
}

/**
 * Keeps what was kept for guilds of the session; what is here already is newer.
 * @throws NodeError "memory-exhausted"
 */
export function keepAll(session: Session, kept: StoredSession["kept"]): void {
  for (const { guildId, plugin, json } of kept) {
    const isHere = session.players.has(guildId) || session.kept.get(guildId, plugin) !== undefined;
    if (!isHere) session.kept.set(guildId, plugin, json);
  }
}

/** Undefined: there is no memory for it. */
function restorePlayer(
  session: Session,
  { guildId, intent }: StoredSession["players"][number],
  { allowedFilters }: Pick<RestoreOptions, "allowedFilters">,
): RestoredPlayer | undefined {
  const filters = allowedFilters(session.owner, intent.filters);
  try {
    const player = session.restorePlayer(guildId, { ...intent, filters });
    return { session, player, isSounding: isSounding(intent), isCut: filters !== intent.filters };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return undefined;
  }
}

function openSession({ id, record, kept, messages }: StoredSession, options: RestoreOptions): Session | undefined {
  const { clock, logger, sessions } = options;
  const owner = record.owner ?? undefined;
  if (owner !== undefined && !options.isKnownOwner(owner)) {
    logger.warn("state: a session was not restored: its key does not exist any more", { sessionId: id, key: owner });
    return undefined;
  }
  const { userId, clientName, account, timeout, resumeKey } = record;
  const client = {
    userId,
    clientName: clientName ?? undefined,
    dialect: options.dialectOf(record.version),
    owner,
    account,
  };
  const deadlineEpochMs = record.deadlineEpochMs ?? clock.epochMs() + Number(timeout) * 1000;
  const waitMs = Math.max(WAIT_MS_MIN, deadlineEpochMs - clock.epochMs());
  let session: Session | undefined;
  try {
    const settings = { resuming: true, timeout, resumeKey };
    const taken = new Map(Object.entries(record.taken ?? {}));
    session = sessions.openWaiting(id, client, { settings, left: { waitMs, messages, taken } });
    keepAll(session, kept);
    return session;
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    logger.warn("state: a session was not restored", { sessionId: id, error });
    session?.destroy();
    return undefined;
  }
}

interface PlayerStartsOptions {
  readonly clock: Clock;
  /** Aborted: no others begin. */
  readonly signal: AbortSignal;
}

/** Lets restored players go on in the order in which they come, some at a time, with other work of the thread in between. */
export class PlayerStarts {
  readonly #options: PlayerStartsOptions;
  #waiting: RestoredPlayer[] = [];
  #running: Promise<void>[] = [];

  constructor(options: PlayerStartsOptions) {
    this.#options = options;
  }

  /** Resolves when these have begun, or when `signal` is aborted. */
  async add(players: readonly RestoredPlayer[]): Promise<void> {
    this.#waiting.push(...players);
    while (this.#running.length < Math.min(BEGINNING_MAX, this.#waiting.length)) {
      const run = this.#run().finally(() => {
        this.#running = this.#running.filter((other) => other !== run);
      });
      this.#running.push(run);
    }
    await Promise.all(this.#running);
  }

  /** Those that wait are not to begin any more. */
  clear(): void {
    this.#waiting = [];
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#options.clock.after(0, resolve));
      const next = this.#waiting.shift();
      if (next === undefined || this.#options.signal.aborted) return;
      await next.session.beginPlayer(next.player);
    }
  }
}
