// Remembers from where recordings were played, so that a track that is played again is not looked for again. Main thread; used by mirrors.ts.

import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { accountOf, type Owner } from "../../lib/owners.ts";
import { SharedMap } from "../../lib/shared-map.ts";
import type { Track } from "../../track/track.ts";

const ENTRIES_MAX = 2000;
const FOUND_MS = 24 * 3_600_000;
const NOT_FOUND_MS = 10 * 60_000;
/** Longer encoded tracks are not remembered. */
const ENCODED_LENGTH_MAX = 4096;

/** A track of another source that is the same recording. */
export interface Mirror {
  readonly track: Track;
  /** The search that found it, as configured: `ytsearch:%QUERY%`. */
  readonly provider: string;
  /** 0 to 1: how sure it is that it is the same recording. */
  readonly score: number;
  /** Why, for people. */
  readonly reasons: readonly string[];
}

/** Its track is kept encoded. */
type KeptMirror = Omit<Mirror, "track"> & { readonly encoded: string };

/** `missText`: where it was looked for in vain, for the client. */
type Outcome = { readonly mirror: KeptMirror } | { readonly mirror: undefined; readonly missText: string };

interface Entry<Value> {
  readonly value: Value;
  readonly untilMs: number;
}

/** One for the node. */
export class MirrorMemory {
  readonly #clock: Clock;
  readonly #outcomes = new SharedMap<string, Entry<Outcome>>(ENTRIES_MAX);
  readonly #isrcs = new SharedMap<string, Entry<string | undefined>>(ENTRIES_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  outcomeOf(track: Track): Outcome | undefined {
    return this.#current(this.#outcomes.get(keyOf(track)));
  }

  keepMirror(track: Track, { track: found, ...mirror }: Mirror, owner: Owner): void {
    if (found.encoded.length > ENCODED_LENGTH_MAX) return;
    const value = { mirror: { ...mirror, encoded: found.encoded } };
    this.#outcomes.set(keyOf(track), { value, untilMs: this.#clock.now() + FOUND_MS }, accountOf(owner));
  }

  /** Nobody has it, and everybody has answered. */
  keepMiss(track: Track, missText: string, owner: Owner): void {
    const value = { mirror: undefined, missText };
    this.#outcomes.set(keyOf(track), { value, untilMs: this.#clock.now() + NOT_FOUND_MS }, accountOf(owner));
  }

  forget(track: Track): void {
    this.#outcomes.delete(keyOf(track));
  }

  /** `isrc: undefined`: its source was asked and has none. Undefined: its source was not asked. */
  learnedIsrcOf(track: Track): { readonly isrc: string | undefined } | undefined {
    const entry = this.#isrcs.get(keyOf(track));
    return entry !== undefined && entry.untilMs > this.#clock.now() ? { isrc: entry.value } : undefined;
  }

  learnIsrc(track: Track, isrc: string | undefined, owner: Owner): void {
    const lifeMs = isrc === undefined ? NOT_FOUND_MS : FOUND_MS;
    this.#isrcs.set(keyOf(track), { value: isrc, untilMs: this.#clock.now() + lifeMs }, accountOf(owner));
  }

  #current<Value>(entry: Entry<Value> | undefined): Value | undefined {
    return entry !== undefined && entry.untilMs > this.#clock.now() ? entry.value : undefined;
  }
}

/**
 * All that a choice depends on, of bounded size: clients hand in encoded tracks, and one that combines the identifier
 * of a song with the title of another must not decide what others hear.
 */
function keyOf({ info }: Track): string {
  const { sourceName, identifier, title, author, length, isrc } = info;
  const parts = [sourceName, identifier, title, author, String(length), isrc];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}
