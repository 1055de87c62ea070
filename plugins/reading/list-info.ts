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

export function listInfo({ type, url, artworkUrl, author, tracks, total }: ListInfo): JsonMembers {
  const said = numberOf(total) ?? 0;
  const isUsable = Number.isInteger(said) && said > tracks.length && said <= COUNT_MAX;
  return {
    type,
    url: url ?? null,
    artworkUrl: artworkUrl ?? null,
    author: author ?? null,
    totalTracks: isUsable ? said : tracks.length,
  };
}
