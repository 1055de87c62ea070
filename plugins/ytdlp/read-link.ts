// Reads the audio link from yt-dlp's answer on a video: the chosen format, with the headers and cookies that the site
// expects. Plugin thread.

import { type Playable, SourceError } from "../../src/plugin-api/plugin.ts";
import { type Members, numberOf, objectOf, objectsOf } from "../reading/json.ts";
import { textOf, webAddressOf } from "./read-json.ts";

export type Link = Extract<Playable, { readonly kind: "link" }>;

const FORMATS_MAX = 500;
const PROTOCOLS = ["http", "https", "m3u8", "m3u8_native"];
/** For links that do not say how long they are good. */
const LIFE_MS = 10 * 60_000;
/** `expire=1700000000`, `/expires/1700000000`, `exp=1700000000~acl=…`: seconds, or milliseconds. */
const EXPIRY = /[?&/~;=](?:expires?|exp|x-expires|oe)(?:=|%3d|\/)(\d{10}|\d{13})(?!\d)/gi;
const HEADERS_MAX = 30;
const HEADERS_LENGTH_MAX = 12 * 1024;
/** These belong to the connection, or to what the node asks for. */
const OWN_HEADERS =
  /^(?:host|connection|te|trailer|upgrade|keep-.*|range|cookie|expect|(?:accept-enc|content|transfer|proxy|if)-?.*)$/;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
const HEADER_VALUE = /^[\x20-\x7e]{1,4096}$/;
/** Attributes between the cookies of a format. */
const COOKIE_ATTRIBUTES = ["domain", "path", "secure", "expires", "version"];
const STEP_BYTES = { min: 64 * 1024, max: 1024 ** 3 };

/** Throws SourceError `unavailable` where there is nothing that the node plays. */
export function readLink(video: Members, nowMs: number): Link {
  const format = chosenFormat(video);
  const url = webAddressOf(format?.url);
  if (format === undefined || url === undefined) throw noAudio(video);
  const isFile = /^https?$/.test(textOf(format.protocol) ?? "http");
  const stepBytes = numberOf(objectOf(format.downloader_options)?.http_chunk_size) ?? 0;
  const isStepped = isFile && stepBytes >= STEP_BYTES.min && stepBytes <= STEP_BYTES.max;
  return {
    kind: "link",
    url,
    headers: headersOf(format),
    expiresAtMs: expiryOf(url, nowMs),
    variant: textOf(format.format_id, 200),
    rangeStep: isStepped ? { bytes: Math.floor(stepBytes), by: "header" } : undefined,
  };
}

/** The format that yt-dlp has chosen; the best audio format if it was set to choose video and audio. */
function chosenFormat(video: Members): Members | undefined {
  const chosen = [video, ...objectsOf(video.requested_downloads, 10)].find(isPlayable);
  if (chosen !== undefined) return chosen;
  const others = [...objectsOf(video.requested_formats, 10), ...objectsOf(video.formats, FORMATS_MAX)].filter(
    isPlayable,
  );
  return others.toSorted((one, other) => rankOf(one) - rankOf(other))[0];
}

function isPlayable({ url, protocol, acodec, has_drm: hasDrm }: Members): boolean {
  if (webAddressOf(url) === undefined || acodec === "none" || hasDrm === true) return false;
  return protocol === undefined || PROTOCOLS.includes(String(protocol));
}

/** Low is good: Opus and MP3 need no further codec, and a picture is bytes for nothing. */
function rankOf({ acodec, vcodec, ext }: Members): number {
  if (vcodec !== "none") return 3;
  if (acodec === "opus") return 0;
  return acodec === "mp3" || ext === "mp3" ? 1 : 2;
}

function noAudio(video: Members): SourceError {
  const protocol = textOf(video.protocol, 40) ?? textOf(objectsOf(video.formats, 1)[0]?.protocol, 40);
  const what = /^[\w+]+$/.test(protocol ?? "")
    ? `only as ${protocol}, which this node does not play`
    : "no audio to play";
  return new SourceError("unavailable", `yt-dlp found ${what}`);
}

/** The earliest time that the link names and that is still to come. */
function expiryOf(url: string, nowMs: number): number {
  const times = [...url.matchAll(EXPIRY)].map(([, digits = ""]) => Number(digits.padEnd(13, "0")));
  const future = times.filter((timeMs) => timeMs > nowMs);
  return future.length === 0 ? nowMs + LIFE_MS : Math.min(...future);
}

function headersOf(format: Members): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  let leftLength = HEADERS_LENGTH_MAX;
  const add = (name: string, value: unknown): void => {
    if (typeof value !== "string" || !HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return;
    leftLength -= name.length + value.length;
    if (leftLength >= 0) headers[name.toLowerCase()] = value;
  };
  for (const [name, value] of Object.entries(objectOf(format.http_headers) ?? {}).slice(0, HEADERS_MAX)) {
    if (!OWN_HEADERS.test(name.toLowerCase())) add(name, value);
  }
  add("cookie", cookieOf(textOf(format.cookies, 8192)));
  return headers;
}

/** Parses `a=1; Domain=.x.org; Path=/; b="2"; …`, and keeps only cookies that the link's host may see. */
function cookieOf(written: string | undefined): string | undefined {
  const pairs = (written ?? "").split("; ").filter((pair) => {
    const [name = ""] = pair.split("=");
    return pair.includes("=") && !COOKIE_ATTRIBUTES.includes(name.trim().toLowerCase());
  });
  return pairs.length === 0 ? undefined : pairs.join("; ");
}
