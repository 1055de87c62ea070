// Asks the interface of Spotify's web player (api-partner.spotify.com/pathfinder). Its queries are named by hashes,
// which change at times. Plugin thread.

import {
  type HttpAnswer,
  type JsonMembers,
  type OptionValues,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, objectOf, parsedJson, trimmedText } from "../reading/json.ts";
import { patiently } from "../reading/patience.ts";
import type { Item } from "./identifier.ts";
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

/** The member of the answer's data that an operation is about; the first one that is there. */
const MEMBERS: Readonly<Record<Operation, readonly string[]>> = {
  getTrack: ["trackUnion"],
  getAlbum: ["albumUnion"],
  fetchPlaylist: ["playlistV2"],
  queryArtistOverview: ["artistUnion"],
  searchDesktop: ["searchV2"],
  internalLinkRecommenderTrack: ["internalLinkRecommenderTrack", "seoRecommendedTrack"],
};

interface Query {
  readonly operation: Operation;
  readonly variables: JsonMembers;
  /** What it is about. */
  readonly item?: Item | undefined;
}

/** Reads what was asked for; undefined: it has another form. */
type Reader<Value> = (found: Members) => Value | undefined;

interface Asking {
  readonly token: string;
  readonly signal: AbortSignal;
}

/** The answer's data, or the status by which the token is refused. */
type Answer = { readonly data: Members } | { readonly refusal: number };

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

  /**
   * What is read from the answer. A refused token is replaced. Rejects with a SourceError: `not-found` if there is no
   * such item, `changed` for an answer of another form.
   */
  async ask<Value>(query: Query, read: Reader<Value>, signal: AbortSignal): Promise<Value> {
    const { operation, item } = query;
    const backend = this.#host.backend(`web player: ${operation}`);
    for (let count = 1; ; count++) {
      const token = await this.#tokens.get({ item, signal });
      // A refusal is no failure: many requests may be on their way with a token that has expired.
      const found = await backend.run(async () => {
        const answer = await this.#withHashes(query, { token, signal });
        if ("data" in answer) return { value: readItem(answer.data, operation, read) };
        if (count < this.#tokens.attemptsMax) return undefined;
        throw new SourceError(
          "changed",
          `Spotify's web player refuses the tokens that this node gets (HTTP ${answer.refusal})`,
        );
      });
      if (found !== undefined) return found.value;
      await this.#tokens.refuse(token, signal);
    }
  }

  async #withHashes(query: Query, asking: Asking): Promise<Answer> {
    const { operation } = query;
    const hashes = new Set([this.#known.get(operation) ?? [], this.#host.options.hashes[operation]].flat());
    for (const hash of hashes) {
      const answer = await this.#attempt(query, hash, asking);
      if (answer !== undefined) {
        if ("data" in answer) this.#known.set(operation, hash);
        return answer;
      }
      this.#host.count("unknown hashes");
    }
    this.#known.delete(operation);
    const advice = `set plugins.spotify.hashes.${operation} to the one that open.spotify.com sends`;
    throw new SourceError("changed", `Spotify knows no hash of its query ${operation} any more; ${advice}`);
  }

  /** Undefined: the hash is unknown. */
  async #attempt(query: Query, hash: string, asking: Asking): Promise<Answer | undefined> {
    const used = this.#address;
    let answer = await this.#post(query, { hash, address: used, ...asking });
    if (answer.status === 404 && !isUnknownHash(answer)) {
      // Not that of `#address`: another request may have changed it in the meantime.
      const other = 1 - used;
      this.#address = other;
      answer = await this.#post(query, { hash, address: other, ...asking });
    }
    if (isUnknownHash(answer)) return undefined;
    const { status } = answer;
    if (REFUSALS.has(status)) return { refusal: status };
    if (status === 404) throw new SourceError("changed", "Spotify's web player has another interface now (HTTP 404)");
    if (status < 200 || status > 299) throw this.#host.http.statusError(answer);
    return { data: dataOf(answer, query.operation) };
  }

  #post(
    { operation, variables }: Query,
    { hash, address, token, signal }: Asking & { readonly hash: string; readonly address: number },
  ): Promise<HttpAnswer> {
    const persistedQuery = { version: 1, sha256Hash: hash };
    const send = (): Promise<HttpAnswer> =>
      this.#host.http.request(ADDRESSES[address] ?? "", {
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
    return patiently(this.#host, send, { signal });
  }
}

function isUnknownHash(answer: HttpAnswer): boolean {
  const { status, text } = answer;
  if (status === PRECONDITION_FAILED) return true;
  if (messagesOf(parsedJson(text)).some((message) => UNKNOWN_HASH.test(message))) return true;
  return status >= 400 && UNKNOWN_HASH.test(text.slice(0, REASON_LENGTH_MAX));
}

/** Errors beside data concern parts of it that are not used here. */
function dataOf({ text }: HttpAnswer, operation: Operation): Members {
  const answer = parsedJson(text);
  const data = membersOf(membersOf(answer).data);
  const [message] = messagesOf(answer);
  const values = Object.values(data);
  if (values.some((value) => value !== null) || (values.length > 0 && message === undefined)) return data;
  if (message !== undefined && NOT_FOUND.test(message)) throw new SourceError("not-found", message);
  const reason = message ?? "an answer without data";
  throw new SourceError("changed", `Spotify's web player answered its query ${operation} with: ${reason}`);
}

function readItem<Value>(data: Members, operation: Operation, read: Reader<Value>): Value {
  const members = MEMBERS[operation];
  const written = members.map((name) => data[name]).find((value) => value !== undefined);
  const { __typename: type } = membersOf(written);
  if (written === null || type === "NotFound") throw new SourceError("not-found", "Spotify has no such item");
  if (type === "GenericError" || type === "RestrictedContent") {
    throw new SourceError("unavailable", `Spotify's web player does not show this item (${type})`);
  }
  const item = objectOf(written);
  const found = item === undefined ? undefined : read(item);
  if (found !== undefined) return found;
  const what = item === undefined ? `has no ${members[0]}` : "has another form now";
  throw new SourceError("changed", `the answer of Spotify's web player to its query ${operation} ${what}`);
}

/** What all errors say, and their codes. */
function messagesOf(answer: unknown): string[] {
  return listOf(membersOf(answer).errors)
    .slice(0, ERRORS_MAX)
    .map(membersOf)
    .flatMap(({ message, code, extensions }) => [message, code, membersOf(extensions).code])
    .flatMap((text) => trimmedText(text)?.slice(0, MESSAGE_LENGTH_MAX) ?? []);
}
