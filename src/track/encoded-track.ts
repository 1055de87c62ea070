// The base64 form in which clients keep tracks (protocol-v4.md section 5): versions 1 to 3 are read, version 3 is
// written, byte for byte as the published server does. Any thread; used by the API and by Track itself.
//
//   0      4       4 + length
//   +------+-------+
//   | head | body  |   head: bits 31-30 flags (bit 30: the body starts with a version byte), bits 29-0 body length
//   +------+-------+

import { NodeError } from "../errors.ts";
import { INT64_MAX, INT64_MIN } from "../lib/int64.ts";
import { type JsonInteger, toJsonInteger } from "../lib/json.ts";
import {
  decodeModifiedUtf8,
  encodeModifiedUtf8,
  MODIFIED_UTF8_BYTES_MAX,
  modifiedUtf8Length,
} from "../lib/modified-utf8.ts";
import type { TrackField } from "../plugin-api/plugin.ts";
import { type FieldOfTrack, fieldOfTrack, type TrackDetails } from "./track-details.ts";
import type { TrackInfo } from "./track-info.ts";

const WRITTEN_VERSION = 3;
const VERSIONED_FLAG = 0x40000000;
const LENGTH_MASK = 0x3fffffff;
/** Eleven texts of maximum length, and one more for all other fields. */
const SIZE_MAX_BYTES = 12 * (MODIFIED_UTF8_BYTES_MAX + 3);
/** Characters of an encoded track: a longer text cannot be one. */
export const ENCODED_LENGTH_MAX = (SIZE_MAX_BYTES / 3) * 4;
const POSITION_BYTES = 8;

/** The container names that http and local tracks can carry; `m3u` alone has parameters. */
const PROBE_NAMES = new Set([
  ...["wav", "matroska/webm", "mp4", "flac", "ogg", "m3u", "pls", "plain", "mp3", "adts", "mpegts-adts"],
  "xm",
]);

type DetailsLayout = "none" | "probe" | "album" | "optionalAlbum" | "mediaUrl";

/** Every source that the format knows, with what stands between its name and the position. */
const DETAILS_LAYOUTS: ReadonlyMap<string, DetailsLayout> = new Map<string, DetailsLayout>([
  ["http", "probe"],
  ["local", "probe"],
  // The tracks of LavaSrc's yt-dlp source have this name too, with album fields.
  ["youtube", "optionalAlbum"],
  ...named("none", "soundcloud bandcamp twitch vimeo niconico getyarn.io yandex-music beam.pro flowery-tts"),
  ...named("album", "spotify applemusic deezer yandexmusic vkmusic tidal qobuz jiosaavn"),
  ...named("none", "clypit speak pornhub reddit ocremix tiktok mixcloud soundgasm pixeldrain StreamDeckAudio"),
  ["tumblr", "mediaUrl"],
]);

/** The fields that plugin sources add to their tracks, by source name. */
export type TrackLayouts = ReadonlyMap<string, readonly TrackField[]>;

/**
 * Reads an encoded track, or throws `track-undecodable` (the caller's fault) saying where it went wrong. `extraLayouts`
 * counts for sources that have no fields in the format already.
 */
export function readEncodedTrack(
  encoded: string,
  extraLayouts?: TrackLayouts,
): { info: TrackInfo; details: TrackDetails } {
  const reader = new MessageReader(decodeBase64(encoded));
  const version = reader.isVersioned ? Math.max(1, reader.byte("version")) : 1;
  const title = reader.text("title");
  const author = reader.text("author");
  const length = reader.long("length");
  const identifier = reader.text("identifier");
  const isStream = reader.flag("isStream");
  const uri = version >= 2 ? reader.optionalText("uri") : null;
  const artworkUrl = version >= 3 ? reader.optionalText("artworkUrl") : null;
  const isrc = version >= 3 ? reader.optionalText("isrc") : null;
  const sourceName = reader.text("sourceName");
  const details = readDetails(reader, sourceName, extraLayouts?.get(sourceName));
  const position = reader.long("position");
  const isSeekable = !isStream;
  return {
    info: { identifier, isSeekable, author, length, isStream, position, title, uri, sourceName, artworkUrl, isrc },
    details,
  };
}

/** Writes version 3. Texts beyond 65535 bytes are cut at a character, numbers outside 64 bits are clamped. */
export function writeEncodedTrack(info: TrackInfo, details: TrackDetails): string {
  const writer = new MessageWriter();
  writer.byte(WRITTEN_VERSION);
  writer.text(info.title);
  writer.text(info.author);
  writer.long(info.length);
  writer.text(info.identifier);
  writer.flag(info.isStream);
  writer.optionalText(info.uri);
  writer.optionalText(info.artworkUrl);
  writer.optionalText(info.isrc);
  writer.text(info.sourceName);
  writeDetails(writer, details);
  writer.long(info.position);
  return writer.finish().toString("base64");
}

