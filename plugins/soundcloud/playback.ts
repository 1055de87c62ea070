// Resolves an encoded track to a signed link of one of its variants. Plugin thread.

import {
  type Cache,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { objectOf } from "../reading/json.ts";
import type { SoundCloudApi } from "./api.ts";
import { parseLink, trackIdOf } from "./identifier.ts";
import type { SoundCloudLoader } from "./loader.ts";
import { textOf } from "./read-json.ts";
import type { TrackPlaying } from "./read-track.ts";
import { expiryOf, isPreviewLink, type Variant } from "./variant.ts";

/** Lavalink's words. */
export const NOT_AVAILABLE = "This track is not available";
export const BLOCKED = `${NOT_AVAILABLE}: SoundCloud does not play it in the region of the node`;
export const ONLY_A_PREVIEW = `${NOT_AVAILABLE}: only a preview of it is available without a subscription`;
const PROTECTED = "This track is protected by DRM; SoundCloud does not give it to players like this one";

const LINK_LENGTH_MAX = 8192;
/** Variants that SoundCloud lists and answers with 404. */
const MISSING_CACHE = { ttlMs: 30 * 60_000, entriesMax: 2000 };

interface PlaybackOptions {
  readonly api: SoundCloudApi;
  readonly loader: SoundCloudLoader;
  /** Previews are not played. */
  readonly filterOutPreviewTracks: boolean;
}

interface LinkRequest {
  readonly secret: string | undefined;
  readonly signal: AbortSignal;
  /** The reason is added here if the node may not access it. */
  readonly refusals: SourceError[];
}

type Link = Extract<Playable, { readonly kind: "link" }>;

export class SoundCloudPlayback {
  readonly #host: PluginHost;
  readonly #options: PlaybackOptions;
  /** By address and secret. */
  readonly #missing: Cache<true>;

  constructor(host: PluginHost, options: PlaybackOptions) {
    this.#host = host;
    this.#options = options;
    this.#missing = host.cache("missing variants", MISSING_CACHE);
  }

  /** Rejects with `unavailable` for what cannot be played here. */
  async resolve(request: ResolveRequest): Promise<Playable> {
    const id = trackIdOf(request.track.identifier);
    const known = request.reason === "start" && id !== undefined ? this.#options.loader.playingOf(id) : undefined;
    const refusals: SourceError[] = [];
    const link = known === undefined ? undefined : await this.#linkOf(known, request, refusals);
    if (link !== undefined) return link;
    if (known?.isProtected) throw this.#unplayable(known, refusals);
    // Nothing is cached, or none of the cached variants exists any more.
    const fresh = await this.#find(id, request);
    const freshRefusals: SourceError[] = [];
    const found = await this.#linkOf(fresh, request, freshRefusals);
    if (found !== undefined) return found;
    throw this.#unplayable(fresh, freshRefusals);
  }

  /** By its number; where that is of no use, or not enough without a secret, by its page. */
  async #find(id: string | undefined, { track, signal }: ResolveRequest): Promise<TrackPlaying> {
    const { loader } = this.#options;
    const page = parseLink(track.uri ?? "");
    const isSecret = page?.kind === "page" && page.secret !== undefined;
    const refusals: SourceError[] = [];
    const byId =
      id === undefined || isSecret ? undefined : await orMissing(loader.track(id, undefined, signal), refusals);
    if (byId !== undefined) return byId.playing;
    if (page?.kind === "page" && !page.isSet) {
      const json = await orMissing(loader.resolve(page.url, signal), refusals);
      if (json?.kind === "track") return loader.readTrack(json, page.secret).playing;
    }
    throw gone(refusals.at(-1));
  }

  /** The first available variant; undefined if there is none. Refusals of whole ones are added to `refusals`. */
  async #linkOf(
    playing: TrackPlaying,
    { variant: last, signal }: ResolveRequest,
    refusals: SourceError[],
  ): Promise<Link | undefined> {
    const { filterOutPreviewTracks } = this.#options;
    if (playing.isBlocked || (playing.isPreview && filterOutPreviewTracks)) return undefined;
    let preview: Link | undefined;
    for (const variant of lastFirst(playing.variants, last)) {
      if (variant.isPreview && preview !== undefined) break;
      const refused: SourceError[] = [];
      const link = await this.#fetchLink(variant, { secret: playing.secret, signal, refusals: refused });
      if (!variant.isPreview) refusals.push(...refused);
      if (link === undefined) continue;
      if (variant.isPreview || !isPreviewLink(link.url)) return this.#counted(link, variant.isPreview);
      // It was said to be whole; another one may be.
      preview ??= { ...link, variant: `${link.variant} preview` };
    }
    if (preview !== undefined && filterOutPreviewTracks) throw new SourceError("unavailable", ONLY_A_PREVIEW);
    return preview === undefined ? undefined : this.#counted(preview, true);
  }

  /** Undefined if the variant is gone, or the node may not access it. */
  async #fetchLink(variant: Variant, { secret, signal, refusals }: LinkRequest): Promise<Link | undefined> {
    const { transcodingUrl } = variant;
    const key = `${transcodingUrl} ${secret ?? ""}`;
    if (this.#missing.get(key) === true) return undefined;
    const query = { secret_token: secret };
    const answer = await orMissing(this.#options.api.get(transcodingUrl, { signal, query }), refusals);
    if (answer === undefined && refusals.length === 0) this.#missing.set(key, true);
    const json = objectOf(answer);
    if (json === undefined) return undefined;
    const url = linkOf(json.url);
    if (url === undefined) throw new SourceError("changed", "SoundCloud answered a variant without a link");
    const expiresAtMs = expiryOf(url, variant, this.#host.clock.now());
    return { kind: "link", url: url.href, expiresAtMs, variant: variant.name };
  }

  #unplayable(playing: TrackPlaying, [refusal]: readonly SourceError[]): SourceError {
    // The node's address or its region may be what is refused, which says nothing about the track.
    return refusal === undefined ? new SourceError("unavailable", this.#whyUnplayable(playing)) : gone(refusal);
  }

  #whyUnplayable({ isBlocked, isPreview, variants, hasEncrypted }: TrackPlaying): string {
    if (isBlocked) return BLOCKED;
    if (isPreview && this.#options.filterOutPreviewTracks) return ONLY_A_PREVIEW;
    if (hasEncrypted) return PROTECTED;
    if (variants.length > 0) return `${NOT_AVAILABLE}: SoundCloud refuses all of its variants`;
    return "Did not detect any supported formats";
  }

  #counted(link: Link, isPreview: boolean): Link {
    if (!isPreview) return link;
    this.#host.count("previews");
    return { ...link, isPreview };
  }
}

/** Signed ones are long. */
function linkOf(value: unknown): URL | undefined {
  const text = textOf(value);
  const url = text === undefined || text.length > LINK_LENGTH_MAX ? undefined : addressOf(text);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}

/** Puts the variant played before first, so that playback continues with the same bytes if they still exist. */
function lastFirst(variants: readonly Variant[], last: string | undefined): readonly Variant[] {
  const same = variants.filter(({ name }) => name === last);
  return [...same, ...variants.filter(({ name }) => name !== last)];
}

/** Undefined for what does not exist or is refused; the reason of a refusal is added to `refusals`. */
async function orMissing<Value>(work: Promise<Value>, refusals: SourceError[] = []): Promise<Value | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SourceError) || (error.kind !== "not-found" && error.kind !== "unavailable")) throw error;
    if (error.kind === "unavailable") refusals.push(error);
    return undefined;
  }
}

/** With why SoundCloud refused to say what there is, or to give it, where it did. */
function gone(refusal: SourceError | undefined): SourceError {
  const message = refusal === undefined ? NOT_AVAILABLE : `${NOT_AVAILABLE}: ${refusal.message}`;
  return new SourceError("unavailable", message, { cause: refusal });
}
