// The formats in which a video's audio is offered, and the choice between them: first those that need no decoding.
// Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { list, member, number, string } from "./read-json.ts";

const LINK_LENGTH_MAX = 8000;
/** Audio and video in one small file, without a length: the oldest format. */
const PLAIN_ITAG = 18;

interface MediaFormat {
  readonly itag: number;
  readonly mimeType: string;
  readonly bitrateBps: number;
  /** Undefined: not said. */
  readonly sizeBytes: number | undefined;
  /** Names these bytes, independent of the client. */
  readonly variant: string;
  readonly isQuietened: boolean;
  /** How well it suits; less is better. */
  readonly rank: number;
  readonly link: FormatLink;
}

/** A plain link, or one with a signature that the player script must convert. */
export type FormatLink =
  | { readonly kind: "open"; readonly url: string }
  | { readonly kind: "locked"; readonly url: string; readonly signature: string; readonly parameter: string };

interface ChoiceOptions {
  /** Signatures can be turned. */
  readonly opensLocks: boolean;
  /** The variant played before, which should continue. */
  readonly variant: string | undefined;
}

/** The form to play. Throws `unavailable` with what there is instead. */
export function chooseFormat(answer: unknown, { opensLocks, variant }: ChoiceOptions): MediaFormat {
  const data = member(answer, "streamingData");
  // Never cut before the choice: with many dubs the best format of the original track may be the last of hundreds.
  const offered = [...list(data, "formats"), ...list(data, "adaptiveFormats")];
  const mayLackLength = isWithoutLength(answer);
  const usable = offered
    .flatMap((entry) => readFormat(entry, mayLackLength) ?? [])
    .filter(({ link }) => opensLocks || link.kind === "open");
  const best = usable.toSorted((a, b) => compare(a, b, variant))[0];
  if (best !== undefined) return best;
  throw new SourceError("unavailable", nothingUsable(offered, data));
}

/** The address of a live stream's playlist. */
export function hlsManifestOf(answer: unknown): string | undefined {
  const url = string(answer, "streamingData", "hlsManifestUrl");
  return url !== undefined && url.length <= LINK_LENGTH_MAX ? url : undefined;
}

function isWithoutLength(answer: unknown): boolean {
  const reason = string(answer, "playabilityStatus", "reason") ?? "";
  return member(answer, "videoDetails", "isLive") === true || reason.includes("This live event has ended");
}

function readFormat(entry: unknown, mayLackLength: boolean): MediaFormat | undefined {
  const itag = number(entry, "itag");
  const mimeType = string(entry, "mimeType");
  const link = readLink(entry);
  if (itag === undefined || mimeType === undefined || link === undefined) return undefined;
  const rank = rankOf(mimeType, number(entry, "audioChannels") ?? 2);
  const isForeign = member(entry, "audioTrack", "audioIsDefault") === false;
  const isBarred = string(entry, "type") === "FORMAT_STREAM_TYPE_OTF" || list(entry, "drmFamilies").length > 0;
  const sizeBytes = number(entry, "contentLength");
  const lacksLength = sizeBytes === undefined && !mayLackLength && itag !== PLAIN_ITAG;
  if (rank === undefined || isForeign || isBarred || lacksLength) return undefined;
  const names = [itag, string(entry, "lastModified") ?? "", string(entry, "xtags")];
  return {
    itag,
    mimeType,
    rank,
    link,
    sizeBytes,
    isQuietened: member(entry, "isDrc") === true,
    bitrateBps: number(entry, "bitrate") ?? 0,
    variant: names.filter((name) => name !== undefined).join("/"),
  };
}

function readLink(entry: unknown): FormatLink | undefined {
  const url = string(entry, "url");
  if (url !== undefined) return url.length <= LINK_LENGTH_MAX ? { kind: "open", url } : undefined;
  const cipher = new URLSearchParams(string(entry, "signatureCipher") ?? string(entry, "cipher") ?? "");
  const locked = cipher.get("url");
  const signature = cipher.get("s");
  if (locked === null || signature === null || locked.length > LINK_LENGTH_MAX) return undefined;
  return { kind: "locked", url: locked, signature, parameter: cipher.get("sp") ?? "signature" };
}

/** Undefined if it has no audio that can be played. */
function rankOf(mimeType: string, channels: number): number | undefined {
  const [, type = "", codecs = ""] = /^([\w/-]+)\s*(?:;\s*codecs="([^"]*)")?/.exec(mimeType) ?? [];
  const has = (codec: string): boolean => codecs.includes(codec);
  if (type === "audio/webm" && has("opus")) return channels <= 2 ? 0 : 6;
  if (type === "audio/webm" && has("vorbis")) return 1;
  if (type === "audio/mp4" && has("mp4a.40")) return has("mp4a.40.2") ? 2 : 3;
  if (type === "video/webm" && (has("opus") || has("vorbis"))) return 4;
  return type === "video/mp4" && has("mp4a.40") ? 5 : undefined;
}

/** Prefers the variant played before; then a suitable codec, the original track, the best quality. */
function compare(a: MediaFormat, b: MediaFormat, variant: string | undefined): number {
  const likeness = (format: MediaFormat): number => likenessOf(format, variant);
  return (
    likeness(b) - likeness(a) ||
    a.rank - b.rank ||
    Number(a.isQuietened) - Number(b.isQuietened) ||
    b.bitrateBps - a.bitrateBps
  );
}

function likenessOf(format: MediaFormat, variant: string | undefined): number {
  if (variant === undefined) return 0;
  if (format.variant === variant) return 2;
  return variant.startsWith(`${format.itag}/`) ? 1 : 0;
}

function nothingUsable(offered: readonly unknown[], data: unknown): string {
  const types = [...new Set(offered.map((entry) => string(entry, "mimeType") ?? "unknown"))].slice(0, 20);
  const isSabr = string(data, "serverAbrStreamingUrl") !== undefined;
  const why = isSabr ? " (this client is offered audio over SABR only)" : "";
  return `No supported audio streams available, available types: ${types.join(", ")}${why}`;
}
