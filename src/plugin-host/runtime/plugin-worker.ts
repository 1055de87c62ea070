// Carries out the main thread's requests to a plugin: loads identifiers and resolves links, each with a time limit, and
// caches results briefly, so that equal requests share one. Plugin thread; created by start-plugin.ts.

import { createHash } from "node:crypto";
import { type Egress, rangeStepTrouble } from "../../bridge/playable-link.ts";
import type { ExtensionCommand } from "../../bridge/plugin-extensions.ts";
import type {
  PluginAnswer,
  PluginCommand,
  PluginEvent,
  PluginLink,
  PluginLinkRequest,
  PluginReply,
  PluginReturn,
} from "../../bridge/plugin-messages.ts";
import type { DrainCommand, EventsCommand } from "../../bridge/plugin-players.ts";
import { toWireError, type WireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Owner, Owners } from "../../lib/owners.ts";
import type { Playable, PluginLogger, ResolveRequest, Source } from "../../plugin-api/plugin.ts";
import { decodeTrack } from "../../track/track.ts";
import type { WrittenTracks } from "../../track/written-tracks.ts";
import { currentWork, runWork, type Work } from "./current-work.ts";
import { carryOutExtension, nameOfExtension, sourceOf } from "./extension-work.ts";
import { kindOf } from "./host/error-kind.ts";
import { MemoryCache } from "./host/memory-cache.ts";
import type { LivingHost } from "./host/plugin-host.ts";
import { egressOf, type PluginRoutes } from "./plugin-routes.ts";
import { troubleOf } from "./source-trouble.ts";
import { referenceOf, toSourceTrack, writeAnswer } from "./written-answer.ts";

/** Searches and metadata change, but not between repeated clicks. */
const ANSWERS = { ttlMs: 60_000, entriesMax: 200 };
/** Larger answers are not cached. */
const CACHED_ANSWER_BYTES_MAX = 256 * 1024;
/** Links that say no time are good for that long. */
const LINKS = { ttlMs: 5 * 60_000, entriesMax: 500 };
/** A link is given out for the last time so long before it expires. */
const LINK_REST_MS = 60_000;
/** The source that plays whatever address a client names. */
const ANY_ADDRESS = "http";
const HEADERS_MAX = 50;
const URL_LENGTH_MAX = 65_536;

/** Calls are an operator's. */
const OPERATOR: Owner = ["operator"];

type LoadCommand = Extract<PluginCommand, { readonly type: "load" }>;
type ResolveCommand = Extract<PluginCommand, { readonly type: "resolve" }>;
type CallCommand = Extract<PluginCommand, { readonly type: "call" }>;
type WorkCommand = LoadCommand | ResolveCommand | CallCommand | ExtensionCommand | EventsCommand | DrainCommand;

interface PluginWorkerOptions {
  readonly host: Pick<LivingHost<unknown>, "sources" | "modifiers" | "calls" | "extensions" | "players">;
  readonly log: PluginLogger;
  readonly clock: Clock;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly send: (event: PluginEvent) => void;
  /** Proxy for fetching its links. Undefined: the node's default. */
  readonly proxyUrl: string | undefined;
  /** `User-Agent` of requests for its links that name none. Undefined: the node's. */
  readonly userAgent: string | undefined;
  /** See `PluginRoutes`; without routing, always undefined. */
  readonly routeFor: PluginRoutes["routeFor"];
}

export class PluginWorker {
  readonly #options: PluginWorkerOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #answers: MemoryCache<PluginAnswer>;
  readonly #links: MemoryCache<PluginLink>;

  constructor(options: PluginWorkerOptions) {
    this.#options = options;
    this.#answers = new MemoryCache(ANSWERS, options.clock);
    this.#links = new MemoryCache(LINKS, options.clock);
  }

