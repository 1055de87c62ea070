// Playlists that only contain links: M3U, PLS, and plain lists of links (protocol-v4.md section 7.3). A list stands for
// its first link that can be loaded. Pure functions. Audio thread.

import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ListedInput, PlainInput } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import { parseInputUrl } from "./input-url.ts";
import { decodeText } from "./legacy-text.ts";

/** Lavalink's names for the kinds of playlists; `hls` is a separate kind here, `m3u` to clients. */
export type PlaylistFormat = "hls" | "m3u" | "pls" | "plain";

/** Size of a list's beginning that is read. */
export const LINK_LIST_BYTES_MAX = 64 * 1024;
/** Bytes by which a playlist is distinguished from media; a plain list is recognised by a link in them. */
export const PLAYLIST_HEAD_BYTES = 1000;
const LINES_MAX = 2_000;
/** Addresses of a list that are tried; each failure takes time. */
const LINKS_TRIED_MAX = 50;

/** Addresses after the first one that are kept, for when that one is dead. */
const ALTERNATIVES_MAX = 9;

interface Link {
  readonly address: string;
  readonly title: string | undefined;
}

/**
 * The kind of playlist that begins with `head`; undefined if it is not a playlist. Needs the first LINK_LIST_BYTES_MAX
 * bytes.
 */
export function playlistFormatOf(head: Uint8Array): PlaylistFormat | undefined {
  // Media files are not decoded as text: they begin with something no playlist begins with.
  const start = decodeText(head.subarray(0, PLAYLIST_HEAD_BYTES)).trimStart();
  if (/^#EXT(M3U|INF|-X-)/.test(start)) return isHls(decodeText(head)) ? "hls" : "m3u";
  if (/^\[playlist\]/i.test(start)) return "pls";
  // A zero byte is never in a text, but links are in the tags of media files.
  if (!head.subarray(0, PLAYLIST_HEAD_BYTES).includes(0) && /^[ \t]*(https?|icy):\/\/\S/im.test(start)) return "plain";
  return undefined;
}

/**
 * The first link of a list that can be loaded, and those after it.
 * @param from where the list was found: relative links count from there, and only a local list may name local files
 * @throws NodeError "playlist-empty"
 */
export function firstLink(
  bytes: Uint8Array,
  format: Exclude<PlaylistFormat, "hls">,
  from: PlainInput,
): ListedInput & { readonly alternatives: readonly ListedInput[] | undefined } {
  const found: ListedInput[] = [];
  for (const { address, title } of linksOf(decodeText(bytes), format).slice(0, LINKS_TRIED_MAX)) {
    const input = resolveLink(address, from);
    if (input !== undefined && !found.some((other) => isSameInput(other.input, input))) found.push({ input, title });
    if (found.length > ALTERNATIVES_MAX) break;
  }
  const [first, ...others] = found;
  if (first !== undefined) return { ...first, alternatives: others.length === 0 ? undefined : others };
  throw new NodeError("playlist-empty", `reading a ${format} playlist: it names no address that can be loaded`);
}

function isSameInput(a: PlainInput, b: PlainInput): boolean {
  return a.kind === "http" ? b.kind === "http" && a.url === b.url : b.kind === "local" && a.path === b.path;
}

/**
 * RFC 8216 sections 4.3.3 and 4.3.4: every media playlist declares its target duration, every master playlist its
 * streams. The two other tags are those by which careless media playlists can be told. Other `EXT-X-` tags are in plain
 * lists as well.
 */
function isHls(text: string): boolean {
  return /^#EXT-X-(TARGETDURATION|STREAM-INF|MEDIA-SEQUENCE|ENDLIST)(:|\s*$)/m.test(text);
}

function linksOf(text: string, format: Exclude<PlaylistFormat, "hls">): Link[] {
  const lines = text.split(/\r\n|\n|\r/, LINES_MAX).map((line) => line.trim());
  if (format === "m3u") return m3uLinks(lines);
  if (format === "pls") return plsLinks(lines);
  return lines.filter((line) => /^(https?|icy):\/\//i.test(line)).map((address) => ({ address, title: undefined }));
}

function m3uLinks(lines: readonly string[]): Link[] {
  const links: Link[] = [];
  let title: string | undefined;
  for (const line of lines) {
    if (line.startsWith("#EXTINF:")) title = line.slice(line.indexOf(",") + 1).trim() || undefined;
    if (line === "" || line.startsWith("#")) continue;
    links.push({ address: line, title });
    title = undefined;
  }
  return links;
}

function plsLinks(lines: readonly string[]): Link[] {
  const addresses = new Map<number, string>();
  const titles = new Map<number, string>();
  for (const line of lines) {
    const match = /^(File|Title)(\d{1,6})\s*=\s*(.+)$/i.exec(line);
    if (match === null) continue;
    const [, name = "", number, value = ""] = match;
    const values = name.toLowerCase() === "file" ? addresses : titles;
    values.set(Number(number), value);
  }
  const numbers = [...addresses.keys()].sort((a, b) => a - b);
  return numbers.map((number) => ({ address: addresses.get(number) ?? "", title: titles.get(number) }));
}

function resolveLink(address: string, from: PlainInput): PlainInput | undefined {
  try {
    if (from.kind === "http") {
      return { kind: "http", url: parseInputUrl(address, parseInputUrl(from.url)).href, container: undefined };
    }
    if (/^(https?|icy):/i.test(address)) {
      return { kind: "http", url: parseInputUrl(address).href, container: undefined };
    }
    const path = address.startsWith("file:") ? fileURLToPath(address) : resolve(dirname(from.path), address);
    return { kind: "local", path, container: undefined };
  } catch {
    // Not an address; perhaps the next line is one.
    return undefined;
  }
}
