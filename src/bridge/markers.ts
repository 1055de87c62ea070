// Timed markers of a track, as the main thread hands them to an audio worker and as the worker reports them. Described
// in docs/internals/markers.md.

/** One position in a track that is reported when listeners hear it. */
export interface Marker {
  /** Unique among the markers of its track. */
  readonly id: number;
  /** Milliseconds of track time, 0 or more. */
  readonly positionMs: number;
  /** Playback jumps to this track time when it reaches the marker; behind `positionMs`. Undefined: it plays on. */
  readonly skipToMs: number | undefined;
  /** It has been reported, and is not again unless a seek leads back to before it. */
  readonly isDone: boolean;
}

/** Markers of one track together. */
export const MARKERS_MAX = 1500;

/**
 * What became of a marker in the worker. `reached`: playback came to it, or skipped it together with another one whose
 * segment it touches. `late`: it was set when its position was past. `bypassed`: a seek or a skip has passed over it.
 */
export type MarkerOutcome = "reached" | "late" | "bypassed";

export interface PassedMarker {
  readonly id: number;
  readonly outcome: MarkerOutcome;
  /** When listeners hear that position, Unix epoch milliseconds, up to 180 ms ahead. Otherwise when it was noticed. */
  readonly epochMs: number;
}
