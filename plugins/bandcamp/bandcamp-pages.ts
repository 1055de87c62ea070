// Fetches and parses pages of Bandcamp, and counts failures per host. Tells a page meant for people from the bot wall
// that plain visitors meet. Plugin thread.

import {
  type Backend,
  type HttpAnswer,
  type HttpClient,
  type PluginHost,
  SourceError,
  type SourceErrorKind,
} from "../../src/plugin-api/plugin.ts";
import { isBandcampHost } from "./links.ts";

/** Headers a browser sends: without them the wall appears sooner. */
const HEADERS = {
  "user-agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "accept-language": "en-US,en;q=0.5",
};
/** The wall is a small page; a large one that has such a title is about something else. */
const WALL_LENGTH_MAX = 64 * 1024;
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
  readonly #http: HttpClient;
  readonly #backends: { readonly own: Backend; readonly others: Backend };
  #lastTrouble: SourceErrorKind | undefined;

  constructor({ http, backend }: Pick<PluginHost, "http" | "backend">) {
    this.#http = http;
    // A domain made up by a client must not open the breaker for Bandcamp's pages.
    this.#backends = { own: backend("pages of bandcamp.com"), others: backend("pages of artists' own domains") };
  }

  /** Rejects with a SourceError. */
  read<Value>(url: string, { signal, query, read }: ReadOptions<Value>): Promise<Value> {
    const backend = isBandcampHost(new URL(url).hostname) ? this.#backends.own : this.#backends.others;
    return backend.run(async () => {
      try {
        const value = read(await this.#fetch(url, { signal, query }));
        this.#lastTrouble = undefined;
        return value;
      } catch (error) {
        this.#lastTrouble = error instanceof SourceError ? error.kind : undefined;
        throw error;
      }
    });
  }

  /** Whether it makes sense to ask the yt-dlp bridge for the same page. */
  isOwnTrouble(error: unknown): error is SourceError {
    if (!(error instanceof SourceError)) return false;
    const isRefusedHere = error.kind === "busy" && this.#backends.own.isOpen;
    return OWN_TROUBLE_KINDS.includes(isRefusedHere ? this.#lastTrouble : error.kind);
  }

  async #fetch(url: string, { signal, query }: Pick<ReadOptions<unknown>, "signal" | "query">): Promise<Page> {
    const answer = await this.#http.request(url, { signal, query, headers: HEADERS });
    if (answer.status === 403 || isWall(answer)) {
      throw new SourceError(
        "unreachable",
        `Bandcamp refuses this node because it is not a browser (HTTP ${answer.status})`,
      );
    }
    if (answer.status < 200 || answer.status > 299) throw this.#http.statusError(answer);
    // Where an artist's name is free, it offers it.
    if (new URL(answer.url).pathname.startsWith("/signup")) {
      throw new SourceError("not-found", "there is no such artist on Bandcamp");
    }
    return { url: answer.url, text: answer.text };
  }
}

/** A page that requires running a script before it shows the real one. */
function isWall({ text }: HttpAnswer): boolean {
  return text.length <= WALL_LENGTH_MAX && /<title>\s*client challenge\b/i.test(text);
}
