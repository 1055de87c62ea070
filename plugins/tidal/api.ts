// Asks Tidal's API for programs (openapi.tidal.com/v2) with a token of the operator's application: a new one when it is
// refused, and once more after a short pause that the site asks for. The keys go to Tidal's login and nowhere else; the
// API's own links are never followed, only their page is taken over. Plugin thread.

import { type Cache, type OptionValues, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { type Members, membersOf, numberOf, objectOf, objectsOf, parsedJson, trimmedText } from "../reading/json.ts";
import { patiently } from "../reading/patience.ts";
import type { TIDAL_MANIFEST } from "./manifest.ts";

const API = "https://openapi.tidal.com/v2";
const LOGIN = "https://auth.tidal.com/v1/oauth2/token";
const TOKEN_LENGTH_MAX = 8192;
const TOKEN_LIFE_S = 3600;
/** Wrong keys are not tried with each request. */
const REFUSAL_MS = 5 * 60_000;
/** The API limits bursts, and may not say for how long. */
const PAUSE_MS = 1000;
/** Read of one answer; a page has about 20. */
const ENTRIES_MAX = 1000;
const INCLUDED_MAX = 5000;
const KEY = "token";

export type TidalOptions = OptionValues<typeof TIDAL_MANIFEST.config>;
export type Query = Readonly<Record<string, string>>;

/** A document of JSON:API 1.1. */
export interface TidalDocument {
  /** The resources, or the references to them, that the answer is about. */
  readonly data: readonly Members[];
  readonly included: readonly Members[];
  /** Parameters of the next page; undefined: there is none. */
  readonly next: Query | undefined;
}

interface Asking {
  readonly query: Query;
  /** Secret. */
  readonly token: string;
  readonly signal: AbortSignal;
}

export class TidalApi {
  readonly #host: PluginHost<TidalOptions>;
  readonly #countryCode: string;
  readonly #tokens: Cache<string>;
  /** Why the login gives none: may be about the address of this node. */
  readonly #refusals: Cache<string>;

  /** `countryCode`: of the catalogue that is asked (ISO 3166). */
  constructor(host: PluginHost<TidalOptions>, countryCode: string) {
    this.#host = host;
    this.#countryCode = countryCode;
    this.#tokens = host.cache("token", { ttlMs: TOKEN_LIFE_S * 1000, entriesMax: 1, isPortable: true });
    this.#refusals = host.cache("refusal", { ttlMs: REFUSAL_MS, entriesMax: 1 });
  }

  /** Rejects with a SourceError: `not-found` for 404, `changed` for what is no document. */
  async get(path: string, query: Query, signal: AbortSignal): Promise<TidalDocument> {
    const whole = { countryCode: this.#countryCode, ...query };
    for (let count = 0; count < 2; count++) {
      const token = await this.#token(signal);
      const document = await this.#ask(`${API}${path}`, { query: whole, token, signal });
      if (document !== undefined) return document;
      this.#forget(token);
    }
    throw new SourceError("unavailable", "Tidal's API refuses the tokens that its login gives");
  }

  /** Undefined: the token is refused. */
  #ask(url: string, { token, ...request }: Asking): Promise<TidalDocument | undefined> {
    const { http } = this.#host;
    const headers = { accept: "application/vnd.api+json", authorization: `Bearer ${token}` };
    return this.#host.backend("openapi.tidal.com").run(async () => {
      const send = () => http.request(url, { ...request, headers });
      const answer = await patiently(this.#host, send, { signal: request.signal, pauseMs: PAUSE_MS });
      if (answer.status === 401) return undefined;
      if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
      return readDocument(answer.text);
    });
  }

  #token(signal: AbortSignal): Promise<string> {
    return this.#tokens.getOrMake(KEY, { signal, isKeptFresh: true, make: (shared) => this.#logIn(shared) });
  }

  /** Keeps one that another request has got in the meantime. */
  #forget(token: string): void {
    if (this.#tokens.get(KEY) === token) this.#tokens.delete(KEY);
  }

  async #logIn(signal: AbortSignal): Promise<{ readonly value: string; readonly ttlMs: number }> {
    const known = this.#refusals.get(KEY);
    if (known !== undefined) throw new SourceError("unavailable", known);
    const { http, options } = this.#host;
    const keys = Buffer.from(`${options.clientId}:${options.clientSecret}`).toString("base64");
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    return this.#host.backend("auth.tidal.com").run(async () => {
      const answer = await http.request(LOGIN, { signal, body, headers: { authorization: `Basic ${keys}` } });
      const { status, text } = answer;
      if (status === 400 || status === 401 || status === 403) {
        const refusal = `Tidal's login refuses plugins.tidal.clientId and clientSecret (HTTP ${status}): set those of an application at developer.tidal.com`;
        this.#refusals.set(KEY, refusal);
        throw new SourceError("unavailable", refusal);
      }
      if (status < 200 || status > 299) throw http.statusError(answer);
      const { access_token: written, expires_in: lifeS } = membersOf(parsedJson(text));
      const token = trimmedText(written);
      if (token === undefined || token.length > TOKEN_LENGTH_MAX || !/^[\x21-\x7e]+$/.test(token)) {
        throw new SourceError("changed", "Tidal's login answered without an access_token");
      }
      const ttlMs = Math.max(60, Math.min(numberOf(lifeS) ?? TOKEN_LIFE_S, 7 * 24 * 3600)) * 900;
      return { value: token, ttlMs };
    });
  }
}

/** Throws a SourceError `changed` for anything else. */
function readDocument(text: string): TidalDocument {
  const { data, included, links } = membersOf(parsedJson(text));
  const isList = Array.isArray(data);
  if (!isList && data !== null && objectOf(data) === undefined) {
    throw new SourceError("changed", `${API} answered something that is no JSON:API document with \`data\``);
  }
  return {
    data: objectsOf(isList ? data : [data], ENTRIES_MAX),
    included: objectsOf(included, INCLUDED_MAX),
    next: nextOf(membersOf(links)),
  };
}

/** The parameters of the next page's address, or the cursor beside it. Those that all pages have are left out. */
function nextOf({ next, meta }: Members): Query | undefined {
  const url = addressOf(trimmedText(next) ?? trimmedText(membersOf(next).href) ?? "", API);
  const { countryCode: _country, include: _include, ...query } = Object.fromEntries(url?.searchParams ?? []);
  if (Object.keys(query).length > 0) return query;
  const cursor = trimmedText(membersOf(meta).nextCursor);
  return cursor === undefined ? undefined : { "page[cursor]": cursor };
}
