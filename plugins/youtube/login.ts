// The operator's login, for the clients that accept one: renews access tokens, and without a refresh token asks the
// operator to log in as on a television. The node stores the resulting refresh token; tokens are never logged. Plugin
// thread.

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

/** Data for polling the site until the operator has logged in. */
interface Device {
  readonly code: string;
  /** Where the operator logs in, and with what. */
  readonly address: string;
  readonly shownCode: string;
  readonly intervalS: number;
  readonly lifeS: number;
}

interface Renewal {
  readonly accessToken: string;
  /** Usually absent: the old refresh token stays valid. */
  readonly refreshToken: string | undefined;
  readonly lifeS: number;
  readonly scope: string | undefined;
  readonly tokenType: string | undefined;
}

/** The refresh token is not, or no longer, good. */
class LoginRejectedError extends SourceError {}

export class Login {
  readonly #host: Host;
  readonly #accessTokens: Cache<string>;
  /** Refresh tokens by the configured one that they replace; under the empty key, the token of a login made here. */
  readonly #logins: Cache<string>;
  /** The refresh token whose refusal was logged: clients that play without a login hide it. */
  #refused: string | undefined;
  /** A code already logged: the operator may enter it while another thread polls for it. */
  readonly #devices: Cache<Device>;

  constructor(host: Host) {
    this.#host = host;
    this.#accessTokens = host.cache("access token", { ttlMs: TOKEN_TTL_MS, entriesMax: 1 });
    this.#logins = host.cache("logins", {
      ...{ ttlMs: Number.POSITIVE_INFINITY, entriesMax: 2 },
      ...{ persist: true, isPortable: true },
    });
    this.#devices = host.cache("devices", { ttlMs: ASKING_S_MAX * 1000, entriesMax: 1, persist: true });
  }

  /** The one that is in use. */
  get refreshToken(): string | undefined {
    const { enabled, refreshToken = "" } = this.#host.options.oauth;
    return enabled ? (this.#logins.get(refreshToken) ?? (refreshToken || undefined)) : undefined;
  }

  /** Asks the operator to log in, if enabled and needed. Continues in the background; never rejects. */
  async begin(): Promise<void> {
    const { enabled, skipInitialization } = this.#host.options.oauth;
    const { log, signal } = this.#host;
    if (!enabled || skipInitialization || this.refreshToken !== undefined) return;
    try {
      const application = await this.#application(signal);
      const device = await this.#devices.getOrMake("", {
        signal,
        make: (shared) => this.#newDevice(application, shared),
      });
      const text =
        "to log in to YouTube, open the address and enter the code; Google may close the account that is used";
      log.warn(text, { address: device.address, code: device.shownCode });
      this.#logins.set("", await this.#untilLoggedIn(application, device));
      log.info("logged in to YouTube; the login is stored as set by tonearm.pluginDataPath");
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      log.warn("YouTube login timed out; continuing without a login", { reason });
    }
    this.#devices.delete("");
  }

  /** Discards the token of a login made here. */
  forgetLogin(): void {
    this.#logins.delete("");
    this.#devices.delete("");
    this.forget();
  }

  /** Exchanges a refresh token for YouTube's raw answer. Rejects with a SourceError if it is not accepted. */
  async exchange(refreshToken: string, signal: AbortSignal): Promise<JsonMembers> {
    const { accessToken, lifeS, scope = "", tokenType = "Bearer" } = await this.#renew(refreshToken, signal);
    return { access_token: accessToken, expires_in: lifeS, scope, token_type: tokenType };
  }

  /** Undefined: there is no login. Rejects with a SourceError where it is not accepted. */
  async accessToken(signal: AbortSignal): Promise<string | undefined> {
    const { refreshToken } = this;
    if (refreshToken === undefined) return undefined;
    const make = async (shared: AbortSignal) => {
      const { accessToken, lifeS, ...renewed } = await this.#renew(refreshToken, shared).catch((error: unknown) => {
        if (error instanceof LoginRejectedError) this.#logRefusal(refreshToken, error);
        throw error;
      });
      if (renewed.refreshToken !== undefined && renewed.refreshToken !== refreshToken) {
        this.#logins.set(this.#host.options.oauth.refreshToken ?? "", renewed.refreshToken);
      }
      return { value: accessToken, ttlMs: lifeS * 1000 };
    };
    return this.#accessTokens.getOrMake("", { signal, make, isKeptFresh: true });
  }

  /** The last one was refused. */
  forget(): void {
    this.#accessTokens.delete("");
  }

  #logRefusal(refreshToken: string, { message }: Error): void {
    if (this.#refused === refreshToken) return;
    this.#refused = refreshToken;
    this.#host.log.warn("YouTube login refused: clients that need none are asked without", { reason: message });
  }

  #renew(refreshToken: string, signal: AbortSignal): Promise<Renewal> {
    return this.#host.backend("login").run(async () => {
      const { clientId, clientSecret } = await this.#application(signal);
      const body = { client_id: clientId, client_secret: clientSecret, refresh_token: refreshToken };
      const { status, tree } = await this.#post("token", { ...body, grant_type: "refresh_token" }, signal);
      const accessToken = string(tree, "access_token");
      if (accessToken === undefined) {
        const reason = string(tree, "error")?.slice(0, 100) ?? `HTTP ${status}`;
        throw new LoginRejectedError(
          "unavailable",
          `YouTube did not accept the refresh token of oauth (${reason}); log in again`,
        );
      }
      return {
        accessToken,
        refreshToken: string(tree, "refresh_token"),
        scope: string(tree, "scope"),
        tokenType: string(tree, "token_type"),
        lifeS: Math.max(60, number(tree, "expires_in") ?? 3600),
      };
    });
  }

  async #newDevice({ clientId }: Application, signal: AbortSignal): Promise<{ value: Device; ttlMs: number }> {
    const device = { device_id: crypto.randomUUID().replaceAll("-", ""), device_model: "ytlr::" };
    const { tree } = await this.#post("device/code", { client_id: clientId, scope: SCOPE, ...device }, signal);
    const [code, shownCode = ""] = [string(tree, "device_code"), string(tree, "user_code")];
    const address = webAddressIn(string(tree, "verification_url") ?? "");
    if (code === undefined || !/^[\w-]{4,20}$/.test(shownCode) || !address || !isBelow(address, ["google.com"])) {
      throw new SourceError("changed", "YouTube gave no code to log in with");
    }
    const intervalS = Math.max(ASKING_INTERVAL_S_MIN, Math.min(number(tree, "interval") ?? 0, 60));
    const lifeS = Math.min(number(tree, "expires_in") ?? ASKING_S_MAX, ASKING_S_MAX);
    return { value: { code, address: address.href, shownCode, intervalS, lifeS }, ttlMs: lifeS * 1000 };
  }

  /** The refresh token. Rejects when the code has expired, or was turned down. */
  async #untilLoggedIn({ clientId, clientSecret }: Application, { code, intervalS, lifeS }: Device): Promise<string> {
    const { clock, signal } = this.#host;
    const grant = { code, grant_type: "http://oauth.net/grant_type/device/1.0" };
    for (let waitedS = 0, pauseS = intervalS; waitedS < lifeS; waitedS += pauseS) {
      await clock.sleep(pauseS * 1000, signal);
      // The operator may have logged in elsewhere.
      const known = this.#logins.get("");
      if (known !== undefined) return known;
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
  return new SourceError(
    "changed",
    "youtube.com/tv no longer contains its clientId; set oauth.clientId and clientSecret",
  );
}

function parsed({ text }: HttpAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Treated as an answer without members.
    return undefined;
  }
}
