// Searches of several kinds: asks the plugin that takes the query's prefix, or else the sources, which know tracks only.
// Main thread; asked by GET /v4/loadsearch.

import { RemoteError } from "../../bridge/wire-error.ts";
import type { AllowedSources } from "../../control/access/identity.ts";
import type { FoundItems } from "../../control/sources/found-items.ts";
import type { TrackLoader } from "../../control/sources/track-loader.ts";
import { NodeError } from "../../errors.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import type { SearchType } from "../../plugin-api/plugin.ts";
import type { InstalledPlugin } from "./installed-plugin.ts";

const SEARCH_TIMEOUT_MS = 20_000;
const QUERY_LENGTH_MAX = 4096;
/** How the prefixes of searches end: `scsearch:`. */
const SEARCH_PREFIX = /^[a-z]{1,20}search(?:\[[\d,]{0,20}\])?:/i;
const NONE = { albums: [], artists: [], playlists: [], texts: [] };

interface SearchOptions extends WorkOptions {
  /** At least one. */
  readonly types: readonly SearchType[];
  /** The sources that the client may use. Undefined: all. */
  readonly allowed: AllowedSources | undefined;
}

interface SearchProvidersOptions {
  /** Those that are not off, in their order. */
  readonly plugins: () => readonly InstalledPlugin[];
  readonly loader: Pick<TrackLoader, "load" | "share">;
}

/** One for the node. */
export class SearchProviders {
  readonly #options: SearchProvidersOptions;

  constructor(options: SearchProvidersOptions) {
    this.#options = options;
  }

  /** Whether there is anything to search. */
  get isAvailable(): boolean {
    return this.#options.plugins().some(({ manifest, sources }) => {
      const { searchProviders = [] } = manifest ?? {};
      return searchProviders.length > 0 || sources.some(({ prefixes }) => prefixes.some(isSearchPrefix));
    });
  }

  /**
   * Undefined: nothing takes the query. Rejects with the source's error, `key-forbidden` for a source that the client may
   * not use, `load-busy`, `load-timeout`, or the reason of `signal`.
   */
  async search(query: string, options: SearchOptions): Promise<FoundItems | undefined> {
    if (query.length > QUERY_LENGTH_MAX) {
      throw new NodeError("request-refused", `query has more than ${QUERY_LENGTH_MAX} characters`);
    }
    const { types, allowed, owner } = options;
    for (const { runner, manifest } of this.#options.plugins()) {
      for (const [index, { source, prefixes }] of (manifest?.searchProviders ?? []).entries()) {
        if (!prefixes.some((prefix) => query.startsWith(prefix))) continue;
        allowed?.check(source);
        const command = { type: "search" as const, index, source, query, types, owner, sources: allowed?.names };
        return this.#options.loader.share(
          (signal) => runner.request(command, { signal, timeoutMs: SEARCH_TIMEOUT_MS }),
          options,
        );
      }
    }
    return types.includes("track") && SEARCH_PREFIX.test(query) ? this.#tracksOf(query, options) : undefined;
  }

  async #tracksOf(query: string, options: SearchOptions): Promise<FoundItems | undefined> {
    const result = await this.#options.loader.load(query, options);
    if (result.kind === "error") {
      // In Lavalink, nothing takes the prefix of a source that is off.
      if (result.error.code === "source-unavailable") return undefined;
      throw new RemoteError(result.error);
    }
    if (result.kind === "search") return { ...NONE, tracks: result.tracks };
    return result.kind === "track" ? { ...NONE, tracks: [result.track] } : undefined;
  }
}

function isSearchPrefix(prefix: string): boolean {
  return SEARCH_PREFIX.test(prefix);
}
