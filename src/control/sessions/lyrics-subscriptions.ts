// Lyrics as players play them (LavaLyrics, protocol-v4.md section 8.3): a subscribed player's client gets the lyrics of
// each track, and each line at its time. Main thread; one for the node.

import type { FoundLyrics } from "../../bridge/plugin-extensions.ts";
import type { OwnNodeEvent } from "../../bridge/plugin-players.ts";
import { NodeError } from "../../errors.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import { ownerOf } from "../access/account.ts";
import type { AllowedSources } from "../access/identity.ts";
import { LYRICS_GROUP, type OnMarker } from "../players/player-markers.ts";
import { type LyricsJson, lyricsToJson } from "../protocol/lyrics-json.ts";
import type { Session } from "./session.ts";
import type { SessionPlayer } from "./session-player.ts";
import type { Sessions } from "./sessions.ts";

/** Later lines are not sent at their times. */
const TIMED_LINES_MAX = 1000;
/** For the objects of a line. */
const LINE_SIZE_BYTES = 200;
/** Under which a subscription is kept beside the values of plugins, whose names do not start like this. */
const KEPT_NAME = "@lyrics";

interface LyricsSubscriptionsOptions {
  readonly sessions: Pick<Sessions, "get">;
  readonly lyrics: {
    find(
      track: Track,
      options: {
        readonly isSourceSkipped: boolean;
        readonly owner: Owner;
        readonly signal: AbortSignal;
        readonly allowed: AllowedSources | undefined;
      },
    ): Promise<FoundLyrics | undefined>;
  };
  /** The sources that the owner may use at this moment; undefined: all. */
  readonly allowedFor: (owner: Owner) => AllowedSources | undefined;
  readonly logger: Logger;
}

interface Subscription {
  readonly session: Session;
  readonly player: SessionPlayer;
  readonly isSourceSkipped: boolean;
  /** Of the lyrics of this track. */
  loading: AbortController;
  /** Of the memory of the session. */
  sizeBytes: number;
}

export class LyricsSubscriptions {
  readonly #options: LyricsSubscriptionsOptions;
  readonly #byPlayer = new Map<SessionPlayer, Subscription>();

  constructor(options: LyricsSubscriptionsOptions) {
    this.#options = options;
  }

  /** Sends the lyrics of what the player plays now, and of each track that it plays later. Replaces the last one. */
  subscribe(session: Session, player: SessionPlayer, { isSourceSkipped }: Pick<Subscription, "isSourceSkipped">): void {
    this.unsubscribe(session, player);
    session.kept.set(player.guildId, KEPT_NAME, JSON.stringify({ isSourceSkipped }));
    const subscription = this.#add(session, player, { isSourceSkipped });
    const { playing } = player.state;
    if (playing !== undefined) void this.#send(subscription, playing.track);
  }

  /** Follows the players of a restored session that were subscribed, from the next start of a track on. */
  restore(session: Session): void {
    for (const { guildId, plugin, json } of session.kept.list()) {
      const player = session.players.get(guildId);
      if (plugin !== KEPT_NAME || player === undefined || this.#byPlayer.has(player)) continue;
      const { isSourceSkipped } = JSON.parse(json) as Pick<Subscription, "isSourceSkipped">; // as `subscribe` wrote it
      this.#add(session, player, { isSourceSkipped });
    }
  }

  #add(
    session: Session,
    player: SessionPlayer,
    { isSourceSkipped }: Pick<Subscription, "isSourceSkipped">,
  ): Subscription {
    const subscription = { session, player, isSourceSkipped, loading: new AbortController(), sizeBytes: 0 };
    this.#byPlayer.set(player, subscription);
    return subscription;
  }

  /** Sends nothing more; without any effect where there is no subscription. */
  unsubscribe(session: Session, player: SessionPlayer): void {
    const subscription = this.#byPlayer.get(player);
    if (subscription === undefined) return;
    session.kept.set(player.guildId, KEPT_NAME, undefined);
    this.#byPlayer.delete(player);
    end(subscription);
    player.setMarkers(LYRICS_GROUP, [], () => undefined);
  }

