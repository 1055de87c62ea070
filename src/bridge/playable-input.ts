// What a worker needs to fetch one track's bytes: the only data about a source that crosses the bridge.

import type { JsonObject } from "../lib/json.ts";

/** A track of a site, as the main thread knows it. A worker only gives it back when it asks for a link. */
export interface SiteTrack {
  readonly sourceName: string;
  readonly encoded: string;
  readonly userData: JsonObject;
}

/**
 * Where the bytes are: `url` is http or https, `path` a local file. `container` is Lavalink's probe info (`mp3`,
 * `m3u|hls-outer`), a hint; the content decides.
 */
export type PlainInput =
  | { readonly kind: "http"; readonly url: string; readonly container: string | undefined }
  | { readonly kind: "local"; readonly path: string; readonly container: string | undefined };

/** A plain input, or a track whose link is requested when it is needed (playable-link.ts). */
export type PlayableInput = PlainInput | { readonly kind: "site"; readonly track: SiteTrack };

/** An entry of a playlist file. */
export interface ListedInput {
  readonly input: PlainInput;
  readonly title: string | undefined;
}

/** The result of probing an input, for loadtracks. */
export type ProbeResult =
  | {
      readonly kind: "track";
      /** `probeName` or `probeName|parameters` as Lavalink writes it into encoded tracks. */
      readonly container: string;
      /** The address after HTTP redirects, when there were any: what the track is known by from then on. */
      readonly location: string | undefined;
      readonly title: string | undefined;
      readonly author: string | undefined;
      readonly artworkUrl: string | undefined;
      readonly isrc: string | undefined;
      /** Undefined: unknown or endless, shown to clients as a stream. */
      readonly lengthMs: number | undefined;
      readonly isSeekable: boolean;
    }
  /** A playlist file or HTTP redirect that names another URL: load that instead (the caller bounds the hops). */
  | (ListedInput & {
      readonly kind: "reference";
      /** What the playlist names after it, to be tried in order when it cannot be loaded. */
      readonly alternatives?: readonly ListedInput[] | undefined;
    })
  /** Nothing there (HTTP 404, no such file): `loadType: empty`. */
  | { readonly kind: "empty" };
