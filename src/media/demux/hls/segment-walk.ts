// Walks through the text of an HLS media playlist (RFC 8216 section 4.3) line by line and returns the segments it
// names. A walk can restart at any position that an earlier one has reached. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteWindow } from "../../input/byte-window.ts";
import { type AttributeList, parseAttributes, parseByteRange } from "./hls-attributes.ts";
import type { ByteRange } from "./hls-segment.ts";
import { invalidPlaylist } from "./playlist-errors.ts";
import { type PlaylistLine, PlaylistLines } from "./playlist-lines.ts";
import { resolveUrl } from "./resolve-url.ts";

/** The tags that apply to a segment: the bytes of the text at which they begin. */
interface TagsInForce {
  readonly keyAtBytes: number | undefined;
  readonly mapAtBytes: number | undefined;
  /** The key that applied when the map was named. */
  readonly mapKeyAtBytes: number | undefined;
}

/** The state behind a segment that the rest of the walk depends on. */
export interface WalkPosition extends TagsInForce {
  readonly atBytes: number;
  /** Of the next segment, like the next two fields. */
  readonly sequence: number;
  readonly discontinuity: number;
  readonly startMs: number;
  readonly segmentCount: number;
  readonly targetDurationMs: number;
  /** Where the last segment's range ended, and where its address is; undefined when it had none. */
  readonly range: { readonly endBytes: number; readonly addressAtBytes: number } | undefined;
}

/** A segment as found in the text. */
export interface FoundSegment extends TagsInForce {
  readonly sequence: number;
  readonly durationMs: number;
  readonly startMs: number;
  readonly discontinuity: number;
  readonly isGap: boolean;
  readonly range: ByteRange | undefined;
  readonly address: () => string;
}

export const WALK_START: WalkPosition = {
  atBytes: 0,
  sequence: 0,
  discontinuity: 0,
  startMs: 0,
  segmentCount: 0,
  targetDurationMs: 0,
  keyAtBytes: undefined,
  mapAtBytes: undefined,
  mapKeyAtBytes: undefined,
  range: undefined,
};

export class SegmentWalk {
  readonly #lines: PlaylistLines;
  readonly #base: URL;
  #position: WalkPosition;
  #isEnded = false;
  #isMaster = false;
  /** Set while the last EXT-X-KEY lines before a segment, which are alternatives, hold no known method. */
  #unknownEncryption: string | undefined;
  /** True when one of them was known. */
  #hasNewKey = false;
  /** Address of the last segment with a range. */
  #rangeAddress: string | undefined;
  /** Duration of the next segment. */
  #durationMs: number | undefined;
  #rangeText: string | undefined;
  #isGap = false;

  constructor(data: ByteWindow, base: URL, position: WalkPosition) {
    this.#lines = new PlaylistLines(data, position.atBytes);
    this.#base = base;
    this.#position = position;
    if (position.range !== undefined) {
      this.#rangeAddress = new PlaylistLines(data, position.range.addressAtBytes).next()?.text();
    }
  }

