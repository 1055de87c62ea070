// Fetches and parses pages of Bandcamp, and counts failures per host: also of redirects, as artists choose where theirs
// lead. Tells a page meant for people from the bot wall that plain visitors meet. Plugin thread.

import {
  type Backend,
  type HttpAnswer,
  type PluginHost,
  SourceError,
  type SourceErrorKind,
} from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { isBandcampHost } from "./links.ts";

/** Headers a browser sends: without them the wall appears sooner. */
const HEADERS = {
  "user-agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "accept-language": "en-US,en;q=0.5",
};
const OTHERS = "pages of artists' own domains";
/** The wall is a small page; a large one that has such a title is about something else. */
const WALL_LENGTH_MAX = 64 * 1024;
const REDIRECTS_MAX = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Trouble that the yt-dlp bridge may not have with the same page. */
const OWN_TROUBLE_KINDS: readonly (SourceErrorKind | undefined)[] = ["unreachable", "changed"];

export interface Page {
  /** After redirects. */
  readonly url: string;
  readonly text: string;
}

interface ReadOptions<Value> {
  readonly signal: AbortSignal;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** An error it throws counts as the page's failure. */
  readonly read: (page: Page) => Value;
}

export class BandcampPages {
  readonly #host: Pick<PluginHost, "http" | "backend">;

  constructor(host: Pick<PluginHost, "http" | "backend">) {
    this.#host = host;
    // Both show up in the list of backends from the start.
    this.#backendOf("bandcamp.com");
    host.backend(OTHERS);
  }

  /** Rejects with a SourceError. */
  async read<Value>(first: string, { signal, query, read }: ReadOptions<Value>): Promise<Value> {
    let url = first;
    for (let count = 0; count <= REDIRECTS_MAX; count++) {
      const request = { signal, query: count === 0 ? query : undefined };
      const answer = await this.#backendOf(new URL(url).hostname).run(() => this.#fetch(url, request));
      // What one page does not contain says nothing about the site.
      const target = targetOf(answer);
      if (target === undefined) return read({ url: answer.url, text: answer.text });
      url = target;
    }
    throw new SourceError("changed", `${first} goes through more than ${REDIRECTS_MAX} redirects`);
  }

  /** Whether it makes sense to ask the yt-dlp bridge for the same page. */
  isOwnTrouble(error: unknown): error is SourceError {
    if (!(error instanceof SourceError)) return false;
    // Refused by the circuit breaker: the cause is what opened it.
    const { kind } = error.kind === "busy" && error.cause instanceof SourceError ? error.cause : error;
    return OWN_TROUBLE_KINDS.includes(kind);
  }

  #backendOf(hostname: string): Backend {
    const { backend } = this.#host;
    // A domain that a client or an artist has made up must not open the breaker for the others.
    return isBandcampHost(hostname) ? backend("pages of bandcamp.com") : backend(OTHERS, { host: hostname });
  }

  /** A page, or a redirect. */
  async #fetch(url: string, { signal, query }: Pick<ReadOptions<unknown>, "signal" | "query">): Promise<HttpAnswer> {
    const { http } = this.#host;
    const answer = await http.request(url, { signal, query, headers: HEADERS, redirect: "manual" });
    if (answer.status === 403 || isWall(answer)) {
      throw new SourceError(
        "unreachable",
        `Bandcamp refuses this node because it is not a browser (HTTP ${answer.status})`,
      );
    }
    const isRedirect = REDIRECTS.has(answer.status);
    if (!isRedirect && (answer.status < 200 || answer.status > 299)) throw http.statusError(answer);
    // Where an artist's name is free, it offers it.
    if (new URL(answer.url).pathname.startsWith("/signup")) {
      throw new SourceError("not-found", "there is no such artist on Bandcamp");
    }
    return answer;
  }
}

/** Undefined: it is no redirect. */
function targetOf({ status, headers, url }: HttpAnswer): string | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const target = webAddressIn(headers.location ?? "", url);
  if (target !== undefined) return target.href;
  throw new SourceError("changed", `${url} redirects to an invalid address`);
}

/** A page that requires running a script before it shows the real one. */
function isWall({ text }: HttpAnswer): boolean {
  return text.length <= WALL_LENGTH_MAX && /<title>\s*client challenge\b/i.test(text);
}
