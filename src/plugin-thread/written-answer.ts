// What a source has found, in the form in which it leaves the plugin's thread: tracks are encoded here, and lists are
// written as JSON, so that the main thread has nothing to do but to pass them on. And back, where a plugin has asked
// for what other sources have. Plugin thread.

import type { PluginAnswer } from "../bridge/plugin-messages.ts";
import { type JsonObject, toJsonInteger } from "../lib/json.ts";
import type { PluginInfoModifier, Source, SourceAnswer, SourceTrack } from "../plugin-api/plugin.ts";
import type { TrackJson } from "../track/track-info.ts";
import { createTrack, type Track } from "../track/track.ts";
import { type FieldOfTrack, fieldsOfTrack, type TrackDetails, UNKNOWN_LENGTH_MS } from "../track/track-details.ts";
import { type WrittenTracks, writeTracks } from "../track/written-tracks.ts";

/** What is more of a list is left out. */
const TRACKS_MAX = 10_000;
const UNKNOWN_AUTHOR = "Unknown artist";
const UNKNOWN_TITLE = "Unknown title";

export interface AnswerContext {
  readonly source: Source;
  readonly modifiers: readonly PluginInfoModifier[];
}

/** Throws where the source answers what it must not. */
export function writeAnswer(answer: SourceAnswer | undefined, context: AnswerContext): PluginAnswer {
  switch (answer?.kind) {
    case undefined:
      return { kind: "none" };
    case "empty":
      return { kind: "empty" };
    case "reference":
      return { kind: "reference", identifier: String(answer.identifier) };
    case "track":
      return { kind: "track", track: toTrack(answer.track, context) };
    case "search":
      return answer.tracks.length === 0 ? { kind: "empty" } : { kind: "search", tracks: write(answer.tracks, context) };
    case "playlist": {
      const { name, tracks, selectedTrack = -1, pluginInfo = {} } = answer;
      const more = context.modifiers.map((modifier) => modifier.playlist?.(answer));
      return {
        ...{ kind: "playlist", name: String(name), tracks: write(tracks, context) },
        selectedTrack: selectedTrack < Math.min(tracks.length, TRACKS_MAX) ? selectedTrack : -1,
        pluginInfo: Object.assign({}, pluginInfo, ...more),
      };
    }
  }
}

/** The same back: what another source has found, as a plugin sees it. */
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
export function toSourceTrack({ info, pluginInfo, details }: Pick<Track, "info" | "pluginInfo"> & Partial<Track>): SourceTrack {
  const { identifier, title, author, length, isStream, uri, artworkUrl, isrc } = info;
  return {
    ...{ identifier, title, author, isStream, uri, artworkUrl, isrc },
    lengthMs: length === UNKNOWN_LENGTH_MS ? undefined : Number(length),
    // Plain JSON by its making.
    pluginInfo: pluginInfo as NonNullable<SourceTrack["pluginInfo"]>,
    fields: details?.kind === "fields" ? valuesOf(details.fields) : undefined,
  };
}

function write(tracks: readonly SourceTrack[], context: AnswerContext): WrittenTracks {
  return writeTracks(tracks.slice(0, TRACKS_MAX).map((track) => toTrack(track, context)));
}

function readTracks({ parts }: WrittenTracks): SourceTrack[] {
  return parts.flatMap((part) => {
    const tracks = JSON.parse(`[${Buffer.from(part).toString()}]`) as TrackJson[]; // written by this node
    return tracks.map((track) => toSourceTrack({ info: track.info, pluginInfo: track.pluginInfo }));
  });
}

function toTrack(found: SourceTrack, { source, modifiers }: AnswerContext): Track {
  const { lengthMs, isStream = lengthMs === undefined, uri = null, artworkUrl = null, isrc = null } = found;
  const isKnown = lengthMs !== undefined && Number.isFinite(lengthMs) && lengthMs >= 0;
  const info = {
    identifier: String(found.identifier),
    isSeekable: !isStream,
    author: String(found.author ?? UNKNOWN_AUTHOR),
    length: isKnown ? Math.round(lengthMs) : toJsonInteger(UNKNOWN_LENGTH_MS),
    isStream,
    position: 0,
    title: String(found.title ?? UNKNOWN_TITLE),
    uri,
    sourceName: source.name,
    artworkUrl,
    isrc,
  };
  const more = modifiers.map((modifier) => modifier.track?.(found));
  const pluginInfo: JsonObject = Object.assign({}, found.pluginInfo, ...more);
  return createTrack(info, detailsOf(found, source), pluginInfo);
}

function detailsOf({ fields: values }: SourceTrack, { fields = [] }: Source): TrackDetails {
  return fields.length === 0 ? { kind: "none" } : { kind: "fields", fields: fieldsOfTrack(fields, values) };
}

function valuesOf(fields: readonly FieldOfTrack[]): NonNullable<SourceTrack["fields"]> {
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}