function readDetails(
  reader: MessageReader,
  sourceName: string,
  extraLayout: readonly TrackField[] | undefined,
): TrackDetails {
  const layout = DETAILS_LAYOUTS.get(sourceName);
  switch (layout) {
    case undefined:
      return extraLayout ? readFields(reader, extraLayout) : { kind: "unknown", bytes: reader.allBut(POSITION_BYTES) };
    case "none":
      return extraLayout ? readFields(reader, extraLayout) : { kind: "none" };
    case "probe":
      return { kind: "probe", probeInfo: readProbeInfo(reader) };
    case "mediaUrl":
      return { kind: "mediaUrl", mediaUrl: reader.text("mediaUrl") };
    case "album":
    case "optionalAlbum":
      return reader.remainingBytes > POSITION_BYTES ? readAlbum(reader) : absentAlbum(layout);
  }
}

function readProbeInfo(reader: MessageReader): string {
  const probeInfo = reader.text("probeInfo");
  const name = probeInfo.split("|", 1)[0] ?? "";
  if (!PROBE_NAMES.has(name)) throw undecodable(`its container "${name.slice(0, 40)}" is not known`);
  return probeInfo;
}

function readAlbum(reader: MessageReader): TrackDetails {
  return {
    kind: "album",
    albumName: reader.optionalText("albumName"),
    albumUrl: reader.optionalText("albumUrl"),
    artistUrl: reader.optionalText("artistUrl"),
    artistArtworkUrl: reader.optionalText("artistArtworkUrl"),
    previewUrl: reader.optionalText("previewUrl"),
    isPreview: reader.flag("isPreview"),
  };
}

/** Tracks from before a field existed end before it; a later version of the plugin may have added some. */
function readFields(reader: MessageReader, layout: readonly TrackField[]): TrackDetails {
  const fields = layout.map((field) =>
    fieldOfTrack(field, reader.remainingBytes > POSITION_BYTES ? readField(reader, field) : undefined),
  );
  const further = reader.allBut(POSITION_BYTES);
  return further.length === 0 ? { kind: "fields", fields } : { kind: "fields", fields, further };
}

function readField(reader: MessageReader, { name, type }: TrackField): string | boolean | null {
  switch (type) {
    case "text":
      return reader.text(name);
    case "optionalText":
      return reader.optionalText(name);
    case "flag":
      return reader.flag(name);
  }
}

/**
 * Tracks from before these fields existed: LavaSrc writes them back with the fields empty, YouTube's stay as they are.
 */
function absentAlbum(layout: "album" | "optionalAlbum"): TrackDetails {
  if (layout === "optionalAlbum") return { kind: "none" };
  const none = { albumName: null, albumUrl: null, artistUrl: null, artistArtworkUrl: null, previewUrl: null };
  return { kind: "album", ...none, isPreview: false };
}

function writeDetails(writer: MessageWriter, details: TrackDetails): void {
  switch (details.kind) {
    case "none":
      return;
    case "probe":
      writer.text(details.probeInfo);
      return;
    case "mediaUrl":
      writer.text(details.mediaUrl);
      return;
    case "album":
      writer.optionalText(details.albumName);
      writer.optionalText(details.albumUrl);
      writer.optionalText(details.artistUrl);
      writer.optionalText(details.artistArtworkUrl);
      writer.optionalText(details.previewUrl);
      writer.flag(details.isPreview);
      return;
    case "fields":
      for (const field of details.fields) writeField(writer, field);
      if (details.further !== undefined) writer.bytes(details.further);
      return;
    case "unknown":
      writer.bytes(details.bytes);
  }
}

function writeField(writer: MessageWriter, field: FieldOfTrack): void {
  switch (field.type) {
    case "text":
      writer.text(field.value);
      return;
    case "optionalText":
      writer.optionalText(field.value);
      return;
    case "flag":
      writer.flag(field.value);
  }
}

/**
 * Standard alphabet, padding optional but right where present: as Java's decoder, which clients were tested against.
 */
