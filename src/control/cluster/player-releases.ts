// Ends players here that go on at another machine, with all that is stored of them as it was last. Main thread; one for the
// node, asked by the gateway of their session, be it this machine or another one.

import type { ClusterStore } from "../../cluster/cluster-store.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionPlayer } from "../sessions/session-player.ts";
import type { NodeState } from "../state/node-state.ts";
import { away } from "./owner-records.ts";

interface PlayerReleasesOptions {
  readonly store: Pick<ClusterStore, "forget">;
  readonly state: Pick<NodeState, "releasePlayers" | "forget" | "flushed" | "isStoring">;
}

export class PlayerReleases {
  readonly #options: PlayerReleasesOptions;
  #count = 0;

  constructor(options: PlayerReleasesOptions) {
    this.#options = options;
  }

  /** Players that were released since the process started. */
  get count(): number {
    return this.#count;
  }

  /**
   * Ends the players of these guilds that are meant in this moment, and drops what is kept for the guilds, without a word.
   * Resolves with the guilds of which there is nothing here any more, all of it stored. Undefined: there is no such session.
   * @throws NodeError "cluster-away" when there is nothing of some, and that is not stored
   */
  async release(
    session: Session | undefined,
    guildIds: readonly string[],
    isMeant: (guildId: string, player: SessionPlayer | undefined) => boolean,
  ): Promise<readonly string[]> {
    const { state, store } = this.#options;
    await Promise.all(guildIds.map((guildId) => session?.untilGone(guildId)));
    const { isStoring } = state;
    const released = guildIds.filter((guildId) => {
      const isHere = session?.hasGuild(guildId) === true;
      return isMeant(guildId, session?.players.get(guildId)) && (isStoring || !isHere);
    });
    const players = released.filter((guildId) => session?.players.has(guildId));
    const keys = session === undefined ? [] : state.releasePlayers(session, released);
    await Promise.all([...released.map((guildId) => session?.releasePlayer(guildId)), state.flushed()]);
    this.#count += players.length;
    if (released.length > 0 && !state.isStoring) throw away("where players were could not be stored");
    state.forget(keys);
    store.forget(keys);
    return released;
  }
}
