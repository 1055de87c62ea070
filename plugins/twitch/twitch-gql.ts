// Asks Twitch's own interface, gql.twitch.tv, and says what its refusals mean. Plugin thread.

import { type Backend, type JsonMembers, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, trimmedText } from "../reading/json.ts";
import type { Identity, TwitchIdentity } from "./identity.ts";

const ADDRESS = "https://gql.twitch.tv/gql";
const MESSAGE_LENGTH_MAX = 200;
const ERRORS_MAX = 20;
/** Of an answer that is searched for the reason of a refusal. */
const REFUSAL_LENGTH_MAX = 10_000;
const SIZE_BYTES_MAX = 1024 * 1024;
/** Statuses that mean a refused client id or token. */
const REFUSALS = new Set([400, 401, 403]);
/** Twitch has replaced its own text of a query, so the hash stands for nothing, or not for the text beside it. */
const UNKNOWN_HASH =
  /persisted[_ ]?query|(?:sha(?:-?256)?|hash)\b.{0,40}(?:match|unknown|not found|invalid)|(?:unknown|invalid).{0,40}hash\b/i;
const INTEGRITY = /integrity/i;

export interface Operation<Value> {
  readonly name: string;
  /** GraphQL text that requests what `read` needs. */
  readonly query: string;
  readonly variables?: JsonMembers;
  /** It requests a playback token, which Twitch refuses more often than anything else. Default: false. */
  readonly isForPlaying?: true;
  /** SHA-256 of Twitch's own text of the query, which its page requests by hash, and the option that sets it. */
  readonly persisted?: { readonly hash: string; readonly option: string };
  /** Reads the member `data`; undefined if the item does not exist. Throws a SourceError for an invalid answer. */
  readonly read: (data: Members) => Value | undefined;
}

export class TwitchGql {
  readonly #host: Pick<PluginHost, "http" | "log" | "count">;
  readonly #identity: TwitchIdentity;
  readonly #backend: Backend;
  /** Refused tokens must not stop loads. */
  readonly #tokenBackend: Backend;
  /** Options whose hash has been reported as outdated. */
  readonly #outdated = new Set<string>();

  constructor(host: Pick<PluginHost, "http" | "backend" | "log" | "count">, identity: TwitchIdentity) {
    this.#host = host;
    this.#identity = identity;
    this.#backend = host.backend("gql.twitch.tv");
    this.#tokenBackend = host.backend("playback tokens of gql.twitch.tv");
  }

