// The tracks that were given up because they crashed workers. When one is requested again it plays isolated from the
// start, so that it harms no other player. Main thread.

import type { Track } from "../../track/track.ts";

/** One more removes the oldest. */
const TRACKS_MAX = 1000;
/** Bounds the key of a track whose address may have any length. */
const KEY_LENGTH_MAX = 1000;

/** One for the node. Tracks are known again by their source and identifier, not by their encoded form. */
export class DeadlyTracks {
  readonly #keys = new Set<string>();

  /** Remembers it; the oldest of a thousand is forgotten. */
  add(track: Track): void {
    this.#keys.add(keyOf(track));
    const [oldest] = this.#keys;
    if (this.#keys.size > TRACKS_MAX && oldest !== undefined) this.#keys.delete(oldest);
  }

  has(track: Track): boolean {
    return this.#keys.size > 0 && this.#keys.has(keyOf(track));
  }
}

function keyOf({ info }: Track): string {
  return `${info.sourceName} ${info.identifier}`.slice(0, KEY_LENGTH_MAX);
}
