// A source over several servers of the operator: a search queries all of them, an identifier names one. The protocol is
// left to the plugins. Plugin threads.

import {
  type Claims,
  type LoadRequest,
  type Lyrics,
  type LyricsProvider,
  type LyricsRequest,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type Source,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { type ListKind, parseServerIdentifier, type ServerThing } from "./server-identifier.ts";

export type ServerList = Extract<SourceAnswer, { readonly kind: "playlist" }>;

/** One server, in whatever it speaks. All reject with a SourceError in words for clients. */
export interface MediaServer {
  readonly name: string;
  search(words: string, signal: AbortSignal): Promise<readonly SourceTrack[]>;
  track(id: string, signal: AbortSignal): Promise<SourceTrack>;
  list(kind: ListKind, id: string, signal: AbortSignal): Promise<ServerList>;
  playable(id: string, request: ResolveRequest): Promise<Playable>;
  /** Undefined: it has none. */
  lyrics(id: string, signal: AbortSignal): Promise<Lyrics | undefined>;
}

interface ServersSourceOptions {
  readonly host: Pick<PluginHost, "log">;
  /** The source's name and prefixes; the first one is of searches. */
  readonly manifest: Claims & { readonly name: string };
  /** In the operator's order. */
  readonly servers: readonly MediaServer[];
}

export class ServersSource implements Source {
  readonly name: string;
  readonly prefixes: readonly string[];
  readonly #host: ServersSourceOptions["host"];
  readonly #searchPrefix: string;
  readonly #servers: readonly MediaServer[];

  constructor({ host, manifest, servers }: ServersSourceOptions) {
    const { name, prefixes = [] } = manifest;
    this.name = name;
    this.prefixes = prefixes;
    this.#host = host;
    this.#searchPrefix = prefixes[0] ?? `${name}search:`;
    this.#servers = servers;
  }

  readonly load = async ({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> => {
    if (identifier.startsWith(this.#searchPrefix)) {
      return this.#search(identifier.slice(this.#searchPrefix.length).trim(), signal);
    }
    const thing = parseServerIdentifier(identifier, this.name);
    if (thing === undefined) return undefined;
    const server = this.#serverOf(thing);
    if (thing.kind !== "track") return server.list(thing.kind, thing.id, signal);
    return { kind: "track", track: await server.track(thing.id, signal) };
  };

  readonly resolve = async (request: ResolveRequest): Promise<Playable> => {
    const thing = parseServerIdentifier(request.track.identifier, this.name);
    if (thing?.kind !== "track") throw new SourceError("invalid", `this is not a track of a ${this.name} server`);
    return this.#serverOf(thing).playable(thing.id, request);
  };

  /** The lyrics that the servers have of their own songs. */
  get lyricsProvider(): LyricsProvider {
    const load = async ({ track, signal }: LyricsRequest): Promise<Lyrics | undefined> => {
      const thing = parseServerIdentifier(track.identifier, this.name);
      return thing?.kind === "track" ? this.#serverOf(thing).lyrics(thing.id, signal) : undefined;
    };
    return { name: this.name, sources: [this.name], load };
  }

  /** Asks all at once and puts their answers together in their order. One that fails is left out. */
  async #search(words: string, signal: AbortSignal): Promise<SourceAnswer> {
    if (words === "") return { kind: "empty" };
    const outcomes = await Promise.allSettled(this.#servers.map((server) => server.search(words, signal)));
    signal.throwIfAborted();
    const failures = outcomes.filter((outcome) => outcome.status === "rejected").map(({ reason }) => reason);
    if (failures.length === outcomes.length) throw failures[0];
    for (const reason of failures) {
      this.#host.log.warn("search incomplete: one of the servers failed", {
        source: this.name,
        problem: String(reason),
      });
    }
    const tracks = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
    return { kind: "search", tracks };
  }

  #serverOf({ server: name }: ServerThing): MediaServer {
    const server = this.#servers.find((candidate) => candidate.name === name);
    if (server !== undefined) return server;
    throw new SourceError("invalid", `plugins.${this.name}.servers has no server "${name}"`);
  }
}
