// Tracks, sets and lists of users from SoundCloud's API, page by page and within their bounds; what it finds out about
// playing a track is remembered for a while. Plugin thread.

import { type Cache, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { type Members, objectOf, objectsOf } from "../reading/json.ts";
import type { SoundCloudApi } from "./api.ts";
import type { UserList, UserName } from "./identifier.ts";
import { idOf, textOf } from "./read-json.ts";
import { type FoundTrack, type ReadTrackOptions, readTrack, type TrackPlaying } from "./read-track.ts";

/** The API takes no more in one request. */
const IDS_PER_REQUEST = 50;
const PAGE_ENTRIES = 200;
/** Requests for one set at the same time. */
const CONCURRENCY = 4;
/** Variants keep their addresses for long; their signed links are not cached here. */
const PLAYING_CACHE = { ttlMs: 60 * 60_000, entriesMax: 2000 };

const LIST_PATHS: Readonly<Record<UserList, (id: string) => string>> = {
  tracks: (id) => `/users/${id}/tracks`,
  likes: (id) => `/users/${id}/likes`,
  reposts: (id) => `/stream/users/${id}/reposts`,
};

interface LoaderOptions extends ReadTrackOptions {
  readonly setTracksMax: number;
  readonly listEntriesMax: number;
}

/** What a search is asked for beside tracks, as the API names it. */
type ListKind = "albums" | "playlists_without_albums" | "users";

interface SearchWindow {
  readonly query: string;
  readonly offset: number;
  readonly limit: number;
}

export interface FoundSet {
  readonly set: Members;
  readonly tracks: readonly FoundTrack[];
  /** Total number of tracks; `tracks` may be only some of them. */
  readonly totalTracks: number;
}

export interface FoundUser {
  readonly id: string;
  readonly name: string;
  readonly json: Members;
}

export class SoundCloudLoader {
  readonly #api: SoundCloudApi;
  readonly #options: LoaderOptions;
  readonly #playing: Cache<TrackPlaying>;

  constructor(host: PluginHost, api: SoundCloudApi, options: LoaderOptions) {
    this.#api = api;
    this.#options = options;
    this.#playing = host.cache("playing", PLAYING_CACHE);
  }

  async search(window: SearchWindow, signal: AbortSignal): Promise<FoundTrack[]> {
    return this.#readAll(await this.#found("tracks", window, signal), window.limit);
  }

  /** Sets or users. */
  async searchLists(kind: ListKind, window: SearchWindow, signal: AbortSignal): Promise<Members[]> {
    return objectsOf(await this.#found(kind, window, signal), window.limit);
  }

  /** Resolves a page of soundcloud.com to an object with a `kind`. */
  async resolve(url: string, signal: AbortSignal): Promise<Members> {
    const json = objectOf(await this.#api.get("/resolve", { signal, query: { url } }));
    if (json === undefined) throw new SourceError("changed", "SoundCloud's resolve did not answer an object");
    return json;
  }

  /** Undefined if no track has this id, or the node may not access it. */
  async track(id: string, secret: string | undefined, signal: AbortSignal): Promise<FoundTrack | undefined> {
    if (secret === undefined) return (await this.#tracks([id], {}, signal)).find((track) => track.id === id);
    const json = await this.#api.get(`/tracks/${id}`, { signal, query: { secret_token: secret } });
    return this.#readAll([withSecret(json, secret)], 1)[0];
  }

  /** Reads a track from a `resolve` answer, with the secret of the request. */
  readTrack(json: Members, secret: string | undefined): FoundTrack {
    const [found] = this.#readAll([withSecret(json, secret)], 1);
    if (found !== undefined) return found;
    throw new SourceError("changed", "SoundCloud answered a track without an id or a title");
  }

  async set(id: string, secret: string | undefined, signal: AbortSignal): Promise<FoundSet> {
    const json = await this.#api.get(`/playlists/${id}`, { signal, query: { secret_token: secret } });
    return this.completeSet(objectOf(json) ?? {}, secret, signal);
  }

  /** A set is answered with the first few of its tracks, and the ids of the rest. */
  async completeSet(set: Members, secret: string | undefined, signal: AbortSignal): Promise<FoundSet> {
    if (!Array.isArray(set.tracks))
      throw new SourceError("changed", "SoundCloud answered a set without a list of tracks");
    const entries = objectsOf(set.tracks, this.#options.setTracksMax);
    const tracks = new Map(this.#readAll(entries, entries.length).map((track) => [track.id, track]));
    const ids = entries.flatMap(({ id }) => idOf(id) ?? []);
    const missing = [...new Set(ids)].filter((id) => !tracks.has(id));
    const query = secret === undefined ? {} : { playlistId: idOf(set.id), playlistSecretToken: secret };
    for (const track of await this.#tracks(missing, query, signal)) tracks.set(track.id, track);
    const inOrder = ids.flatMap((id) => tracks.get(id) ?? []);
    return { set, tracks: inOrder, totalTracks: set.tracks.length };
  }

  async user(user: UserName, signal: AbortSignal): Promise<FoundUser> {
    const json =
      "page" in user
        ? await this.resolve(`https://soundcloud.com/${user.page}`, signal)
        : objectOf(await this.#api.get(`/users/${user.id}`, { signal }));
    const found = json === undefined ? undefined : readUser(json);
    if (found === undefined) throw new SourceError("changed", "SoundCloud answered a user without an id");
    return found;
  }

  /** Newest first, as the site has them; sets among them are left out. */
  async listOf(user: FoundUser, list: UserList, signal: AbortSignal): Promise<FoundTrack[]> {
    const { listEntriesMax } = this.#options;
    const path = LIST_PATHS[list](user.id);
    const query = { limit: Math.min(PAGE_ENTRIES, listEntriesMax), offset: 0, linked_partitioning: 1 };
    const seen = new Set<string>();
    const found: FoundTrack[] = [];
    let json = await this.#api.get(path, { signal, query });
    for (let entriesLeft = listEntriesMax; ; entriesLeft -= PAGE_ENTRIES) {
      found.push(...this.#readAll(collectionOf(json).map(trackWithin), Math.min(PAGE_ENTRIES, entriesLeft)));
      const next = textOf(objectOf(json)?.next_href);
      // An address seen before means a redirect loop.
      if (next === undefined || seen.has(next) || entriesLeft <= PAGE_ENTRIES) return found;
      seen.add(next);
      json = await this.#api.get(next, { signal });
    }
  }

  /** Cached playback data of a track; undefined if not cached. */
  playingOf(id: string): TrackPlaying | undefined {
    return this.#playing.get(id);
  }

  /** In no order; ids that no longer exist are missing. */
  async #tracks(
    ids: readonly string[],
    query: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
  ): Promise<FoundTrack[]> {
    const found: FoundTrack[] = [];
    const requests = Array.from({ length: Math.ceil(ids.length / IDS_PER_REQUEST) }, (_, index) =>
      ids.slice(index * IDS_PER_REQUEST, (index + 1) * IDS_PER_REQUEST),
    );
    const work = async (): Promise<void> => {
      for (let some = requests.shift(); some !== undefined; some = requests.shift()) {
        const json = await this.#api.get("/tracks", { signal, query: { ids: some.join(","), ...query } });
        if (!Array.isArray(json)) throw new SourceError("changed", "SoundCloud did not answer a list of tracks");
        found.push(...this.#readAll(json, IDS_PER_REQUEST));
      }
    };
    // Once one has failed, the others' results are not needed, and the signal ends them.
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return found;
  }

  async #found(
    kind: "tracks" | ListKind,
    { query, offset, limit }: SearchWindow,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    return collectionOf(await this.#api.get(`/search/${kind}`, { signal, query: { q: query, offset, limit } }));
  }

  /** Entries that are not whole tracks are left out. */
  #readAll(entries: readonly unknown[], countMax: number): FoundTrack[] {
    const found = objectsOf(entries, countMax).flatMap((entry) => readTrack(entry, this.#options) ?? []);
    for (const { id, playing } of found) this.#playing.set(id, playing);
    return found;
  }
}

export function readUser(json: Members): FoundUser | undefined {
  const id = idOf(json.id);
  if (id === undefined || (json.kind !== undefined && json.kind !== "user")) return undefined;
  return { id, name: textOf(json.username) ?? "Unknown user", json };
}

/** The site may or may not repeat it. */
function withSecret(json: unknown, secret: string | undefined): unknown {
  const object = objectOf(json);
  return object === undefined || secret === undefined ? json : { secret_token: secret, ...object };
}

function collectionOf(json: unknown): readonly unknown[] {
  const collection = objectOf(json)?.collection;
  if (Array.isArray(collection)) return collection;
  throw new SourceError("changed", "SoundCloud answered a list without a collection");
}

/** Likes and reposts hold their tracks; a user's tracks are these themselves. */
function trackWithin(entry: unknown): unknown {
  const json = objectOf(entry);
  return json === undefined || json.title !== undefined ? json : json.track;
}
