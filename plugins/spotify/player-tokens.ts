// The tokens of Spotify's web player that its interface asks for: from the operator's own service, by a one-time
// password, or of the session of an embed page's visitor, in this order and as far as configured. Plugin thread.

import {
  type Cache,
  type HttpAnswer,
  type OptionValues,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { membersOf, parsedJson, trimmedText } from "../reading/json.ts";
import type { EmbedPages } from "./embed-pages.ts";
import { filledIn } from "./filled-in.ts";
import type { Item } from "./identifier.ts";
import type { SPOTIFY_MANIFEST } from "./manifest.ts";
import { oneTimePassword } from "./one-time-password.ts";
import { readSession } from "./read-embed.ts";

const PLAYER_TOKEN = "https://open.spotify.com/api/token";
const TIMEOUT_MS = 5000;
const TOKEN_MS = { default: 10 * 60_000, min: 60_000, max: 60 * 60_000 };
/** For how long a service is left alone whose tokens Spotify refuses. */
const SKIP_MS = 5 * 60_000;
const MESSAGE_LENGTH_MAX = 200;
/** What may stand in a cookie. */
const COOKIE_VALUE = /^[\x21-\x3a\x3c-\x7e]+$/;

type Host = PluginHost<OptionValues<typeof SPOTIFY_MANIFEST.config>>;

/** A service that gives out tokens. */
interface TokenService {
  readonly name: string;
  /** The option that turns it on. */
  readonly option: string;
  request(signal: AbortSignal): Promise<HttpAnswer>;
}

interface Refused {
  readonly token: string;
  /** The service is not asked: another token of it was refused shortly before, or it gave this one again. */
  readonly isSkipped: boolean;
}

export class PlayerTokens {
  readonly #host: Host;
  readonly #pages: EmbedPages;
  readonly #services: readonly TokenService[];
  /** By the name of the service. */
  readonly #tokens: Cache<string>;
  readonly #refused: Cache<Refused>;
  readonly #reported = new Set<string>();

  constructor(host: Host, pages: EmbedPages) {
    this.#host = host;
    this.#pages = pages;
    this.#services = servicesOf(host);
    this.#tokens = host.cache("tokens", { ttlMs: TOKEN_MS.default, entriesMax: 2 });
    this.#refused = host.cache("refused tokens", { ttlMs: SKIP_MS, entriesMax: 2 });
  }

  /** Tokens after which no better one is to be expected: two of each origin. */
  get attemptsMax(): number {
    return 2 * (this.#services.length + 1);
  }

  /** `item`: has an embed page, perhaps. Rejects with a SourceError if nobody gives one out. */
  async get({ item, signal }: { readonly item?: Item | undefined; readonly signal: AbortSignal }): Promise<string> {
    for (const service of this.#services) {
      if (this.#refused.get(service.name)?.isSkipped === true) continue;
      try {
        const make = (shared: AbortSignal): Promise<{ value: string; ttlMs: number }> => this.#request(service, shared);
        return await this.#tokens.getOrMake(service.name, { signal, make, isKeptFresh: true });
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceError)) throw error;
        this.#report(service, error.message);
      }
    }
    return this.#pages.token({ item, signal });
  }

  /** Spotify does not accept this token any more. */
  async refuse(token: string, signal: AbortSignal): Promise<void> {
    for (const service of this.#services) {
      const { name } = service;
      // Another request may have replaced it in the meantime.
      if (this.#tokens.get(name) !== token) continue;
      this.#tokens.delete(name);
      const isSkipped = this.#refused.get(name) !== undefined;
      this.#refused.set(name, { token, isSkipped });
      if (isSkipped) this.#report(service, "Spotify refuses its tokens");
    }
    await this.#pages.refuse(token, signal);
  }

  #report({ name, option }: TokenService, reason: string): void {
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#host.log.warn(`the ${name} gives no valid token, so another one is used: ${reason}`, {
      option: `plugins.spotify.${option}`,
    });
  }

  #request({ name, option, request }: TokenService, signal: AbortSignal): Promise<{ value: string; ttlMs: number }> {
    const { http, backend, clock } = this.#host;
    return backend(name).run(async () => {
      const answer = await request(signal);
      const error = http.statusError(answer);
      if (error.kind === "busy") throw error;
      const written = parsedJson(answer.text);
      const session = readSession(written);
      if (session === undefined) {
        const reason = reasonIn(written) ?? (isGood(answer) ? "no accessToken" : `HTTP ${answer.status}`);
        throw new SourceError("changed", `the ${name} answered ${reason}; check plugins.spotify.${option}`);
      }
      const { token, expiresAtMs } = session;
      if (this.#refused.get(name)?.token === token) {
        this.#refused.set(name, { token, isSkipped: true });
        throw new SourceError("changed", `the ${name} answered the token that Spotify refuses once more`);
      }
      const lifeMs = expiresAtMs === undefined ? TOKEN_MS.default : expiresAtMs - clock.now();
      return { value: token, ttlMs: Math.min(Math.max(lifeMs, TOKEN_MS.min), TOKEN_MS.max) };
    });
  }
}

function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status <= 299;
}

/** What is wrong, as a text or in an object. */
function reasonIn(answer: unknown): string | undefined {
  const { error } = membersOf(answer);
  return (trimmedText(error) ?? trimmedText(membersOf(error).message))?.slice(0, MESSAGE_LENGTH_MAX);
}

function servicesOf({ http, clock, options }: Host): TokenService[] {
  const { customTokenEndpoint, totp, totpSecret, totpVersion } = options;
  const services: TokenService[] = [];
  if (customTokenEndpoint !== undefined) {
    const headers = { accept: "application/json" };
    services.push({
      name: "token service",
      option: "customTokenEndpoint",
      request: (signal) => http.request(customTokenEndpoint, { signal, headers, timeoutMs: TIMEOUT_MS }),
    });
  }
  if (totp) {
    const spDc = spDcOf(options.spDc);
    const cookie = spDc === undefined ? undefined : `sp_dc=${spDc}`;
    const headers = { accept: "application/json", "app-platform": "WebPlayer", cookie };
    services.push({
      name: "token of the web player",
      option: "totpSecret",
      request: (signal) => {
        const nowMs = clock.now();
        const password = oneTimePassword(totpSecret, nowMs);
        const passwords = { totp: password, totpServer: password, totpVer: totpVersion };
        const query = { reason: "init", productType: "web-player", ...passwords, ts: Math.floor(nowMs / 1000) };
        return http.request(PLAYER_TOKEN, { signal, headers, query, timeoutMs: TIMEOUT_MS });
      },
    });
  }
  return services;
}

/** Undefined: there is none, or a placeholder. */
function spDcOf(written: string | undefined): string | undefined {
  const text = filledIn(written);
  return text !== undefined && COOKIE_VALUE.test(text) ? text : undefined;
}
