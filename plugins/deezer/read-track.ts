// Converts a track in the JSON of Deezer's API to the node's format. Plugin thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { type Members, membersOf, numberOf, trimmedText } from "../reading/json.ts";

const PREVIEW_LENGTH_MS = 30_000;
const ID = /^[1-9]\d{0,18}$/;

interface ReadTrackOptions {
  readonly isPreview: boolean;
  /** The album or artist whose list the track is in: its entries may not repeat it. */
  readonly album?: Members | undefined;
  readonly artist?: Members | undefined;
}

/** Undefined if it is not a track. */
export function readTrack(
  json: Members,
  { isPreview, album = {}, artist = {} }: ReadTrackOptions,
): SourceTrack | undefined {
  const id = idOf(json.id);
  const title = trimmedText(json.title);
  if (id === undefined || title === undefined || (json.type !== undefined && json.type !== "track")) return undefined;
  const ownAlbum = { ...album, ...membersOf(json.album) };
  const ownArtist = { ...(idOf(artist.id) === idOf(membersOf(json.artist).id) && artist), ...membersOf(json.artist) };
  const fields = {
    albumName: trimmedText(ownAlbum.title) ?? null,
    albumUrl: pageOf("album", idOf(ownAlbum.id)),
    artistUrl: pageOf("artist", idOf(ownArtist.id)),
    artistArtworkUrl: pictureOf(ownArtist, "picture"),
    previewUrl: webLinkOf(json.preview),
    isPreview,
  };
  return {
    identifier: id,
    title,
    author: trimmedText(ownArtist.name),
    lengthMs: isPreview ? PREVIEW_LENGTH_MS : lengthOf(json.duration),
    isStream: false,
    uri: pageOf("track", id),
    artworkUrl: pictureOf(ownAlbum, "cover"),
    isrc: trimmedText(json.isrc) ?? null,
    pluginInfo: fields,
    fields,
  };
}

/** A number, or its digits. */
export function idOf(value: unknown): string | undefined {
  const text = typeof value === "number" ? String(value) : trimmedText(value);
  return text !== undefined && ID.test(text) ? text : undefined;
}

/** The largest picture: `cover_xl`, `picture_big`. */
export function pictureOf(json: Members, name: "cover" | "picture"): string | null {
  return webLinkOf(json[`${name}_xl`]) ?? webLinkOf(json[`${name}_big`]) ?? webLinkOf(json[name]);
}

function pageOf(kind: "track" | "album" | "artist", id: string | undefined): string | null {
  return id === undefined ? null : `https://www.deezer.com/${kind}/${id}`;
}

/** A length in milliseconds, from one in seconds. */
function lengthOf(value: unknown): number | undefined {
  const seconds = numberOf(value);
  return seconds !== undefined && seconds > 0 ? Math.round(seconds * 1000) : undefined;
}
