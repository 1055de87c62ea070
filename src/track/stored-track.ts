// A track as plain JSON that holds all of it, so that it can be kept outside of the process: its encoded form stays byte
// for byte as the client sent it. Any thread; used by the stored form of players.

import { INT64_MAX, INT64_MIN } from "../lib/int64.ts";
import { type JsonInteger, type JsonObject, parseJson, plainJson, stringifyJson } from "../lib/json.ts";
import { ENCODED_LENGTH_MAX } from "./encoded-track.ts";
import type { Track } from "./track.ts";
import type { FieldOfTrack, TrackDetails } from "./track-details.ts";
import type { TrackInfo } from "./track-info.ts";

type DetailsOf<Kind extends TrackDetails["kind"]> = Extract<TrackDetails, { readonly kind: Kind }>;

/** Bytes are base64. */
type StoredDetails =
  | Exclude<TrackDetails, DetailsOf<"fields" | "unknown">>
  | { readonly kind: "fields"; readonly fields: readonly FieldOfTrack[]; readonly further?: string | undefined }
  | { readonly kind: "unknown"; readonly bytes: string };

/** To be written by `stringifyJson`: integers may be bigints. */
export interface StoredTrack {
  readonly encoded: string;
  readonly info: TrackInfo;
  /** As JSON text, so that neither its depth nor its size counts in the JSON around it; undefined: it is empty. */
  readonly pluginInfo?: string | undefined;
  /** Likewise. */
  readonly userData?: string | undefined;
  readonly details: StoredDetails;
}

/** All of a track. */
export function storedTrackOf({ encoded, info, pluginInfo, userData, details }: Track): StoredTrack {
  return {
    encoded,
    info,
    pluginInfo: storedObject(pluginInfo),
    userData: storedObject(userData),
    details: storedDetails(details),
  };
}

/**
 * The track that was stored. `stored` is what `plainJson` makes of the text, from wherever it came; undefined when
 * anything in it is not as `storedTrackOf` writes it.
 */
export function trackOfStored(stored: unknown): Track | undefined {
  if (!isObject(stored)) return undefined;
  const {
    encoded,
    info: infoGiven,
    pluginInfo: pluginInfoText,
    userData: userDataText,
    details: detailsGiven,
  } = stored;
  const info = readInfo(infoGiven);
  const pluginInfo = readStoredObject(pluginInfoText);
  const userData = readStoredObject(userDataText);
  const details = readDetails(detailsGiven);
  if (!isText(encoded) || encoded.length > ENCODED_LENGTH_MAX) return undefined;
  if (info === undefined || pluginInfo === undefined || userData === undefined || details === undefined)
    return undefined;
  return { encoded, info, pluginInfo, userData, details };
}

function storedObject(object: JsonObject): string | undefined {
  return Object.keys(object).length === 0 ? undefined : stringifyJson(object);
}

function readStoredObject(text: unknown): JsonObject | undefined {
  if (text === undefined) return {};
  if (!isText(text)) return undefined;
  try {
    // Every value takes a character at least.
    const object = plainJson(parseJson(text, { valueCountMax: text.length }));
    return isObject(object) ? (object as JsonObject) : undefined; // of JSON
  } catch {
    // It is no JSON, or nested too deeply.
    return undefined;
  }
}

function readInfo(info: unknown): TrackInfo | undefined {
  if (!isObject(info)) return undefined;
  const { identifier, isSeekable, author, length, isStream, position, title, uri, sourceName, artworkUrl, isrc } = info;
  if (!isText(identifier) || !isText(author) || !isText(title) || !isText(sourceName)) return undefined;
  if (!isOptionalText(uri) || !isOptionalText(artworkUrl) || !isOptionalText(isrc)) return undefined;
  if (!isFlag(isSeekable) || !isFlag(isStream) || !isTime(length) || !isTime(position)) return undefined;
  return { identifier, isSeekable, author, length, isStream, position, title, uri, sourceName, artworkUrl, isrc };
}

function storedDetails(details: TrackDetails): StoredDetails {
  switch (details.kind) {
    case "unknown":
      return { kind: "unknown", bytes: Buffer.from(details.bytes).toString("base64") };
    case "fields": {
      const { kind, fields, further } = details;
      return { kind, fields, further: further && Buffer.from(further).toString("base64") };
    }
    default:
      return details;
  }
}

function readDetails(details: unknown): TrackDetails | undefined {
  if (!isObject(details)) return undefined;
  const { kind, probeInfo, mediaUrl, bytes } = details;
  switch (kind) {
    case "none":
      return { kind };
    case "probe":
      return isText(probeInfo) ? { kind, probeInfo } : undefined;
    case "mediaUrl":
      return isText(mediaUrl) ? { kind, mediaUrl } : undefined;
    case "album":
      return readAlbum(details);
    case "fields":
      return readFields(details);
    case "unknown": {
      const read = readBytes(bytes);
      return read && { kind, bytes: read };
    }
    default:
      return undefined;
  }
}

function readAlbum(album: Members): TrackDetails | undefined {
  const { albumName, albumUrl, artistUrl, artistArtworkUrl, previewUrl, isPreview } = album;
  if (!isOptionalText(albumName) || !isOptionalText(albumUrl) || !isOptionalText(artistUrl)) return undefined;
  if (!isOptionalText(artistArtworkUrl) || !isOptionalText(previewUrl) || !isFlag(isPreview)) return undefined;
  return { kind: "album", albumName, albumUrl, artistUrl, artistArtworkUrl, previewUrl, isPreview };
}

function readFields({ fields, further }: Members): TrackDetails | undefined {
  if (!Array.isArray(fields)) return undefined;
  const read = fields.map(readField).filter((field) => field !== undefined);
  if (read.length < fields.length) return undefined;
  if (further === undefined) return { kind: "fields", fields: read };
  const bytes = readBytes(further);
  return bytes && { kind: "fields", fields: read, further: bytes };
}

function readField(field: unknown): FieldOfTrack | undefined {
  if (!isObject(field)) return undefined;
  const { name, type, value } = field;
  if (!isText(name)) return undefined;
  if (type === "text" && isText(value)) return { name, type, value };
  if (type === "optionalText" && isOptionalText(value)) return { name, type, value };
  return type === "flag" && isFlag(value) ? { name, type, value } : undefined;
}

function readBytes(base64: unknown): Uint8Array | undefined {
  if (!isText(base64)) return undefined;
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? new Uint8Array(bytes) : undefined;
}

/** What an object of unknown origin has. */
interface Members {
  readonly [name: string]: unknown;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isOptionalText(value: unknown): value is string | null {
  return value === null || isText(value);
}

function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

/** Any number of milliseconds that fits into 64 bits. */
function isTime(value: unknown): value is JsonInteger {
  if (typeof value === "bigint") return value >= INT64_MIN && value <= INT64_MAX;
  return Number.isFinite(value);
}
