// Asks Spotify's Web API (api.spotify.com) with the operator's client credentials. Since 2026 most applications may
// neither read other people's playlists nor get more than ten results. Plugin thread.

import { type Cache, type OptionValues, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { type Members, membersOf, numberOf, trimmedText } from "../reading/json.ts";
import type { FoundItems, FoundList, FoundTrack } from "./found.ts";
import type { ItemType } from "./identifier.ts";
import type { SPOTIFY_MANIFEST } from "./manifest.ts";
import { readApiAlbum, readApiSearch, readApiTrack, readApiTracks } from "./read-web-api.ts";

const TOKEN_ADDRESS = "https://accounts.spotify.com/api/token";
const API = "https://api.spotify.com/v1";
const TIMEOUT_MS = 5000;
const TOKEN_MS = { default: 60 * 60_000, min: 60_000, max: 24 * 60 * 60_000 };
const KEY = "token";
/** More is an error. */
const SEARCH_LIMIT = 10;
export const ALBUM_PAGE_SIZE = 50;
/** As example files of LavaSrc and others have them. */
const PLACEHOLDER =
  /^(?:(?:your|insert|enter|change)[\s_-]|<|\$\{|x{3,}$|\.{3}|(?:spotify[\s_-]?)?client[\s_-]?(?:id|secret)$)/i;

type Host = PluginHost<OptionValues<typeof SPOTIFY_MANIFEST.config>>;
/** What is asked for; each has a separate circuit breaker. */
type Errand = "search" | "tracks" | "albums";

export class WebApi {
  /** Whether there are credentials. */
  readonly isSet: boolean;
  readonly #host: Host;
  readonly #credentials: string;
  readonly #tokens: Cache<string>;
  readonly #reported = new Set<Errand>();

  constructor(host: Host) {
    const { clientId, clientSecret } = host.options;
    this.#host = host;
    this.isSet = [clientId, clientSecret].every((text) => isValue(text));
    this.#credentials = Buffer.from(`${clientId?.trim()}:${clientSecret?.trim()}`).toString("base64");
    this.#tokens = host.cache("tokens of the Web API", { ttlMs: TOKEN_MS.default, entriesMax: 1 });
  }

  async search(query: string, types: readonly ItemType[], signal: AbortSignal): Promise<FoundItems> {
    const options = { signal, query: { q: query, type: types.join(","), limit: SEARCH_LIMIT } };
    const found = readApiSearch(await this.#get("search", "search", options));
    if (found === undefined) throw new SourceError("changed", "Spotify's Web API answered a search without results");
    return found;
  }

  async track(id: string, signal: AbortSignal): Promise<FoundTrack> {
    const found = readApiTrack(await this.#get("tracks", `tracks/${id}`, { signal }));
    if (found === undefined) throw new SourceError("changed", "Spotify's Web API answered no track");
    return found;
  }

  /** An album with its first tracks. */
  async album(id: string, signal: AbortSignal): Promise<FoundList> {
    const found = readApiAlbum(await this.#get("albums", `albums/${id}`, { signal }), ALBUM_PAGE_SIZE);
    if (found === undefined) throw new SourceError("changed", "Spotify's Web API answered no album");
    return found;
  }

  /** Tracks of the album from `offset`, as many as a page has. */
  async albumPage(album: FoundList, id: string, offset: number, signal: AbortSignal): Promise<FoundList> {
    const query = { limit: ALBUM_PAGE_SIZE, offset };
    const page = await this.#get("albums", `albums/${id}/tracks`, { signal, query });
    const ofAlbum = { name: album.name, uri: `spotify:album:${id}`, images: [{ url: album.artworkUrl }] };
    return { ...album, ...readApiTracks(ofAlbum, page, ALBUM_PAGE_SIZE) };
  }

  /** A refused token is replaced once. */
  async #get(
    errand: Errand,
    path: string,
    options: { readonly signal: AbortSignal; readonly query?: Readonly<Record<string, string | number>> },
  ): Promise<Members> {
    const { signal } = options;
    const backend = this.#host.backend(`Web API: ${errand}`);
    const token = await this.#token(signal);
    try {
      return await backend.run(() => this.#attempt(errand, path, { ...options, token }));
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error;
      if (this.#tokens.get(KEY) === token) this.#tokens.delete(KEY);
    }
    const other = await this.#token(signal);
    return backend.run(() => this.#attempt(errand, path, { ...options, token: other }));
  }

  async #attempt(
    errand: Errand,
    path: string,
    { token, signal, query }: { token: string; signal: AbortSignal; query?: Readonly<Record<string, string | number>> },
  ): Promise<Members> {
    const { http } = this.#host;
    const headers = { authorization: `Bearer ${token}` };
    const answer = await http.request(`${API}/${path}`, { signal, query, headers, timeoutMs: TIMEOUT_MS });
    if (answer.status === 401) throw new TokenRefusal();
    if (answer.status === 400 || answer.status === 403) throw this.#refusal(errand, answer.status);
    if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
    try {
      return membersOf(JSON.parse(answer.text));
    } catch {
      throw new SourceError("changed", `Spotify's Web API answered ${errand} with something else than JSON`);
    }
  }

  #refusal(errand: Errand, status: number): SourceError {
    const message = `Spotify's Web API refuses ${errand} to the application of plugins.spotify.clientId (HTTP ${status})`;
    if (!this.#reported.has(errand)) {
      this.#reported.add(errand);
      const advice = "applications in development mode need an owner with Premium; without clientId it is never asked";
      this.#host.log.warn(`${message}; other backends are asked instead: ${advice}`);
    }
    return new SourceError("changed", message);
  }

  #token(signal: AbortSignal): Promise<string> {
    const make = (shared: AbortSignal): Promise<{ value: string; ttlMs: number }> => this.#newToken(shared);
    return this.#tokens.getOrMake(KEY, { signal, make, isKeptFresh: true });
  }

  #newToken(signal: AbortSignal): Promise<{ value: string; ttlMs: number }> {
    const { http, backend } = this.#host;
    return backend("Web API: token").run(async () => {
      const headers = { authorization: `Basic ${this.#credentials}` };
      const body = new URLSearchParams({ grant_type: "client_credentials" });
      const answer = await http.request(TOKEN_ADDRESS, { signal, headers, body, timeoutMs: TIMEOUT_MS });
      const error = http.statusError(answer);
      if (answer.status < 200 || answer.status > 299) {
        if (error.kind === "busy") throw error;
        throw new SourceError(
          "changed",
          `Spotify refuses clientId and clientSecret of plugins.spotify (HTTP ${answer.status})`,
        );
      }
      return readToken(answer.text);
    });
  }
}

class TokenRefusal extends SourceError {
  constructor() {
    super("changed", "Spotify's Web API refuses its own token (HTTP 401)");
  }
}

function isValue(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== "" && !PLACEHOLDER.test(text.trim());
}

function readToken(text: string): { value: string; ttlMs: number } {
  let answer: Members = {};
  try {
    answer = membersOf(JSON.parse(text));
  } catch {
    // There is no token in it.
  }
  const value = trimmedText(answer.access_token);
  if (value === undefined || !/^[\x21-\x7e]{1,8192}$/.test(value)) {
    throw new SourceError("changed", "accounts.spotify.com answered without access_token");
  }
  const lifeMs = (numberOf(answer.expires_in) ?? 0) * 1000;
  const ttlMs = lifeMs > 0 ? Math.min(Math.max(lifeMs, TOKEN_MS.min), TOKEN_MS.max) : TOKEN_MS.default;
  return { value, ttlMs };
}
