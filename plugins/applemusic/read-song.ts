// Converts a song in the JSON of Apple Music's API to the node's format. Plugin thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, numberOf, objectsOf, trimmedText } from "../reading/json.ts";

const PREVIEW_LENGTH_MS = 30_000;
const ARTWORK_SIZE = 1000;
const ARTWORK_SIZE_MAX = 10_000;
const ID = /^[\w.-]{1,100}$/;

/** Undefined if it is not a song, or not available any more. `artistArtworkUrl`: of the list's artist. */
export function readSong(
  { id: idJson, attributes }: Members,
  { isPreview, artistArtworkUrl = null }: { readonly isPreview: boolean; readonly artistArtworkUrl?: string | null },
): SourceTrack | undefined {
  const json = membersOf(attributes);
  const id = typeof idJson === "number" ? String(idJson) : (trimmedText(idJson) ?? "");
  const title = trimmedText(json.name);
  if (!ID.test(id) || title === undefined) return undefined;
  const uri = webLinkOf(json.url);
  const durationMs = numberOf(json.durationInMillis) ?? 0;
  const fields = {
    albumName: trimmedText(json.albumName) ?? null,
    // A song's page is its album's, with the song in the query.
    albumUrl: uri?.includes("/album/") ? uri.replace(/[?#].*$/, "") : null,
    artistUrl: webLinkOf(json.artistUrl),
    artistArtworkUrl,
    previewUrl: previewOf(json),
    isPreview,
  };
  return {
    identifier: id,
    title,
    author: trimmedText(json.artistName),
    lengthMs: isPreview ? PREVIEW_LENGTH_MS : durationMs > 0 ? Math.round(durationMs) : undefined,
    isStream: false,
    uri,
    artworkUrl: artworkOf(json.artwork),
    isrc: trimmedText(json.isrc) ?? null,
    pluginInfo: fields,
    fields,
  };
}

/** Where the preview of 30 s is. */
export function previewOf({ previews }: Members): string | null {
  const [preview] = objectsOf(previews, 1);
  return webLinkOf(preview?.url);
}

/** The picture with its width and height filled in. */
export function artworkOf(artwork: unknown): string | null {
  const { url, width, height } = membersOf(artwork);
  const text = trimmedText(url);
  return webLinkOf(text?.replace("{w}", sizeOf(width)).replace("{h}", sizeOf(height)));
}

function sizeOf(value: unknown): string {
  const size = numberOf(value) ?? 0;
  return String(Number.isInteger(size) && size > 0 && size <= ARTWORK_SIZE_MAX ? size : ARTWORK_SIZE);
}
