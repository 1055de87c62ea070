// The pluginInfo of playlists (protocol-v4.md section 8.3), for all built-in plugins. Pure. Plugin threads.

import type { JsonMembers } from "../../src/plugin-api/plugin.ts";
import { numberOf } from "./json.ts";

/** What clients in other languages can read. */
const COUNT_MAX = 2 ** 31 - 1;

interface ListInfo {
  /** `album`, `playlist`, `artist`, `recommendations`. */
  readonly type: string;
  readonly url?: string | null | undefined;
  readonly artworkUrl?: string | null | undefined;
  readonly author?: string | null | undefined;
  /** Those that are loaded. */
  readonly tracks: readonly unknown[];
  /** What the site says how many there are, which may be wrong. */
  readonly total?: unknown;
}

/** A whole number from 0, not larger than what clients can read. */
export function countOf(value: unknown): number | undefined {
  const count = numberOf(value) ?? -1;
  return Number.isInteger(count) && count >= 0 && count <= COUNT_MAX ? count : undefined;
}

/** The name of an artist's list, also in searches. */
export function topTracksOf(artist: string): string {
  return `${artist}'s Top Tracks`;
}

export function listInfo({ type, url, artworkUrl, author, tracks, total }: ListInfo): JsonMembers {
  return {
    type,
    url: url ?? null,
    artworkUrl: artworkUrl ?? null,
    author: author ?? null,
    totalTracks: Math.max(countOf(total) ?? 0, tracks.length),
  };
}
