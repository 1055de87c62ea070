// Asks Deezer's public API, which needs no key, within its quota; lists page by page. Errors come with status 200.
// Plugin thread.

import { type Backend, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { throwDeezerError } from "../reading/deezer-error.ts";
import { type Members, objectOf, objectsOf, parsedJson, trimmedText } from "../reading/json.ts";
import { valueOrTrouble } from "../reading/trouble.ts";

const HOST = "api.deezer.com";
const API = `https://${HOST}/2.0/`;
/** A long list in one answer. */
const SIZE_BYTES_MAX = 32 * 1024 * 1024;
/** Below the quota, which is 50 requests in 5 s from one address. */
const PAGES_MAX = 40;
const NO_CONTENT = 204;

interface ApiRequest {
  readonly signal: AbortSignal;
  readonly query?: Readonly<Record<string, string | number>>;
}

interface PageRequest {
  readonly limit: number;
  readonly index: number;
  readonly signal: AbortSignal;
}

interface Page {
  readonly entries: readonly Members[];
  /** What the API says. */
  readonly total: unknown;
  /** The index of the next page's first entry; undefined: there is none. */
  readonly next: number | undefined;
}

type List = Pick<Page, "entries" | "total">;

export class DeezerApi {
  readonly #host: Pick<PluginHost, "http" | "log">;
  readonly #backend: Backend;

  constructor(host: Pick<PluginHost, "http" | "backend" | "log">) {
    this.#host = host;
    this.#backend = host.backend(HOST);
  }

  /** The object at a path. Rejects with a SourceError: `not-found` where there is no such item. */
  get(path: string, { signal, query }: ApiRequest): Promise<Members> {
    const { http } = this.#host;
    return this.#backend.run(async () => {
      const request = { signal, sizeBytesMax: SIZE_BYTES_MAX, query, headers: { accept: "application/json" } };
      const answer = await http.request(`${API}${path}`, request);
      const { status } = answer;
      if (status === NO_CONTENT) throw new SourceError("not-found", `${HOST} answered HTTP ${status}`);
      if (status < 200 || status > 299) throw http.statusError(answer);
      const json = objectOf(parsedJson(answer.text));
      if (json === undefined) throw new SourceError("changed", `${HOST} answered something that is not a JSON object`);
      throwDeezerError(json);
      return json;
    });
  }

  /**
   * The first `limit` entries of a list, and how many the API says there are. What could be read is returned if a later
   * page fails.
   */
  async list(path: string, { limit, signal }: { readonly limit: number; readonly signal: AbortSignal }): Promise<List> {
    const entries: Members[] = [];
    let page = await this.#page(path, { limit, index: 0, signal });
    const { total } = page;
    for (let count = 1, index = 0; ; count++) {
      entries.push(...page.entries.slice(0, limit - entries.length));
      const { next } = page;
      if (next === undefined || next <= index || entries.length >= limit) break;
      index = next;
      const later =
        count < PAGES_MAX
          ? await valueOrTrouble(this.#page(path, { limit, index, signal }), signal)
          : new SourceError("unavailable", `${PAGES_MAX} requests`);
      if (later instanceof SourceError) {
        this.#host.log.info(`a list was cut at ${entries.length} tracks: ${later.message}`);
        break;
      }
      page = later;
    }
    return { entries, total };
  }

  async #page(path: string, { limit, index, signal }: PageRequest): Promise<Page> {
    const { data, total, next } = await this.get(path, { signal, query: { limit, ...(index > 0 && { index }) } });
    if (!Array.isArray(data)) throw new SourceError("changed", `${HOST} answered a list without data`);
    const hasMore = data.length > 0 && trimmedText(next) !== undefined;
    return {
      entries: objectsOf(data, limit),
      total,
      next: hasMore ? (indexOf(String(next)) ?? index + data.length) : undefined,
    };
  }
}

/** Of the address of the next page, only the parameter is taken. */
function indexOf(next: string): number | undefined {
  const [, digits] = /[?&]index=(\d{1,9})(?:&|$)/.exec(next.trim()) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
