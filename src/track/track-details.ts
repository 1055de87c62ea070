// What is known of a track beside what the protocol shows: the fields that only some sources have. Any thread.

/** The `length` of streams and of tracks whose length is unknown: 2^63 - 1. */
export const UNKNOWN_LENGTH_MS = 9223372036854775807n;

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
