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
import {
  type ApiToken,
  BEST,
  EXPIRED,
  rankOf,
  readKey,
  readToken,
  scriptsIn,
  signToken,
  tokensIn,
} from "./web-token.ts";

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
/** A token of the operator's that Apple refuses is tried again after this time. */
const PAUSE_MS = 30 * 60_000;
/** The site's pages are not read again so soon when they had no token. */
const FAILURE_MS = 60_000;

/** A token of the operator's. */
interface OwnToken {
  /** In warnings. */
  readonly name: string;
  readonly current: () => ApiToken;
  /** Apple has refused it: it is tried again then, epoch milliseconds. */
  againAtMs: number;
  isWarnedOf: boolean;
}

export class AppleTokens {
  readonly #host: Host;
  readonly #read: Cache<ApiToken>;
  readonly #refreshed: Cache<ApiToken>;
  /** In the order in which they are used. */
  readonly #own: readonly OwnToken[];
  #signed: ApiToken | undefined;
  /** Why the site's pages had no token when they were read last. */
  #failure: { readonly error: SourceError; readonly untilMs: number } | undefined;

  constructor(host: Host) {
    this.#host = host;
    this.#read = host.cache("tokens", { ttlMs: LIFE_MS, entriesMax: 1, persist: true, isPortable: true });
    this.#refreshed = host.cache("refreshed tokens", { ttlMs: REFRESH_GAP_MS, entriesMax: 1 });
    const { mediaAPIToken, keyID, teamID, musicKitKey } = host.options;
    const text = mediaAPIToken?.replace(/^Bearer\s+/i, "").trim() ?? "";
    const configured = readToken(text);
    const hasKey = hasText(keyID) && hasText(teamID) && hasText(musicKitKey);
    const key = hasKey ? readKey(musicKitKey ?? "") : undefined;
    this.#own = [
      ...(configured === undefined ? [] : [ownToken("mediaAPIToken", () => configured)]),
      ...(key === undefined ? [] : [ownToken("token signed with musicKitKey", () => this.#sign(key))]),
    ];
    const problems = [
      ...(text === "" || configured !== undefined ? [] : ["mediaAPIToken is not a token (eyJ….….…)"]),
      ...(configured === undefined && hasKey && key === undefined
        ? ["musicKitKey is not a MusicKit key (the text of AuthKey_….p8)"]
        : []),
    ];
    if (problems.length > 0) host.log.warn(`${problems.join(", and ")}: ${this.#replacement()}`);
  }

  /**
   * The first token that is not among `refused`; undefined: there is none. Rejects with a SourceError where the web
   * site's cannot be read.
   */
  async next(refused: ReadonlySet<string>, signal: AbortSignal): Promise<ApiToken | undefined> {
    const own = this.#usable().find(({ token }) => !refused.has(token));
    if (own !== undefined) return own;
    const make = (shared: AbortSignal) => this.#find(shared);
    const read = await this.#read.getOrMake("page", { signal, make, isKeptFresh: true });
    return refused.has(read.token) ? undefined : read;
  }

  /** True: the refused token was the web site's, and there is another one now. */
  async isRenewed(refused: ApiToken, signal: AbortSignal): Promise<boolean> {
    if (this.#ownOf(refused) !== undefined) return false;
    const known = this.#read.get("page");
    if (known !== undefined && known.token !== refused.token) return true;
    const fresh = await this.#refreshed.getOrMake("page", { signal, make: async (s) => (await this.#find(s)).value });
    this.#read.set("page", fresh, lifeOf(fresh, this.#host.clock.now()));
    return fresh.token !== refused.token;
  }

  /** Apple refuses the token: if it is the operator's, it is not used for a while. */
  pause(refused: ApiToken): void {
    const own = this.#ownOf(refused);
    if (own === undefined) return;
    own.againAtMs = this.#host.clock.now() + PAUSE_MS;
    this.#warnOf(own, `Apple refuses the ${own.name}`);
  }

  #ownOf({ token }: ApiToken): OwnToken | undefined {
    return this.#own.find(({ current }) => current().token === token);
  }

  /** The operator's tokens that are good. */
  #usable(): ApiToken[] {
    const nowMs = this.#host.clock.now();
    return this.#own.flatMap((own) => {
      const token = nowMs < own.againAtMs ? undefined : own.current();
      const { expiresAtMs = Number.POSITIVE_INFINITY } = token ?? {};
      if (token === undefined || nowMs < expiresAtMs) return token ?? [];
      own.againAtMs = Number.POSITIVE_INFINITY;
      const date = new Date(expiresAtMs).toISOString().slice(0, 10);
      this.#warnOf(own, `${own.name} expired on ${date}; set a new one`);
      return [];
    });
  }

  #warnOf(own: OwnToken, reason: string): void {
    if (!own.isWarnedOf) this.#host.log.warn(`${reason}: ${this.#replacement()}`);
    own.isWarnedOf = true;
  }

  /** What is used now. */
  #replacement(): string {
    const nowMs = this.#host.clock.now();
    const name = this.#own.find(({ againAtMs }) => againAtMs <= nowMs)?.name ?? "token of Apple's web site";
    return `the ${name} is used instead`;
  }

  #sign(key: KeyObject): ApiToken {
    const { keyID: keyId = "", teamID: teamId = "" } = this.#host.options;
    const nowMs = this.#host.clock.now();
    if (this.#signed === undefined || (this.#signed.expiresAtMs ?? 0) < nowMs + REFRESH_GAP_MS) {
      this.#signed = signToken(key, { keyId, teamId, nowMs });
    }
    return this.#signed;
  }

  async #find(signal: AbortSignal): Promise<{ readonly value: ApiToken; readonly ttlMs: number }> {
    const { clock } = this.#host;
    if (this.#failure !== undefined && clock.now() < this.#failure.untilMs) throw this.#failure.error;
    try {
      const value = await this.#host.backend("token of music.apple.com").run(() => this.#findOnPages(signal));
      return { value, ttlMs: lifeOf(value, clock.now()) };
    } catch (error) {
      const isSiteChanged = error instanceof SourceError && error.kind === "changed";
      if (isSiteChanged) this.#failure = { error, untilMs: clock.now() + FAILURE_MS };
      throw error;
    }
  }

  /** One that has expired only where no page has another. */
  async #findOnPages(signal: AbortSignal): Promise<ApiToken> {
    const expired: ApiToken[] = [];
    const troubles: SourceError[] = [];
    for (const page of PAGES) {
      try {
        const token = await this.#findOn(page, signal);
        if (rankOf(token, this.#host.clock.now()) < EXPIRED) return token;
        expired.push(token);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceError) || error.kind === "busy") throw error;
        troubles.push(error);
      }
    }
    const [token] = expired;
    if (token !== undefined) return token;
    throw noToken(troubles);
  }

  /** The best in the page's scripts; one that cannot be read is passed over. */
  async #findOn(page: string, signal: AbortSignal): Promise<ApiToken> {
    const answer = await this.#get(page, { signal, headers: PAGE_HEADERS });
    const scripts = scriptsIn(answer.text, answer.url);
    const nowMs = this.#host.clock.now();
    let found: readonly ApiToken[] = [];
    let trouble: SourceError | undefined;
    for (const script of scripts) {
      try {
        const { text } = await this.#get(script, { signal, sizeBytesMax: SCRIPT_BYTES_MAX });
        found = [...found, ...tokensIn(text)].toSorted((a, b) => rankOf(a, nowMs) - rankOf(b, nowMs)).slice(0, 1);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceError)) throw error;
        trouble = error;
      }
      const [best] = found;
      if (best !== undefined && rankOf(best, nowMs) === BEST) return best;
    }
    const [best] = found;
    if (best !== undefined) return best;
    if (trouble !== undefined) throw trouble;
    const what = scripts.length === 0 ? "has no script /assets/index….js" : "has none in its scripts";
    throw new SourceError("changed", `${page} ${what}`);
  }

  async #get(url: string, request: HttpRequest): Promise<HttpAnswer> {
    const { http } = this.#host;
    const answer = await http.request(url, { timeoutMs: TIMEOUT_MS, ...request });
    if (answer.status >= 200 && answer.status <= 299) return answer;
    throw http.statusError(answer);
  }
}

function ownToken(name: string, current: OwnToken["current"]): OwnToken {
  return { name, current, againAtMs: 0, isWarnedOf: false };
}

/** For so long the token is used, milliseconds. */
function lifeOf({ expiresAtMs }: ApiToken, nowMs: number): number {
  const lifeMs = expiresAtMs === undefined ? LIFE_MS : expiresAtMs - nowMs;
  return Math.min(Math.max(lifeMs, LIFE_MS_MIN), LIFE_MS_MAX);
}

/** A missing page says nothing about what the client asked for. */
function noToken(troubles: readonly SourceError[]): SourceError {
  const advice = "set plugins.applemusic.mediaAPIToken";
  const reasons = troubles.map(({ message }) => message).join("; ");
  const message = `no token for Apple Music can be read from its web site (${reasons}); ${advice}`;
  const isUnreachable = troubles.some(({ kind }) => kind === "unreachable");
  return new SourceError(isUnreachable ? "unreachable" : "changed", message);
}

function hasText(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== "";
}
