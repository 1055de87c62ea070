// The tokens of Spotify's web player that its interface asks for: from the operator's own service, by a one-time
// password, or of the session of an embed page's visitor, in this order and as far as configured. Plugin thread.

import { type Cache, type OptionValues, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { membersOf, trimmedText } from "../reading/json.ts";
import type { EmbedPages } from "./embed-pages.ts";
import type { SPOTIFY_MANIFEST } from "./manifest.ts";
import { oneTimePassword } from "./one-time-password.ts";
import { readSession } from "./read-embed.ts";

const PLAYER_TOKEN = "https://open.spotify.com/api/token";
const TIMEOUT_MS = 5000;
const TOKEN_MS = { default: 10 * 60_000, min: 60_000, max: 60 * 60_000 };
const MESSAGE_LENGTH_MAX = 200;

type Host = PluginHost<OptionValues<typeof SPOTIFY_MANIFEST.config>>;

/** A service that gives out tokens. */
interface TokenService {
  readonly name: string;
  /** The option that turns it on. */
  readonly option: string;
  request(signal: AbortSignal): Promise<unknown>;
}

export class PlayerTokens {
  readonly #host: Host;
  readonly #pages: EmbedPages;
  readonly #services: readonly TokenService[];
  readonly #tokens: Cache<string>;
  readonly #reported = new Set<string>();

  constructor(host: Host, pages: EmbedPages) {
    this.#host = host;
    this.#pages = pages;
    this.#services = servicesOf(host);
    this.#tokens = host.cache("tokens", { ttlMs: TOKEN_MS.default, entriesMax: 2 });
  }

  /** Rejects with a SourceError if nobody gives one out. */
  async get(signal: AbortSignal): Promise<string> {
    for (const service of this.#services) {
      try {
        const make = (shared: AbortSignal): Promise<{ value: string; ttlMs: number }> => this.#request(service, shared);
        return await this.#tokens.getOrMake(service.name, { signal, make, isKeptFresh: true });
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceError)) throw error;
        this.#report(service, error);
      }
    }
    return this.#pages.token(signal);
  }

  /** Spotify does not accept this token any more. */
  async refuse(token: string, signal: AbortSignal): Promise<void> {
    for (const { name } of this.#services) {
      if (this.#tokens.get(name) === token) this.#tokens.delete(name);
    }
    await this.#pages.refuse(token, signal);
  }

  #report({ name, option }: TokenService, error: SourceError): void {
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#host.log.warn(`the ${name} gives no token, so that of Spotify's embed page is used: ${error.message}`, {
      option: `plugins.spotify.${option}`,
    });
  }

  #request({ name, option, request }: TokenService, signal: AbortSignal): Promise<{ value: string; ttlMs: number }> {
    return this.#host.backend(name).run(async () => {
      const answer = await request(signal);
      const session = readSession(answer);
      if (session === undefined) {
        const reason = trimmedText(membersOf(answer).error)?.slice(0, MESSAGE_LENGTH_MAX) ?? "no accessToken";
        throw new SourceError("changed", `the ${name} answered ${reason}; check plugins.spotify.${option}`);
      }
      const { token, expiresAtMs } = session;
      const lifeMs = expiresAtMs === undefined ? TOKEN_MS.default : expiresAtMs - this.#host.clock.now();
      return { value: token, ttlMs: Math.min(Math.max(lifeMs, TOKEN_MS.min), TOKEN_MS.max) };
    });
  }
}

function servicesOf({ http, clock, options }: Host): TokenService[] {
  const { customTokenEndpoint, totp, totpSecret, totpVersion, spDc } = options;
  const services: TokenService[] = [];
  if (customTokenEndpoint !== undefined) {
    services.push({
      name: "token service",
      option: "customTokenEndpoint",
      request: (signal) => http.json(customTokenEndpoint, { signal, timeoutMs: TIMEOUT_MS }),
    });
  }
  if (totp) {
    services.push({
      name: "token of the web player",
      option: "totpSecret",
      request: (signal) => {
        const password = oneTimePassword(totpSecret, clock.now());
        const query = { reason: "init", productType: "web-player", totp: password, totpServer: password };
        const headers = { "app-platform": "WebPlayer", cookie: spDc === undefined ? undefined : `sp_dc=${spDc}` };
        return http.json(PLAYER_TOKEN, {
          signal,
          headers,
          query: { ...query, totpVer: totpVersion },
          timeoutMs: TIMEOUT_MS,
        });
      },
    });
  }
  return services;
}
