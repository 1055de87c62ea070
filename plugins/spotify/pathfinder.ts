// Asks the interface of Spotify's web player (api-partner.spotify.com/pathfinder). Its queries are named by hashes,
// which change at times. Plugin thread.

import {
  type HttpAnswer,
  type JsonMembers,
  type OptionValues,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, trimmedText } from "../reading/json.ts";
import type { Operation, SPOTIFY_MANIFEST } from "./manifest.ts";
import type { PlayerTokens } from "./player-tokens.ts";

/** The second one is asked where the first one is gone. */
const ADDRESSES = ["v2", "v1"].map((version) => `https://api-partner.spotify.com/pathfinder/${version}/query`);
const TIMEOUT_MS = 5000;
const REFUSALS = new Set([401, 403]);
const ERRORS_MAX = 20;
const MESSAGE_LENGTH_MAX = 200;
/** Of an answer that is not JSON. */
const REASON_LENGTH_MAX = 10_000;
const UNKNOWN_HASH = /persisted[_ ]?query[_ ]?not[_ ]?found/i;
const NOT_FOUND = /^(?:\w+ )?not[ _]?found\b/i;
/** With nothing else in the answer, a hash is unknown. */
const PRECONDITION_FAILED = 412;

type Host = PluginHost<OptionValues<typeof SPOTIFY_MANIFEST.config>>;

interface Query {
  readonly operation: Operation;
  readonly variables: JsonMembers;
}

export class Pathfinder {
  readonly #host: Host;
  readonly #tokens: PlayerTokens;
  /** The hash that was known last. */
  readonly #known = new Map<Operation, string>();
  #address = 0;

  constructor(host: Host, tokens: PlayerTokens) {
    this.#host = host;
    this.#tokens = tokens;
  }

  /** The member `data` of the answer. Rejects with a SourceError. A refused token is replaced once. */
  async ask(operation: Operation, variables: JsonMembers, signal: AbortSignal): Promise<Members> {
    const query = { operation, variables };
    const backend = this.#host.backend(`web player: ${operation}`);
    const token = await this.#tokens.get(signal);
    try {
      return await backend.run(() => this.#withHashes(query, token, signal));
    } catch (error) {
      if (!(error instanceof TokenRefusal)) throw error;
      await this.#tokens.refuse(token, signal);
    }
    const other = await this.#tokens.get(signal);
    return backend.run(() => this.#withHashes(query, other, signal));
  }

  async #withHashes(query: Query, token: string, signal: AbortSignal): Promise<Members> {
    const { operation } = query;
    const hashes = new Set([this.#known.get(operation) ?? [], this.#host.options.hashes[operation]].flat());
    for (const hash of hashes) {
      const data = await this.#attempt(query, { hash, token, signal });
      if (data !== undefined) {
        this.#known.set(operation, hash);
        return data;
      }
      this.#host.count("unknown hashes");
    }
    this.#known.delete(operation);
    const advice = `set plugins.spotify.hashes.${operation} to the one that open.spotify.com sends`;
    throw new SourceError("changed", `Spotify knows no hash of its query ${operation} any more; ${advice}`);
  }

  /** Undefined: the hash is unknown. */
  async #attempt(
    query: Query,
    { hash, token, signal }: { readonly hash: string; readonly token: string; readonly signal: AbortSignal },
  ): Promise<Members | undefined> {
    const post = (): Promise<HttpAnswer> => this.#post(query, { hash, token, signal });
    let answer = await post();
    if (isUnknownHash(answer)) return undefined;
    if (answer.status === 404) {
      this.#address = 1 - this.#address;
      answer = await post();
      if (isUnknownHash(answer)) return undefined;
    }
    if (REFUSALS.has(answer.status)) throw new TokenRefusal(answer.status);
    if (answer.status === 404)
      throw new SourceError("changed", "Spotify's web player has another interface now (HTTP 404)");
    if (answer.status < 200 || answer.status > 299) throw this.#host.http.statusError(answer);
    return dataOf(answer, query.operation);
  }

  #post(
    { operation, variables }: Query,
    { hash, token, signal }: { readonly hash: string; readonly token: string; readonly signal: AbortSignal },
  ): Promise<HttpAnswer> {
    const persistedQuery = { version: 1, sha256Hash: hash };
    return this.#host.http.request(ADDRESSES[this.#address] ?? "", {
      signal,
      timeoutMs: TIMEOUT_MS,
      body: { variables, operationName: operation, extensions: { persistedQuery } },
      headers: {
        accept: "application/json",
        "accept-language": "en",
        "app-platform": "WebPlayer",
        authorization: `Bearer ${token}`,
        origin: "https://open.spotify.com",
        referer: "https://open.spotify.com/",
        "spotify-app-version": this.#host.options.appVersion,
      },
    });
  }
}

class TokenRefusal extends SourceError {
  constructor(status: number) {
    super("changed", `Spotify's web player refuses the token of a visitor (HTTP ${status})`);
  }
}

function isUnknownHash(answer: HttpAnswer): boolean {
  const { status, text } = answer;
  if (status === PRECONDITION_FAILED) return true;
  if (messagesOf(parsed(text)).some((message) => UNKNOWN_HASH.test(message))) return true;
  return status >= 400 && UNKNOWN_HASH.test(text.slice(0, REASON_LENGTH_MAX));
}

/** Errors beside data concern parts of it that are not used here. */
function dataOf({ text }: HttpAnswer, operation: Operation): Members {
  const answer = parsed(text);
  const data = membersOf(membersOf(answer).data);
  const [message] = messagesOf(answer);
  const values = Object.values(data);
  if (values.some((value) => value !== null) || (values.length > 0 && message === undefined)) return data;
  if (message !== undefined && NOT_FOUND.test(message)) throw new SourceError("not-found", message);
  const reason = message ?? "an answer without data";
  throw new SourceError("changed", `Spotify's web player answered its query ${operation} with: ${reason}`);
}

/** What all errors say, and their codes. */
function messagesOf(answer: unknown): string[] {
  return listOf(membersOf(answer).errors)
    .slice(0, ERRORS_MAX)
    .map(membersOf)
    .flatMap(({ message, code, extensions }) => [message, code, membersOf(extensions).code])
    .flatMap((text) => trimmedText(text)?.slice(0, MESSAGE_LENGTH_MAX) ?? []);
}

/** Undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The status says more.
    return undefined;
  }
}
