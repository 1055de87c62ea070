// Fetches HLS segments ready for a demuxer: byte ranges, decryption, the initialisation section in front, timestamps of
// packed audio removed. Keys and initialisation sections are cached. Audio thread.

import { createDecipheriv } from "node:crypto";
import { NodeError } from "../../../errors.ts";
import type { ByteWindow } from "../../input/byte-window.ts";
import type { HttpClient } from "../../input/http-client.ts";
import { type ByteTransform, type Downloaded, type DownloadOptions, download } from "../../input/http-download.ts";
import type { RequestPace } from "../../input/request-pace.ts";
import type { RetryLimits } from "../../input/retry-budget.ts";
import type { TrackLink } from "../../input/track-link.ts";
import { WindowSource } from "../../input/window-source.ts";
import type { HlsKey, HlsPart, HlsSegment } from "./hls-segment.ts";
import { OggSegments } from "./ogg-segments.ts";
import { segmentClockMs } from "./segment-clock.ts";

/** Ten seconds of video at 20 Mbit/s. Audio only has some 200 KiB. Two are held at a time. */
const SEGMENT_BYTES_MAX = 24 * 1024 * 1024;
/** Real initialisation sections have one or two KiB. */
const MAP_BYTES_MAX = 1024 * 1024;
const KEY_BYTES = 16;
/** Live streams change their key every now and then; the last few are enough. */
const RETAINED_MAX = 8;
/** Packed audio has one tag in front; each is searched for. */
const ID3_TAGS_MAX = 16;
/** The first timestamp of a segment's audio is searched in this many bytes of it, including video. */
const CLOCK_BYTES_MAX = 1024 * 1024;

export interface LoadedSegment {
  readonly source: WindowSource;
  /** Its start on its own clock (segment-clock.ts). */
  readonly clockMs: number | undefined;
}

interface SegmentLoaderOptions {
  readonly client: HttpClient;
  readonly pace: RequestPace;
  /** See DownloadOptions. */
  readonly retryLimits?: RetryLimits | undefined;
  /** The plugin's track link: its headers are sent with every request, which uses the egress the link is valid for. */
  readonly link?: TrackLink | undefined;
}

export class SegmentLoader {
  readonly #options: SegmentLoaderOptions;
  readonly #keys = new Map<string, Uint8Array>();
  readonly #maps = new Map<string, Uint8Array>();
  readonly #oggSegments: OggSegments;

  constructor(options: SegmentLoaderOptions) {
    this.#options = options;
    this.#oggSegments = new OggSegments(options.pace.budget);
  }

