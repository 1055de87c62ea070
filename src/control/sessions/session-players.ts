// The players of one session that are on this machine, and the values that plugins keep for its guilds. Players end in
// batches, and a guild gets a new one only after the one before has ended. Main thread; each session has one.

import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { PlayerIntent } from "../players/player-intent.ts";
import type { PlayerOwner } from "../players/player-owner.ts";
import type { PlayerUpdate } from "../players/player-update.ts";
import { KeptValues } from "./kept-values.ts";
import type { SessionMemory } from "./memory-shares.ts";
import type { CreatePlayer, SessionPlayer } from "./session-player.ts";

/** Players of one session; all sessions of the node together have a bound too. */
const PLAYERS_MAX = 10_000;
/**
 * Players that end together end in batches: each has a connection to close, and thousands at once would interrupt those
 * of other clients. Four thousand have ended after a second.
 */
const ENDING_BATCH = 20;
const ENDING_INTERVAL_MS = 5;

interface SessionPlayersOptions extends Pick<PlayerOwner, "sessionId" | "userId" | "account" | "sink"> {
  readonly memory: SessionMemory;
  readonly createPlayer: CreatePlayer;
  /** Throws `players-exhausted` when the node has as many players as it may have, `key-limit` when its key has. */
  readonly checkPlayerCount: () => void;
  /** A player was created, has changed, or is being destroyed. */
  readonly onChanged: (guildId: string) => void;
  /** A value that a plugin keeps for a guild was set or removed. */
  readonly onKept: (guildId: string, plugin: string) => void;
  /** A player was created or has been destroyed. */
  readonly onEvent?: ((event: OwnNodeEvent) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SessionPlayers {
  /** What plugins keep for the guilds. */
  readonly kept: KeptValues;
  readonly #options: SessionPlayersOptions;
  readonly #players = new Map<string, SessionPlayer>();
  /** Players being destroyed: their guild gets a new one only afterwards. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** Go on elsewhere: nobody hears of their end here. */
  readonly #released = new WeakSet<SessionPlayer>();
  #endings: Promise<void> = Promise.resolve();
  #isEnded = false;

  constructor(options: SessionPlayersOptions) {
    this.#options = options;
    this.kept = new KeptValues(options.memory.stored, options.onKept);
  }

  /** All of them, including those being destroyed. */
  get count(): number {
    return this.#players.size + this.#leaving.size;
  }

  /** By guild id, without those being destroyed. */
  get all(): ReadonlyMap<string, SessionPlayer> {
    return this.#players;
  }

  /** Whether there is a player of the guild, be it that it is being destroyed, or anything is kept for it. */
  has(guildId: string): boolean {
    return this.#players.has(guildId) || this.#leaving.has(guildId) || this.kept.has(guildId);
  }

  /** As `Session.updatePlayer`. */
  async update(
    guildId: string,
    update: PlayerUpdate,
    options: { readonly isReplacing: boolean },
  ): Promise<SessionPlayer> {
    while (this.#leaving.has(guildId)) await this.untilGone(guildId);
    // Nothing may come between finding the player and asking it: an unused one could be destroyed there.
    const player = this.#players.get(guildId) ?? this.#create(guildId);
    try {
      await player.update(update, options);
    } catch (error) {
      if (player.isUnused && this.#players.get(guildId) === player) void this.destroy(guildId);
      throw error;
    }
    return player;
  }

  /** Resolves when the guild's player that is being destroyed has ended; immediately if there is none. */
  async untilGone(guildId: string): Promise<void> {
    await this.#leaving.get(guildId);
  }

  /** Resolves when the player's last events have been sent; immediately if there is none. */
  async destroy(guildId: string): Promise<void> {
    const player = this.#players.get(guildId);
    if (player === undefined) return this.#leaving.get(guildId);
    this.#players.delete(guildId);
    this.#options.onChanged(guildId);
    // A client may set values before its first update, which may fail.
    if (!player.isUnused) this.kept.drop(guildId);
    return this.#leave(player);
  }

  /**
   * Ends a guild's player, if there is one, and drops what is kept for it, without a word to the client or to what is
   * stored: it goes on elsewhere. Resolves when it has ended. Call it when none is being destroyed.
   */
  async release(guildId: string): Promise<void> {
    this.kept.release(guildId);
    const player = this.#players.get(guildId);
    if (player === undefined) return;
    this.#players.delete(guildId);
    this.#released.add(player);
    await this.#leave(player);
  }

  #leave(player: SessionPlayer): Promise<void> {
    const { guildId } = player;
    // A restored one may be there beside the one before it, which has not ended yet.
    const before = this.#leaving.get(guildId);
    const leaving = Promise.all([before, this.#destroy(player)]).then(() => {
      if (this.#leaving.get(guildId) === leaving) this.#leaving.delete(guildId);
      this.#options.onEvent?.({ type: "playerDestroyed", sessionId: this.#options.sessionId, guildId });
    });
    this.#leaving.set(guildId, leaving);
    return leaving;
  }

  /**
   * Makes a player of an earlier process, or of another machine, again. It is silent until its `begin`, and nothing is
   * sent to the client. Throws `memory-exhausted` or `player-destroyed`, and there is no such player.
   */
  restore(guildId: string, snapshot: PlayerIntent): SessionPlayer {
    this.#refuseEnded();
    const player = this.#new(guildId, { isHeld: true });
    try {
      player.restore(snapshot);
    } catch (error) {
      void this.#destroy(player);
      throw error;
    }
    this.#players.set(guildId, player);
    return player;
  }

  /** Lets a restored player go on, if it is still there, after the one before it. Resolves as its `begin`. */
  async begin(player: SessionPlayer): Promise<void> {
    const { guildId } = player;
    if (this.#leaving.has(guildId)) await this.untilGone(guildId);
    if (this.#players.get(guildId) !== player) return;
    this.#options.onEvent?.({ type: "playerCreated", sessionId: this.#options.sessionId, guildId });
    await player.begin();
  }

  /** Ends all of them; there are no new ones. */
  end(): void {
    this.#isEnded = true;
    this.#endings = new Promise((resolve) => this.#endBatch(resolve));
  }

  /** Resolves when every player that is being destroyed has ended. */
  async gone(): Promise<void> {
    await this.#endings;
    await Promise.all(this.#leaving.values());
  }

  #endBatch(onAllEnding: () => void): void {
    for (const guildId of [...this.#players.keys()].slice(0, ENDING_BATCH)) {
      // #destroy logs its failures.
      void this.destroy(guildId);
    }
    if (this.#players.size === 0) onAllEnding();
    else this.#options.clock.after(ENDING_INTERVAL_MS, () => this.#endBatch(onAllEnding));
  }

  #create(guildId: string): SessionPlayer {
    this.#refuseEnded();
    if (this.count >= PLAYERS_MAX) {
      throw new NodeError("players-exhausted", `a session can have ${PLAYERS_MAX} players: destroy some of them first`);
    }
    this.#options.checkPlayerCount();
    const player = this.#new(guildId, { isHeld: false });
    this.#players.set(guildId, player);
    this.#options.onEvent?.({ type: "playerCreated", sessionId: this.#options.sessionId, guildId });
    return player;
  }

  #refuseEnded(): void {
    if (this.#isEnded) throw new NodeError("player-destroyed", "the session has ended");
  }

  #new(guildId: string, { isHeld }: { readonly isHeld: boolean }): SessionPlayer {
    const { sessionId, userId, account, sink, memory, onChanged, createPlayer } = this.#options;
    let player: SessionPlayer | undefined;
    const isReleased = (): boolean => player !== undefined && this.#released.has(player);
    player = createPlayer({
      ...{ guildId, userId, sessionId, account, isHeld },
      sink: {
        send: (message) => {
          if (!isReleased()) sink.send(message);
        },
      },
      memory: memory.stored,
      onChanged: () => {
        if (!isReleased()) onChanged(guildId);
      },
    });
    return player;
  }

  async #destroy(player: SessionPlayer): Promise<void> {
    try {
      await player.destroy();
    } catch (error) {
      this.#options.logger.error("destroying a player failed", { guildId: player.guildId, error });
    }
  }
}
