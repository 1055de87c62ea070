// Carries out what is asked of a plugin besides loads and links: searches of several kinds, lyrics, REST routes. Brings
// the answers, which may be anything, into the form of the bridge. Plugin thread; used by plugin-worker.ts.

import type {
  ExtensionCommand,
  ExtensionReply,
  FoundLine,
  FoundList,
  FoundLyrics,
  FoundText,
  LyricsReply,
  SearchReply,
  ServeReply,
} from "../../bridge/plugin-extensions.ts";
import { NodeError } from "../../errors.ts";
import type {
  JsonMembers,
  Lyrics,
  RouteAnswer,
  RouteRequest,
  SearchList,
  SearchText,
  Source,
  SourceErrorKind,
} from "../../plugin-api/plugin.ts";
import { decodeTrack } from "../../track/track.ts";
import { writeTracks } from "../../track/written-tracks.ts";
import { kindOf } from "./host/error-kind.ts";
import type { LivingHost } from "./host/plugin-host.ts";
import { plainJson } from "./plain-json.ts";
import { toSourceTrack, writeAnswer } from "./written-answer.ts";

/** Entries of each list of a search. */
const FOUND_MAX = 100;
const TEXT_LENGTH_MAX = 4096;
const LINES_MAX = 5000;
/** Of the text, and of all lines together. */
const LYRICS_LENGTH_MAX = 256 * 1024;
const JSON_LENGTH_MAX = 1024 * 1024;
/** For `pluginInfo` of a text. */
const INFO_LENGTH_MAX = 4096;

const STATUSES: Readonly<Record<SourceErrorKind, number>> = {
  "not-found": 404,
  invalid: 400,
  unavailable: 400,
  busy: 503,
  changed: 503,
  unreachable: 503,
};

type ExtendedHost = Pick<LivingHost<unknown>, "sources" | "modifiers" | "extensions">;

interface WorkEnvironment {
  readonly host: ExtendedHost;
  readonly signal: AbortSignal;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
}

/** Rejects with whatever the plugin's code has thrown. */
export function carryOutExtension(command: ExtensionCommand, environment: WorkEnvironment): Promise<ExtensionReply> {
  const { host, signal } = environment;
  if (command.type === "search") return search(command, host, signal);
  return command.type === "lyrics" ? lyrics(command, host, signal) : serve(command, environment);
}

/** The source whose tracks it is about, by which its requests leave; undefined: of no source. */
export function sourceOf(command: ExtensionCommand, { sources }: Pick<ExtendedHost, "sources">): Source | undefined {
  if (command.type !== "search") return undefined;
  return sources.get(command.source);
}

/** The name used in error messages. */
export function nameOfExtension(command: ExtensionCommand): string {
  if (command.type === "serve") return command.route.path;
  return command.type === "search" ? command.source : command.name;
}

type CommandOf<Type extends ExtensionCommand["type"]> = Extract<ExtensionCommand, { readonly type: Type }>;

async function search(
  { index, source: sourceName, query, types }: CommandOf<"search">,
  { extensions, sources, modifiers }: ExtendedHost,
  signal: AbortSignal,
): Promise<SearchReply> {
  const provider = extensions.searchProviders[index];
  const source = sources.get(sourceName);
  if (provider?.source !== sourceName || source === undefined) throw notThere("search");
  const found = (await provider.search({ query, types, signal })) ?? {};
  const wanted = <Item>(type: (typeof types)[number], list: readonly Item[] | undefined): readonly Item[] =>
    types.includes(type) && Array.isArray(list) ? list.slice(0, FOUND_MAX) : [];
  const answer = writeAnswer({ kind: "search", tracks: wanted("track", found.tracks) }, { source, modifiers });
  return {
    kind: "found",
    tracks: answer.kind === "search" ? answer.tracks : writeTracks([]),
    albums: wanted("album", found.albums).map((list) => foundList("album", list)),
    artists: wanted("artist", found.artists).map((list) => foundList("artist", list)),
    playlists: wanted("playlist", found.playlists).map((list) => foundList("playlist", list)),
    texts: wanted("text", found.texts).map(foundText),
  };
}

/** With the members of LavaSrc (protocol-v4.md section 8.2). */
function foundList(type: string, { name, url, artworkUrl, author, totalTracks }: SearchList): FoundList {
  const count = Number.isSafeInteger(totalTracks) ? (totalTracks ?? null) : null;
  const pluginInfo = {
    type,
    url: textOrNull(url),
    artworkUrl: textOrNull(artworkUrl),
    author: textOrNull(author),
    totalTracks: count,
  };
  return { name: shortText(name), pluginInfo };
}

