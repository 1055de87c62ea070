// The variants of a track that SoundCloud offers: which can be played, in which order, what Lavalink calls them, and
// how long a signed link to one is valid. Plugin thread.

import { type Members, objectOf, objectsOf } from "../reading/json.ts";
import { API_ORIGIN } from "./api.ts";
import { textOf } from "./read-json.ts";

export interface Variant {
  /** Asked for with the client id, it answers a signed link. */
  readonly transcodingUrl: string;
  readonly protocol: "hls" | "progressive";
  readonly codec: "opus" | "mp3" | "aac";
  /** Names its bytes: preset and protocol. */
  readonly name: string;
  /** Only the first 30 s, or so. */
  readonly isPreview: boolean;
}

export interface OfferedVariants {
  /** The best first. Encrypted ones are left out. */
  readonly variants: readonly Variant[];
  readonly hasEncrypted: boolean;
  /**
   * There are encrypted variants, and no whole AAC without encryption: a label's track, whose open variants are listed
   * but have not been available since 2026-04-30.
   */
  readonly isProtected: boolean;
}

const TRANSCODINGS_MAX = 50;
/** Passed through. Gone since 2026-04, but for tracks that still list it; where it is gone, one request says so. */
const OPUS_KINDS = ["hls opus"];
/** 160 kbit/s, and what SoundCloud makes of all new tracks. */
const AAC_KINDS = ["hls aac", "progressive aac"];
/** 128 kbit/s. All nodes decode it. */
const MP3_KINDS = ["progressive mp3", "hls mp3"];
/** Of a preset that does not name it, kbit/s. */
const USUAL_BIT_RATE = 128;
/** The letters that Lavalink puts before a transcoding address, in its order of preference. */
const LAVALINK_LETTERS = [
  ["hls opus", "O"],
  ["hls mp3", "U"],
  ["progressive mp3", "M"],
] as const;
const PREVIEW_LINK = /\/preview\/|cf-preview-media|\/(?:preview|playlist)\/0\/30\//;
/** Life of HLS links whose expiry is unknown: their segments have been seen to expire after some five minutes. */
const HLS_LIFE_MS = 4 * 60_000;
/** Longest life that is trusted. */
const LIFE_MS_MAX = 7 * 24 * 60 * 60_000;

/** Reads the variants of a track in the API's JSON. */
export function readVariants(track: Members): OfferedVariants {
  const transcodings = objectsOf(objectOf(track.media)?.transcodings, TRANSCODINGS_MAX);
  const variants = transcodings.flatMap((transcoding) => readVariant(transcoding) ?? []);
  const order = [...OPUS_KINDS, ...AAC_KINDS, ...MP3_KINDS];
  const rankOf = (variant: Variant): number => (variant.isPreview ? order.length : 0) + order.indexOf(kindOf(variant));
  const hasEncrypted = transcodings.some(isEncrypted);
  return {
    // Whole ones before previews.
    variants: variants.sort((one, other) => rankOf(one) - rankOf(other) || bitRateOf(other) - bitRateOf(one)),
    hasEncrypted,
    isProtected: hasEncrypted && !variants.some(({ codec, isPreview }) => codec === "aac" && !isPreview),
  };
}

/** Lavalink's identifier of a track with these variants; undefined if Lavalink could not play it. */
export function lavalinkIdentifier(variants: readonly Variant[]): string | undefined {
  for (const [kind, letter] of LAVALINK_LETTERS) {
    const found = variants.find((variant) => kindOf(variant) === kind);
    if (found !== undefined) return `${letter}:${withoutQuery(found.transcodingUrl)}`;
  }
  return undefined;
}

export function isPreviewLink(url: string): boolean {
  return PREVIEW_LINK.test(url);
}

/** When the link ends, epoch milliseconds; undefined: not known, and not soon. */
export function expiryOf(link: URL, { protocol }: Pick<Variant, "protocol">, nowMs: number): number | undefined {
  const saidMs = secondsInQuery(link) ?? secondsInPolicy(link.searchParams.get("Policy"));
  if (saidMs !== undefined && saidMs > nowMs && saidMs < nowMs + LIFE_MS_MAX) return saidMs;
  return protocol === "hls" ? nowMs + HLS_LIFE_MS : undefined;
}

function readVariant(transcoding: Members): Variant | undefined {
  const { url, preset, snipped } = transcoding;
  const format = objectOf(transcoding.format);
  const transcodingUrl = textOf(url);
  const name = textOf(preset) ?? "unnamed";
  const protocol = protocolOf(format?.protocol);
  const codec = codecOf(textOf(format?.mime_type) ?? "");
  if (transcodingUrl === undefined || protocol === undefined || codec === undefined) return undefined;
  // Variants with adaptive bit rates only work in SoundCloud's own player.
  if (!transcodingUrl.startsWith(`${API_ORIGIN}/media/`) || transcodingUrl.length > 1024 || name.startsWith("abr"))
    return undefined;
  const isPreview = snipped === true || transcodingUrl.includes("/preview/");
  const whole = `${name.slice(0, 40)} ${protocol}`;
  return { transcodingUrl, protocol, codec, name: isPreview ? `${whole} preview` : whole, isPreview };
}

function protocolOf(value: unknown): Variant["protocol"] | undefined {
  return value === "hls" || value === "progressive" ? value : undefined;
}

function codecOf(mimeType: string): Variant["codec"] | undefined {
  if (/^audio\/ogg\b/.test(mimeType)) return "opus";
  if (/^audio\/mpeg\b/.test(mimeType)) return "mp3";
  return /^audio\/(?:mp4|aac)\b/.test(mimeType) ? "aac" : undefined;
}

/** Of any method: `encrypted-hls`, `ctr-encrypted-hls`, `cbc-encrypted-hls`. */
function isEncrypted({ format, url }: Members): boolean {
  return /encrypted/i.test(textOf(objectOf(format)?.protocol) ?? textOf(url) ?? "");
}

/** In kbit/s: `aac_160k`. */
function bitRateOf({ name }: Variant): number {
  return Number(/_(\d{1,4})k\b/.exec(name)?.[1] ?? USUAL_BIT_RATE);
}

function kindOf({ protocol, codec }: Variant): string {
  return `${protocol} ${codec}`;
}

/** Removes the query, which may contain secrets. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, "");
}

/** `expires=` of most storages. */
function secondsInQuery({ searchParams }: URL): number | undefined {
  const text = searchParams.get("expires") ?? searchParams.get("Expires") ?? "";
  return /^\d{9,11}$/.test(text) ? Number(text) * 1000 : undefined;
}

/** CloudFront's policies: JSON in Base64 with three signs exchanged, the end in `AWS:EpochTime`. */
function secondsInPolicy(policy: string | null): number | undefined {
  if (policy === null || policy.length > 4096) return undefined;
  const base64 = policy.replaceAll("-", "+").replaceAll("_", "=").replaceAll("~", "/");
  const text = Buffer.from(base64, "base64").toString("latin1");
  const seconds = /"DateLessThan"\s{0,9}:\s{0,9}\{\s{0,9}"AWS:EpochTime"\s{0,9}:\s{0,9}(\d{9,11})\D/.exec(text)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
