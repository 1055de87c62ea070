// The form in which a source's result leaves the plugin's thread: tracks are encoded here, and lists are written as
// JSON, so that the main thread only has to pass them on. Also parses it, for results of other sources that a plugin
// asked for. Plugin thread.

import type { PluginAnswer } from "../../bridge/plugin-messages.ts";
import { toJsonInteger } from "../../lib/json.ts";
import type { JsonMembers, PluginInfoModifier, Source, SourceAnswer, SourceTrack } from "../../plugin-api/plugin.ts";
import { cutToFit } from "../../track/encoded-track.ts";
import { createTrack, type Track } from "../../track/track.ts";
import { fieldsOfTrack, type TrackDetails, UNKNOWN_LENGTH_MS } from "../../track/track-details.ts";
import { readPart, type WrittenTracks, writeTracks } from "../../track/written-tracks.ts";

/** Further tracks of a list are left out. */
const TRACKS_MAX = 10_000;
/** For a list's encoded tracks together: real lists take 5 MB at most. */
const ENCODED_LENGTH_MAX = 16 * 1024 * 1024;
const PLUGIN_INFO_LENGTH_MAX = 64 * 1024;
const IDENTIFIER_LENGTH_MAX = 4096;
const UNKNOWN_AUTHOR = "Unknown artist";
const UNKNOWN_TITLE = "Unknown title";

interface AnswerContext {
  readonly source: Source;
  readonly modifiers: readonly PluginInfoModifier[];
}

/** Throws where the source answers what it must not. */
export function writeAnswer(answer: SourceAnswer | undefined, context: AnswerContext): PluginAnswer {
  if (answer === undefined || answer === null) return { kind: "none" };
  switch (answer.kind) {
    case "empty":
      return { kind: "empty" };
    case "reference":
      return { kind: "reference", identifier: referenceOf(answer.identifier) };
    case "track":
      return { kind: "track", track: toTrack(answer.track, context) };
    case "search":
      return isEmpty(answer.tracks) ? { kind: "empty" } : { kind: "search", tracks: write(answer.tracks, context) };
    case "playlist": {
      const { name, tracks, selectedTrack = -1, pluginInfo = {} } = answer;
      const more = context.modifiers.map((modifier) => modifier.playlist?.(answer));
      const written = write(tracks, context);
      const isSelected = Number.isInteger(selectedTrack) && selectedTrack >= 0 && selectedTrack < written.count;
      return {
        kind: "playlist",
        name: cutToFit(String(name)),
        tracks: written,
        selectedTrack: isSelected ? selectedTrack : -1,
        pluginInfo: plainMembers([pluginInfo, ...more]),
      };
    }
    default:
      throw new Error("a source returned something that is not an answer");
  }
}

/** Throws if it is not an identifier. */
export function referenceOf(identifier: unknown): string {
  if (typeof identifier === "string" && identifier.length <= IDENTIFIER_LENGTH_MAX) return identifier;
  throw new Error(`a reference is a text of at most ${IDENTIFIER_LENGTH_MAX} characters`);
}

/** Parses another source's result into the form that plugins receive. */
export function readAnswer(answer: PluginAnswer): SourceAnswer {
  switch (answer.kind) {
    case "none":
    case "empty":
      return { kind: "empty" };
    case "reference":
      return answer;
    case "track":
      return { kind: "track", track: toSourceTrack(answer.track) };
    case "search":
      return { kind: "search", tracks: readTracks(answer.tracks) };
    case "playlist": {
      const { name, selectedTrack, pluginInfo, tracks } = answer;
      return { kind: "playlist", name, selectedTrack, pluginInfo, tracks: readTracks(tracks) };
    }
  }
}

/** A track as its source knows it. */
export function toSourceTrack({
  info,
  pluginInfo,
  details,
}: Pick<Track, "info" | "pluginInfo"> & Partial<Track>): SourceTrack {
  const { identifier, title, author, length, isStream, uri, artworkUrl, isrc } = info;
  return {
    identifier,
    title,
    author,
    isStream,
    uri,
    artworkUrl,
    isrc,
    // In a list that was JSON it is the nearest that a number can be.
    lengthMs: Number(length) === Number(UNKNOWN_LENGTH_MS) ? undefined : Number(length),
    // Plain JSON by its making.
    pluginInfo: pluginInfo as NonNullable<SourceTrack["pluginInfo"]>,
    fields: fieldValuesOf(details),
  };
}

function isEmpty(tracks: readonly SourceTrack[]): boolean {
  return Array.isArray(tracks) && tracks.length === 0;
}

function write(found: readonly SourceTrack[], context: AnswerContext): WrittenTracks {
  if (!Array.isArray(found)) throw new Error("tracks is not a list");
  const tracks: Track[] = [];
  let length = 0;
  for (const one of found.slice(0, TRACKS_MAX)) {
    const track = toTrack(one, context);
    length += track.encoded.length;
    if (length > ENCODED_LENGTH_MAX) break;
    tracks.push(track);
  }
  return writeTracks(tracks);
}

function readTracks({ parts }: WrittenTracks): SourceTrack[] {
  return parts.flatMap(readPart).map(({ info, pluginInfo }) => toSourceTrack({ info, pluginInfo }));
}

function toTrack(found: SourceTrack, { source, modifiers }: AnswerContext): Track {
  if (typeof found !== "object" || found === null) throw new Error("a track is an object");
  if (typeof found.identifier !== "string") throw new Error("a track's identifier is a text");
  const { lengthMs } = found;
  const isStream = Boolean(found.isStream ?? lengthMs === undefined);
  const isKnown = typeof lengthMs === "number" && lengthMs >= 0 && lengthMs <= Number.MAX_SAFE_INTEGER;
  const info = {
    identifier: cutToFit(found.identifier),
    isSeekable: !isStream,
    author: cutToFit(String(found.author ?? UNKNOWN_AUTHOR)),
    length: isKnown ? Math.round(lengthMs) : toJsonInteger(UNKNOWN_LENGTH_MS),
    isStream,
    position: 0,
    title: cutToFit(String(found.title ?? UNKNOWN_TITLE)),
    uri: textOrNull(found.uri),
    sourceName: source.name,
    artworkUrl: textOrNull(found.artworkUrl),
    isrc: textOrNull(found.isrc),
  };
  const more = modifiers.map((modifier) => modifier.track?.(found));
  return createTrack(info, detailsOf(found, source), plainMembers([found.pluginInfo, ...more]));
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? cutToFit(value) : null;
}

/** Merges the members of all parts, later ones first; plain JSON. Throws if they are not JSON, or very large. */
function plainMembers(parts: readonly unknown[]): JsonMembers {
  const whole: object = Object.assign({}, ...parts.filter((part) => typeof part === "object"));
  if (Object.keys(whole).length === 0) return {};
  const text = JSON.stringify(whole);
  if (text.length > PLUGIN_INFO_LENGTH_MAX)
    throw new Error(`pluginInfo has more than ${PLUGIN_INFO_LENGTH_MAX} characters`);
  return JSON.parse(text) as JsonMembers; // made of an object
}

function detailsOf({ fields: values }: SourceTrack, { fields = [] }: Source): TrackDetails {
  return fields.length === 0 ? { kind: "none" } : { kind: "fields", fields: fieldsOfTrack(fields, values) };
}

function fieldValuesOf(details: TrackDetails | undefined): SourceTrack["fields"] {
  if (details?.kind === "fields") return Object.fromEntries(details.fields.map(({ name, value }) => [name, value]));
  if (details?.kind !== "album") return undefined;
  const { kind: _kind, ...album } = details;
  return album;
}
