// Tokens that say who asks: proof-of-origin tokens, set or made by a server of the operator's, and the access token of
// a login. None of them is ever written anywhere. Plugin thread.

import { type Cache, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Host } from "./chosen-clients.ts";
import { urlOf } from "./links.ts";
import { number, string } from "./read-json.ts";

const POT_TTL_MS = 6 * 60 * 60_000;
const POT_VIDEOS_MAX = 200;
const POT_TIMEOUT_MS = 8000;
const LOGIN_TTL_MS = 60 * 60_000;
const TV_PAGE = "https://www.youtube.com/tv";
const TV_USER_AGENT = "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/Version";
const PAGE_BYTES_MAX = 8 * 1024 * 1024;

export class OriginTokens {
  readonly #host: Host;
  readonly #tokens: Cache<string>;

  constructor(host: Host) {
    this.#host = host;
    this.#tokens = host.cache("origin tokens", { ttlMs: POT_TTL_MS, entriesMax: POT_VIDEOS_MAX });
  }

  /** Undefined: there is none; playing works without, if less often. */
  async tokenFor(videoId: string, signal: AbortSignal): Promise<string | undefined> {
    const { token, visitorData, providerUrl } = this.#host.options.pot;
    if (token !== "" && visitorData !== "") return token;
    if (providerUrl === undefined || providerUrl === "") return undefined;
    try {
      return await this.#tokens.getOrMake(videoId, {
        signal,
        make: (shared) => this.#make(providerUrl, videoId, shared),
      });
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      this.#host.log.warn("no proof-of-origin token was to be had; going on without", { reason });
      return undefined;
    }
  }

  #make(
    baseUrl: string,
    videoId: string,
    signal: AbortSignal,
  ): Promise<{ readonly value: string; readonly ttlMs: number }> {
    return this.#host.way("token provider").take(async () => {
      const request = { signal, timeoutMs: POT_TIMEOUT_MS, body: { content_binding: videoId } };
      const answer = await this.#host.http.json(`${baseUrl.replace(/\/$/, "")}/get_pot`, request);
      const value = string(answer, "poToken");
      if (value === undefined || !/^[\w=%.~-]{1,4000}$/.test(value)) {
        throw new SourceError("changed", "the token provider answered without poToken");
      }
      const leftMs = Date.parse(string(answer, "expiresAt") ?? "") - this.#host.clock.now();
      return { value, ttlMs: leftMs > 0 ? Math.min(leftMs, POT_TTL_MS) : POT_TTL_MS };
    });
  }
}

export class Login {
  readonly #host: Host;
  readonly #accessTokens: Cache<string>;

  constructor(host: Host) {
    this.#host = host;
    this.#accessTokens = host.cache("access token", { ttlMs: LOGIN_TTL_MS, entriesMax: 1 });
  }

  /** Undefined: no login is set. Rejects with a SourceError where it is not accepted. */
  accessToken(signal: AbortSignal): Promise<string | undefined> {
    const { enabled, refreshToken } = this.#host.options.oauth;
    if (!enabled || refreshToken === undefined || refreshToken === "") return Promise.resolve(undefined);
    const make = (shared: AbortSignal) => this.#renew(refreshToken, shared);
    return this.#accessTokens.getOrMake("", { signal, make, isKeptFresh: true });
  }

  /** The last one was refused. */
  forget(): void {
    this.#accessTokens.delete("");
  }

  #renew(refreshToken: string, signal: AbortSignal): Promise<{ readonly value: string; readonly ttlMs: number }> {
    return this.#host.way("login").take(async () => {
      const { clientId, clientSecret } = await this.#application(signal);
      const answer = await this.#host.http.request("https://www.youtube.com/o/oauth2/token", {
        signal,
        body: {
          client_id: clientId,
          client_secret: clientSecret,
          refresh_token: refreshToken,
          grant_type: "refresh_token",
        },
      });
      const tree = parsed(answer.text);
      const value = string(tree, "access_token");
      if (value !== undefined) return { value, ttlMs: Math.max(60, number(tree, "expires_in") ?? 3600) * 1000 };
      const reason = string(tree, "error")?.slice(0, 100) ?? `HTTP ${answer.status}`;
      throw new SourceError(
        "unavailable",
        `YouTube did not accept the refresh token of oauth (${reason}); log in anew`,
      );
    });
  }

  /** Set, or as the page for televisions has them. */
  async #application(signal: AbortSignal): Promise<{ readonly clientId: string; readonly clientSecret: string }> {
    const { clientId, clientSecret } = this.#host.options.oauth;
    if (clientId !== undefined && clientSecret !== undefined) return { clientId, clientSecret };
    const fetching = { signal, headers: { "user-agent": TV_USER_AGENT }, sizeBytesMax: PAGE_BYTES_MAX };
    const page = await this.#host.http.text(TV_PAGE, fetching);
    const source = /<script id="base-js" src="([^"]{1,500})"/.exec(page)?.[1];
    const script = source === undefined ? undefined : urlOf(source, TV_PAGE);
    if (script?.origin !== "https://www.youtube.com") throw unknownApplication();
    const text = await this.#host.http.text(script.href, fetching);
    const [, id, secret] = /clientId:"([\w.-]{10,200})",[^"]{0,40}:"([\w-]{5,200})"/.exec(text) ?? [];
    if (id === undefined || secret === undefined) throw unknownApplication();
    return { clientId: id, clientSecret: secret };
  }
}

function unknownApplication(): SourceError {
  return new SourceError("changed", "youtube.com/tv no longer tells its clientId; set oauth.clientId and clientSecret");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Looked at as an answer without members.
    return undefined;
  }
}
