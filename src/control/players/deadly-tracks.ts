// The tracks that were given up because they crashed workers. When one is requested again it plays isolated from the
// start, so that it harms no other player. Main thread.

import { greediest } from "../../lib/greediest.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Track } from "../../track/track.ts";

/** One more removes the oldest of the owner with most of them. */
const TRACKS_MAX = 1000;
/** Bounds the key of a track whose address may have any length. */
const KEY_LENGTH_MAX = 1000;

/** One for the node. Tracks are known again by their source and identifier, not by their encoded form. */
export class DeadlyTracks {
  /** Whose player was the first to play it, by the track's key; the oldest first. */
  readonly #owners = new Map<string, Owner>();

  /** Remembers it. Beyond a thousand, the oldest of the owner with most is forgotten. */
  add(track: Track, owner: Owner): void {
    const key = keyOf(track);
    if (!this.#owners.has(key)) this.#owners.set(key, owner);
    if (this.#owners.size > TRACKS_MAX) this.#forgetOne();
  }

  has(track: Track): boolean {
    return this.#owners.size > 0 && this.#owners.has(keyOf(track));
  }

  #forgetOne(): void {
    // Reversed: the last of them is the oldest.
    const oldest = greediest([...this.#owners].reverse(), ([, owner]) => owner);
    if (oldest !== undefined) this.#owners.delete(oldest[0]);
  }
}

function keyOf({ info }: Track): string {
  return `${info.sourceName} ${info.identifier}`.slice(0, KEY_LENGTH_MAX);
}
