// The memory that a player costs on the main thread, counted against that of its session: stored values (track,
// userData, filters, voice), and queued updates with everything they carry. Main thread; one per player.

import { ByteBudget } from "../../lib/byte-budget.ts";
import { jsonSizeBytes } from "../../lib/json.ts";
import type { Track } from "../../track/track.ts";
import type { PlayerIntent } from "./player-intent.ts";
import type { PlayerUpdate } from "./player-update.ts";

/** The cost of a player without stored values: measured, and a little more. */
const PLAYER_SIZE_BYTES = 4096;
/** All that one player may have. A few updates of the largest kind fit. */
const LIMIT_BYTES = 16 * 1024 * 1024;

const PARTS = ["track", "mirror", "userData", "filters", "voice"] as const;
type Part = (typeof PARTS)[number];
type Sizes = Record<Part, number>;

/** The sizes that an update has reserved and the player does not store yet. */
export type ReservedSizes = Sizes;

export class PlayerMemory {
  readonly #budget: ByteBudget;
  readonly #retained: Sizes = { track: 0, mirror: 0, userData: 0, filters: 0, voice: 0 };

  /** Throws `memory-exhausted` when there is no memory for one more player. */
  constructor(parent: ByteBudget | undefined) {
    this.#budget = new ByteBudget({ owner: "the player", limitBytes: LIMIT_BYTES, parent });
    this.#budget.take(PLAYER_SIZE_BYTES, "itself");
  }

  /** Counts an update until `release`. Throws `memory-exhausted`. */
  admit(update: PlayerUpdate): ReservedSizes {
    const sizes = sizesOf(update);
    this.#budget.take(sum(sizes), "an update");
    return sizes;
  }

  /** Moves the reservation of the update for this part to the player, and frees the part's previous value. */
  keep(part: Part, reserved: ReservedSizes): void {
    this.drop(part);
    this.#retained[part] = reserved[part];
    reserved[part] = 0;
  }

  /** Counts what a restored player stores from the start. Throws `memory-exhausted`. */
  keepAll({ track, filters, voice }: PlayerIntent): void {
    const userData = track?.track.userData;
    const sizes = storedSizes({ userData, filters, voice: voice?.credentials });
    if (track !== undefined) sizes.track = trackSize(track.track);
    if (track?.mirror !== undefined) sizes.mirror = trackSize(track.mirror.track);
    this.#budget.take(sum(sizes), "a restored player");
    Object.assign(this.#retained, sizes);
  }

  /** Reserves memory for a track that was loaded by its identifier. Throws `memory-exhausted`. */
  reserveTrack(track: Track, reserved: ReservedSizes): void {
    const sizeBytes = trackSize(track);
    this.#budget.take(sizeBytes, "a track");
    reserved.track += sizeBytes;
  }

  /** Counts the track that plays in place of the client's. Throws `memory-exhausted`. */
  keepMirror(track: Track): void {
    this.drop("mirror");
    const sizeBytes = trackSize(track);
    this.#budget.take(sizeBytes, "a mirror");
    this.#retained.mirror = sizeBytes;
  }

  drop(part: Part): void {
    this.#budget.release(this.#retained[part]);
    this.#retained[part] = 0;
  }

  /** Frees what the finished update has reserved and the player does not store. */
  release(reserved: ReservedSizes): void {
    this.#budget.release(sum(reserved));
  }

  /** Frees everything when the player is destroyed. */
  close(): void {
    this.#budget.releaseAll();
  }
}

function sizesOf(update: PlayerUpdate): Sizes {
  const { trackChange } = update;
  const sizes = storedSizes(update);
  if (trackChange?.kind === "play") sizes.track = trackSize(trackChange.track);
  if (trackChange?.kind === "load") sizes.track = Buffer.byteLength(trackChange.identifier);
  return sizes;
}

function storedSizes({ userData, filters, voice }: Pick<PlayerUpdate, "userData" | "filters" | "voice">): Sizes {
  return {
    track: 0,
    mirror: 0,
    userData: userData === undefined ? 0 : jsonSizeBytes(userData),
    // parsed from JSON
    filters: filters === undefined ? 0 : jsonSizeBytes(filters as Parameters<typeof jsonSizeBytes>[0]),
    voice: voice === undefined ? 0 : jsonSizeBytes({ ...voice, channelId: voice.channelId ?? null }),
  };
}

/** The size of the encoded text and of the fields decoded from it. */
function trackSize({ encoded }: Track): number {
  return encoded.length * 2;
}

function sum(sizes: Sizes): number {
  return PARTS.reduce((total, part) => total + sizes[part], 0);
}
