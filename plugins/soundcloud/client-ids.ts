// The id with which SoundCloud's API is asked: the operator's, or the one that the site's own page uses. A page of
// theirs names scripts, and one of these holds it. Read once a day, and once more when it is refused. Plugin thread.

import { type Cache, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";

const HOME = "https://soundcloud.com/";
/** The web site answers browsers; the manifest has their `userAgent`. */
const BROWSER_HEADERS = {
  accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "accept-language": "en-US,en;q=0.5",
};
const SCRIPT = /<script\b[^>]{0,500}\bsrc="(https:\/\/a-v2\.sndcdn\.com\/assets\/[\w./-]{1,200}\.js)"/g;
const SCRIPTS_MAX = 12;
const SCRIPT_BYTES_MAX = 4 * 1024 * 1024;
/** In a script; and in the page, where it lies ready for the scripts. */
const ID_IN_SCRIPT = /\bclient_id\s?[:=]\s?"([A-Za-z0-9]{32})"/;
const ID_IN_PAGE = /"hydratable"\s?:\s?"apiClient"\s?,\s?"data"\s?:\s?\{\s?"id"\s?:\s?"([A-Za-z0-9]{32})"/;

const LIFE_MS = 24 * 60 * 60_000;
/** A site that refuses what its own page says is not asked for the page over and over. */
const REFRESH_GAP_MS = 10 * 60_000;
const READ = "read";
const REFRESHED = "refreshed";

export class SoundCloudClientIds {
  readonly #host: PluginHost;
  readonly #configured: string | undefined;
  readonly #read: Cache<string>;
  readonly #refreshed: Cache<string>;
  #isConfiguredRefused = false;

  constructor(host: PluginHost, configured: string | undefined) {
    this.#host = host;
    this.#configured = configured;
    this.#read = host.cache("client ids", { ttlMs: LIFE_MS, entriesMax: 1, persist: true, isPortable: true });
    this.#refreshed = host.cache("refreshed client ids", { ttlMs: REFRESH_GAP_MS, entriesMax: 1 });
  }

  /** The client id to use. Rejects with a SourceError when none is available. */
  async current(signal: AbortSignal): Promise<string> {
    if (this.#configured !== undefined && !this.#isConfiguredRefused) return this.#configured;
    return this.#read.getOrMake(READ, { signal, make: (shared) => this.#find(shared), isKeptFresh: true });
  }

  /** Another client id after `refused`; undefined if there is none now. */
  async another(refused: string, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#read.get(READ);
    if (known !== undefined && known !== refused) return known;
    const fresh = await this.#refreshed.getOrMake(REFRESHED, { signal, make: (shared) => this.#find(shared) });
    this.#read.set(READ, fresh);
    return fresh === refused ? undefined : fresh;
  }

  /** `refused` was not good where another one was. */
  giveUp(refused: string): void {
    if (refused !== this.#configured || this.#isConfiguredRefused) return;
    this.#isConfiguredRefused = true;
    this.#host.log.warn("SoundCloud refuses the clientId that is configured; the one of its web site is used instead");
  }

  #find(signal: AbortSignal): Promise<string> {
    return this.#host.backend("client id of soundcloud.com").run(async () => {
      const page = await this.#page(signal);
      const inPage = ID_IN_PAGE.exec(page)?.[1];
      if (inPage !== undefined) return inPage;
      // The last scripts have contained it for years, whatever the order of the others.
      const scripts = [...page.matchAll(SCRIPT)].map(([, url = ""]) => url).slice(-SCRIPTS_MAX);
      return this.#findInScripts(scripts.reverse(), signal);
    });
  }

  async #page(signal: AbortSignal): Promise<string> {
    const answer = await this.#host.http.request(HOME, { signal, headers: BROWSER_HEADERS });
    if (answer.status >= 200 && answer.status <= 299) return answer.text;
    const error = this.#host.http.statusError(answer);
    if (error.kind === "busy") throw error;
    throw noneFound(`${HOME} answered HTTP ${answer.status}`, error);
  }

  async #findInScripts(scripts: readonly string[], signal: AbortSignal): Promise<string> {
    let lastError: unknown;
    for (const script of scripts) {
      try {
        const options = { signal, headers: BROWSER_HEADERS, sizeBytesMax: SCRIPT_BYTES_MAX };
        const id = ID_IN_SCRIPT.exec(await this.#host.http.text(script, options))?.[1];
        if (id !== undefined) return id;
      } catch (error) {
        signal.throwIfAborted();
        // Another script may have it.
        lastError = error;
      }
    }
    throw noneFound(`neither the page nor its ${scripts.length} scripts have one`, lastError);
  }
}

function noneFound(reason: string, cause: unknown): SourceError {
  const message = `no client id can be read from soundcloud.com (${reason}); set the option clientId of the plugin`;
  return new SourceError("changed", message, { cause });
}
