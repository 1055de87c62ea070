// What a worker needs to fetch one track's bytes: all that crosses the bridge about a source.

import type { JsonObject } from "../lib/json.ts";

/** A track of a site, as the main thread knows it. A worker only gives it back when it asks for a link. */
export interface SiteTrack {
  readonly sourceName: string;
  readonly encoded: string;
  readonly userData: JsonObject;
}

/**
 * Where the bytes come from: `url` is http or https, `path` that of a file here. `container` is Lavalink's probe info
 * (`mp3`, `m3u|hls-outer`), a hint; content decides.
 */
export type PlainInput =
  | { readonly kind: "http"; readonly url: string; readonly container: string | undefined }
  | { readonly kind: "local"; readonly path: string; readonly container: string | undefined };

/** One of these, or a track whose link is asked for when it is needed (playable-link.ts). */
export type PlayableInput = PlainInput | { readonly kind: "site"; readonly track: SiteTrack };

/** What a look at an input found, for loadtracks. */
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
  /** A playlist file or HTTP redirect that names another place: load that instead (the caller bounds the hops). */
  | { readonly kind: "reference"; readonly input: PlainInput; readonly title: string | undefined }
  /** Nothing there (HTTP 404, no such file): `loadType: empty`. */
  | { readonly kind: "empty" };
