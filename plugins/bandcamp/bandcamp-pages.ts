// Fetches and parses pages of Bandcamp, and counts failures per host: also of redirects, as artists choose where theirs
// lead. Plugin thread.

import {
  type Backend,
  type HttpAnswer,
  type PluginHost,
  SourceError,
  type SourceErrorKind,
} from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { BotWall, BROWSER_HEADERS, PASSING_COOKIE, wallError } from "./bot-wall.ts";
import { isBandcampHost } from "./links.ts";

const OTHERS = "pages of artists' own domains";
const REDIRECTS_MAX = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** The bot wall stands before some kinds of pages, at times: each has a separate backend, with the cookie and without. */
const BACKENDS = {
  releases: "pages of bandcamp.com",
  artists: "artist pages",
  artistsWithCookie: "artist pages with a cookie",
  search: "search page",
} as const;
const WITH_COOKIE: ReadonlySet<PageKind> = new Set(["artistsWithCookie", "search"]);
/** Trouble that the yt-dlp bridge may not have with the same page. */
const OWN_TROUBLE_KINDS: readonly SourceErrorKind[] = ["unreachable", "changed"];

/** What to request: pages of tracks and albums, of artists (without or with the cookie), or of search results. */
type PageKind = keyof typeof BACKENDS;

export interface Page {
  /** After redirects. */
  readonly url: string;
  readonly text: string;
}

interface ReadOptions<Value> {
  readonly signal: AbortSignal;
  readonly kind: PageKind;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** An error it throws counts as the page's failure. */
  readonly read: (page: Page) => Value;
}

export class BandcampPages {
  readonly #host: Pick<PluginHost, "http" | "backend">;

  constructor(host: Pick<PluginHost, "http" | "backend">) {
    this.#host = host;
    // They show up in the list of backends from the start.
    for (const name of [...Object.values(BACKENDS), OTHERS]) host.backend(name);
  }

  /** Rejects with a SourceError. */
  async read<Value>(first: string, { signal, kind, query, read }: ReadOptions<Value>): Promise<Value> {
    let url = first;
    for (let count = 0; count <= REDIRECTS_MAX; count++) {
      const answer = await this.#request(url, { signal, kind, query: count === 0 ? query : undefined });
      // What one page does not contain says nothing about the site.
      const target = targetOf(answer);
      if (target === undefined) return read({ url: answer.url, text: answer.text });
      url = target;
    }
    throw new SourceError("changed", `${first} goes through more than ${REDIRECTS_MAX} redirects`);
  }

  /** Whether it makes sense to request the same page from the yt-dlp bridge. */
  isOwnTrouble(error: unknown): error is SourceError {
    return error instanceof SourceError && OWN_TROUBLE_KINDS.includes(reasonOf(error).kind);
  }

  /** A page, or a redirect. Behind the wall, an artist's is requested again with the cookie. */
  async #request(url: string, request: Omit<ReadOptions<unknown>, "read">): Promise<HttpAnswer> {
    const { signal, kind } = request;
    const { hostname } = new URL(url);
    try {
      return await this.#backendOf(hostname, kind).run(() => this.#fetch(url, request));
    } catch (error) {
      signal.throwIfAborted();
      // Nothing else than the wall: a page that takes too long would leave the yt-dlp bridge no time. The cookie goes to
      // bandcamp.com only.
      if (!isWall(error) || kind !== "artists" || !isBandcampHost(hostname)) throw error;
      return await this.#request(url, { ...request, kind: "artistsWithCookie" });
    }
  }

  #backendOf(hostname: string, kind: PageKind): Backend {
    const { backend } = this.#host;
    // A domain that a client or an artist has made up must not open the breaker for the others.
    return isBandcampHost(hostname) ? backend(BACKENDS[kind]) : backend(OTHERS, { host: hostname });
  }

  async #fetch(url: string, { signal, kind, query }: Omit<ReadOptions<unknown>, "read">): Promise<HttpAnswer> {
    const { http } = this.#host;
    const cookie = WITH_COOKIE.has(kind) && isBandcampHost(new URL(url).hostname) ? PASSING_COOKIE : undefined;
    const headers = { ...BROWSER_HEADERS, cookie };
    const answer = await http.request(url, { signal, query, headers, redirect: "manual" });
    // Where an artist's name is free, it offers it.
    if (new URL(answer.url).pathname.startsWith("/signup")) {
      throw new SourceError("not-found", "there is no such artist on Bandcamp");
    }
    const wall = wallError(answer);
    if (wall !== undefined) throw wall;
    const isRedirect = REDIRECTS.has(answer.status);
    if (!isRedirect && (answer.status < 200 || answer.status > 299)) throw http.statusError(answer);
    return answer;
  }
}

function isWall(error: unknown): boolean {
  return error instanceof SourceError && reasonOf(error) instanceof BotWall;
}

/** Where the circuit breaker refuses, the last error before. */
function reasonOf(error: SourceError): SourceError {
  return error.kind === "busy" && error.cause instanceof SourceError ? error.cause : error;
}

/** Undefined: it is no redirect. */
function targetOf({ status, headers, url }: HttpAnswer): string | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const target = webAddressIn(headers.location ?? "", url);
  if (target !== undefined) return target.href;
  throw new SourceError("changed", `${url} redirects to an invalid address`);
}
