// Carries out what plugins ask of players: their state, markers, changes, kept values, and events for clients. Main
// thread; one for the node.

import type { PlayerWish, SentEvent, WishResults } from "../../bridge/plugin-players.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import { jsonSizeBytes } from "../../lib/json.ts";
import type { Json, PlayerChange, TrackMarker } from "../../plugin-api/plugin.ts";
import type { InstalledPlugin } from "../../plugin-host/manage/installed-plugin.ts";
import type { PluginEvents } from "../../plugin-host/manage/plugin-events.ts";
import type { PlayerThreadEvent, PluginThread } from "../../plugin-host/manage/plugin-thread.ts";
import { ownerOf } from "../access/account.ts";
import type { OnMarker } from "../players/player-markers.ts";
import type { PlayerUpdate } from "../players/player-update.ts";
import type { Session } from "./session.ts";
import type { SessionPlayer } from "./session-player.ts";
import type { Sessions } from "./sessions.ts";

/** For the objects of a marker. */
const MARKER_SIZE_BYTES = 200;

interface PluginPlayersOptions {
  readonly sessions: Pick<Sessions, "get">;
  readonly events: Pick<PluginEvents, "tellOne">;
}

type Wish<Kind extends PlayerWish["kind"]> = Extract<PlayerWish, { readonly kind: Kind }>;

export class PluginPlayers {
  readonly #options: PluginPlayersOptions;
  /** The memory of the markers that are set, by group. */
  readonly #held = new WeakMap<SessionPlayer, Map<string, { readonly sizeBytes: number }>>();

  constructor(options: PluginPlayersOptions) {
    this.#options = options;
  }

  /** See Plugins.onPlayerEvent. */
  onPlayerEvent(event: PlayerThreadEvent, { plugin, thread }: { plugin: InstalledPlugin; thread: PluginThread }): void {
    if (event.type === "sendEvent") this.#sendEvent(event.event);
    else void this.#answer(event.askId, event.wish, { plugin, thread });
  }

  /** Sessions whose client is away have it later. */
  #sendEvent({ sessionId, guildId, eventType: type, members }: SentEvent): void {
    this.#options.sessions.get(sessionId)?.send({ op: "extension", guildId, type, members });
  }

  async #answer(
    askId: number,
    wish: PlayerWish,
    { plugin, thread }: { plugin: InstalledPlugin; thread: PluginThread },
  ): Promise<void> {
    try {
      thread.send({ type: "wishDone", askId, result: await this.#carryOut(wish, plugin) });
    } catch (error) {
      thread.send({ type: "wishFailed", askId, error: toWireError(error) });
    }
  }

  async #carryOut(wish: PlayerWish, plugin: InstalledPlugin): Promise<WishResults[keyof WishResults]> {
    const session = this.#options.sessions.get(wish.sessionId);
    const player = session?.players.get(wish.guildId);
    switch (wish.kind) {
      case "state": {
        const json = session?.kept.get(wish.guildId, plugin.name);
        const kept = json === undefined ? undefined : (JSON.parse(json) as Json); // as it was written
        return session && { kept, player: player?.state };
      }
      case "keep":
        session?.kept.set(wish.guildId, plugin.name, wish.json);
        return session !== undefined;
      case "setMarkers":
        return session && player && this.#setMarkers(wish, plugin, { session, player });
      case "update":
        return player !== undefined && update(player, wish.change);
    }
  }

  /** The position at which they were set; undefined: another track plays. Their notes are memory of the session. */
  #setMarkers(
    { sessionId, guildId, playId, markers }: Wish<"setMarkers">,
    plugin: InstalledPlugin,
    { session, player }: { readonly session: Session; readonly player: SessionPlayer },
  ): number | undefined {
    const { playing } = player.state;
    if (playing?.playId !== playId) return undefined;
    const owner = ownerOf(session.account, `user ${session.userId}`);
    const onMarker: OnMarker = (id, outcome, epochMs) => {
      const note = markers[id]?.note ?? null;
      const event = { type: "markerPassed", sessionId, guildId, playId, note, outcome, epochMs } as const;
      this.#options.events.tellOne(plugin, event, owner);
    };
    const requests = markers.map(({ positionMs, skipToMs }: TrackMarker, id) => ({ id, positionMs, skipToMs }));
    const sizeBytes = markers.reduce((sum, { note = null }) => sum + jsonSizeBytes(note) + MARKER_SIZE_BYTES, 0);
    const group = `plugin ${plugin.name}`;
    this.#replace(group, sizeBytes, { session, player }, (onRemoved) => {
      player.setMarkers(group, requests, onMarker, { onRemoved });
    });
    return playing.positionMs;
  }

  /** Takes only the memory that the new group needs beyond that of the one before. */
  #replace(
    group: string,
    sizeBytes: number,
    { session: { memory }, player }: { readonly session: Session; readonly player: SessionPlayer },
    set: (onRemoved: () => void) => void,
  ): void {
    const held = this.#held.get(player) ?? new Map<string, { readonly sizeBytes: number }>();
    this.#held.set(player, held);
    const before = held.get(group);
    const own = { sizeBytes };
    const moreBytes = sizeBytes - (before?.sizeBytes ?? 0);
    if (moreBytes > 0) memory.take(moreBytes, "a plugin's markers");
    held.set(group, own);
    try {
      set(() => {
        if (held.get(group) !== own) return; // what has replaced it has its memory
        held.delete(group);
        memory.release(sizeBytes);
      });
    } catch (error) {
      if (before === undefined) held.delete(group);
      else held.set(group, before);
      if (moreBytes > 0) memory.release(moreBytes);
      if (error instanceof RangeError) throw new NodeError("plugin-failed", error.message);
      throw error;
    }
    if (moreBytes < 0) memory.release(-moreBytes);
  }
}

async function update(player: SessionPlayer, change: PlayerChange): Promise<boolean> {
  const { playId, positionMs, isPaused, volume, isStopped } = change;
  const isMeant = (): boolean => playId === undefined || player.state.playing?.playId === playId;
  if (!isMeant()) return false;
  const whole: PlayerUpdate = {
    trackChange: isStopped === true ? { kind: "stop" } : undefined,
    positionMs,
    isPaused,
    volume,
    userData: undefined,
    endTimeMs: undefined,
    filters: undefined,
    voice: undefined,
  };
  await player.update(whole, { isReplacing: true, playId });
  return isStopped === true || isMeant();
}
