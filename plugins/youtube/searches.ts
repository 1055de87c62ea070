// Searches of several kinds: videos as `ytsearch:` finds them, playlists and channels by the site's own filters, and the
// suggestions of its search field. Plugin thread.

import { type SearchRequest, type SearchResult, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { askInOrder } from "./ask-in-order.ts";
import type { Catalogue } from "./catalogue.ts";
import { type ChosenClient, type Host, inOrderFor } from "./chosen-clients.ts";
import { readIdentifier } from "./identifiers.ts";
import type { Innertube } from "./innertube.ts";
import { type FoundLists, readFoundLists, readSuggestions } from "./read-found.ts";

/** `params` of the search. */
const FILTERS = { playlists: "EgIQAw==", channels: "EgIQAg==" } as const;
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
    const ask = async <Value>(isWanted: boolean, work: () => Promise<Value>): Promise<Value | undefined> =>
      isWanted ? work() : undefined;
    const isListWanted = types.includes("album") || types.includes("playlist");
    const asked = await Promise.allSettled([
      ask(types.includes("track"), () => this.#tracks(query, signal)),
      ask(isListWanted, () => this.#lists(text, "playlists", signal)),
      ask(types.includes("artist"), () => this.#lists(text, "channels", signal)),
      ask(types.includes("text"), () => this.#suggestions(text, signal)),
    ]);
    const failed = asked.find((one) => one.status === "rejected");
    const [tracks, lists, channels, texts] = asked;
    const { albums, playlists } = resultOf(lists) ?? {};
    const found = {
      tracks: resultOf(tracks),
      albums,
      artists: resultOf(channels)?.artists,
      playlists,
      texts: resultOf(texts),
    };
    if (failed !== undefined && Object.values(found).every((one) => one === undefined)) throw failed.reason;
    return found;
  }

  async #tracks(query: string, signal: AbortSignal): Promise<readonly SourceTrack[]> {
    const answer = await this.#parts.catalogue.load(query, signal);
    return answer?.kind === "search" ? answer.tracks : [];
  }

  #lists(query: string, filter: keyof typeof FILTERS, signal: AbortSignal): Promise<FoundLists> {
    const { host, innertube, clients } = this.#parts;
    const body = { query, params: FILTERS[filter] };
    return askInOrder(
      inOrderFor(clients, "searching"),
      {
        switch: "searching",
        endpoint: "search",
        isFor: ({ abilities }) => abilities.search === "videos",
        ask: async (identity) => readFoundLists(await innertube.ask(identity, { endpoint: "search", body, signal })),
      },
      { host, signal },
    );
  }

  #suggestions(query: string, signal: AbortSignal): Promise<readonly { readonly text: string }[]> {
    const { http, backend, options } = this.#parts.host;
    return backend("search suggestions").run(async () => {
      const answer = await http.text(SUGGESTIONS_ADDRESS, {
        signal,
        query: { client: "youtube", q: query, gl: options.region, hl: options.language },
        sizeBytesMax: SUGGESTIONS_BYTES_MAX,
      });
      const texts = readSuggestions(answer);
      if (texts === undefined) throw new SourceError("changed", "YouTube's suggestions have another form now");
      return texts.map((text) => ({ text }));
    });
  }
}

function resultOf<Value>(settled: PromiseSettledResult<Value>): Value | undefined {
  return settled.status === "fulfilled" ? settled.value : undefined;
}