function foundText({ text, pluginInfo = {} }: SearchText): FoundText {
  return { text: shortText(text), pluginInfo: plainJson(pluginInfo, INFO_LENGTH_MAX) as JsonMembers }; // of members
}

async function lyrics(
  { index, name, encoded }: CommandOf<"lyrics">,
  { extensions, sources }: ExtendedHost,
  signal: AbortSignal,
): Promise<LyricsReply> {
  const provider = extensions.lyricsProviders[index];
  if (provider?.name !== name) throw notThere("lyrics");
  const layouts = new Map([...sources.values()].map(({ name, fields = [] }) => [name, fields]));
  const track = toSourceTrack(decodeTrack(encoded, layouts));
  const found = await provider.load({ track, signal });
  return { kind: "lyrics", lyrics: found === undefined || found === null ? undefined : foundLyrics(found) };
}

/** Undefined where they have neither a text nor a line. */
function foundLyrics({ sourceName, provider, text, lines }: Lyrics): FoundLyrics | undefined {
  const found = Array.isArray(lines) ? foundLines(lines) : [];
  const all = found.map(({ line }) => line).join("\n");
  const whole = typeof text === "string" && text.trim() !== "" ? text.slice(0, LYRICS_LENGTH_MAX) : all;
  if (whole.trim() === "") return undefined;
  return {
    sourceName: shortText(sourceName),
    provider: textOrNull(provider),
    text: whole,
    lines: found.length > 0 ? found : null,
  };
}

function foundLines(lines: NonNullable<Lyrics["lines"]>): FoundLine[] {
  let lengthLeft = LYRICS_LENGTH_MAX;
  const found: FoundLine[] = [];
  for (const { timestampMs, durationMs, line } of lines.slice(0, LINES_MAX)) {
    if (!isTime(timestampMs) || typeof line !== "string") continue;
    lengthLeft -= line.length;
    if (lengthLeft < 0) break;
    const duration = isTime(durationMs) ? Math.round(durationMs) : null;
    found.push({ timestamp: Math.round(timestampMs), duration, line });
  }
  return found.sort((one, other) => one.timestamp - other.timestamp);
}

function isTime(ms: unknown): ms is number {
  return typeof ms === "number" && ms >= 0 && ms <= Number.MAX_SAFE_INTEGER;
}

async function serve(
  { route: asked, segments, query, body }: CommandOf<"serve">,
  { host, signal, hide }: WorkEnvironment,
): Promise<ServeReply> {
  const route = host.extensions.findRoute(asked);
  if (route === undefined) throw notThere("route");
  try {
    // Checked by the main thread with the route's own schemas.
    const request = { segments, query, body, signal } as RouteRequest;
    return served(await route.handle(request), hide);
  } catch (error) {
    const kind = kindOf(error);
    if (kind === undefined) throw error;
    return refused(STATUSES[kind], (error as Error).message, hide); // only an Error has a kind
  }
}

function refused(status: number, message: unknown, hide: WorkEnvironment["hide"]): ServeReply {
  return { kind: "served", status, message: shortText(hide(String(message ?? ""))) };
}

/** Throws for what is not an answer. */
function served(answer: RouteAnswer, hide: WorkEnvironment["hide"]): ServeReply {
  const { status = "json" in answer ? 200 : 204 } = answer;
  if ("message" in answer) {
    if (!isWithin(status, 400, 599)) throw new Error(`a route answered a message with the status ${status}`);
    return refused(status, answer.message, hide);
  }
  if (!("json" in answer)) {
    if (status !== 200 && status !== 204) throw new Error(`a route answered the status ${status} without JSON`);
    return { kind: "served", status };
  }
  if (!isWithin(status, 200, 299) || status === 204) throw new Error(`a route answered JSON with the status ${status}`);
  return { kind: "served", status, json: plainJson(answer.json, JSON_LENGTH_MAX) };
}

function isWithin(status: number, min: number, max: number): boolean {
  return Number.isInteger(status) && status >= min && status <= max;
}

function shortText(value: unknown): string {
  return String(value ?? "").slice(0, TEXT_LENGTH_MAX);
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, TEXT_LENGTH_MAX) : null;
}

/** The plugin was set up again, and offers something else now. */
function notThere(what: string): NodeError {
  return new NodeError("plugin-lost", `the plugin no longer has this ${what}; try again`);
}
