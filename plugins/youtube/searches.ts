// Searches of several kinds: videos as `ytsearch:` finds them, playlists and channels by the site's own filters, and the
// suggestions of its search field. Plugin thread.

import { type SearchRequest, type SearchResult, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { settledOf } from "../reading/partly.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ChosenClient, Host } from "./chosen-clients.ts";
import { readIdentifier } from "./identifiers.ts";
import type { Innertube } from "./innertube.ts";
import { type FoundLists, readFoundLists, readSuggestions } from "./read-found.ts";
import { searchInOrder } from "./search-in-order.ts";

/** `params` of the search. */
const FILTERS = { playlists: "EgIQAw==", channels: "EgIQAg==" } as const;
const NO_LISTS: FoundLists = { albums: [], artists: [], playlists: [] };
const SUGGESTIONS_ADDRESS = "https://suggestqueries-clients6.youtube.com/complete/search";
const SUGGESTIONS_BYTES_MAX = 1024 * 1024;

interface SearchesParts {
  readonly host: Host;
  readonly innertube: Innertube;
  readonly clients: readonly ChosenClient[];
  readonly catalogue: Catalogue;
}

export class Searches {
  readonly #parts: SearchesParts;

  constructor(parts: SearchesParts) {
    this.#parts = parts;
  }

  /** One request for each kind; albums come with playlists. Rejects only where no request succeeds. */
  async search({ query, types, signal }: SearchRequest): Promise<SearchResult | undefined> {
    const parsed = readIdentifier(query, this.#parts.host.options);
    if (parsed?.kind !== "search") return undefined;
    const { text } = parsed;
    const isListWanted = types.includes("album") || types.includes("playlist");
    const [tracks, lists, channels, texts] = await settledOf([
      types.includes("track") ? this.#tracks(query, signal) : undefined,
      isListWanted ? this.#lists(text, "playlists", signal) : undefined,
      types.includes("artist") ? this.#lists(text, "channels", signal) : undefined,
      types.includes("text") ? this.#suggestions(text, signal) : undefined,
    ]);
    return { tracks, albums: lists?.albums, artists: channels?.artists, playlists: lists?.playlists, texts };
  }

  async #tracks(query: string, signal: AbortSignal): Promise<readonly SourceTrack[]> {
    const answer = await this.#parts.catalogue.load(query, signal);
    return answer?.kind === "search" ? answer.tracks : [];
  }

  async #lists(query: string, filter: keyof typeof FILTERS, signal: AbortSignal): Promise<FoundLists> {
    const search = { of: "videos", query, params: FILTERS[filter], read: readFoundLists } as const;
    return (await searchInOrder(this.#parts, search, signal)) ?? NO_LISTS;
  }

  #suggestions(query: string, signal: AbortSignal): Promise<readonly { readonly text: string }[]> {
    const { http, backend, options } = this.#parts.host;
    return backend("search suggestions").run(async () => {
      const answer = await http.text(SUGGESTIONS_ADDRESS, {
        signal,
        query: { client: "youtube", ds: "yt", q: query, gl: options.region, hl: options.language },
        sizeBytesMax: SUGGESTIONS_BYTES_MAX,
      });
      const texts = readSuggestions(answer);
      if (texts === undefined) throw new SourceError("changed", "YouTube's suggestions have another form now");
      return texts.map((text) => ({ text }));
    });
  }
}
