// Icecast and Shoutcast put a station's name into `icy-…` headers and the running title between the sound bytes:
// after every `icy-metaint` bytes one length byte (times 16) and that much text. This takes them apart. Audio thread.

import { type HttpHeaders, headerOf } from "./http-headers.ts";
import { decodeText } from "./legacy-text.ts";

/** What a station says of itself. */
export interface IcyStation {
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly url: string | undefined;
  /** Title of what is running, as last heard; undefined before the first. */
  readonly streamTitle: string | undefined;
}

/** Larger intervals are nonsense; real ones are 8 to 64 KiB. */
const METADATA_INTERVAL_BYTES_MAX = 16 * 1024 * 1024;
/** Headers a station is recognised by. */
const STATION_HEADERS = ["icy-metaint", "icy-name", "icy-br", "icy-description", "icy-genre", "icy-pub", "icy-url"];

/** The station behind these headers, or undefined when it is none. */
export function stationOf(headers: HttpHeaders): IcyStation | undefined {
  if (!STATION_HEADERS.some((name) => headerOf(headers, name) !== undefined)) return undefined;
  return {
    name: headerOf(headers, "icy-name"),
    description: headerOf(headers, "icy-description"),
    url: headerOf(headers, "icy-url"),
    streamTitle: undefined,
  };
}

/** Distance of the metadata blocks in the body in bytes, or undefined when there are none. */
export function metadataIntervalOf(headers: HttpHeaders): number | undefined {
  const text = headerOf(headers, "icy-metaint") ?? "";
  const intervalBytes = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return intervalBytes > 0 && intervalBytes <= METADATA_INTERVAL_BYTES_MAX ? intervalBytes : undefined;
}

/** Takes the metadata out of one body, chunk by chunk. Holds at most 4080 bytes of an unfinished block. */
export class IcyStripper {
  readonly #intervalBytes: number;
  readonly #onTitle: (streamTitle: string) => void;
  /** Sound bytes until the next length byte. */
  #soundBytesLeft: number;
  /** The metadata block being read, or undefined while sound or the length byte comes. */
  #block: { readonly data: Uint8Array; sizeBytes: number } | undefined;

  constructor(intervalBytes: number, onTitle: (streamTitle: string) => void) {
    this.#intervalBytes = intervalBytes;
    this.#soundBytesLeft = intervalBytes;
    this.#onTitle = onTitle;
  }

  /** The sound in this chunk, as views of it, in order; often one, sometimes none. */
  strip(chunk: Uint8Array): Uint8Array[] {
    const sound: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#block !== undefined) {
        at += this.#fillBlock(this.#block, chunk.subarray(at));
      } else if (this.#soundBytesLeft > 0) {
        const part = chunk.subarray(at, at + this.#soundBytesLeft);
        sound.push(part);
        this.#soundBytesLeft -= part.length;
        at += part.length;
      } else {
        this.#startBlock(chunk[at]! * 16);
        at++;
      }
    }
    return sound;
  }

  #startBlock(sizeBytes: number): void {
    if (sizeBytes === 0) this.#soundBytesLeft = this.#intervalBytes;
    else this.#block = { data: new Uint8Array(sizeBytes), sizeBytes: 0 };
  }

  #fillBlock(block: { readonly data: Uint8Array; sizeBytes: number }, chunk: Uint8Array): number {
    const part = chunk.subarray(0, block.data.length - block.sizeBytes);
    block.data.set(part, block.sizeBytes);
    block.sizeBytes += part.length;
    if (block.sizeBytes === block.data.length) {
      this.#block = undefined;
      this.#soundBytesLeft = this.#intervalBytes;
      const title = parseStreamTitle(block.data);
      if (title !== undefined) this.#onTitle(title);
    }
    return part.length;
  }
}

/** StreamTitle of a metadata block (`StreamTitle='…';StreamUrl='…';`, padded with zeros); undefined when there is none. */
export function parseStreamTitle(block: Uint8Array): string | undefined {
  const end = block.indexOf(0);
  const text = decodeText(end === -1 ? block : block.subarray(0, end));
  // Titles hold apostrophes, so the end is "';" and not the next quote.
  return /StreamTitle='(.*?)'(?:;|$)/s.exec(text)?.[1]?.trim() || undefined;
}