  /** @throws NodeError of the download, or "media-damaged" when it cannot be decrypted */
  async load(segment: HlsSegment, signal: AbortSignal): Promise<LoadedSegment> {
    const map = segment.map === undefined ? undefined : await this.#loadMap(segment.map, segment.sequence, signal);
    const { data: received, mimeType } = await this.#loadPart(segment, {
      sequence: segment.sequence,
      sizeBytesMax: SEGMENT_BYTES_MAX,
      prefix: map,
      signal,
    });
    const data = map === undefined ? await this.#oggSegments.complete(received) : received;
    const mapBytes = map?.length ?? 0;
    const beginning = data.read(mapBytes, Math.min(data.endBytes - mapBytes, CLOCK_BYTES_MAX));
    const firstBytes = map === undefined ? id3Bytes(data) : 0;
    const clockMs = beginning === undefined ? undefined : segmentClockMs(beginning);
    return { source: new WindowSource(data, { firstBytes, mimeType }), clockMs };
  }

  async #loadMap(map: HlsPart, sequence: number, signal: AbortSignal): Promise<Uint8Array> {
    const name = `${map.url.href} ${map.range?.offsetBytes ?? 0} ${map.key?.url.href ?? ""}`;
    const known = this.#maps.get(name);
    if (known !== undefined) return known;
    const { data } = await this.#loadPart(map, { sequence, sizeBytesMax: MAP_BYTES_MAX, signal });
    return this.#keep(this.#maps, name, data);
  }

  async #loadPart(
    part: HlsPart,
    options: {
      readonly sequence: number;
      readonly sizeBytesMax: number;
      readonly prefix?: Uint8Array | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<Downloaded> {
    const { url, range, key } = part;
    const { sequence, sizeBytesMax, prefix, signal } = options;
    const keyBytes = key === undefined ? undefined : await this.#loadKey(key, signal);
    const iv = key?.iv ?? ivOf(sequence);
    const transform = keyBytes === undefined ? undefined : () => new Decryption(keyBytes, iv);
    return download(url, { ...this.#access, range, sizeBytesMax, prefix, signal, transform });
  }

  get #access(): Pick<DownloadOptions, "client" | "pace" | "headers" | "egress" | "retryLimits"> {
    const { client, pace, link, retryLimits } = this.#options;
    const { headers, egress } = link?.destination ?? {};
    return { client, pace, headers, egress, retryLimits };
  }

  async #loadKey({ url }: HlsKey, signal: AbortSignal): Promise<Uint8Array> {
    const known = this.#keys.get(url.href);
    if (known !== undefined) return known;
    const { data } = await download(url, { ...this.#access, sizeBytesMax: 1024, signal });
    const sizeBytes = data.endBytes;
    if (sizeBytes === KEY_BYTES) return this.#keep(this.#keys, url.href, data);
    data.reset(0);
    throw new NodeError("media-damaged", `decrypting an HLS segment: its key has ${sizeBytes} bytes instead of 16`);
  }

  /** Copies the bytes and caches them for the following segments. */
  #keep(retained: Map<string, Uint8Array>, name: string, data: ByteWindow): Uint8Array {
    const { memory } = this.#options.pace.budget;
    const bytes = Uint8Array.from(data.read(0, data.endBytes) ?? []);
    data.reset(0);
    memory.take(bytes.length, "the keys and headers of segments");
    retained.set(name, bytes);
    for (const [oldest, { length }] of retained) {
      if (retained.size <= RETAINED_MAX) break;
      retained.delete(oldest);
      memory.release(length);
    }
    return bytes;
  }

  /** Releases the cached keys and sections. */
  close(): void {
    for (const retained of [this.#keys, this.#maps]) {
      for (const { length } of retained.values()) this.#options.pace.budget.memory.release(length);
      retained.clear();
    }
    this.#oggSegments.close();
  }
}

/** RFC 8216 section 5.2: the segment's number as 128 bits, most significant byte first. */
function ivOf(sequence: number): Uint8Array {
  const iv = Buffer.alloc(16);
  iv.writeBigUInt64BE(BigInt(sequence), 8);
  return iv;
}

/** AES-128 in CBC mode, piece by piece as it is received. */
class Decryption implements ByteTransform {
  readonly #decipher: ReturnType<typeof createDecipheriv>;

  constructor(key: Uint8Array, iv: Uint8Array) {
    this.#decipher = createDecipheriv("aes-128-cbc", key, iv);
  }

  update(chunk: Uint8Array): Uint8Array {
    return this.#decipher.update(chunk);
  }

  final(): Uint8Array {
    try {
      return this.#decipher.final();
    } catch (error) {
      throw wrongKeyError(error);
    }
  }
}

/** A segment that is no media once decrypted; one wrong key in 256 is noticed only by its content, not by the padding. */
export function wrongKeyError(cause: unknown): NodeError {
  return new NodeError("media-damaged", "decrypting an HLS segment: the key does not fit, or it is damaged", { cause });
}

/**
 * Packed audio begins with ID3 tags that hold its time (RFC 8216 section 3.4); readers of MP3 or ADTS do not need them.
 */
function id3Bytes(data: ByteWindow): number {
  let at = 0;
  for (let count = 0; count < ID3_TAGS_MAX; count++) {
    const head = data.read(at, 10);
    if (head === undefined || head[0] !== 0x49 || head[1] !== 0x44 || head[2] !== 0x33) break;
    const [a, b, c, d] = head.subarray(6) as unknown as [number, number, number, number]; // Ten bytes were read before.
    const footerBytes = (head[5]! & 0x10) === 0 ? 0 : 10;
    at += 10 + (((a & 127) << 21) | ((b & 127) << 14) | ((c & 127) << 7) | (d & 127)) + footerBytes;
  }
  return at;
}
