// Requests Spotify's embed pages, which need no key, and keeps the session of their visitor for the web player's
// interface. Plugin thread.

import { type Cache, type HttpAnswer, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Members } from "../reading/json.ts";
import type { Item } from "./identifier.ts";
import { type EmbedPage, readEmbedPage, type Session } from "./read-embed.ts";

const TIMEOUT_MS = 5000;
/** Pages that have existed for years, requested for their session alone. */
const SESSION_PAGES: readonly Item[] = [
  { type: "track", id: "4cOdK2wGLETKBW3PvgPWqT" },
  { type: "playlist", id: "37i9dQZF1DXcBWIGoYBM5M" },
];
/** Sessions of visitors last about an hour. */
const SESSION_MS = { default: 10 * 60_000, min: 60_000, max: 60 * 60_000 };
/** One per local address. */
const SESSIONS_MAX = 100;
const MISSING = new Set([404, 410]);

type Host = Pick<PluginHost, "http" | "backend" | "cache" | "clock">;

export class EmbedPages {
  readonly #host: Host;
  readonly #sessions: Cache<string>;
  /** What the last page with a session was about. */
  #lastWithSession: Item | undefined;

  constructor(host: Host) {
    this.#host = host;
    this.#sessions = host.cache("sessions", { ttlMs: SESSION_MS.default, entriesMax: SESSIONS_MAX });
  }

  /**
   * What is read from the page of an item. Rejects with a SourceError: `not-found` if there is no such item, `changed`
   * for a page of another form, for which `read` answers undefined.
   */
  async item<Value>(item: Item, read: (entity: Members) => Value | undefined, signal: AbortSignal): Promise<Value> {
    return this.#host.backend(`embed pages: ${item.type}`).run(async () => {
      const { entity, isMissing } = await this.#read(item, signal);
      if (isMissing) throw new SourceError("not-found", `Spotify has no ${item.type} ${item.id}`);
      const found = entity === undefined ? undefined : read(entity);
      if (found !== undefined) return found;
      throw new SourceError("changed", `Spotify's embed page of the ${item.type} has another form now`);
    });
  }

  /** The token of a visitor's session: that of a page that was read, or of one that is read for it. */
  async token({ item, signal }: { readonly item?: Item | undefined; readonly signal: AbortSignal }): Promise<string> {
    const key = await this.#key(signal);
    const make = (shared: AbortSignal): Promise<{ value: string; ttlMs: number }> => this.#newToken(item, shared);
    return this.#sessions.getOrMake(key, { signal, make, isKeptFresh: true });
  }

  /** Spotify does not accept this token any more. */
  async refuse(token: string, signal: AbortSignal): Promise<void> {
    const key = await this.#key(signal);
    // Another request may have replaced it in the meantime.
    if (this.#sessions.get(key) === token) this.#sessions.delete(key);
  }

  async #newToken(wanted: Item | undefined, signal: AbortSignal): Promise<{ value: string; ttlMs: number }> {
    const pages = [wanted ?? [], this.#lastWithSession ?? [], SESSION_PAGES].flat();
    return this.#host.backend("embed pages: session").run(async () => {
      let trouble: unknown;
      let isEachGone = true;
      for (const item of pages) {
        try {
          const { session, isMissing } = await this.#read(item, signal);
          isEachGone &&= isMissing;
          if (session !== undefined) return { value: session.token, ttlMs: this.#lifeOf(session) };
        } catch (error) {
          signal.throwIfAborted();
          trouble ??= error;
        }
      }
      throw trouble ?? noSession(isEachGone);
    });
  }

  async #read({ type, id }: Item, signal: AbortSignal): Promise<EmbedPage> {
    const url = `https://open.spotify.com/embed/${type}/${id}`;
    const key = await this.#key(signal);
    const headers = { accept: "text/html", "accept-language": "en" };
    const answer = await this.#host.http.request(url, { signal, headers, timeoutMs: TIMEOUT_MS });
    const page = this.#pageOf(answer);
    const { session } = page;
    if (session !== undefined && !page.isMissing) this.#lastWithSession = { type, id };
    if (session !== undefined && this.#sessions.get(key) === undefined) {
      this.#sessions.set(key, session.token, this.#lifeOf(session));
    }
    return page;
  }

  #pageOf(answer: HttpAnswer): EmbedPage {
    // The page that says so has a session, too, perhaps.
    if (MISSING.has(answer.status)) return { ...pageOrNone(answer.text), isMissing: true };
    if (answer.status >= 200 && answer.status <= 299) return readEmbedPage(answer.text);
    const error = this.#host.http.statusError(answer);
    if (error.kind === "busy") throw error;
    throw new SourceError("changed", `Spotify refuses its embed pages to this node (HTTP ${answer.status})`);
  }

  /** Milliseconds. */
  #lifeOf({ expiresAtMs }: Session): number {
    if (expiresAtMs === undefined) return SESSION_MS.default;
    return Math.min(Math.max(expiresAtMs - this.#host.clock.now(), SESSION_MS.min), SESSION_MS.max);
  }

  async #key(signal: AbortSignal): Promise<string> {
    return (await this.#host.http.address({ signal })) ?? "";
  }
}

function noSession(isEachGone: boolean): SourceError {
  const pages = SESSION_PAGES.map(({ type, id }) => `${type}/${id}`).join(" and ");
  const message = isEachGone
    ? `the pages of Spotify that are read for a session (${pages}) are gone: load any link of Spotify first`
    : "Spotify's embed pages have no session of a visitor any more";
  return new SourceError("changed", `${message}${isEachGone ? ", or" : ":"} set plugins.spotify.totp`);
}

function pageOrNone(text: string): Pick<EmbedPage, "entity" | "session"> {
  try {
    return readEmbedPage(text);
  } catch {
    // Any page will do for an item that does not exist.
    return { entity: undefined, session: undefined };
  }
}
