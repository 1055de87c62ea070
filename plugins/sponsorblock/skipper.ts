// Has players skip segments, and tells their clients of segments and chapters as Lavalink's SponsorBlock plugin does.
// Keeps nothing: categories are kept by the node, and what a marker stands for is in its note. Plugin thread.

import {
  type GuildState,
  type Json,
  type MarkerEvent,
  type NodeEvent,
  type PlayerHandle,
  type PlayingTrack,
  SourceError,
  type TrackMarker,
} from "../../src/plugin-api/plugin.ts";
import { CATEGORIES, type Category } from "./manifest.ts";
import { type Chapter, NO_PARTS, readNote, type Segment, type VideoParts } from "./segments.ts";
import { type SponsorBlockHost, VideoPartsSource, videoIdOf } from "./video-parts.ts";

/** After a seek or a jump, until the player knows its position. */
const POSITION_AFTER_MS = 300;

/** A guild of a session. */
interface Guild {
  readonly sessionId: string;
  readonly guildId: string;
}

type Playing = PlayingTrack & { readonly positionMs: number };

export class Skipper {
  readonly #host: SponsorBlockHost;
  readonly #defaults: readonly Category[];
  readonly #source: VideoPartsSource;
  /** The last load of each player that is under way: earlier ones have no effect. */
  readonly #loads = new Map<string, symbol>();

  constructor(host: SponsorBlockHost) {
    this.#host = host;
    this.#defaults = categoriesOf(host.options.categories);
    this.#source = new VideoPartsSource(host);
  }

  async onEvent(event: NodeEvent): Promise<void> {
    if (event.type === "trackStarted" || event.type === "trackMirrored") await this.#follow(event, event.type);
    else if (event.type === "markerPassed") await this.#onMarker(event);
  }

  /** Undefined: the client has set none. */
  async categoriesOf(guild: Guild): Promise<readonly Category[] | undefined> {
    return keptCategories(await this.#player(guild).state());
  }

  /** Takes effect on what plays, too. Undefined: the defaults from now on. False: there is no such session. */
  async setCategories(guild: Guild, categories: readonly Category[] | undefined): Promise<boolean> {
    if (!(await this.#player(guild).keep(categories))) return false;
    this.#follow(guild, "categories").catch((error: unknown) => {
      this.#host.log.error("segments could not be set: unexpected error", { error });
    });
    return true;
  }

  /** Looks for the segments of what plays, and has them skipped. */
  async #follow(guild: Guild, reason: "trackStarted" | "trackMirrored" | "categories"): Promise<void> {
    const key = `${guild.sessionId} ${guild.guildId}`;
    const load = Symbol(key);
    this.#loads.set(key, load);
    try {
      const player = this.#player(guild);
      const before = await this.#stateOf(player);
      if (before === undefined) return;
      const parts = await this.#find(before);
      // A new track has no markers yet.
      if (parts === NO_PARTS && reason === "trackStarted") return;
      const now = await this.#stateOf(player);
      const isSame = now?.playing.playId === before.playing.playId && now.videoId === before.videoId;
      if (isSame && this.#loads.get(key) === load) await this.#set(player, now, parts);
    } finally {
      if (this.#loads.get(key) === load) this.#loads.delete(key);
    }
  }

  async #stateOf(player: PlayerHandle) {
    const state = await player.state();
    const playing = state?.player?.playing;
    if (playing === undefined) return undefined;
    return { playing, videoId: videoIdOf(playing), categories: keptCategories(state) ?? this.#defaults };
  }

  async #find({ videoId, categories }: Pick<Found, "videoId" | "categories">): Promise<VideoParts> {
    if (videoId === undefined || categories.length === 0) return NO_PARTS;
    try {
      return await this.#source.find(videoId);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      this.#host.log.debug("segments of a video could not be loaded", { videoId, reason: error.message });
      return NO_PARTS;
    }
  }

  async #set(player: PlayerHandle, { playing, categories }: Found, parts: VideoParts): Promise<void> {
    const segments = parts.segments.filter(({ category }) => categories.includes(category));
    const chapters = categories.length === 0 ? [] : parts.chapters;
    const markers = markersOf({ segments, chapters }, playing.positionMs);
    if (!(await this.#setMarkers(player, playing.playId, markers))) return;
    if (segments.length > 0) this.#send(player, "SegmentsLoaded", { segments: segments.map(segmentJson) });
    if (chapters.length > 0) this.#send(player, "ChaptersLoaded", { chapters: chapters.map(chapterJson) });
  }

  async #setMarkers(player: PlayerHandle, playId: number, markers: readonly TrackMarker[]): Promise<boolean> {
    try {
      return (await player.setMarkers(playId, markers)) !== undefined;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "memory-exhausted")) throw error;
      this.#host.log.warn("segments could not be set", { reason: error.message });
      return false;
    }
  }

  async #onMarker(event: MarkerEvent): Promise<void> {
    const { note, outcome, ...guild } = event;
    const part = readNote(note);
    if (part === undefined) return;
    if (part.segment !== undefined) {
      const isSkipped = outcome === "reached" || (outcome === "late" && part.segment.end > part.fromMs);
      if (isSkipped) this.#send(guild, "SegmentSkipped", { segment: segmentJson(part.segment) });
      return;
    }
    const { chapter } = part;
    // A seek passes over chapters of which nothing is heard.
    const isHeard = outcome === "reached" || (await this.#isHeard(event, chapter));
    if (isHeard) this.#send(guild, "ChapterStarted", { chapter: chapterJson(chapter) });
  }

  async #isHeard({ playId, epochMs, ...guild }: MarkerEvent, { start, end }: Chapter): Promise<boolean> {
    const { clock, signal } = this.#host;
    const waitMs = Math.max(0, epochMs - clock.now()) + POSITION_AFTER_MS;
    await clock.sleep(waitMs, signal).catch(() => undefined);
    if (signal.aborted) return false;
    const playing = (await this.#player(guild).state())?.player?.playing;
    return playing?.playId === playId && playing.positionMs >= start && playing.positionMs < end;
  }

  #player({ sessionId, guildId }: Guild): PlayerHandle {
    return this.#host.player(sessionId, guildId);
  }

  #send({ sessionId, guildId }: Guild, type: string, members: Readonly<Record<string, Json>>): void {
    this.#host.sendEvent({ sessionId, guildId, type, members });
  }
}

interface Found {
  readonly playing: Playing;
  /** Undefined: what is heard is no video of YouTube. */
  readonly videoId: string | undefined;
  readonly categories: readonly Category[];
}

/** Each once. */
export function categoriesOf(names: readonly string[]): readonly Category[] {
  return CATEGORIES.filter((category) => names.includes(category));
}

function keptCategories(state: GuildState | undefined): readonly Category[] | undefined {
  const kept = state?.kept;
  // Written by `setCategories`.
  return Array.isArray(kept) ? (kept as readonly Category[]) : undefined;
}

function markersOf({ segments, chapters }: VideoParts, fromMs: number): TrackMarker[] {
  return [
    ...segments.map((segment) => {
      const note = { segment: segmentJson(segment), fromMs };
      return { positionMs: segment.start, skipToMs: segment.end, note };
    }),
    ...chapters.map(({ name, start, end }) => ({ positionMs: start, note: { chapter: { name, start, end } } })),
  ];
}

function segmentJson({ category, start, end }: Segment) {
  return { category, start, end };
}

function chapterJson({ name, start, end }: Chapter) {
  return { name, start, end, duration: end - start };
}
