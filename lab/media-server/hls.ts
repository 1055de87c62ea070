// HLS streams for the media server: finished ones with AES-128, and a live one that a test or a timer moves on.

import { createCipheriv } from "node:crypto";
import { type Answer, plainPlan, statusPlan } from "./answer-plan.ts";

export interface HlsSegmentFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly seconds: number;
}

const PLAYLIST_TYPE = "application/vnd.apple.mpegurl";

/** Files of a finished playlist `index.m3u8`, for the `files` of a media server. */
export function finishedHls(
  segments: readonly HlsSegmentFile[],
  options: { readonly key?: Uint8Array; readonly iv?: Uint8Array } = {},
): Record<string, Uint8Array | string> {
  const { key, iv } = options;
  const files: Record<string, Uint8Array | string> = {};
  const lines = head(segments, 0);
  if (key !== undefined) {
    files["hls.key"] = key;
    const ivText = iv === undefined ? "" : `,IV=0x${Buffer.from(iv).toString("hex")}`;
    lines.push(`#EXT-X-KEY:METHOD=AES-128,URI="hls.key"${ivText}`);
  }
  segments.forEach(({ name, bytes, seconds }, index) => {
    lines.push(`#EXTINF:${seconds.toFixed(3)},`, name);
    files[name] = key === undefined ? bytes : encrypt(bytes, key, iv ?? sequenceIv(index));
  });
  files["index.m3u8"] = [...lines, "#EXT-X-ENDLIST", ""].join("\n");
  return files;
}

/**
 * A live stream at `/live/index.m3u8` that shows a window over endlessly repeated segments. Use `answer` as a script.
 */
export class LiveHls {
  readonly #segments: readonly HlsSegmentFile[];
  readonly #windowLength: number;
  #first = 0;
  #isEnded = false;

  constructor(segments: readonly HlsSegmentFile[], windowLength: number) {
    this.#segments = segments;
    this.#windowLength = windowLength;
  }

  /** Moves the window on by so many segments. */
  advance(count: number): void {
    this.#first += count;
  }

  /** Starts again at segment 0, as after a restart of the encoder. */
  restart(): void {
    this.#first = 0;
  }

  /** The window stays and is marked as the end. */
  end(): void {
    this.#isEnded = true;
  }

  readonly answer = ({ path }: { readonly path: string }): Answer | undefined => {
    if (path === "/live/index.m3u8") return plainPlan(Buffer.from(this.#playlist()), PLAYLIST_TYPE);
    const sequence = /^\/live\/(\d+)$/.exec(path)?.[1];
    if (sequence === undefined) return undefined;
    const isThere = Number(sequence) >= this.#first && Number(sequence) < this.#first + this.#windowLength;
    return isThere ? plainPlan(this.#segment(Number(sequence)).bytes, undefined) : statusPlan(404);
  };

  #playlist(): string {
    const lines = head(this.#segments, this.#first);
    for (let sequence = this.#first; sequence < this.#first + this.#windowLength; sequence++) {
      lines.push(`#EXTINF:${this.#segment(sequence).seconds},`, String(sequence));
    }
    if (this.#isEnded) lines.push("#EXT-X-ENDLIST");
    return `${lines.join("\n")}\n`;
  }

  #segment(sequence: number): HlsSegmentFile {
    // A remainder is an index, and there is a segment at least.
    return this.#segments[sequence % this.#segments.length]!;
  }
}

function head(segments: readonly HlsSegmentFile[], sequence: number): string[] {
  const targetSeconds = Math.ceil(Math.max(...segments.map(({ seconds }) => seconds)));
  return ["#EXTM3U", "#EXT-X-VERSION:3", `#EXT-X-TARGETDURATION:${targetSeconds}`, `#EXT-X-MEDIA-SEQUENCE:${sequence}`];
}

function sequenceIv(sequence: number): Uint8Array {
  const iv = Buffer.alloc(16);
  iv.writeUInt32BE(sequence, 12);
  return iv;
}

function encrypt(bytes: Uint8Array, key: Uint8Array, iv: Uint8Array): Uint8Array {
  const cipher = createCipheriv("aes-128-cbc", key, iv);
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
}
