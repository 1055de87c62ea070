// What is known of a track: the protocol's TrackInfo and the fields that only some sources have. Main thread.

import type { JsonInteger } from "../../lib/json.ts";

/** The `length` of streams and of tracks whose length is unknown: 2^63 - 1. */
export const UNKNOWN_LENGTH_MS = 9223372036854775807n;

/** protocol-v4.md section 3.1. `length` and `position` are milliseconds. */
export interface TrackInfo {
  readonly identifier: string;
  readonly isSeekable: boolean;
  readonly author: string;
  readonly length: JsonInteger;
  readonly isStream: boolean;
  readonly position: JsonInteger;
  readonly title: string;
  readonly uri: string | null;
  readonly sourceName: string;
  readonly artworkUrl: string | null;
  readonly isrc: string | null;
}

/** The source-specific fields of an encoded track (protocol-v4.md section 5.4). */
export type TrackDetails =
  | { readonly kind: "none" }
  /** http and local: the container as `name` or `name|parameters`. */
  | { readonly kind: "probe"; readonly probeInfo: string }
  /** The sources of LavaSrc. */
  | {
      readonly kind: "album";
      readonly albumName: string | null;
      readonly albumUrl: string | null;
      readonly artistUrl: string | null;
      readonly artistArtworkUrl: string | null;
      readonly previewUrl: string | null;
      readonly isPreview: boolean;
    }
  /** tumblr: where the media are. */
  | { readonly kind: "mediaUrl"; readonly mediaUrl: string };
