// Reads stations from radio-browser's answers, which are untrusted: invalid entries are left out. Plugin thread.

import { type JsonMembers, SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";

/** A station that can be played. */
export interface Station {
  readonly uuid: string;
  readonly name: string;
  /** The stream itself: the directory has followed playlists and redirects. */
  readonly streamUrl: string;
  readonly country: string | undefined;
  readonly faviconUrl: string | undefined;
  readonly pluginInfo: JsonMembers;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const IDENTIFIER = /^(?:radio:)?([0-9a-f-]{36})$/i;
const TEXT_LENGTH_MAX = 300;
const LINK_LENGTH_MAX = 2000;
const ENTRIES_MAX = 1000;
/** Files that only link to a stream; HLS (`.m3u8`) is a stream itself. */
const PLAYLIST_FILE = /^[^?#]*\.(?:pls|m3u|asx|xspf)(?:[?#]|$)/i;

/** The UUID in `radio:<uuid>`, or a bare one; undefined for anything else. */
export function stationUuidOf(identifier: string): string | undefined {
  const uuid = IDENTIFIER.exec(identifier.trim())?.[1]?.toLowerCase();
  return uuid !== undefined && UUID.test(uuid) ? uuid : undefined;
}

/** The stations of a list, each once. Throws a SourceError when it is not a list, or none of many entries is a station. */
export function readStations(answer: unknown): Station[] {
  if (!Array.isArray(answer)) throw new SourceError("changed", "radio-browser answered no list of stations");
  const entries: readonly unknown[] = answer.slice(0, ENTRIES_MAX);
  const stations = new Map<string, Station>();
  for (const entry of entries) {
    const station = readStation(entry);
    if (station !== undefined) stations.set(station.uuid, station);
  }
  const isUnexpected = stations.size === 0 && entries.length > 0 && !entries.some(isStationLike);
  if (isUnexpected)
    throw new SourceError("changed", "radio-browser answered stations without stationuuid and url_resolved");
  return [...stations.values()];
}

export function stationTrack({ uuid, name, country, streamUrl, faviconUrl, pluginInfo }: Station): SourceTrack {
  return {
    identifier: `radio:${uuid}`,
    title: name,
    author: country ?? "Radio Browser",
    // Bots load what they keep by its uri: the stream plays, where the station's pages would not.
    uri: streamUrl,
    artworkUrl: faviconUrl,
    isStream: true,
    pluginInfo,
  };
}

/** True for a link to a playlist file, which other sources read. */
export function isPlaylistFile(url: string): boolean {
  return PLAYLIST_FILE.test(url);
}

/** A link that can be asked for; undefined for anything else. */
export function webLinkOf(value: unknown): string | undefined {
  const text = textOf(value, LINK_LENGTH_MAX + 1);
  if (text === undefined || text.length > LINK_LENGTH_MAX || !/^https?:\/\/[^\s/]/i.test(text)) return undefined;
  return addressOf(text) === undefined ? undefined : text;
}

function readStation(entry: unknown): Station | undefined {
  const members = stationMembers(entry);
  const uuid = textOf(members.stationuuid)?.toLowerCase();
  const name = textOf(members.name);
  const streamUrl = webLinkOf(members.url_resolved) ?? webLinkOf(members.url);
  if (uuid === undefined || !UUID.test(uuid) || name === undefined || streamUrl === undefined) return undefined;
  return {
    uuid,
    name,
    streamUrl,
    country: textOf(members.country) ?? textOf(members.countrycode),
    faviconUrl: webLinkOf(members.favicon),
    pluginInfo: pluginInfoOf(members),
  };
}

/** Present members only: `country, tags, codec, bitrate, homepage`. */
function pluginInfoOf(members: Readonly<Record<string, unknown>>): JsonMembers {
  const { bitrate } = members;
  const known: Readonly<Record<string, string | number | undefined>> = {
    country: textOf(members.countrycode) ?? textOf(members.country),
    tags: textOf(members.tags),
    codec: textOf(members.codec),
    bitrate: typeof bitrate === "number" && Number.isFinite(bitrate) && bitrate > 0 ? bitrate : undefined,
    homepage: webLinkOf(members.homepage),
  };
  const info: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(known)) {
    if (value !== undefined) info[name] = value;
  }
  return info;
}

function isStationLike(entry: unknown): boolean {
  return "stationuuid" in stationMembers(entry);
}

function stationMembers(value: unknown): Readonly<Record<string, unknown>> {
  // An object whose members are not checked yet.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Without space around it; undefined when nothing is left. */
function textOf(value: unknown, lengthMax = TEXT_LENGTH_MAX): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value
    .slice(0, 4 * lengthMax)
    .trim()
    .slice(0, lengthMax);
  return text === "" ? undefined : text;
}