  execute(command: WorkCommand): void {
    const abort = new AbortController();
    const { requestId } = command;
    this.#running.set(requestId, abort);
    const owners = new Owners(command.type === "call" ? OPERATOR : command.owner);
    runWork({ depth: depthOf(command), owners, route: undefined }, () => this.#carryOut(command, abort.signal))
      .then((value) => this.#options.send({ type: "reply", requestId, value }))
      .catch((error: unknown) => {
        // No caller waits for it, and an aborted request is not a fault of the plugin.
        if (abort.signal.aborted) return;
        this.#options.send({ type: "replyError", requestId, error: this.#wireErrorOf(error, this.#nameOf(command)) });
      })
      .finally(() => this.#running.delete(requestId));
  }

  /** Aborts a request whose caller no longer waits. */
  abort(requestId: number): void {
    this.#running.get(requestId)?.abort(new DOMException("no caller waits for it any more", "AbortError"));
  }

  async #carryOut(command: WorkCommand, signal: AbortSignal): Promise<PluginReply> {
    if (command.type === "load") return this.#load(command, signal);
    if (command.type === "resolve") return this.#resolve(command, signal);
    if (command.type === "call") return this.#call(command, signal);
    const { host, hide } = this.#options;
    if (command.type === "events") {
      host.players.tell(command.events);
      return { kind: "told" };
    }
    if (command.type === "drain") {
      await host.players.quiet();
      return { kind: "told" };
    }
    const source = sourceOf(command, host);
    const route = source && this.#options.routeFor(source, command.type === "search" ? command.query : undefined);
    return this.#run(route, () => carryOutExtension(command, { host, signal, hide }));
  }

  /** The name used in error messages. */
  #nameOf(command: WorkCommand): string {
    if (command.type === "call") return command.name;
    if (command.type === "events" || command.type === "drain") return command.type;
    return "source" in command ? command.source : nameOfExtension(command);
  }

  async #call({ name, argument }: CallCommand, signal: AbortSignal): Promise<PluginReturn> {
    const carryOut = this.#options.host.calls.get(name);
    if (carryOut === undefined) throw new NodeError("internal", `this plugin has no call ${name}`);
    return { kind: "return", value: await carryOut(argument, signal) };
  }

  #load({ source: name, identifier, depth, sources }: LoadCommand, signal: AbortSignal): Promise<PluginAnswer> {
    const source = this.#source(name);
    // A request that a plugin makes to itself would wait for itself if it shared the entry. What other sources have
    // depends on which ones the owner may use.
    return this.#answers.getOrMake(`${name}\n${depth}\n${sources?.join() ?? "*"}\n${identifier}`, {
      signal,
      make: async (shared) => {
        const route = this.#options.routeFor(source, identifier);
        const value = await this.#run(route, () => this.#ask(source, identifier, shared));
        return { value, ttlMs: isWorthKeeping(value) ? ANSWERS.ttlMs : 0 };
      },
    });
  }

  async #ask(source: Source, identifier: string, signal: AbortSignal): Promise<PluginAnswer> {
    try {
      const answer = await source.load({ identifier, signal });
      return writeAnswer(answer, { source, modifiers: this.#options.host.modifiers });
    } catch (error) {
      if (kindOf(error) === "not-found") return { kind: "empty" };
      throw error;
    }
  }

  #resolve({ source: name, linkRequest, sources }: ResolveCommand, signal: AbortSignal): Promise<PluginLink> {
    const source = this.#source(name);
    const key = keyOf(name, linkRequest.encoded, linkRequest.userData, sources);
    const make = async (shared: AbortSignal) => {
      const route = this.#options.routeFor(source);
      const mustAskSite = sources?.includes(ANY_ADDRESS) === false;
      const request = { ...requestOf(linkRequest, source), mustAskSite, signal: shared };
      const playable = await this.#run(route, () => source.resolve(request));
      const value = checkedLink(playable, { egress: this.#egressOf(route), userAgent: this.#options.userAgent });
      return { value, ttlMs: this.#lifeOf(value) };
    };
    if (linkRequest.reason === "start") return this.#links.getOrMake(key, { signal, make });
    // A repeated request means that the last link was useless: it is not served again. Many players of one track may
    // repeat at the same time, though.
    this.#links.delete(key);
    const { reason, status, variant } = linkRequest;
    return this.#links.getOrMake(keyOf(key, reason, status, variant), {
      signal,
      make: async (shared) => {
        const { value, ttlMs } = await make(shared);
        this.#links.set(key, value, ttlMs);
        return { value, ttlMs: 0 };
      },
    });
  }

  #egressOf(route: Work["route"]): Egress {
    const { proxyUrl } = this.#options;
    return proxyUrl === undefined ? egressOf(route) : { proxyUrl };
  }

  /** Reports exhausted source addresses as such, whatever error the plugin makes of it. */
  async #run<Value>(route: Work["route"], task: () => Promise<Value>): Promise<Value> {
    const work = currentWork();
    try {
      return await (work === undefined ? task() : runWork({ ...work, route }, task));
    } catch (error) {
      throw route?.exhaustion ?? error;
    }
  }

  #lifeOf(found: PluginLink): number {
    if (found.kind !== "link") return LINKS.ttlMs;
    const { expiresAtEpochMs } = found;
    return expiresAtEpochMs === undefined
      ? LINKS.ttlMs
      : expiresAtEpochMs - this.#options.clock.epochMs() - LINK_REST_MS;
  }

  #source(name: string): Source {
    const source = this.#options.host.sources.get(name);
    if (source === undefined) throw new NodeError("source-unavailable", `this plugin has no source ${name}`);
    return source;
  }

  #wireErrorOf(error: unknown, sourceName: string): WireError {
    const trouble = troubleOf(error, sourceName);
    if (trouble.code === "plugin-failed")
      this.#options.log.error("source failed: unexpected error in its plugin", { sourceName, error });
    return toWireError(trouble, this.#options.hide);
  }
}

