// Asks Deezer's public API, which needs no key, within its quota; lists page by page. Errors come with status 200.
// Plugin thread.

import { type Backend, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";

const HOST = "api.deezer.com";
const API = `https://${HOST}/2.0/`;
/** A long list in one answer. */
const SIZE_BYTES_MAX = 32 * 1024 * 1024;
/** Below the quota, which is 50 requests in 5 s from one address. */
const PAGES_MAX = 40;
const QUOTA_PAUSE_MS = 5000;
const MESSAGE_LENGTH_MAX = 200;
const COUNT_MAX = 2 ** 31 - 1;

/** The codes of its errors. */
const QUOTA = 4;
const SERVICE_BUSY = 700;
const NO_DATA = 800;
/** A login is needed: a private playlist, for instance. */
const NO_ACCESS = new Set([200, 300]);

interface ApiRequest {
  readonly signal: AbortSignal;
  readonly query?: Readonly<Record<string, string | number>>;
}

export class DeezerApi {
  readonly #http: PluginHost["http"];
  readonly #backend: Backend;

  constructor({ http, backend }: Pick<PluginHost, "http" | "backend">) {
    this.#http = http;
    this.#backend = backend(HOST);
  }

  /** The object at a path. Rejects with a SourceError: `not-found` where there is no such item. */
  get(path: string, request: ApiRequest): Promise<Members> {
    return this.#get(`${API}${path}`, request);
  }

  /** The first `limit` entries of a list, and how many the API says there are. */
  async list(
    path: string,
    { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<{ readonly entries: readonly Members[]; readonly total: number | undefined }> {
    const entries: Members[] = [];
    const seen = new Set<string>();
    let page = await this.get(path, { signal, query: { limit } });
    const total = countOf(page.total);
    for (;;) {
      if (!Array.isArray(page.data)) throw new SourceError("changed", `${HOST} answered a list without data`);
      entries.push(...objectsOf(page.data, limit - entries.length));
      const next = nextOf(page.next);
      const isOver = listOf(page.data).length === 0 || entries.length >= limit || seen.size >= PAGES_MAX - 1;
      if (next === undefined || seen.has(next) || isOver) return { entries, total };
      seen.add(next);
      page = await this.#get(next, { signal });
    }
  }

  #get(url: string, { signal, query }: ApiRequest): Promise<Members> {
    return this.#backend.run(async () => {
      const answer = await this.#http.json(url, { signal, sizeBytesMax: SIZE_BYTES_MAX, query });
      const json = objectOf(answer);
      if (json === undefined) throw new SourceError("changed", `${HOST} answered JSON that is not an object`);
      throwError(membersOf(json.error));
      return json;
    });
  }
}

/** A whole number from 0, not larger than what clients in other languages can read. */
export function countOf(value: unknown): number | undefined {
  const number = numberOf(value) ?? -1;
  return Number.isInteger(number) && number >= 0 && number <= COUNT_MAX ? number : undefined;
}

/** The address of the next page. Throws for one at another host. */
function nextOf(value: unknown): string | undefined {
  const text = trimmedText(value);
  if (text === undefined) return undefined;
  const url = webAddressIn(text, API);
  if (url?.hostname === HOST) return `https://${HOST}${url.pathname}${url.search}`;
  throw new SourceError("changed", `${HOST} names an address at another host for the next page of a list`);
}

function throwError(error: Members): void {
  if (Object.keys(error).length === 0) return;
  const code = Number(error.code);
  const said = `${trimmedText(error.message) ?? trimmedText(error.type) ?? "an error"} (code ${code})`;
  const message = `Deezer answered: ${said.slice(0, MESSAGE_LENGTH_MAX)}`;
  if (code === NO_DATA) throw new SourceError("not-found", message);
  if (code === QUOTA) {
    const advice = "it allows 50 requests in 5 s from one address; try again in a few seconds";
    throw new SourceError("busy", `${message}; ${advice}`, { retryAfterMs: QUOTA_PAUSE_MS });
  }
  if (code === SERVICE_BUSY) throw new SourceError("busy", message);
  if (NO_ACCESS.has(code)) throw new SourceError("unavailable", `${message}; it may be private, or need a login`);
  throw new SourceError("changed", message);
}
