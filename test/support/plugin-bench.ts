// A plugin as the node runs it, but in this thread: real options, real HTTP through the guard, real encoding; calls
// replace the requests of the main thread. Hosts of sites are replaced by fake sites on loopback.

import { EventEmitter } from "node:events";
import type {
  FoundLyrics,
  LyricsReply,
  RouteManifest,
  SearchReply,
  ServeReply,
} from "../../src/bridge/plugin-extensions.ts";
import type {
  PersistedValue,
  PluginAnswer,
  PluginCommand,
  PluginEvent,
  PluginLink,
  PluginLinkRequest,
  PluginManifest,
  PluginReturn,
  PluginSettings,
} from "../../src/bridge/plugin-messages.ts";
import type { OwnNodeEvent, PlayerWish, SentEvent, WishResults } from "../../src/bridge/plugin-players.ts";
import { RemoteError, toWireError, type WireError } from "../../src/bridge/wire-error.ts";
import { type RouteSource, serveRoutes } from "../../src/control/workers/route-source.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Owner } from "../../src/lib/owners.ts";
import type { PlainTree, PlainTreeMap } from "../../src/lib/plain-tree.ts";
import type { Json, Plugin, SearchType, SourceAnswer, SourceTrack } from "../../src/plugin-api/plugin.ts";
import { startPlugin } from "../../src/plugin-host/runtime/start-plugin.ts";
import { readAnswer } from "../../src/plugin-host/runtime/written-answer.ts";
import { createTrack } from "../../src/track/track.ts";
import type { TrackJson } from "../../src/track/track-info.ts";

const OWNER: Owner = ["address test"];

export interface BenchOptions {
  /** As an operator writes them under `plugins.<name>`. */
  readonly options?: PlainTree;
  /** Base address of the fake site by the host that it replaces. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** Changes of the options while the node runs. */
  readonly changes?: PlainTreeMap;
  /** The persisted values of a previous thread. */
  readonly persisted?: readonly PersistedValue[];
  readonly clock?: Clock;
  /** The answers of the node's other sources to `host.load`. */
  readonly elsewhere?: (identifier: string) => PluginAnswer;
  readonly settings?: Partial<PluginSettings>;
  /** What it asks of players is answered by this. Default: there are no sessions. */
  readonly players?: (wish: PlayerWish) => WishResults[keyof WishResults];
  /** CPU time of its thread. Default: none is used. */
  readonly cpuMs?: () => number;
  /** Chooses the addresses that requests leave from; where `settings` has routing. */
  readonly routes?: RouteSource;
}

/** Default: GET, with the access of the route, without anything. */
interface ServedRequest {
  readonly method?: RouteManifest["method"];
  readonly access?: RouteManifest["access"];
  readonly segments?: Readonly<Record<string, string>>;
  readonly query?: object;
  readonly body?: object;
}