function decodeBase64(encoded: string): Uint8Array {
  if (encoded.length > ENCODED_LENGTH_MAX) throw undecodable(`it is longer than ${ENCODED_LENGTH_MAX} characters`);
  const [illegal] = /[^A-Za-z0-9+/=]/u.exec(encoded) ?? [];
  if (illegal !== undefined) {
    const code = (illegal.codePointAt(0) ?? 0).toString(16);
    throw undecodable(`it holds the illegal base64 character 0x${code}`);
  }
  const paddingAt = encoded.indexOf("=");
  const digits = paddingAt < 0 ? encoded : encoded.slice(0, paddingAt);
  const padding = encoded.slice(digits.length);
  const isPadded = padding === "" || ((padding === "=" || padding === "==") && encoded.length % 4 === 0);
  if (digits.length % 4 === 1 || !isPadded) {
    throw undecodable("its base64 text is cut short or wrongly padded");
  }
  return Buffer.from(digits, "base64");
}

function named(layout: DetailsLayout, names: string): [string, DetailsLayout][] {
  return names.split(" ").map((name) => [name, layout]);
}

function undecodable(reason: string): NodeError {
  return new NodeError("track-undecodable", `cannot decode the encoded track: ${reason}`);
}

/** Reads one message and never past its end. */
class MessageReader {
  readonly isVersioned: boolean;
  readonly #body: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    const whole = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const head = bytes.length >= 4 ? whole.getUint32(0) : 0;
    const length = head & LENGTH_MASK;
    if (length === 0) throw undecodable("it is empty");
    if (length > bytes.length - 4) throw undecodable("it is cut short");
    this.isVersioned = (head & VERSIONED_FLAG) !== 0;
    this.#body = new DataView(bytes.buffer, bytes.byteOffset + 4, length);
  }

  get remainingBytes(): number {
    return this.#body.byteLength - this.#at;
  }

  byte(field: string): number {
    return this.#body.getUint8(this.#advance(1, field));
  }

  flag(field: string): boolean {
    return this.byte(field) !== 0;
  }

  long(field: string): JsonInteger {
    return toJsonInteger(this.#body.getBigInt64(this.#advance(8, field)));
  }

  text(field: string): string {
    const size = this.#body.getUint16(this.#advance(2, field));
    const start = this.#advance(size, field);
    const text = decodeModifiedUtf8(new Uint8Array(this.#body.buffer, this.#body.byteOffset + start, size));
    if (text === undefined) throw undecodable(`its field ${field} is not modified UTF-8`);
    return text;
  }

  optionalText(field: string): string | null {
    return this.flag(field) ? this.text(field) : null;
  }

  /** A copy of the remaining bytes except the last `count`. */
  allBut(count: number): Uint8Array {
    const size = Math.max(0, this.remainingBytes - count);
    const start = this.#body.byteOffset + this.#advance(size, "");
    return new Uint8Array(this.#body.buffer.slice(start, start + size));
  }

  #advance(size: number, field: string): number {
    if (size > this.remainingBytes) throw undecodable(`it ends within the field ${field}`);
    const start = this.#at;
    this.#at += size;
    return start;
  }
}

class MessageWriter {
  readonly #parts: Uint8Array[] = [];

  byte(value: number): void {
    this.#parts.push(Uint8Array.of(value));
  }

  bytes(value: Uint8Array): void {
    this.#parts.push(value);
  }

  flag(value: boolean): void {
    this.byte(value ? 1 : 0);
  }

  long(value: JsonInteger): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(clampToI64(typeof value === "bigint" ? value : BigInt(Math.trunc(value))));
    this.#parts.push(bytes);
  }

  text(value: string): void {
    const bytes = encodeModifiedUtf8(cutToFit(value));
    this.#parts.push(Uint8Array.of(bytes.length >> 8, bytes.length & 0xff), bytes);
  }

  optionalText(value: string | null): void {
    this.flag(value !== null);
    if (value !== null) this.text(value);
  }

  finish(): Buffer {
    const body = Buffer.concat(this.#parts);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(VERSIONED_FLAG + body.length);
    return Buffer.concat([head, body]);
  }
}

function clampToI64(value: bigint): bigint {
  if (value < INT64_MIN) return INT64_MIN;
  return value > INT64_MAX ? INT64_MAX : value;
}

/** The longest start of `text` that the format can hold (65,535 bytes), never ending between two surrogates. */
export function cutToFit(text: string): string {
  if (text.length * 3 <= MODIFIED_UTF8_BYTES_MAX || modifiedUtf8Length(text) <= MODIFIED_UTF8_BYTES_MAX) return text;
  let sizeBytes = 0;
  let cut = "";
  for (const character of text) {
    sizeBytes += modifiedUtf8Length(character);
    if (sizeBytes > MODIFIED_UTF8_BYTES_MAX) break;
    cut += character;
  }
  return cut;
}
