// The fields of a track that only some sources have, and that the protocol does not show. Any thread.

import type { TrackField } from "../plugin-api/plugin.ts";

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
  | { readonly kind: "mediaUrl"; readonly mediaUrl: string }
  /** A plugin's source: what it declares, in its order, and what a later version of it has written behind that. */
  | { readonly kind: "fields"; readonly fields: readonly FieldOfTrack[]; readonly further?: Uint8Array | undefined }
  /** An unknown source: all bytes before the position, written back unchanged. */
  | { readonly kind: "unknown"; readonly bytes: Uint8Array };

/** A declared field with its value. */
export type FieldOfTrack =
  | { readonly name: string; readonly type: "text"; readonly value: string }
  | { readonly name: string; readonly type: "optionalText"; readonly value: string | null }
  | { readonly name: string; readonly type: "flag"; readonly value: boolean };

/**
 * The fields that `layout` declares, with `values` by their names: "", null or false where one is missing or of another
 * type.
 */
export function fieldsOfTrack(
  layout: readonly TrackField[],
  values: Readonly<Record<string, unknown>> = {},
): readonly FieldOfTrack[] {
  return layout.map((field) => fieldOfTrack(field, values[field.name]));
}

/** One of them. */
export function fieldOfTrack({ name, type }: TrackField, value: unknown): FieldOfTrack {
  switch (type) {
    case "text":
      return { name, type, value: typeof value === "string" ? value : "" };
    case "optionalText":
      return { name, type, value: typeof value === "string" ? value : null };
    case "flag":
      return { name, type, value: value === true };
  }
}