function depthOf(command: WorkCommand): number {
  return command.type === "load" ? command.depth : 1;
}

/** A key of bounded size for parts of any length. */
function keyOf(...parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}

function isWorthKeeping(answer: PluginAnswer): boolean {
  if (answer.kind === "none") return false;
  return !("tracks" in answer) || sizeOf(answer.tracks) <= CACHED_ANSWER_BYTES_MAX;
}

function sizeOf({ parts }: WrittenTracks): number {
  return parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function requestOf(
  linkRequest: PluginLinkRequest,
  { name, fields = [] }: Source,
): Omit<ResolveRequest, "mustAskSite" | "signal"> {
  const { encoded, userData, reason, status, variant } = linkRequest;
  const track = toSourceTrack(decodeTrack(encoded, new Map([[name, fields]])));
  return { track, userData, reason, status, variant };
}

/** Undefined for anything else. */
function isrcOf(isrc: unknown): string | undefined {
  return typeof isrc === "string" && /^[a-z\d-]{12,16}$/i.test(isrc) ? isrc : undefined;
}

/** Validates a plugin's link before it leaves the thread: the audio threads rely on its form. */
function checkedLink(
  playable: Playable,
  { egress, userAgent }: { readonly egress: Egress; readonly userAgent: string | undefined },
): PluginLink {
  if (playable.kind === "reference") return { kind: "reference", identifier: referenceOf(playable.identifier) };
  if (playable.kind === "mirror") return { kind: "mirror", isrc: isrcOf(playable.isrc) };
  const { url, headers = {}, expiresAtMs, variant, rangeStep, isPreview } = playable;
  if (typeof url !== "string" || url.length > URL_LENGTH_MAX)
    throw new Error("resolve answered no link, or one too long");
  if (variant !== undefined && typeof variant !== "string") throw new Error("a variant must be a text");
  if (!/^https?:\/\//i.test(url)) throw new Error("resolve answered a link that is not http or https");
  if (expiresAtMs !== undefined && !Number.isFinite(expiresAtMs)) throw new Error("expiresAtMs is not a time");
  const stepTrouble = rangeStep === undefined ? undefined : rangeStepTrouble(rangeStep);
  if (stepTrouble !== undefined) throw new Error(`resolve answered an invalid rangeStep: ${stepTrouble}`);
  const sent = Object.entries(headers)
    .filter(([, value]) => value !== undefined)
    .slice(0, HEADERS_MAX);
  return {
    kind: "link",
    url,
    container: undefined,
    variant,
    egress,
    rangeStep: rangeStep === undefined ? undefined : { bytes: rangeStep.bytes, by: rangeStep.by },
    headers: {
      ...(userAgent !== undefined && { "user-agent": userAgent }),
      ...Object.fromEntries(sent.map(([name, value]) => [name.toLowerCase(), String(value)])),
    },
    expiresAtEpochMs: expiresAtMs,
    ...(isPreview === true && { isPreview }),
  };
}
