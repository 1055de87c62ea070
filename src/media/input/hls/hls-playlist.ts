// Reads HLS playlists (RFC 8216): master playlists with their variants and renditions, media playlists with their
// segments. Pure; unknown tags are passed over. Audio thread.

import { NodeError } from "../../../errors.ts";
import { parseUrl } from "../../../lib/parse-url.ts";
import { type AttributeList, parseAttributes, parseByteRange, parseHex } from "./hls-attributes.ts";

/** One stream of a master playlist (EXT-X-STREAM-INF). */
export interface HlsVariant {
  readonly url: URL;
  readonly bandwidthBps: number;
  /** Empty when the playlist does not say. */
  readonly codecs: readonly string[];
  readonly hasResolution: boolean;
  /** Group of its separate sound, or undefined when the sound is in the variant itself. */
  readonly audioGroup: string | undefined;
}

/** A separate sound track (EXT-X-MEDIA of TYPE=AUDIO). Without an address the sound is in the variant. */
export interface HlsRendition {
  readonly url: URL | undefined;
  readonly groupId: string;
  readonly isDefault: boolean;
  readonly isAutoselect: boolean;
}

export interface HlsMaster {
  readonly kind: "master";
  readonly variants: readonly HlsVariant[];
  readonly renditions: readonly HlsRendition[];
}

export interface ByteRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** AES-128 in CBC mode over whole segments, the only encryption known here. */
export interface HlsKey {
  readonly url: URL;
  /** 16 bytes; undefined: made from the segment's number. */
  readonly iv: Uint8Array | undefined;
}

export interface HlsPart {
  readonly url: URL;
  readonly range: ByteRange | undefined;
  readonly key: HlsKey | undefined;
}

export interface HlsSegment extends HlsPart {
  readonly sequence: number;
  readonly durationMs: number;
  /** Sum of the durations before it in this playlist. */
  readonly startMs: number;
  /** Grows by one at every EXT-X-DISCONTINUITY: timestamps and formats continue only within one. */
  readonly discontinuity: number;
  /** Initialisation section that goes before it (fragmented MP4). */
  readonly map: HlsPart | undefined;
  /** The server says that it is missing. */
  readonly isGap: boolean;
}

export interface HlsMedia {
  readonly kind: "media";
  readonly targetDurationMs: number;
  readonly segments: readonly HlsSegment[];
  /** True: nothing will be added any more. */
  readonly isEnded: boolean;
}

/** A day of one-second segments. */
const SEGMENTS_MAX = 100_000;
const VARIANTS_MAX = 1_000;

/**
 * Parses a playlist found at `url`, against which its addresses are resolved.
 * @throws NodeError "hls-playlist-invalid", or "hls-unsupported" when it is encrypted in a way we do not know
 */
export function parseHlsPlaylist(text: string, url: URL): HlsMaster | HlsMedia {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (!/^#EXT(M3U|INF|-X-)/.test(text.replace(/^\uFEFF/, "").trimStart())) {
    throw invalid("it does not begin with #EXTM3U");
  }
  const isMaster = lines.some((line) => line.startsWith("#EXT-X-STREAM-INF:"));
  return isMaster ? parseMaster(lines, url) : new MediaParser(url).parse(lines);
}

function parseMaster(lines: readonly string[], base: URL): HlsMaster {
  const variants: HlsVariant[] = [];
  const renditions: HlsRendition[] = [];
  let pending: AttributeList | undefined;
  for (const line of lines.map((raw) => raw.trim())) {
    if (line.startsWith("#EXT-X-STREAM-INF:")) pending = parseAttributes(line);
    else if (line.startsWith("#EXT-X-MEDIA:")) addRendition(renditions, parseAttributes(line), base);
    else if (line !== "" && !line.startsWith("#") && pending !== undefined) {
      const url = resolveUrl(line, base);
      if (url !== undefined) variants.push(variantOf(pending, url));
      pending = undefined;
    }
    if (variants.length > VARIANTS_MAX || renditions.length > VARIANTS_MAX) throw invalid("it names too many streams");
  }
  if (variants.length === 0) throw invalid("it names no stream");
  return { kind: "master", variants, renditions };
}

function variantOf(attributes: AttributeList, url: URL): HlsVariant {
  const codecs = (attributes.get("CODECS") ?? "").split(",").map((codec) => codec.trim().toLowerCase());
  return {
    url,
    bandwidthBps: Number(attributes.get("BANDWIDTH") ?? 0) || 0,
    codecs: codecs.filter((codec) => codec !== ""),
    hasResolution: attributes.has("RESOLUTION"),
    audioGroup: attributes.get("AUDIO"),
  };
}

function addRendition(renditions: HlsRendition[], attributes: AttributeList, base: URL): void {
  if (attributes.get("TYPE") !== "AUDIO") return;
  const address = attributes.get("URI");
  renditions.push({
    url: address === undefined ? undefined : resolveUrl(address, base),
    groupId: attributes.get("GROUP-ID") ?? "",
    isDefault: attributes.get("DEFAULT") === "YES",
    isAutoselect: attributes.get("AUTOSELECT") === "YES",
  });
}

/** What tags have said so far and applies to the segments that follow. */
class MediaParser {
  readonly #base: URL;
  readonly #segments: HlsSegment[] = [];
  #targetDurationMs = 0;
  #sequence = 0;
  #discontinuity = 0;
  #isEnded = false;
  #key: HlsKey | undefined;
  /** Set while the last EXT-X-KEY lines before a segment, which are alternatives, hold none that we know. */
  #unknownEncryption: string | undefined;
  /** True when one of them was known. */
  #hasNewKey = false;
  #map: HlsPart | undefined;
  #startMs = 0;
  /** Of the next segment. */
  #durationMs: number | undefined;
  #rangeText: string | undefined;
  #isGap = false;

