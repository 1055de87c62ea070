// Icecast and Shoutcast put a station's name into `icy-…` headers and the current title between the audio bytes: after
// every `icy-metaint` bytes one length byte (times 16) and that much text. This separates them. Audio thread.

import { type HttpHeaders, headerOf } from "../../network/header-value.ts";
import { decodeHeaderText, decodeText } from "./legacy-text.ts";

/** A station's description from its headers. */
export interface IcyStation {
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly url: string | undefined;
  /** The current title; undefined before the first. */
  readonly streamTitle: string | undefined;
}

/** Larger intervals are nonsense; real ones are 1 to 64 KiB. */
const METADATA_INTERVAL_BYTES_MAX = 16 * 1024 * 1024;
const METADATA_BYTES_MAX = 255 * 16;
/** Number of titles that are decoded per chunk; if there are more, only the last is. */
const TITLES_PER_CHUNK_MAX = 16;
/** Longest station text that is shown; headers may be much longer. */
const STATION_TEXT_LENGTH_MAX = 1024;
const TITLE_NAME = "StreamTitle='";
/** Headers a station is recognised by. */
const STATION_HEADERS = ["icy-metaint", "icy-name", "icy-br", "icy-description", "icy-genre", "icy-pub", "icy-url"];

/** The station described by these headers; undefined if it is not a station. */
export function stationOf(headers: HttpHeaders): IcyStation | undefined {
  if (!STATION_HEADERS.some((name) => headerOf(headers, name) !== undefined)) return undefined;
  return {
    name: textOf(headers, "icy-name"),
    description: textOf(headers, "icy-description"),
    url: textOf(headers, "icy-url"),
    streamTitle: undefined,
  };
}

function textOf(headers: HttpHeaders, name: string): string | undefined {
  const value = headerOf(headers, name);
  return value && decodeHeaderText(value).trim().slice(0, STATION_TEXT_LENGTH_MAX);
}

/** Distance of the metadata blocks in the body in bytes; undefined if the body has none. */
export function metadataIntervalOf(headers: HttpHeaders): number | undefined {
  const text = headerOf(headers, "icy-metaint") ?? "";
  const intervalBytes = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return intervalBytes > 0 && intervalBytes <= METADATA_INTERVAL_BYTES_MAX ? intervalBytes : undefined;
}

/** Takes the metadata out of one body, chunk by chunk: each byte is touched once, however close the titles are. */
export class IcyStripper {
  readonly #intervalBytes: number;
  readonly #onTitle: (streamTitle: string) => void;
  readonly #block = new Uint8Array(METADATA_BYTES_MAX);
  /** Audio bytes until the next length byte. */
  #audioBytesLeft: number;
  /** Size of the metadata block being read; `blockBytesLeft` is 0 during audio and the length byte. */
  #blockBytes = 0;
  #blockBytesLeft = 0;
  #titlesInChunk = 0;
  #hasUnreadTitle = false;

  constructor(intervalBytes: number, onTitle: (streamTitle: string) => void) {
    this.#intervalBytes = intervalBytes;
    this.#audioBytesLeft = intervalBytes;
    this.#onTitle = onTitle;
  }

  /** The audio in this chunk: a view if it is contiguous, else a copy. */
  strip(chunk: Uint8Array): Uint8Array {
    this.#titlesInChunk = 0;
    if (this.#blockBytesLeft === 0 && chunk.length <= this.#audioBytesLeft) {
      this.#audioBytesLeft -= chunk.length;
      return chunk;
    }
    const audio = new Uint8Array(chunk.length);
    let sizeBytes = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#blockBytesLeft > 0) {
        const count = Math.min(this.#blockBytesLeft, chunk.length - at);
        copyBytes(chunk, at, { to: this.#block, toBytes: this.#blockBytes, count });
        this.#noteBlockBytes(count);
        at += count;
      } else if (this.#audioBytesLeft > 0) {
        const count = Math.min(this.#audioBytesLeft, chunk.length - at);
        copyBytes(chunk, at, { to: audio, toBytes: sizeBytes, count });
        this.#audioBytesLeft -= count;
        sizeBytes += count;
        at += count;
      } else {
        this.#startBlock(chunk[at]! * 16);
        at++;
      }
    }
    if (this.#hasUnreadTitle) this.#readTitle();
    return audio.subarray(0, sizeBytes);
  }

  #startBlock(sizeBytes: number): void {
    // The value overwritten now was not the last one.
    if (sizeBytes > 0) this.#hasUnreadTitle = false;
    this.#blockBytes = 0;
    this.#blockBytesLeft = sizeBytes;
    this.#audioBytesLeft = this.#intervalBytes;
  }

  #noteBlockBytes(count: number): void {
    this.#blockBytes += count;
    this.#blockBytesLeft -= count;
    if (this.#blockBytesLeft > 0) return;
    this.#hasUnreadTitle = true;
    if (++this.#titlesInChunk <= TITLES_PER_CHUNK_MAX) this.#readTitle();
  }

  #readTitle(): void {
    this.#hasUnreadTitle = false;
    const title = parseStreamTitle(this.#block.subarray(0, this.#blockBytes));
    if (title !== undefined) this.#onTitle(title);
  }
}

/** A loop, because most pieces of a hostile stream are too short for views of them. */
function copyBytes(
  from: Uint8Array,
  fromBytes: number,
  { to, toBytes, count }: { readonly to: Uint8Array; readonly toBytes: number; readonly count: number },
): void {
  if (count > 64) to.set(from.subarray(fromBytes, fromBytes + count), toBytes);
  else for (let index = 0; index < count; index++) to[toBytes + index] = from[fromBytes + index]!;
}

/** StreamTitle of a metadata block (`StreamTitle='…';StreamUrl='…';`, padded with zeros); undefined if missing. */
export function parseStreamTitle(block: Uint8Array): string | undefined {
  const end = block.indexOf(0);
  const text = decodeText(end === -1 ? block : block.subarray(0, end));
  const name = text.indexOf(TITLE_NAME);
  if (name < 0) return undefined;
  const start = name + TITLE_NAME.length;
  // Titles hold apostrophes, so the end is "';" and not the next quote.
  const last = text.indexOf("';", start);
  const titleEnd = last >= 0 ? last : text.length - 1;
  if (last < 0 && (titleEnd < start || !text.endsWith("'"))) return undefined;
  return text.slice(start, titleEnd).trim() || undefined;
}
