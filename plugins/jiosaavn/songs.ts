// Reads the answers of JioSaavn's API, which are untrusted: songs in its two forms (version 4 has most members in
// `more_info`), and the lists that they are in. Texts have entities of HTML. Pure. Plugin thread.

import { SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { decodeEntities } from "../reading/entities.ts";
import { type Members, membersOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import { songId } from "./identifier.ts";

const SITE = "https://www.jiosaavn.com/";
const SONGS_MAX = 10_000;
const ARTISTS_MAX = 50;
const TEXT_LENGTH_MAX = 1000;
const MEDIA_LENGTH_MAX = 4096;
const LENGTH_S_MAX = 24 * 3600;
const PREVIEW_MS = 30_000;

export interface Song {
  readonly id: string;
  readonly track: SourceTrack;
  readonly media: SongMedia;
  readonly artistIds: readonly string[];
}

/** The data needed to play a song. */
export interface SongMedia {
  /** What the API makes a link of. */
  readonly encryptedUrl: string | undefined;
  /** Also in 320 kbit/s. */
  readonly isHigh: boolean;
  /** A file of 30 s. */
  readonly previewUrl: string | null;
}

/**
 * The songs in the first of these members that is there. Empty for what JioSaavn does not have: it answers with an
 * empty list or object, or with an error, in HTTP 200. Throws a SourceError `changed` for anything else.
 */
export function songsIn(answer: unknown, names: readonly string[]): Song[] {
  if (isNothing(answer)) return [];
  const members = membersOf(answer);
  const list = Array.isArray(answer) ? answer : names.map((name) => members[name]).find((value) => value !== undefined);
  if (list === "" || list === null) return [];
  if (!Array.isArray(list)) throw new SourceError("changed", `JioSaavn's API answered without a list \`${names[0]}\``);
  return readSongs(list);
}

/** The songs of an answer that has each in a separate member, such as those of a radio station; empty: none. */
export function songsByKey(answer: unknown): Song[] {
  if (isNothing(answer)) return [];
  const entries = Object.values(membersOf(answer)).map((value) => objectOf(membersOf(value).song) ?? value);
  return readSongs(entries);
}

function readSongs(list: readonly unknown[]): Song[] {
  return objectsOf(list, SONGS_MAX).flatMap((entry) => readSong(entry) ?? []);
}

/** Undefined for what is no song. */
function readSong(json: Members): Song | undefined {
  const more = membersOf(json.more_info);
  const first = (...names: readonly string[]): unknown => names.map((name) => more[name] ?? json[name]).find(isThere);
  const id = songId(trimmedText(json.id) ?? "");
  const title = textOf(json.title) ?? textOf(json.song);
  if (id === undefined || title === undefined) return undefined;
  const artists = artistsOf(membersOf(first("artistMap")));
  const encryptedUrl = trimmedText(first("encrypted_media_url"));
  const media = {
    encryptedUrl: encryptedUrl !== undefined && encryptedUrl.length <= MEDIA_LENGTH_MAX ? encryptedUrl : undefined,
    isHigh: String(first("320kbps")) === "true",
    previewUrl: webLink(first("vlink", "media_preview_url")),
  };
  const names = artists.flatMap(({ name }) => textOf(name) ?? []).join(", ");
  const fields = {
    albumName: textOf(first("album")) ?? null,
    albumUrl: webLink(first("album_url")),
    artistUrl: webLink(artists[0]?.perma_url),
    artistArtworkUrl: pictureOf(artists[0]?.image),
    previewUrl: media.previewUrl,
    isPreview: false,
  };
  const track: SourceTrack = {
    identifier: id,
    title,
    author: textOf(names) ?? textOf(first("primary_artists", "singers", "music")),
    lengthMs: lengthOf(first("duration")),
    isStream: false,
    uri: webLink(json.perma_url),
    artworkUrl: pictureOf(json.image),
    fields,
    pluginInfo: fields,
  };
  const artistIds = artists.flatMap((artist) => trimmedText(artist.id) ?? []);
  return { id, track, media, artistIds: artistIds.length > 0 ? artistIds : idsOf(first("primary_artists_id")) };
}

/** The song's preview as a track; undefined: it has none. */
export function previewOf({ track, media }: Song): SourceTrack | undefined {
  if (media.previewUrl === null) return undefined;
  const fields = { ...track.fields, isPreview: true };
  return { ...track, lengthMs: PREVIEW_MS, fields, pluginInfo: fields };
}

/** A text without entities; undefined for a blank one. */
export function textOf(value: unknown): string | undefined {
  return trimmedText(decodeEntities(trimmedText(value) ?? ""))?.slice(0, TEXT_LENGTH_MAX);
}

/** Addresses may be relative to the site; null for anything else. */
export function webLink(value: unknown): string | null {
  return webLinkOf(textOf(value), SITE);
}

/** In the largest size there is. */
export function pictureOf(value: unknown): string | null {
  return webLink(value)?.replace(/(?<!\d)(?:50x50|150x150)(?=\.\w{3,4}$)/, "500x500") ?? null;
}

/** The main artists; where none are named, all. */
function artistsOf(map: Members): Members[] {
  const main = objectsOf(map.primary_artists, ARTISTS_MAX);
  return main.length > 0 ? main : objectsOf(map.artists, ARTISTS_MAX);
}

function idsOf(value: unknown): string[] {
  return (trimmedText(value) ?? "")
    .split(/,\s*/)
    .filter((id) => /^\d{1,15}$/.test(id))
    .slice(0, ARTISTS_MAX);
}

/** Milliseconds of a number of seconds, or of its digits. */
function lengthOf(value: unknown): number | undefined {
  const lengthS = typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return typeof lengthS === "number" && lengthS > 0 && lengthS <= LENGTH_S_MAX ? Math.round(lengthS * 1000) : undefined;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function isNothing(answer: unknown): boolean {
  if (answer === null || (Array.isArray(answer) && answer.length === 0)) return true;
  const members = objectOf(answer);
  if (members === undefined) return false;
  return Object.keys(members).length === 0 || members.error !== undefined || members.status === "failure";
}
