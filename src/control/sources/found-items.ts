// What a search of several kinds has found. Main thread.

import type { FoundList, FoundText } from "../../bridge/plugin-extensions.ts";
import type { FoundTracks } from "./load-result.ts";

/** Lists may be empty. */
export interface FoundItems {
  readonly tracks: FoundTracks;
  readonly albums: readonly FoundList[];
  readonly artists: readonly FoundList[];
  readonly playlists: readonly FoundList[];
  readonly texts: readonly FoundText[];
}