  /** Follows what happens to all players. */
  onEvent(event: OwnNodeEvent): void {
    if (this.#byPlayer.size === 0) return;
    if (event.type === "playerDestroyed") this.#forget(event);
    if (event.type !== "trackStarted" && event.type !== "trackEnded") return;
    const player = this.#options.sessions.get(event.sessionId)?.players.get(event.guildId);
    const subscription = player && this.#byPlayer.get(player);
    if (subscription === undefined) return;
    end(subscription);
    if (event.type === "trackStarted") void this.#send(subscription, event.track);
  }

  #forget({ sessionId, guildId }: { readonly sessionId: string; readonly guildId: string }): void {
    for (const [player, subscription] of this.#byPlayer) {
      if (subscription.session.id !== sessionId || player.guildId !== guildId) continue;
      end(subscription);
      this.#byPlayer.delete(player);
      // Its player may have been no more than an attempt, whose values stay.
      subscription.session.kept.set(guildId, KEPT_NAME, undefined);
    }
  }

  /** Loads the lyrics, sends them or that there are none, and then each line at its time. */
  async #send(subscription: Subscription, track: Track): Promise<void> {
    const { loading } = subscription;
    const found = await this.#find(subscription, track);
    // The track is over, or the subscription.
    if (loading.signal.aborted) return;
    const lyrics = found === undefined ? undefined : lyricsToJson(found);
    const lines = lyrics?.lines ?? [];
    if (lyrics === undefined || lines.length === 0) {
      sendEvent(subscription, "LyricsNotFoundEvent", {});
      return;
    }
    sendEvent(subscription, "LyricsFoundEvent", { lyrics });
    if (this.#keep(subscription, lines)) this.#sendLines(subscription, lines);
  }

  async #find({ session, isSourceSkipped, loading }: Subscription, track: Track): Promise<FoundLyrics | undefined> {
    const owner = ownerOf(session.account, `user ${session.userId}`);
    const allowed = this.#options.allowedFor(owner);
    try {
      return await this.#options.lyrics.find(track, { isSourceSkipped, owner, allowed, signal: loading.signal });
    } catch (error) {
      // Warned of where they are looked for.
      if (!loading.signal.aborted) this.#options.logger.debug("lyrics of a subscription: looking failed", { error });
      return undefined;
    }
  }

  /** False: the session has no memory for the lines. */
  #keep(subscription: Subscription, lines: NonNullable<LyricsJson["lines"]>): boolean {
    const { session } = subscription;
    const sizeBytes = lines.reduce((sum, { line }) => sum + line.length * 2 + LINE_SIZE_BYTES, 0);
    try {
      session.memory.take(sizeBytes, "lyrics");
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      this.#options.logger.warn("lyrics of a subscription: no memory for their lines", {
        sessionId: session.id,
        error,
      });
      return false;
    }
    subscription.sizeBytes = sizeBytes;
    return true;
  }

  #sendLines(subscription: Subscription, lines: NonNullable<LyricsJson["lines"]>): void {
    const onMarker: OnMarker = (lineIndex, outcome) => {
      const line = lines[lineIndex];
      if (line === undefined) return;
      sendEvent(subscription, "LyricsLineEvent", { lineIndex, line, skipped: outcome !== "reached" });
    };
    const markers = lines.slice(0, TIMED_LINES_MAX).map(({ timestamp }, id) => ({ id, positionMs: timestamp }));
    try {
      subscription.player.setMarkers(LYRICS_GROUP, markers, onMarker);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#options.logger.warn("lyrics of a subscription: plugins have set too many markers for their lines", {
        error,
      });
    }
  }
}

/** The track that its lyrics are for is over. */
function end(subscription: Subscription): void {
  const { session, loading, sizeBytes } = subscription;
  loading.abort();
  subscription.loading = new AbortController();
  session.memory.release(sizeBytes);
  subscription.sizeBytes = 0;
}

function sendEvent({ session, player }: Subscription, type: string, members: object): void {
  session.send({ op: "extension", type, guildId: player.guildId, members });
}