  constructor(base: URL) {
    this.#base = base;
  }

  parse(lines: readonly string[]): HlsMedia {
    for (const raw of lines) {
      const line = raw.trim();
      if (line.startsWith("#EXT")) this.#readTag(line);
      else if (line !== "" && !line.startsWith("#")) this.#addSegment(line);
    }
    const longestMs = this.#segments.reduce((longest, { durationMs }) => Math.max(longest, durationMs), 0);
    return {
      kind: "media",
      // Required by the standard, and still missing in places; then the longest segment is the best guess.
      targetDurationMs: Math.min(Math.max(this.#targetDurationMs || longestMs, 500), 60_000),
      segments: this.#segments,
      isEnded: this.#isEnded,
    };
  }

  #readTag(line: string): void {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1);
    switch (name) {
      case "#EXTINF":
        this.#durationMs = clampedMs(value);
        break;
      case "#EXT-X-TARGETDURATION":
        this.#targetDurationMs = clampedMs(value);
        break;
      case "#EXT-X-MEDIA-SEQUENCE":
        if (/^\d{1,15}$/.test(value) && this.#segments.length === 0) this.#sequence = Number(value);
        break;
      case "#EXT-X-DISCONTINUITY-SEQUENCE":
        if (/^\d{1,9}$/.test(value) && this.#segments.length === 0) this.#discontinuity = Number(value);
        break;
      case "#EXT-X-DISCONTINUITY":
        this.#discontinuity++;
        break;
      case "#EXT-X-BYTERANGE":
        this.#rangeText = value;
        break;
      case "#EXT-X-GAP":
        this.#isGap = true;
        break;
      case "#EXT-X-KEY":
        this.#readKey(parseAttributes(line));
        break;
      case "#EXT-X-MAP":
        this.#readMap(parseAttributes(line));
        break;
      case "#EXT-X-ENDLIST":
        this.#isEnded = true;
        break;
    }
  }

  #readKey(attributes: AttributeList): void {
    const method = attributes.get("METHOD") ?? "NONE";
    if (method === "NONE") {
      this.#key = undefined;
      this.#unknownEncryption = undefined;
      this.#hasNewKey = false;
      return;
    }
    const format = attributes.get("KEYFORMAT") ?? "identity";
    const url = resolveUrl(attributes.get("URI") ?? "", this.#base);
    if (method !== "AES-128" || format !== "identity" || url === undefined) {
      if (!this.#hasNewKey) this.#unknownEncryption = `${method}, ${format}`.slice(0, 80);
      return;
    }
    this.#hasNewKey = true;
    this.#key = { url, iv: parseHex(attributes.get("IV"), 16) };
    this.#unknownEncryption = undefined;
  }

  #readMap(attributes: AttributeList): void {
    const url = resolveUrl(attributes.get("URI") ?? "", this.#base);
    if (url === undefined) throw invalid("an initialisation section has no address");
    this.#map = { url, range: parseByteRange(attributes.get("BYTERANGE"), 0), key: this.#key };
  }

  #addSegment(address: string): void {
    const url = resolveUrl(address, this.#base);
    if (this.#unknownEncryption !== undefined) {
      const reason = `it is encrypted with ${this.#unknownEncryption}, which cannot be played`;
      throw new NodeError("hls-unsupported", `reading an HLS playlist: ${reason}`);
    }
    if (this.#segments.length >= SEGMENTS_MAX) throw invalid(`it has more than ${SEGMENTS_MAX} segments`);
    const durationMs = this.#durationMs ?? this.#targetDurationMs;
    if (url !== undefined) {
      const { sequence, startMs, discontinuity, key, map } = this.#current();
      const range = this.#range(url);
      this.#segments.push({ sequence, startMs, discontinuity, key, map, url, range, durationMs, isGap: this.#isGap });
    }
    this.#sequence++;
    this.#startMs += durationMs;
    this.#durationMs = undefined;
    this.#rangeText = undefined;
    this.#isGap = false;
    this.#hasNewKey = false;
  }

  #current(): Pick<HlsSegment, "sequence" | "startMs" | "discontinuity" | "key" | "map"> {
    return {
      sequence: this.#sequence,
      startMs: this.#startMs,
      discontinuity: this.#discontinuity,
      key: this.#key,
      map: this.#map,
    };
  }

  /** A range without an offset follows the one before it of the same file. */
  #range(url: URL): ByteRange | undefined {
    const before = this.#segments.at(-1);
    const isSameFile = before?.range !== undefined && before.url.href === url.href;
    const followsAt =
      isSameFile && before.range !== undefined ? before.range.offsetBytes + before.range.lengthBytes : 0;
    return parseByteRange(this.#rangeText, followsAt);
  }
}

/** Seconds as milliseconds, within what a segment can sensibly last. */
function clampedMs(text: string): number {
  const seconds = Number.parseFloat(text);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, 86_400_000) : 0;
}

/** http and https only; the guard judges the host when it is dialled. */
function resolveUrl(address: string, base: URL): URL | undefined {
  const url = address === "" ? undefined : parseUrl(address, base.href);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}

function invalid(reason: string): NodeError {
  return new NodeError("hls-playlist-invalid", `reading an HLS playlist: ${reason}`);
}