export class PluginBench {
  readonly manifest: PluginManifest;
  /** Lines of its log, from its setup on. */
  readonly lines: Extract<PluginEvent, { readonly type: "log" }>[];
  /** The values it has persisted, by cache and key, as the next thread would get them. */
  readonly persisted = new Map<string, PersistedValue>();
  /** The events that it has sent to clients. */
  readonly sent: SentEvent[] = [];
  readonly #toPlugin: EventEmitter;
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: unknown) => void }>();
  #lastId = 0;
  #lastReport: Extract<PluginEvent, { readonly type: "report" }> | undefined;

  /** Sets it up; rejects with the reason when that fails. */
  static async start(plugin: Plugin<never> | Plugin, options: BenchOptions = {}): Promise<PluginBench> {
    const toPlugin = new EventEmitter();
    const toMain = new EventEmitter();
    const lines: PluginBench["lines"] = [];
    const ready = new Promise<PluginManifest>((resolve, reject) => {
      toMain.on("message", (event: PluginEvent) => {
        if (event.type === "log") lines.push(event);
        if (event.type === "ready") resolve(event.manifest);
        if (event.type === "unusable") reject(new Error(event.problem));
        if (event.type === "routeRequested" || event.type === "routeFailed") {
          serveRoutes(event, options.routes, (answer) => void toPlugin.emit("message", structuredClone(answer)));
        }
        if (event.type !== "named") return;
        const given = { options: options.options, changes: options.changes ?? {}, persisted: options.persisted ?? [] };
        toPlugin.emit("message", { type: "options", given } satisfies PluginCommand);
      });
    });
    const port = {
      // Plain data in both directions, as between threads.
      postMessage: (event: PluginEvent) => void toMain.emit("message", structuredClone(event)),
      on: (name: "message", listener: (command: PluginCommand) => void) => toPlugin.on(name, listener),
    };
    await startPlugin({
      port,
      clock: options.clock ?? systemClock,
      cpuMs: options.cpuMs ?? (() => 0),
      settings: {
        module: "in this thread",
        hosts: options.hosts ?? {},
        allow: ["127.0.0.0/8"],
        http: { userAgent: "Tonearm/test", proxyUrl: undefined, connectTimeoutMs: 3000, socketTimeoutMs: 3000 },
        ownProxyUrl: undefined,
        ownUserAgent: undefined,
        routing: undefined,
        ...options.settings,
      },
      importModule: (url) => (url.startsWith("file:") ? import(url) : Promise.resolve({ default: plugin })),
    });
    return new PluginBench(await ready, { toPlugin, toMain, lines, options });
  }

  private constructor(
    manifest: PluginManifest,
    {
      toPlugin,
      toMain,
      lines,
      options,
    }: { toPlugin: EventEmitter; toMain: EventEmitter; lines: PluginBench["lines"]; options: BenchOptions },
  ) {
    this.manifest = manifest;
    this.lines = lines;
    this.#toPlugin = toPlugin;
    toMain.on("message", (event: PluginEvent) => this.#onEvent(event, options));
  }

  /** What the source finds; undefined: it is not its identifier. Rejects with the error that a client would receive. */
  async load(source: string, identifier: string): Promise<SourceAnswer | undefined> {
    const answer = await this.loadWritten(source, identifier);
    return answer.kind === "none" ? undefined : readAnswer(answer);
  }

  /** The answer as it leaves the thread. */
  loadWritten(source: string, identifier: string): Promise<PluginAnswer> {
    return this.#ask((requestId) => ({ type: "load", requestId, source, identifier, depth: 0, owner: OWNER }));
  }

  /** The tracks as clients see them. */
  async loadTracks(source: string, identifier: string): Promise<TrackJson[]> {
    const answer = await this.loadWritten(source, identifier);
    if (answer.kind === "track") return [answer.track];
    if (answer.kind !== "playlist" && answer.kind !== "search") return [];
    return answer.tracks.parts.flatMap((part) => JSON.parse(`[${Buffer.from(part).toString()}]`) as TrackJson[]);
  }

  /** The location of an encoded track's audio. `sources`: those that the client may use; default: all. */
  resolve(
    source: string,
    encoded: string,
    linkRequest: Partial<PluginLinkRequest> = {},
    sources?: readonly string[],
  ): Promise<PluginLink> {
    const whole: PluginLinkRequest = { encoded, userData: {}, reason: "start", ...linkRequest };
    return this.#ask((requestId) => ({
      type: "resolve",
      requestId,
      source,
      linkRequest: whole,
      owner: OWNER,
      sources,
    }));
  }

  /** Its answer to a route of the node. */
  async call(name: string, argument: Json = null): Promise<Json> {
    const { value } = await this.#ask<PluginReturn>((requestId) => ({ type: "call", requestId, name, argument }));
    return value;
  }

  /** The result of its first search provider. `source`: as the main thread knows it, from another version perhaps. */
  search(
    query: string,
    types: readonly SearchType[] = ["track", "album", "artist", "playlist", "text"],
    source = this.manifest.searchProviders?.[0]?.source ?? "",
  ): Promise<SearchReply> {
    return this.#ask((requestId) => ({ type: "search", requestId, index: 0, source, query, types, owner: OWNER }));
  }

  /** The lyrics that its first provider has for a track: an encoded one, or one of another source. `name`: as `source`. */
  async lyrics(
    track: string | SourceTrack,
    name = this.manifest.lyricsProviders?.[0]?.name ?? "",
  ): Promise<FoundLyrics | undefined> {
    const encoded = typeof track === "string" ? track : encodedTrack(track);
    const { lyrics } = await this.#ask<LyricsReply>((requestId) => {
      return { type: "lyrics", requestId, index: 0, name, encoded, owner: OWNER };
    });
    return lyrics;
  }

  /** The answer of one of its routes. */
  serve(path: string, request: ServedRequest = {}): Promise<ServeReply> {
    const { method = "GET", access, segments = {}, query = {}, body } = request;
    const found = (this.manifest.routes ?? []).find((route) => route.path === path && route.method === method);
    const route = { method, path, access: access ?? found?.access ?? "operator" };
    return this.#ask((requestId) => ({ type: "serve", requestId, route, segments, query, body, owner: OWNER }));
  }

  /** Tells it of something that has happened; resolves when its listeners have been called. */
  async tell(...events: readonly OwnNodeEvent[]): Promise<void> {
    const told = events.map((event) => ({ event, owner: OWNER }));
    await this.#ask((requestId) => ({ type: "events", requestId, owner: OWNER, events: told }));
  }

  /** Its backends, as last reported. */
  get backends(): NonNullable<typeof this.report>["backends"] {
    return this.#lastReport?.backends ?? [];
  }

  get report(): Extract<PluginEvent, { readonly type: "report" }> | undefined {
    return this.#lastReport;
  }

  /** Disposes it as the node does. */
  close(): void {
    this.#toPlugin.emit("message", { type: "dispose" } satisfies PluginCommand);
  }

  #ask<Value>(command: (requestId: number) => PluginCommand): Promise<Value> {
    const id = ++this.#lastId;
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: never) => void, reject });
      this.#toPlugin.emit("message", structuredClone(command(id)));
    });
  }

  #onEvent(event: PluginEvent, { elsewhere, players }: BenchOptions): void {
    if (event.type === "report") this.#lastReport = event;
    else if (event.type === "persist") this.persisted.set(`${event.value.cache}/${event.value.key}`, event.value);
    else if (event.type === "forget") this.persisted.delete(`${event.cache}/${event.key}`);
    else if (event.type === "reply")
      this.#waiting.get(event.requestId)?.resolve(event.value as never); // as asked
    else if (event.type === "replyError") this.#waiting.get(event.requestId)?.reject(new RemoteError(event.error));
    else if (event.type === "sendEvent") this.sent.push(event.event);
    else if (event.type === "playerWish") {
      const { askId, wish } = event;
      this.#toPlugin.emit("message", structuredClone(answerTo(wish, askId, players)));
    } else if (event.type === "loadRequested") {
      const { askId, identifier } = event;
      const answer = elsewhere?.(identifier) ?? { kind: "empty" as const };
      this.#toPlugin.emit("message", { type: "loaded", askId, answer } satisfies PluginCommand);
    }
  }
}

function answerTo(wish: PlayerWish, askId: number, players: BenchOptions["players"]): PluginCommand {
  try {
    return { type: "wishDone", askId, result: players?.(wish) };
  } catch (error) {
    return { type: "wishFailed", askId, error: toWireError(error) };
  }
}

function encodedTrack({ title, author = "", lengthMs, isStream = lengthMs === undefined }: SourceTrack): string {
  const times = { length: lengthMs ?? 0, position: 0, isStream, isSeekable: !isStream };
  const links = { uri: null, artworkUrl: null, isrc: null, sourceName: "elsewhere", identifier: "1" };
  return createTrack({ title, author, ...times, ...links }, { kind: "none" }).encoded;
}

/** The error that a client would receive; throws when there was none. */
export async function troubleWith(work: Promise<unknown>): Promise<WireError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RemoteError) return error.wire;
    throw error;
  }
  throw new Error("nothing went wrong");
}