  /** Runs an operation and returns the value read. A refused identity is replaced once. */
  async ask<Value>(operation: Operation<Value>, signal: AbortSignal): Promise<Value | undefined> {
    const backend = operation.isForPlaying === true ? this.#tokenBackend : this.#backend;
    const identity = await this.#identity.get(signal);
    try {
      return await backend.run(() => this.#attempt(operation, identity, signal));
    } catch (error) {
      const isReplaced =
        (error instanceof IntegrityRefusal && this.#identity.useOther(identity)) ||
        (error instanceof IdentityRefusal && this.#identity.renew(identity));
      if (!isReplaced) throw error;
    }
    const other = await this.#identity.get(signal);
    return backend.run(() => this.#attempt(operation, other, signal));
  }

  /** Sends hash and text together, and where the hash is unknown, the text alone: only a change of fields matters. */
  async #attempt<Value>(
    operation: Operation<Value>,
    identity: Identity,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    let answer = await this.#post(withHash(operation), identity, signal);
    if (operation.persisted !== undefined && messagesOf(answer).some((message) => UNKNOWN_HASH.test(message))) {
      this.#reportOutdated(operation.name, operation.persisted.option);
      answer = await this.#post(withoutHash(operation), identity, signal);
    }
    const data = membersOf(answer.data);
    const value = operation.read(data);
    // An error in a successful answer concerns a part of it that is not used here.
    if (value !== undefined) return value;
    throwError(messagesOf(answer), operation);
    if (Object.keys(data).length > 0) return undefined;
    throw new SourceError("changed", `Twitch answered the query ${operation.name} without data`);
  }

  #reportOutdated(name: string, option: string): void {
    this.#host.count("outdated-hash");
    if (this.#outdated.has(option)) return;
    this.#outdated.add(option);
    const consequence = "our own text of the query is sent, with a second request each time";
    this.#host.log.warn(`Twitch refuses the hash of the query ${name}, so ${consequence}; set a new hash`, {
      option: `plugins.twitch.${option}`,
    });
  }

  async #post(body: JsonMembers, identity: Identity, signal: AbortSignal): Promise<Members> {
    const { http } = this.#host;
    const answer = await http.request(ADDRESS, {
      signal,
      body,
      sizeBytesMax: SIZE_BYTES_MAX,
      headers: { "client-id": identity.clientId, "x-device-id": identity.deviceId },
    });
    if (REFUSALS.has(answer.status)) {
      const text = answer.text.slice(0, REFUSAL_LENGTH_MAX);
      const unknownHash = answer.status === 400 ? UNKNOWN_HASH.exec(text)?.[0] : undefined;
      if (unknownHash !== undefined) return { errors: [{ message: unknownHash }] };
      if (INTEGRITY.test(text)) throw new IntegrityRefusal();
      const advice = "set plugins.twitch.clientId to another";
      throw new IdentityRefusal(`gql.twitch.tv refuses the client id (HTTP ${answer.status}); ${advice}`);
    }
    if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
    const found = parsed(answer.text);
    // Several queries at once are answered by a list, and so may one be.
    return membersOf(Array.isArray(found) ? found[0] : found);
  }
}

class IdentityRefusal extends SourceError {
  constructor(reason: string) {
    super("changed", reason);
  }
}

/** Twitch asks some clients for a token that only a browser can make. */
class IntegrityRefusal extends IdentityRefusal {
  constructor() {
    super(
      "Twitch takes this node for a robot (failed integrity check); set plugins.twitch.clientId to another client id," +
        " or plugins.twitch.proxy to leave by another address",
    );
  }
}

function withHash({ name: operationName, query, variables, persisted }: Operation<unknown>): JsonMembers {
  if (persisted === undefined) return { query };
  const extensions = { persistedQuery: { version: 1, sha256Hash: persisted.hash } };
  return { operationName, query, variables: variables ?? {}, extensions };
}

/** Variables that only Twitch's own text declares are left out. */
function withoutHash({ name: operationName, query, variables = {} }: Operation<unknown>): JsonMembers {
  const declared = Object.entries(variables).filter(([name]) => query.includes(`$${name}`));
  return { operationName, query, variables: Object.fromEntries(declared) };
}

/** What all its errors say, and their codes. */
function messagesOf({ errors }: Members): string[] {
  return listOf(errors)
    .slice(0, ERRORS_MAX)
    .map(membersOf)
    .flatMap(({ message, extensions }) => [message, membersOf(extensions).code])
    .flatMap((text) => trimmedText(text)?.slice(0, MESSAGE_LENGTH_MAX) ?? []);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const found = text.trimStart().startsWith("<") ? "a page" : "something else";
    throw new SourceError("changed", `${ADDRESS} answered ${found} where JSON was expected`);
  }
}

/** Throws what the messages mean; nothing where there are none. */
function throwError(messages: readonly string[], { name, persisted }: Operation<unknown>): void {
  if (messages.some((message) => INTEGRITY.test(message))) throw new IntegrityRefusal();
  const unknownHash = messages.find((message) => UNKNOWN_HASH.test(message));
  if (unknownHash !== undefined) {
    const advice = persisted === undefined ? "" : `; set plugins.twitch.${persisted.option} to its new hash`;
    throw new SourceError("changed", `Twitch does not know the query ${name} any more (${unknownHash})${advice}`);
  }
  const [message] = messages;
  if (message === undefined) return;
  const isBusy = /^service (timeout|error|unavailable)/i.test(message);
  throw new SourceError(isBusy ? "busy" : "changed", `Twitch did not answer the query ${name}: ${message}`);
}
