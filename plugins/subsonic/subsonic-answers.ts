// Reads what OpenSubsonic servers answer: the envelope around everything, its error codes, songs and lists of them.
// Pure. Plugin thread. Shapes: the API's documentation of Child, AlbumID3, Playlist, ArtistID3.

import type { SourceErrorKind, SourceTrack } from "../../src/plugin-api/plugin.ts";
import { amountOf, itemsOf, textOf } from "../own-servers/read-json.ts";
import { serverIdentifier } from "../own-servers/server-identifier.ts";
import { type Members, objectOf } from "../reading/json.ts";

export const SUBSONIC = "subsonic";

/** The meaning of an error code of the API; the server's own message is not passed on, as it may contain anything. */
interface CodeMeaning {
  readonly kind: SourceErrorKind;
  readonly what: string;
}

const CODES: Readonly<Record<number, CodeMeaning>> = {
  10: { kind: "changed", what: "misses a parameter in what it was asked" },
  20: { kind: "changed", what: "is too new for this node's version of the protocol" },
  30: { kind: "changed", what: "is too old for this node's version of the protocol" },
  40: { kind: "unavailable", what: "refused user name or password" },
  41: { kind: "unavailable", what: "takes no salted passwords for this user; set an apiKey" },
  42: { kind: "unavailable", what: "does not take this kind of login" },
  43: { kind: "unavailable", what: "found two kinds of login in one request" },
  44: { kind: "unavailable", what: "refused the apiKey" },
  50: { kind: "unavailable", what: "does not allow this user to do that" },
  60: { kind: "unavailable", what: "has an expired trial period" },
  70: { kind: "not-found", what: "has nothing of that id" },
};

export function meaningOfCode(code: number | undefined): CodeMeaning {
  const known = code === undefined ? undefined : CODES[code];
  return known ?? { kind: "changed", what: `reported the error ${code ?? "without a code"}` };
}

/** The content of the envelope, or the code of the error; undefined if there is no envelope. */
export function readEnvelope(
  members: Members | undefined,
): { readonly body: Members } | { readonly code: number | undefined } | undefined {
  const body = objectOf(members?.["subsonic-response"]);
  if (body?.status === "ok") return { body };
  return body?.status === "failed" ? { code: amountOf(objectOf(body.error)?.code) } : undefined;
}

/** Undefined: not a song. */
export function readSong(song: Members, server: string): SourceTrack | undefined {
  const id = textOf(song.id);
  if (id === undefined || song.isDir === true || song.isVideo === true) return undefined;
  const seconds = amountOf(song.duration);
  return {
    identifier: serverIdentifier(SUBSONIC, { server, kind: "track", id }),
    title: textOf(song.title) ?? textOf(song.name) ?? id,
    author: textOf(song.displayArtist) ?? textOf(song.artist) ?? textOf(itemsOf(song.artists)[0]?.name),
    lengthMs: seconds === undefined || seconds === 0 ? undefined : seconds * 1000,
    isStream: false,
    isrc: isrcOf(song.isrc),
    pluginInfo: {
      albumName: textOf(song.album) ?? null,
      albumIdentifier: identifierOf("album", song.albumId, server),
      artistIdentifier: identifierOf("artist", song.artistId, server),
    },
  };
}

/** The entries that are songs. */
export function readSongs(list: unknown, server: string): SourceTrack[] {
  return itemsOf(list)
    .map((song) => readSong(song, server))
    .filter((song) => song !== undefined);
}

/** A list in OpenSubsonic, one text elsewhere. */
function isrcOf(value: unknown): string | undefined {
  return textOf(Array.isArray(value) ? value[0] : value);
}

function identifierOf(kind: "album" | "artist", value: unknown, server: string): string | null {
  const id = textOf(value);
  return id === undefined ? null : serverIdentifier(SUBSONIC, { server, kind, id });
}
