// With which token Apple's API is asked: the operator's, one signed with the operator's key, or the one that the web
// site's own page uses, which is read at most every 10 minutes and kept for most of its life. Plugin thread.

import type { KeyObject } from "node:crypto";
import {
  type Cache,
  type HttpAnswer,
  type HttpRequest,
  type OptionValues,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import type { APPLEMUSIC_MANIFEST } from "./manifest.ts";
import { type ApiToken, findToken, readKey, readToken, scriptsIn, signToken } from "./web-token.ts";

export type Host = PluginHost<OptionValues<typeof APPLEMUSIC_MANIFEST.config>>;

const PAGES = ["https://music.apple.com/us/browse", "https://music.apple.com/"];
const PAGE_HEADERS = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": "en-US,en;q=0.5" };
const SCRIPT_BYTES_MAX = 16 * 1024 * 1024;
const TIMEOUT_MS = 5000;
/** Where a token does not say how long it is good, or says what cannot be. */
const LIFE_MS_MIN = 60_000;
const LIFE_MS_MAX = 30 * 24 * 60 * 60_000;
const LIFE_MS = 24 * 60 * 60_000;
/** A site that refuses what its own page says is not asked for the page over and over. */
const REFRESH_GAP_MS = 10 * 60_000;
const FALLBACK = "the token of Apple's web site is used instead";

export class AppleTokens {
  readonly #host: Host;
  readonly #read: Cache<ApiToken>;
  readonly #refreshed: Cache<ApiToken>;
  readonly #configured: ApiToken | undefined;
  readonly #key: KeyObject | undefined;
  #signed: ApiToken | undefined;
  /** The operator's token is not good any more. */
  #isGivenUp = false;

  constructor(host: Host) {
    this.#host = host;
    this.#read = host.cache("tokens", { ttlMs: LIFE_MS, entriesMax: 1, persist: true });
    this.#refreshed = host.cache("refreshed tokens", { ttlMs: REFRESH_GAP_MS, entriesMax: 1 });
    const { mediaAPIToken, keyID, teamID, musicKitKey } = host.options;
    const text = mediaAPIToken?.replace(/^Bearer\s+/i, "").trim() ?? "";
    this.#configured = readToken(text);
    const hasKey = this.#configured === undefined && hasText(keyID) && hasText(teamID) && hasText(musicKitKey);
    this.#key = hasKey ? readKey(musicKitKey ?? "") : undefined;
    const problems = [
      ...(text === "" || this.#configured !== undefined ? [] : ["mediaAPIToken is not a token (eyJ….….…)"]),
      ...(hasKey && this.#key === undefined ? ["musicKitKey is not a MusicKit key (the text of AuthKey_….p8)"] : []),
    ];
    const rest = this.#key === undefined ? FALLBACK : "a token is signed with musicKitKey instead";
    if (problems.length > 0) host.log.warn(`${problems.join(", and ")}: ${rest}`);
  }

  /** The token to use. Rejects with a SourceError when none is available. */
  async current(signal: AbortSignal): Promise<ApiToken> {
    return this.#own() ?? this.#read.getOrMake("page", { signal, make: (s) => this.#find(s), isKeptFresh: true });
  }

  /** It is the operator's, which cannot be renewed here. */
  isOwn({ token }: ApiToken): boolean {
    return token === this.#configured?.token || token === this.#signed?.token;
  }

  /** Another token after Apple has refused `refused`; undefined if there is none now. */
  async another(refused: ApiToken, signal: AbortSignal): Promise<ApiToken | undefined> {
    if (this.isOwn(refused)) {
      if (!this.#isGivenUp)
        this.#giveUp(
          `Apple refuses the ${this.#key === undefined ? "mediaAPIToken" : "token signed with musicKitKey"}`,
        );
      return this.current(signal);
    }
    const known = this.#read.get("page");
    if (known !== undefined && known.token !== refused.token) return known;
    const fresh = await this.#refreshed.getOrMake("page", { signal, make: async (s) => (await this.#find(s)).value });
    this.#read.set("page", fresh, lifeOf(fresh, this.#host.clock.now()));
    return fresh.token === refused.token ? undefined : fresh;
  }

  /** The operator's, while it is good. */
  #own(): ApiToken | undefined {
    if (this.#isGivenUp) return undefined;
    const nowMs = this.#host.clock.now();
    if (this.#configured !== undefined) {
      const { expiresAtMs = Number.POSITIVE_INFINITY } = this.#configured;
      if (nowMs < expiresAtMs) return this.#configured;
      this.#giveUp(`mediaAPIToken expired on ${new Date(expiresAtMs).toISOString().slice(0, 10)}; set a new one`);
      return undefined;
    }
    const { keyID: keyId = "", teamID: teamId = "" } = this.#host.options;
    if (this.#key !== undefined && (this.#signed?.expiresAtMs ?? 0) < nowMs + REFRESH_GAP_MS) {
      this.#signed = signToken(this.#key, { keyId, teamId, nowMs });
    }
    return this.#signed;
  }

  /** Until the plugin starts again. */
  #giveUp(reason: string): void {
    this.#isGivenUp = true;
    this.#host.log.warn(`${reason}: ${FALLBACK}`);
  }

  #find(signal: AbortSignal): Promise<{ readonly value: ApiToken; readonly ttlMs: number }> {
    return this.#host.backend("token of music.apple.com").run(async () => {
      let lastError: unknown;
      for (const page of PAGES) {
        try {
          const value = await this.#findOn(page, signal);
          return { value, ttlMs: lifeOf(value, this.#host.clock.now()) };
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof SourceError) || error.kind === "busy") throw error;
          // The other page may have it.
          lastError = error;
        }
      }
      throw lastError;
    });
  }

  async #findOn(page: string, signal: AbortSignal): Promise<ApiToken> {
    const answer = await this.#get(page, { signal, headers: PAGE_HEADERS });
    const scripts = scriptsIn(answer.text, answer.url);
    for (const script of scripts) {
      const { text } = await this.#get(script, { signal, sizeBytesMax: SCRIPT_BYTES_MAX });
      const token = findToken(text, this.#host.clock.now());
      if (token !== undefined) return token;
    }
    throw noToken(`${page} ${scripts.length === 0 ? "has no script /assets/index….js" : "has none in its scripts"}`);
  }

  async #get(url: string, request: HttpRequest): Promise<HttpAnswer> {
    const { http } = this.#host;
    const answer = await http.request(url, { timeoutMs: TIMEOUT_MS, ...request });
    if (answer.status >= 200 && answer.status <= 299) return answer;
    const error = http.statusError(answer);
    // A missing page says nothing about what the client asked for.
    throw error.kind === "busy" ? error : noToken(error.message);
  }
}

/** For so long the token is used, milliseconds. */
function lifeOf({ expiresAtMs }: ApiToken, nowMs: number): number {
  const lifeMs = expiresAtMs === undefined ? LIFE_MS : expiresAtMs - nowMs;
  return Math.min(Math.max(lifeMs, LIFE_MS_MIN), LIFE_MS_MAX);
}

function noToken(reason: string): SourceError {
  const advice = "set plugins.applemusic.mediaAPIToken";
  return new SourceError("changed", `no token for Apple Music can be read from its web site (${reason}); ${advice}`);
}

function hasText(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== "";
}
