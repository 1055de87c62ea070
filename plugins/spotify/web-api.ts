// Asks Spotify's Web API (api.spotify.com) with the operator's client credentials. Since 2026 most applications may
// neither read other people's playlists nor get more than ten results. Plugin thread.

import {
  type Cache,
  type HttpAnswer,
  type OptionValues,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { type Members, membersOf, numberOf, parsedJson, trimmedText } from "../reading/json.ts";
import { patiently } from "../reading/patience.ts";
import { filledIn } from "./filled-in.ts";
import type { FoundItems, FoundList, FoundTrack } from "./found.ts";
import type { ItemType } from "./identifier.ts";
import type { SPOTIFY_MANIFEST } from "./manifest.ts";
import { readApiAlbum, readApiSearch, readApiTrack, readApiTracks } from "./read-web-api.ts";

const TOKEN_ADDRESS = "https://accounts.spotify.com/api/token";
const API = "https://api.spotify.com/v1";
/** For the request, and that for a token before it. */
const TIMEOUT_MS = 5000;
const TOKEN_MS = { default: 60 * 60_000, min: 60_000, max: 24 * 60 * 60_000 };
const KEY = "token";
/** More is an error. */
const SEARCH_LIMIT = 10;
export const ALBUM_PAGE_SIZE = 50;
type Host = PluginHost<OptionValues<typeof SPOTIFY_MANIFEST.config>>;
/** What is asked for; each has a separate circuit breaker. */
type Errand = "search" | "tracks" | "albums";

interface ApiRequest {
  readonly errand: Errand;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

export class WebApi {
  /** Whether there are credentials. */
  readonly isSet: boolean;
  readonly #host: Host;
  readonly #credentials: string;
  readonly #tokens: Cache<string>;
  readonly #reported = new Set<Errand>();

  constructor(host: Host) {
    const keys = [host.options.clientId, host.options.clientSecret].map(filledIn);
    this.#host = host;
    this.isSet = keys.every((text) => text !== undefined);
    this.#credentials = Buffer.from(keys.join(":")).toString("base64");
    this.#tokens = host.cache("tokens of the Web API", { ttlMs: TOKEN_MS.default, entriesMax: 1, isPortable: true });
  }

  search(query: string, types: readonly ItemType[], signal: AbortSignal): Promise<FoundItems> {
    const asked = { q: query, type: types.join(","), limit: SEARCH_LIMIT };
    return this.#get({ errand: "search", path: "search", query: asked, signal }, readApiSearch);
  }

  track(id: string, signal: AbortSignal, { timeoutMs = TIMEOUT_MS } = {}): Promise<FoundTrack> {
    return this.#get({ errand: "tracks", path: `tracks/${id}`, signal, timeoutMs }, readApiTrack);
  }

  /** An album with its first tracks. */
  album(id: string, signal: AbortSignal): Promise<FoundList> {
    return this.#get({ errand: "albums", path: `albums/${id}`, signal }, (album) =>
      readApiAlbum(album, ALBUM_PAGE_SIZE),
    );
  }

  /** Tracks of the album from `offset`, at most as many as a page has. */
  albumPage(
    album: FoundList,
    id: string,
    { offset, limit, signal }: { readonly offset: number; readonly limit: number; readonly signal: AbortSignal },
  ): Promise<FoundList> {
    const query = { limit, offset };
    const ofAlbum = { name: album.name, uri: `spotify:album:${id}`, images: [{ url: album.artworkUrl }] };
    return this.#get({ errand: "albums", path: `albums/${id}/tracks`, query, signal }, (page) => {
      const found = readApiTracks(ofAlbum, page, limit);
      return found === undefined ? undefined : { ...album, ...found };
    });
  }

  /**
   * What is read from the answer. A refused token is replaced once. Rejects with a SourceError: `not-found` if there is
   * no such item, `changed` for an answer of another form.
   */
  async #get<Value>(request: ApiRequest, read: (answer: Members) => Value | undefined): Promise<Value> {
    const { errand, signal, timeoutMs = TIMEOUT_MS } = request;
    const backend = this.#host.backend(`Web API: ${errand}`);
    const endMs = this.#host.clock.now() + timeoutMs;
    for (let isLast = false; ; isLast = true) {
      const token = await this.#token(signal, endMs);
      // A refusal is no failure: many requests may be on their way with a token that has expired.
      const found = await backend.run(async () => {
        const answer = await this.#send(request, token, endMs);
        if (answer === undefined && !isLast) return undefined;
        if (answer === undefined)
          throw new SourceError("changed", "Spotify's Web API refuses its own tokens (HTTP 401)");
        const value = read(answer);
        if (value !== undefined) return { value };
        throw new SourceError("changed", `Spotify's Web API answers ${errand} in another form now`);
      });
      if (found !== undefined) return found.value;
      if (this.#tokens.get(KEY) === token) this.#tokens.delete(KEY);
    }
  }

  /** Undefined: the token is refused. */
  async #send({ errand, path, query, signal }: ApiRequest, token: string, endMs: number): Promise<Members | undefined> {
    const { http } = this.#host;
    const headers = { authorization: `Bearer ${token}` };
    const send = (): Promise<HttpAnswer> =>
      http.request(`${API}/${path}`, { signal, query, headers, timeoutMs: this.#timeUntil(endMs) });
    const answer = await patiently(this.#host, send, { signal, timeMsMax: this.#timeUntil(endMs) });
    const { status } = answer;
    if (status === 401) return undefined;
    // Ids are all that is asked for there.
    if (status === 400 && errand !== "search") throw new SourceError("not-found", `Spotify has no ${path}`);
    if (status === 400 || status === 403) throw this.#refusal(errand, status);
    if (status < 200 || status > 299) throw http.statusError(answer);
    const json = parsedJson(answer.text);
    if (json !== undefined) return membersOf(json);
    throw new SourceError("changed", `Spotify's Web API answered ${errand} with something else than JSON`);
  }

  /** Milliseconds. */
  #timeUntil(endMs: number): number {
    return Math.max(endMs - this.#host.clock.now(), 1);
  }

  #refusal(errand: Errand, status: number): SourceError {
    const message = `Spotify's Web API refuses ${errand} to the application of plugins.spotify.clientId (HTTP ${status})`;
    if (!this.#reported.has(errand)) {
      this.#reported.add(errand);
      const premium = status === 403 ? "applications in development mode need an owner with Premium; " : "";
      const advice = `${premium}without clientId it is never asked`;
      this.#host.log.warn(`${message}; other backends are asked instead: ${advice}`);
    }
    return new SourceError("changed", message);
  }

  #token(signal: AbortSignal, endMs: number): Promise<string> {
    const make = (shared: AbortSignal): Promise<{ value: string; ttlMs: number }> => this.#newToken(shared, endMs);
    return this.#tokens.getOrMake(KEY, { signal, make, isKeptFresh: true });
  }

  #newToken(signal: AbortSignal, endMs: number): Promise<{ value: string; ttlMs: number }> {
    const { http, backend } = this.#host;
    return backend("Web API: token").run(async () => {
      const headers = { authorization: `Basic ${this.#credentials}` };
      const body = new URLSearchParams({ grant_type: "client_credentials" });
      const answer = await http.request(TOKEN_ADDRESS, { signal, headers, body, timeoutMs: this.#timeUntil(endMs) });
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

function readToken(text: string): { value: string; ttlMs: number } {
  const answer = membersOf(parsedJson(text));
  const value = trimmedText(answer.access_token);
  if (value === undefined || !/^[\x21-\x7e]{1,8192}$/.test(value)) {
    throw new SourceError("changed", "accounts.spotify.com answered without access_token");
  }
  const lifeMs = (numberOf(answer.expires_in) ?? 0) * 1000;
  const ttlMs = lifeMs > 0 ? Math.min(Math.max(lifeMs, TOKEN_MS.min), TOKEN_MS.max) : TOKEN_MS.default;
  return { value, ttlMs };
}
