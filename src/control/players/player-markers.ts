// The timed markers of a player's track: held here, so that every worker that plays the track gets them, and reported
// to those who have set them, each passing once. Main thread; one per player. Described in docs/internals/markers.md.

import { MARKERS_MAX, type Marker, type MarkerOutcome, type PassedMarker } from "../../bridge/markers.ts";
import type { Logger } from "../../log/log.ts";

/** Its markers are of the recording, wherever that plays from. */
export const LYRICS_GROUP = "lyrics";
/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

/** One position in a track. */
export interface MarkerRequest {
  /** Unique in its group; the caller's own. */
  readonly id: number;
  /** Milliseconds of track time. */
  readonly positionMs: number;
  /** Playback jumps there when it reaches the marker. Default, and where it is not behind `positionMs`: it plays on. */
  readonly skipToMs?: number | undefined;
}

/** Receives that a marker was passed. `epochMs`: see PassedMarker. Must not throw. */
export type OnMarker = (id: number, outcome: MarkerOutcome, epochMs: number) => void;

/** `onRemoved`: the track has ended or plays from a mirror, or the group was replaced. Must not throw. */
export interface GroupOptions {
  readonly onRemoved?: (() => void) | undefined;
}

interface Group extends GroupOptions {
  readonly onMarker: OnMarker;
  readonly markers: readonly HeldMarker[];
}

/** `id`: as the worker knows it, unique in the player. */
type HeldMarker = Omit<Marker, "isDone"> & { isDone: boolean; readonly requestedId: number };

export class PlayerMarkers {
  readonly #logger: Logger;
  readonly #groups = new Map<string, Group>();
  #lastId = 0;
  /** Target of the last seek. */
  #soughtMs = 0;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  get areAny(): boolean {
    return this.#groups.size > 0;
  }

  /** Replaces a group; empty: removes it. Throws a RangeError for too many markers, or a position that is none. */
  replace(
    name: string,
    requested: readonly MarkerRequest[],
    onMarker: OnMarker,
    { onRemoved }: GroupOptions = {},
  ): void {
    this.#refuse(name, requested);
    const replaced = this.#groups.get(name);
    const markers = requested.map(({ id: requestedId, positionMs, skipToMs }) => ({
      id: ++this.#lastId,
      requestedId,
      positionMs,
      skipToMs: skipToMs !== undefined && skipToMs > positionMs ? skipToMs : undefined,
      isDone: false,
    }));
    if (markers.length > 0) this.#groups.set(name, { onMarker, markers, onRemoved });
    else this.#groups.delete(name);
    replaced?.onRemoved?.();
  }

  /** As the worker needs them, which counts from `offsetMs`. */
  forWorker(offsetMs: number): Marker[] {
    return [...this.#groups.values()].flatMap(({ markers }) =>
      markers.map(({ id, positionMs, skipToMs, isDone }) => ({
        id,
        positionMs: positionMs - offsetMs,
        skipToMs: skipToMs === undefined ? undefined : skipToMs - offsetMs,
        isDone,
      })),
    );
  }

  /** `isBeforeSeek`: the worker did not know yet of the last seek, behind whose target they are passed again. */
  onPassed(passed: readonly PassedMarker[], { isBeforeSeek }: { readonly isBeforeSeek: boolean }): void {
    for (const { id, outcome, epochMs } of passed) {
      const [group, marker] = this.#find(id);
      if (group === undefined || marker === undefined || marker.isDone) continue;
      marker.isDone = !isBeforeSeek || marker.positionMs < this.#soughtMs - SAME_MOMENT_MS;
      this.#tell(group, marker, outcome, epochMs);
    }
  }

  /** Markers from there on are ahead again. */
  onSeek(positionMs: number): void {
    this.#soughtMs = positionMs;
    for (const { markers } of this.#groups.values()) {
      for (const marker of markers) if (marker.positionMs >= positionMs - SAME_MOMENT_MS) marker.isDone = false;
    }
  }

  /** The recording plays from elsewhere, from there on: positions in what has played so far mean nothing there. */
  onMirrored(positionMs: number): void {
    const lyrics = this.#groups.get(LYRICS_GROUP);
    this.#groups.delete(LYRICS_GROUP);
    this.clear();
    if (lyrics !== undefined) this.#groups.set(LYRICS_GROUP, lyrics);
    this.onSeek(positionMs);
  }

  /** The track has ended. */
  clear(): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    for (const { onRemoved } of groups) onRemoved?.();
  }

  #refuse(name: string, requested: readonly MarkerRequest[]): void {
    let count = requested.length;
    for (const [other, { markers }] of this.#groups) if (other !== name) count += markers.length;
    if (count > MARKERS_MAX) throw new RangeError(`a track can have ${MARKERS_MAX} markers; these make ${count}`);
    const wrong = requested.find(({ positionMs, skipToMs = 0 }) => !isTime(positionMs) || !isTime(skipToMs));
    if (wrong !== undefined) throw new RangeError("positions of markers are milliseconds of track time, 0 or more");
  }

  #find(id: number): readonly [Group, HeldMarker] | readonly [undefined, undefined] {
    for (const group of this.#groups.values()) {
      const marker = group.markers.find((held) => held.id === id);
      if (marker !== undefined) return [group, marker];
    }
    return [undefined, undefined];
  }

  #tell({ onMarker }: Group, { requestedId }: HeldMarker, ...told: [MarkerOutcome, number]): void {
    try {
      onMarker(requestedId, ...told);
    } catch (error) {
      this.#logger.error("a marker could not be reported: unexpected error", { error });
    }
  }
}

function isTime(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0;
}
