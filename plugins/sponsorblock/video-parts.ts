// Asks SponsorBlock for the segments of a video (https://wiki.sponsor.ajay.app/w/API_Docs). The server gets only the
// start of the hash of the video's id, and so does not learn which video plays. Plugin thread.

import { createHash } from "node:crypto";
import {
  type Backend,
  type Cache,
  type OptionValues,
  type PlayingTrack,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { throwSiteFailure } from "../reading/site-down.ts";
import { CATEGORIES, type SPONSORBLOCK_MANIFEST } from "./manifest.ts";
import { NO_PARTS, readParts, type VideoParts } from "./segments.ts";

const TIMEOUT_MS = 4000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const PREFIX_LENGTH = 4;
/** Segments come and are voted on for some time. */
const FOUND_TTL_MS = 60 * 60_000;
const NONE_TTL_MS = 10 * 60_000;
const CACHE = { ttlMs: FOUND_TTL_MS, entriesMax: 1000 };
const VIDEO_ID = /^[\w-]{11}$/;
/** All that the node makes use of, so that one answer serves every client. */
const QUERY = {
  categories: JSON.stringify([...CATEGORIES, "chapter"]),
  actionTypes: JSON.stringify(["skip", "chapter"]),
};

export type SponsorBlockHost = PluginHost<OptionValues<typeof SPONSORBLOCK_MANIFEST.config>>;

export class VideoPartsSource {
  readonly #host: SponsorBlockHost;
  readonly #backend: Backend;
  readonly #cache: Cache<VideoParts>;

  constructor(host: SponsorBlockHost) {
    this.#host = host;
    this.#backend = host.backend("segments");
    this.#cache = host.cache("segments", CACHE);
  }

  /** Rejects with a SourceError. */
  find(videoId: string): Promise<VideoParts> {
    return this.#cache.getOrMake(videoId, {
      signal: this.#host.signal,
      make: async (signal) => {
        const value = await this.#ask(videoId, signal);
        const isNone = value.segments.length === 0 && value.chapters.length === 0;
        return { value, ttlMs: isNone ? NONE_TTL_MS : FOUND_TTL_MS };
      },
    });
  }

  async #ask(videoId: string, signal: AbortSignal): Promise<VideoParts> {
    const { http, options } = this.#host;
    const prefix = createHash("sha256").update(videoId).digest("hex").slice(0, PREFIX_LENGTH);
    const url = `${options.server.replace(/\/+$/, "")}/api/skipSegments/${prefix}`;
    const request = { query: QUERY, timeoutMs: TIMEOUT_MS, sizeBytesMax: ANSWER_BYTES_MAX, signal };
    try {
      return await this.#backend.run(async () => {
        const parts = readParts(await http.json(url, request).catch(throwSiteFailure), videoId);
        if (parts === undefined) throw new SourceError("changed", "SponsorBlock answered something else than segments");
        return parts;
      });
    } catch (error) {
      if (error instanceof SourceError && error.kind === "not-found") return NO_PARTS;
      throw error;
    }
  }
}

/** The video of YouTube that is heard; undefined: it is none, or endless. */
export function videoIdOf({ track, mirror }: PlayingTrack): string | undefined {
  const { sourceName, identifier, uri, isStream } = mirror ?? track;
  if (isStream === true) return undefined;
  const id = sourceName === "youtube" ? identifier : videoIdIn(uri ?? "");
  return id !== undefined && VIDEO_ID.test(id) ? id : undefined;
}

/** Of a track that yt-dlp or another source has from YouTube. */
function videoIdIn(uri: string): string | undefined {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  const host = url?.hostname.replace(/^(?:www|m|music)\./, "");
  if (host === "youtu.be") return url?.pathname.slice(1);
  return host === "youtube.com" ? (url?.searchParams.get("v") ?? undefined) : undefined;
}
