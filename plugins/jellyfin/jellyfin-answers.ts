// Reads what Jellyfin servers answer: items, pages of them and logins. Pure. Plugin thread. Shapes: BaseItemDto,
// BaseItemDtoQueryResult and AuthenticationResult of the server's OpenAPI document.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { amountOf, itemsOf, textOf } from "../own-servers/read-json.ts";
import { serverIdentifier } from "../own-servers/server-identifier.ts";
import { type Members, objectOf } from "../reading/json.ts";

export const JELLYFIN = "jellyfin";

/** Lengths come in units of 100 ns. */
export const TICKS_PER_MS = 10_000;
/** With or without dashes: no other value is put into a path. */
const ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

export interface JellyfinPage {
  readonly items: readonly Members[];
  /** Sum over all pages. */
  readonly total: number | undefined;
}

export interface JellyfinSession {
  readonly token: string;
  readonly userId: string;
}

export function isJellyfinId(text: string): boolean {
  return ID.test(text);
}

/** Undefined if the answer is not a page of items. */
export function readPage(members: Members): JellyfinPage | undefined {
  if (!Array.isArray(members.Items)) return undefined;
  return { items: itemsOf(members.Items), total: amountOf(members.TotalRecordCount) };
}

/** Undefined: not a song. */
export function readAudio(item: Members, server: string): SourceTrack | undefined {
  const id = idOf(item.Id);
  if (id === undefined || (item.Type !== undefined && item.Type !== "Audio")) return undefined;
  const artists = Array.isArray(item.Artists) ? item.Artists.map(textOf).filter((name) => name !== undefined) : [];
  const artist = itemsOf(item.ArtistItems)[0] ?? itemsOf(item.AlbumArtists)[0];
  return {
    identifier: serverIdentifier(JELLYFIN, { server, kind: "track", id }),
    title: textOf(item.Name) ?? id,
    author: artists.length > 0 ? artists.join(", ") : textOf(item.AlbumArtist),
    lengthMs:
      lengthOf(item) ??
      itemsOf(item.MediaSources)
        .map(lengthOf)
        .find((lengthMs) => lengthMs !== undefined),
    isStream: false,
    pluginInfo: {
      albumName: textOf(item.Album) ?? null,
      albumIdentifier: identifierOf("album", item.AlbumId, server),
      artistIdentifier: identifierOf("artist", artist?.Id, server),
    },
  };
}

/** Undefined if the answer is not a session. */
export function readSession(members: Members): JellyfinSession | undefined {
  const token = textOf(members.AccessToken);
  const userId = idOf(objectOf(members.User)?.Id);
  return token === undefined || userId === undefined ? undefined : { token, userId };
}

/** Of an item, or of one of its files. */
function lengthOf({ RunTimeTicks }: Members): number | undefined {
  const ticks = amountOf(RunTimeTicks) ?? 0;
  return ticks === 0 ? undefined : Math.round(ticks / TICKS_PER_MS);
}

function identifierOf(kind: "album" | "artist", value: unknown, server: string): string | null {
  const id = idOf(value);
  return id === undefined ? null : serverIdentifier(JELLYFIN, { server, kind, id });
}

function idOf(value: unknown): string | undefined {
  const id = textOf(value);
  return id !== undefined && isJellyfinId(id) ? id : undefined;
}