  /** Where a walk can restart. Only valid right behind a segment. */
  get position(): WalkPosition {
    return { ...this.#position, atBytes: this.#lines.atBytes };
  }

  /** Number of the next segment. */
  get sequence(): number {
    return this.#position.sequence;
  }

  get targetDurationMs(): number {
    return this.#position.targetDurationMs;
  }

  /** Nothing will be added to the playlist any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** True when a tag has occurred that only master playlists have. */
  get isMaster(): boolean {
    return this.#isMaster;
  }

  /**
   * Reads one line: returns the segment it names, "none" or, behind the last, "end".
   * @throws NodeError "hls-playlist-invalid", "hls-unsupported"
   */
  step(): FoundSegment | "none" | "end" {
    const line = this.#lines.next();
    if (line === undefined) return "end";
    if (line.kind === "address") return this.#addSegment(line);
    if (line.kind === "tag") this.#readTag(line);
    return "none";
  }

  #readTag(line: PlaylistLine): void {
    const text = line.text();
    const colon = text.indexOf(":");
    const name = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? "" : text.slice(colon + 1);
    const { segmentCount, discontinuity } = this.#position;
    switch (name) {
      case "#EXTINF":
        this.#durationMs = clampedMs(value);
        break;
      case "#EXT-X-TARGETDURATION":
        this.#note({ targetDurationMs: clampedMs(value) });
        break;
      case "#EXT-X-MEDIA-SEQUENCE":
        if (/^\d{1,15}$/.test(value) && segmentCount === 0) this.#note({ sequence: Number(value) });
        break;
      case "#EXT-X-DISCONTINUITY-SEQUENCE":
        if (/^\d{1,9}$/.test(value) && segmentCount === 0) this.#note({ discontinuity: Number(value) });
        break;
      case "#EXT-X-DISCONTINUITY":
        this.#note({ discontinuity: discontinuity + 1 });
        break;
      case "#EXT-X-BYTERANGE":
        this.#rangeText = value;
        break;
      case "#EXT-X-GAP":
        this.#isGap = true;
        break;
      case "#EXT-X-KEY":
        this.#readKey(parseAttributes(text), line.atBytes);
        break;
      case "#EXT-X-MAP":
        if (this.#resolve(parseAttributes(text)) === undefined) {
          throw invalidPlaylist("an initialisation section has no address");
        }
        this.#note({ mapAtBytes: line.atBytes, mapKeyAtBytes: this.#position.keyAtBytes });
        break;
      case "#EXT-X-ENDLIST":
        this.#isEnded = true;
        break;
      case "#EXT-X-STREAM-INF":
        this.#isMaster = true;
        break;
    }
  }

  #note(change: Partial<WalkPosition>): void {
    this.#position = { ...this.#position, ...change };
  }

  #resolve(attributes: AttributeList): URL | undefined {
    return resolveUrl(attributes.get("URI") ?? "", this.#base);
  }

  #readKey(attributes: AttributeList, atBytes: number): void {
    const method = attributes.get("METHOD") ?? "NONE";
    if (method === "NONE") {
      this.#note({ keyAtBytes: undefined });
      this.#unknownEncryption = undefined;
      this.#hasNewKey = false;
      return;
    }
    const format = attributes.get("KEYFORMAT") ?? "identity";
    if (method !== "AES-128" || format !== "identity" || this.#resolve(attributes) === undefined) {
      if (!this.#hasNewKey) this.#unknownEncryption = `${method}, ${format}`.slice(0, 80);
      return;
    }
    this.#hasNewKey = true;
    this.#note({ keyAtBytes: atBytes });
    this.#unknownEncryption = undefined;
  }

  #addSegment(line: PlaylistLine): FoundSegment {
    if (this.#unknownEncryption !== undefined) {
      const reason = `it is encrypted with ${this.#unknownEncryption}, which cannot be played`;
      throw new NodeError("hls-unsupported", `reading an HLS playlist: ${reason}`);
    }
    const position = this.#position;
    const range = this.#rangeText === undefined ? undefined : this.#readRange(this.#rangeText, line);
    const found: FoundSegment = {
      sequence: position.sequence,
      startMs: position.startMs,
      discontinuity: position.discontinuity,
      keyAtBytes: position.keyAtBytes,
      mapAtBytes: position.mapAtBytes,
      mapKeyAtBytes: position.mapKeyAtBytes,
      durationMs: this.#durationMs ?? position.targetDurationMs,
      isGap: this.#isGap,
      range,
      address: () => line.text(),
    };
    this.#note({
      sequence: position.sequence + 1,
      startMs: position.startMs + found.durationMs,
      segmentCount: position.segmentCount + 1,
      range: range && { endBytes: range.offsetBytes + range.lengthBytes, addressAtBytes: line.atBytes },
    });
    this.#durationMs = undefined;
    this.#rangeText = undefined;
    this.#isGap = false;
    this.#hasNewKey = false;
    return found;
  }

  /** A range without an offset follows the one before it of the same file. */
  #readRange(text: string, line: PlaylistLine): ByteRange | undefined {
    const address = line.text();
    const before = this.#position.range;
    const followsAt = before !== undefined && this.#rangeAddress === address ? before.endBytes : 0;
    this.#rangeAddress = address;
    return parseByteRange(text, followsAt);
  }
}

/** Seconds as milliseconds, limited to a sensible length of a segment. */
function clampedMs(text: string): number {
  const seconds = Number.parseFloat(text);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, 86_400_000) : 0;
}
