// Asks SoundCloud's API: with a client id, a new one when it is refused, and once more when the site failed without
// saying for how long. The client id and the operator's token go to the API's own host and nowhere else. Plugin thread.

import { type HttpAnswer, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import type { SoundCloudClientIds } from "./client-ids.ts";

export const API_ORIGIN = "https://api-v2.soundcloud.com";
const RETRY_PAUSE_MS = 300;

interface ApiRequest {
  readonly signal: AbortSignal;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
}

interface ApiOptions {
  readonly clientIds: SoundCloudClientIds;
  /** Token of an account; sent with every request. */
  readonly oauthToken: string | undefined;
}

export class SoundCloudApi {
  readonly #host: PluginHost;
  readonly #options: ApiOptions;

  constructor(host: PluginHost, options: ApiOptions) {
    this.#host = host;
    this.#options = options;
  }

  /**
   * The JSON at a path, or at an address that the API itself has named. Rejects with a SourceError: `not-found` for
   * 404, `unavailable` for what stays refused with a new client id.
   */
  async get(target: string, request: ApiRequest): Promise<unknown> {
    const url = apiUrlOf(target);
    const used = await this.#options.clientIds.current(request.signal);
    return this.#host.backend("api-v2.soundcloud.com").run(() => this.#getWith(used, url, request));
  }

  async #getWith(used: string, url: URL, request: ApiRequest): Promise<unknown> {
    const { clientIds } = this.#options;
    const first = await this.#ask(url, used, request);
    if (!isRefusal(first)) return first.json;
    const other = await this.#anotherAfter(used, first.refusedWith, request.signal);
    if (other === undefined) throw refusalOf(first.refusedWith);
    const second = await this.#ask(url, other, request);
    if (isRefusal(second)) throw refusalOf(second.refusedWith);
    clientIds.giveUp(used);
    return second.json;
  }

  async #anotherAfter(used: string, status: number, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#options.clientIds.another(used, signal);
    } catch (error) {
      signal.throwIfAborted();
      // A 403 may be about the track, not the client id.
      if (status === 403) return undefined;
      throw error;
    }
  }

  async #ask(url: URL, clientId: string, request: ApiRequest): Promise<Answered> {
    const answer = await this.#request(url, clientId, request);
    const { status } = answer;
    if (status === 401 || status === 403) return { refusedWith: status };
    if (status < 200 || status > 299) throw this.#host.http.statusError(answer);
    return { json: parseJson(answer) };
  }

  async #request(url: URL, clientId: string, { signal, query }: ApiRequest): Promise<HttpAnswer> {
    const { oauthToken } = this.#options;
    const options = {
      signal,
      query: { ...query, client_id: clientId },
      headers: {
        accept: "application/json",
        authorization: oauthToken === undefined ? undefined : `OAuth ${oauthToken}`,
      },
    };
    const answer = await this.#host.http.request(url.href, options);
    if (answer.status < 500 || answer.headers["retry-after"] !== undefined) return answer;
    await this.#host.clock.sleep(RETRY_PAUSE_MS, signal);
    return this.#host.http.request(url.href, options);
  }
}

type Answered = { readonly json: unknown } | { readonly refusedWith: number };

function isRefusal(answered: Answered): answered is { readonly refusedWith: number } {
  return "refusedWith" in answered;
}

/** Throws for addresses of other hosts: they must not get the client id. */
function apiUrlOf(target: string): URL {
  const url = addressOf(target, API_ORIGIN);
  if (url?.origin === API_ORIGIN && url.username === "") return url;
  throw new SourceError("changed", `SoundCloud names an address that is not below ${API_ORIGIN} for its API`);
}

function refusalOf(status: number): SourceError {
  if (status === 403) {
    const reasons = "it may be private or not for this region, or SoundCloud refuses the node's address";
    return new SourceError("unavailable", `SoundCloud answered HTTP 403: ${reasons}`);
  }
  const message = "SoundCloud answered HTTP 401: the client id (or the oauthToken) is refused; set a new one";
  return new SourceError("changed", message);
}

function parseJson({ text }: HttpAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const found = text.trimStart().startsWith("<") ? "a page" : "something else";
    throw new SourceError("changed", `${API_ORIGIN} answered ${found} where JSON was expected`);
  }
}
