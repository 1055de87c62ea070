// Fetches HLS segments ready for a demuxer: byte ranges, decryption, the initialisation section in front, timestamps of
// packed audio taken off. Keys and initialisation sections are kept. Audio thread.

import { createDecipheriv } from "node:crypto";
import { NodeError } from "../../../errors.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { HttpClient } from "../http-client.ts";
import { type Download, download } from "../http-download.ts";
import { MemorySource } from "../memory-source.ts";
import type { HlsPart, HlsSegment } from "./hls-playlist.ts";
import { segmentClockMs } from "./segment-clock.ts";

/** Ten seconds of video at 25 Mbit/s. Sound alone has some 200 KiB. */
const SEGMENT_BYTES_MAX = 32 * 1024 * 1024;
const KEY_BYTES = 16;
/** Live streams change their key every now and then; the last few are enough. */
const KEPT_MAX = 8;

export interface LoadedSegment {
  readonly source: MemorySource;
  /** Where it begins on its own clock (segment-clock.ts). */
  readonly clockMs: number | undefined;
}

export class SegmentLoader {
  readonly #client: HttpClient;
  readonly #clock: Clock;
  readonly #keys = new Map<string, Uint8Array>();
  readonly #maps = new Map<string, Uint8Array>();

  constructor(options: { readonly client: HttpClient; readonly clock: Clock }) {
    this.#client = options.client;
    this.#clock = options.clock;
  }

  /** @throws NodeError of the download, or "media-damaged" when it cannot be decrypted */
  async load(segment: HlsSegment, signal: AbortSignal): Promise<LoadedSegment> {
    const map = segment.map === undefined ? undefined : await this.#loadMap(segment.map, segment.sequence, signal);
    const { bytes, mimeType } = await this.#loadPart(segment, segment.sequence, signal);
    const content = map === undefined ? withoutId3(bytes) : Buffer.concat([map, bytes]);
    return { source: new MemorySource(content, mimeType), clockMs: segmentClockMs(bytes) };
  }

  async #loadMap(map: HlsPart, sequence: number, signal: AbortSignal): Promise<Uint8Array> {
    const name = `${map.url.href} ${map.range?.offsetBytes ?? 0} ${map.key?.url.href ?? ""}`;
    const known = this.#maps.get(name);
    if (known !== undefined) return known;
    const { bytes } = await this.#loadPart(map, sequence, signal);
    keep(this.#maps, name, bytes);
    return bytes;
  }

  async #loadPart(part: HlsPart, sequence: number, signal: AbortSignal): Promise<Download> {
    const { url, range, key } = part;
    const loaded = await this.#download(url, { range, sizeBytesMax: SEGMENT_BYTES_MAX, signal });
    if (key === undefined) return loaded;
    const keyBytes = await this.#loadKey(key.url, signal);
    return { ...loaded, bytes: decrypt(loaded.bytes, keyBytes, key.iv ?? ivOf(sequence)) };
  }

  async #loadKey(url: URL, signal: AbortSignal): Promise<Uint8Array> {
    const known = this.#keys.get(url.href);
    if (known !== undefined) return known;
    const { bytes } = await this.#download(url, { range: undefined, sizeBytesMax: 1024, signal });
    if (bytes.length !== KEY_BYTES) {
      throw new NodeError(
        "media-damaged",
        `decrypting an HLS segment: its key has ${bytes.length} bytes instead of 16`,
      );
    }
    keep(this.#keys, url.href, bytes);
    return bytes;
  }

  #download(
    url: URL,
    options: { readonly range: HlsPart["range"]; readonly sizeBytesMax: number; readonly signal: AbortSignal },
  ): Promise<Download> {
    return download(url, { ...options, client: this.#client, clock: this.#clock });
  }
}

function keep(kept: Map<string, Uint8Array>, name: string, bytes: Uint8Array): void {
  kept.set(name, bytes);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_MAX) break;
    kept.delete(oldest);
  }
}

/** RFC 8216 section 5.2: the segment's number as 128 bits, most significant byte first. */
function ivOf(sequence: number): Uint8Array {
  const iv = Buffer.alloc(16);
  iv.writeBigUInt64BE(BigInt(sequence), 8);
  return iv;
}

function decrypt(bytes: Uint8Array, key: Uint8Array, iv: Uint8Array): Uint8Array {
  try {
    const decipher = createDecipheriv("aes-128-cbc", key, iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  } catch (error) {
    throw new NodeError("media-damaged", "decrypting an HLS segment: the key does not fit, or it is damaged", {
      cause: error,
    });
  }
}

/** Packed audio begins with ID3 tags that hold its time (RFC 8216 section 3.4); readers of MP3 or ADTS need no such. */
function withoutId3(bytes: Uint8Array): Uint8Array {
  let rest = bytes;
  while (rest.length >= 10 && rest[0] === 0x49 && rest[1] === 0x44 && rest[2] === 0x33) {
    const [a, b, c, d] = rest.subarray(6, 10);
    const sizeBytes = (((a ?? 0) & 127) << 21) | (((b ?? 0) & 127) << 14) | (((c ?? 0) & 127) << 7) | ((d ?? 0) & 127);
    const footerBytes = ((rest[5] ?? 0) & 0x10) === 0 ? 0 : 10;
    rest = rest.subarray(10 + sizeBytes + footerBytes);
  }
  return rest;
}
