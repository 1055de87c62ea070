// Loads what an identifier names: videos, searches, playlists page by page, mixes. Plugin thread.

import { type JsonMembers, type SourceAnswer, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { askInOrder } from "./ask-in-order.ts";
import { type ChosenClient, type Host, inOrderFor } from "./chosen-clients.ts";
import type { ClientIdentity } from "./clients.ts";
import { isVideoId, type ParsedIdentifier, readIdentifier } from "./identifiers.ts";
import type { Innertube } from "./innertube.ts";
import { parsedLink } from "./links.ts";
import { type PageReading, readMix, readPlaylistPage, readSearch } from "./read-lists.ts";
import { readVideo, visitorOf } from "./read-player.ts";
import { searchInOrder } from "./search-in-order.ts";

const PAGE_ENTRIES = 100;

interface CatalogueParts {
  readonly host: Host;
  readonly innertube: Innertube;
  readonly clients: readonly ChosenClient[];
}

export class Catalogue {
  readonly #parts: CatalogueParts;

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
  }

  /** Undefined: it is not YouTube's. */
  async load(identifier: string, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    const parsed = readIdentifier(identifier, this.#parts.host.options);
    if (parsed?.kind !== "redirect") return parsed === undefined ? undefined : this.#grant(parsed, signal);
    const target = await this.#targetOf(parsed.url, signal);
    // One step: YouTube needs no more, and another site's address is not ours to open.
    const next = target === undefined ? undefined : readIdentifier(target, this.#parts.host.options);
    return next === undefined || next.kind === "redirect" ? { kind: "empty" } : this.#grant(next, signal);
  }

  #grant(parsed: Exclude<ParsedIdentifier, { readonly kind: "redirect" }>, signal: AbortSignal): Promise<SourceAnswer> {
    switch (parsed.kind) {
      case "nothing":
        return Promise.resolve({ kind: "empty" });
      case "search":
        return this.#search(parsed, signal);
      case "video":
        return this.#video(parsed.videoId, signal);
      case "playlist":
        return this.#playlist(parsed, signal);
      case "mix":
        return this.#mix(parsed, signal);
    }
  }

  async #video(videoId: string, signal: AbortSignal): Promise<SourceAnswer> {
    const { host, innertube, clients } = this.#parts;
    const track = await askInOrder(
      inOrderFor(clients, "videoLoading"),
      {
        switch: "videoLoading",
        endpoint: "player",
        isFor: ({ abilities }) => abilities.videos,
        ask: async (identity) => readVideo(await innertube.player(identity, { videoId, signal }), videoId),
      },
      { host, signal },
    );
    return { kind: "track", track };
  }

  async #search(
    { of, text }: Extract<ParsedIdentifier, { kind: "search" }>,
    signal: AbortSignal,
  ): Promise<SourceAnswer> {
    const { searchFilter, musicSearchFilter } = this.#parts.host.options;
    const params = of === "music" ? musicSearchFilter : searchFilter;
    const tracks = await searchInOrder(this.#parts, { of, query: text, params, read: readSearch }, signal);
    return tracks === undefined ? { kind: "empty" } : { kind: "search", tracks };
  }

  async #playlist(parsed: Extract<ParsedIdentifier, { kind: "playlist" }>, signal: AbortSignal): Promise<SourceAnswer> {
    const { host, clients } = this.#parts;
    const { playlistId, selectedId } = parsed;
    const { name, tracks } = await askInOrder(
      inOrderFor(clients, "playlistLoading"),
      {
        switch: "playlistLoading",
        endpoint: "browse",
        isFor: ({ abilities }) => abilities.playlists,
        ask: (identity) => this.#pages(identity, playlistId, signal),
      },
      { host, signal },
    );
    return { kind: "playlist", name: name ?? playlistId, tracks, selectedTrack: indexOf(tracks, selectedId) };
  }

  /**
   * Loads up to the allowed number of pages. Ends early if a page adds nothing or continues at a page loaded before.
   */
  async #pages(
    identity: ClientIdentity,
    playlistId: string,
    signal: AbortSignal,
  ): Promise<{ readonly name: string | undefined; readonly tracks: readonly SourceTrack[] }> {
    const { playlistPages } = this.#parts.host.options;
    const first = await this.#page(identity, { browseId: `VL${playlistId}` }, { signal });
    const tracks = [...first.page.tracks];
    const seen = new Set<string>();
    let { page, visitorData } = first;
    for (let count = 1; count < playlistPages && page.token !== undefined && !seen.has(page.token); count++) {
      seen.add(page.token);
      const next = await this.#nextPage(identity, page.token, { signal, visitorData, owner: page.owner });
      if (next === undefined || next.page.count === 0) break;
      tracks.push(...next.page.tracks);
      page = next.page;
      visitorData = next.visitorData ?? visitorData;
    }
    if (tracks.length === 0) throw new SourceError("unavailable", "Could not find tracks from playlist.");
    return { name: first.page.name, tracks: tracks.slice(0, playlistPages * PAGE_ENTRIES) };
  }

  /** The entries read so far matter more than the error of a later page. */
  async #nextPage(
    identity: ClientIdentity,
    token: string,
    context: {
      readonly signal: AbortSignal;
      readonly visitorData: string | undefined;
      readonly owner: string | undefined;
    },
  ): Promise<{ readonly page: PageReading; readonly visitorData: string | undefined } | undefined> {
    try {
      return await this.#page(identity, { continuation: token }, context);
    } catch (error) {
      context.signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      this.#parts.host.log.warn("a further page of a playlist could not be read", { client: identity.name, reason });
      return undefined;
    }
  }

  async #page(
    identity: ClientIdentity,
    body: JsonMembers,
    {
      owner,
      ...context
    }: {
      readonly signal: AbortSignal;
      readonly visitorData?: string | undefined;
      readonly owner?: string | undefined;
    },
  ): Promise<{ readonly page: PageReading; readonly visitorData: string | undefined }> {
    const answer = await this.#parts.innertube.ask(identity, { endpoint: "browse", body, ...context });
    return { page: readPlaylistPage(answer, owner), visitorData: visitorOf(answer) };
  }

  async #mix(
    { playlistId, selectedId }: Extract<ParsedIdentifier, { kind: "mix" }>,
    signal: AbortSignal,
  ): Promise<SourceAnswer> {
    const { host, innertube, clients } = this.#parts;
    const videoId = selectedId !== undefined && isVideoId(selectedId) ? { videoId: selectedId } : {};
    const body = { playlistId, ...videoId };
    const { name, tracks } = await askInOrder(
      inOrderFor(clients, "playlistLoading"),
      {
        switch: "playlistLoading",
        endpoint: "next",
        isFor: ({ abilities }) => abilities.mixes,
        ask: async (identity) => {
          const mix = readMix(await innertube.ask(identity, { endpoint: "next", body, signal }));
          if (mix.tracks.length === 0) throw new SourceError("unavailable", "Could not find tracks from mix.");
          return mix;
        },
      },
      { host, signal },
    );
    return { kind: "playlist", name: name ?? "YouTube mix", tracks, selectedTrack: indexOf(tracks, selectedId) };
  }

  /** The target of a YouTube address; undefined if it leads nowhere. */
  async #targetOf(url: string, signal: AbortSignal): Promise<string | undefined> {
    const { http } = this.#parts.host;
    const { location } = (await http.request(url, { signal, redirect: "manual" })).headers;
    const target = location === undefined ? undefined : webAddressIn(location, url);
    return target === undefined || parsedLink(target.href) === undefined ? undefined : target.href;
  }
}

function indexOf(tracks: readonly SourceTrack[], videoId: string | undefined): number {
  return videoId === undefined ? -1 : tracks.findIndex(({ identifier }) => identifier === videoId);
}
