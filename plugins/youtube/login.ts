// A login of the operator's own, for the client that takes one: renews access tokens, and where there is no refresh
// token yet asks the operator to log in as on a television. No token is ever written anywhere. Plugin thread.

import { type Cache, type HttpAnswer, type JsonMembers, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import type { Host } from "./chosen-clients.ts";
import { isBelow } from "./links.ts";
import { number, string } from "./read-json.ts";

const TOKEN_TTL_MS = 60 * 60_000;
const TV_PAGE = "https://www.youtube.com/tv";
const TV_USER_AGENT = "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/Version";
const PAGE_BYTES_MAX = 8 * 1024 * 1024;
const SCOPE = "http://gdata.youtube.com https://www.googleapis.com/auth/youtube";
/** Between two questions whether the operator has logged in. */
const ASKING_INTERVAL_S_MIN = 5;
const ASKING_S_MAX = 1800;

interface Application {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What the site wants to be told again and again until the operator has logged in. */
interface Device {
  readonly code: string;
  readonly intervalS: number;
  readonly lifeS: number;
}

export class Login {
  readonly #host: Host;
  readonly #accessTokens: Cache<string>;
  #refreshToken: string | undefined;

  constructor(host: Host) {
    this.#host = host;
    this.#accessTokens = host.cache("access token", { ttlMs: TOKEN_TTL_MS, entriesMax: 1 });
    this.#refreshToken = host.options.oauth.refreshToken || undefined;
  }

  /** Asks the operator to log in, if that is wanted and needed. Goes on in the background; never rejects. */
  async begin(): Promise<void> {
    const { enabled, skipInitialization } = this.#host.options.oauth;
    const { log, signal } = this.#host;
    if (!enabled || skipInitialization || this.#refreshToken !== undefined) return;
    try {
      const application = await this.#application(signal);
      this.#refreshToken = await this.#untilLoggedIn(application, await this.#newDevice(application, signal));
      log.info("logged in to YouTube, until the node or the plugin is started anew");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) log.warn("nobody has logged in to YouTube; going on without", { reason });
    }
  }

  /** Undefined: there is no login. Rejects with a SourceError where it is not accepted. */
  async accessToken(signal: AbortSignal): Promise<string | undefined> {
    const refreshToken = this.#refreshToken;
    if (!this.#host.options.oauth.enabled || refreshToken === undefined) return undefined;
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
      const body = { client_id: clientId, client_secret: clientSecret, refresh_token: refreshToken };
      const { status, tree } = await this.#post("token", { ...body, grant_type: "refresh_token" }, signal);
      const value = string(tree, "access_token");
      if (value === undefined) {
        const reason = string(tree, "error")?.slice(0, 100) ?? `HTTP ${status}`;
        throw new SourceError(
          "unavailable",
          `YouTube did not accept the refresh token of oauth (${reason}); log in anew`,
        );
      }
      // Mostly the old one stays good.
      this.#refreshToken = string(tree, "refresh_token") ?? refreshToken;
      return { value, ttlMs: Math.max(60, number(tree, "expires_in") ?? 3600) * 1000 };
    });
  }

  async #newDevice({ clientId }: Application, signal: AbortSignal): Promise<Device> {
    const device = { device_id: crypto.randomUUID().replaceAll("-", ""), device_model: "ytlr::" };
    const { tree } = await this.#post("device/code", { client_id: clientId, scope: SCOPE, ...device }, signal);
    const [code, shownCode] = [string(tree, "device_code"), string(tree, "user_code")];
    const address = webAddressIn(string(tree, "verification_url") ?? "");
    if (code === undefined || !/^[\w-]{4,20}$/.test(shownCode ?? "") || !address || !isBelow(address, ["google.com"])) {
      throw new SourceError("changed", "YouTube gave no code to log in with");
    }
    const text = "to log in to YouTube, open the address and enter the code; Google may close the account that is used";
    this.#host.log.warn(text, { address: address.href, code: shownCode });
    const intervalS = Math.max(ASKING_INTERVAL_S_MIN, Math.min(number(tree, "interval") ?? 0, 60));
    return { code, intervalS, lifeS: Math.min(number(tree, "expires_in") ?? ASKING_S_MAX, ASKING_S_MAX) };
  }

  /** The refresh token. Rejects when the code has expired, or was turned down. */
  async #untilLoggedIn({ clientId, clientSecret }: Application, { code, intervalS, lifeS }: Device): Promise<string> {
    const { clock, signal } = this.#host;
    const grant = { code, grant_type: "http://oauth.net/grant_type/device/1.0" };
    for (let waitedS = 0, pauseS = intervalS; waitedS < lifeS; waitedS += pauseS) {
      await clock.sleep(pauseS * 1000, signal);
      const body = { client_id: clientId, client_secret: clientSecret, ...grant };
      const { tree } = await this.#post("token", body, signal);
      const found = string(tree, "refresh_token");
      if (found !== undefined) return found;
      const error = string(tree, "error");
      if (error === "slow_down") pauseS += ASKING_INTERVAL_S_MIN;
      else if (error !== "authorization_pending")
        throw new Error(`YouTube answered ${error?.slice(0, 100) ?? "nothing"}`);
    }
    throw new Error("the code has expired");
  }

  async #post(
    path: string,
    body: JsonMembers,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly tree: unknown }> {
    const answer = await this.#host.http.request(`https://www.youtube.com/o/oauth2/${path}`, { signal, body });
    return { status: answer.status, tree: parsed(answer) };
  }

  /** Set, or as the page for televisions has them. */
  async #application(signal: AbortSignal): Promise<Application> {
    const { clientId, clientSecret } = this.#host.options.oauth;
    if (clientId !== undefined && clientSecret !== undefined) return { clientId, clientSecret };
    const fetching = { signal, headers: { "user-agent": TV_USER_AGENT }, sizeBytesMax: PAGE_BYTES_MAX };
    const page = await this.#host.http.text(TV_PAGE, fetching);
    const source = /<script id="base-js" src="([^"]{1,500})"/.exec(page)?.[1];
    const script = source === undefined ? undefined : webAddressIn(source, TV_PAGE);
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

function parsed({ text }: HttpAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Looked at as an answer without members.
    return undefined;
  }
}
