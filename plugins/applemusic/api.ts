// Asks the API of Apple Music: the public host, or the one of the web site where that refuses; with another token when
// one is refused. Plugin thread.

import { type HttpAnswer, SourceError } from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, numberOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import type { AppleTokens, Host } from "./tokens.ts";
import type { ApiToken } from "./web-token.ts";

const HOSTS = ["api.music.apple.com", "amp-api.music.apple.com"] as const;
/** Where a token does not name another. */
const ORIGIN = "https://music.apple.com";
const TIMEOUT_MS = 6000;
const PAGE_ENTRIES = 300;
/** The node keeps 10,000 tracks of a list. */
const PAGES_MAX = 34;
const PAGES_AT_ONCE = 4;

interface ApiRequest {
  /** Below the catalogue: `us/songs/1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly signal: AbortSignal;
}

interface ListRequest {
  readonly pagesMax: number;
  /** How many entries there are, where the list itself does not say it. Never rejects. */
  readonly total: Promise<number | undefined>;
  readonly signal: AbortSignal;
}

interface Page {
  readonly entries: readonly Members[];
  /** The offset of the next page; undefined on the last one. */
  readonly next: number | undefined;
  readonly total: number | undefined;
}

export class AppleMusicApi {
  readonly #host: Host;
  readonly #tokens: AppleTokens;
  #usesOtherHost = false;

  constructor(host: Host, tokens: AppleTokens) {
    this.#host = host;
    this.#tokens = tokens;
  }

  /** The object that the API answers. Rejects with a SourceError: `not-found` where there is no such item. */
  async get(request: ApiRequest): Promise<Members> {
    try {
      return await this.#onHosts(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if ((await this.#tokens.another(error.token, request.signal)) === undefined) throw error;
      return await this.#onHosts(request);
    }
  }

  /** The item at a path. */
  async item(request: ApiRequest): Promise<Members> {
    const [item] = objectsOf((await this.get(request)).data, 1);
    if (item !== undefined) return item;
    throw new SourceError("not-found", "Apple Music answered no item");
  }

  /** The first `pagesMax` pages of a list: at once as far as the total is known, and one after the other beyond it. */
  async list(path: string, { pagesMax, total, signal }: ListRequest): Promise<Members[]> {
    const limit = Math.min(Math.max(pagesMax, 1), PAGES_MAX);
    const first = await this.#page(path, 0, signal);
    const step = first.next ?? 0;
    const count = step > 0 ? Math.min(Math.ceil((first.total ?? (await total) ?? 0) / step), limit) : 1;
    const pages = [first, ...(await this.#pages(path, { step, count, signal }))];
    let offset = (pages.length - 1) * step;
    for (let next = pages.at(-1)?.next; next !== undefined && next > offset && pages.length < limit; ) {
      const page = await this.#page(path, next, signal);
      pages.push(page);
      offset = next;
      next = page.entries.length === 0 ? undefined : page.next;
    }
    return pages.flatMap(({ entries }) => entries);
  }

  /** From the second to the one before `count`, by fours. */
  async #pages(
    path: string,
    { step, count, signal }: { readonly step: number; readonly count: number; readonly signal: AbortSignal },
  ): Promise<Page[]> {
    const pages: Page[] = [];
    for (let index = 1; index < count; index += PAGES_AT_ONCE) {
      const indexes = Array.from({ length: Math.min(PAGES_AT_ONCE, count - index) }, (_, at) => index + at);
      pages.push(...(await Promise.all(indexes.map((at) => this.#laterPage(path, at * step, signal)))));
      // The total was wrong.
      if (pages.at(-1)?.next === undefined) break;
    }
    return pages;
  }

  /** A page behind the last one does not exist. */
  async #laterPage(path: string, offset: number, signal: AbortSignal): Promise<Page> {
    try {
      return await this.#page(path, offset, signal);
    } catch (error) {
      if (!(error instanceof SourceError) || error.kind !== "not-found") throw error;
      return { entries: [], next: undefined, total: undefined };
    }
  }

  async #page(path: string, offset: number, signal: AbortSignal): Promise<Page> {
    const json = await this.get({ path, query: { limit: PAGE_ENTRIES, offset }, signal });
    if (!Array.isArray(json.data)) throw new SourceError("changed", "Apple Music answered a list without data");
    const next = trimmedText(json.next);
    const written = Number(/[?&]offset=(\d{1,9})(?:&|$)/.exec(next ?? "")?.[1] ?? offset + json.data.length);
    return {
      entries: objectsOf(json.data, PAGE_ENTRIES),
      next: next === undefined ? undefined : written,
      total: numberOf(membersOf(json.meta).total),
    };
  }

  async #onHosts(request: ApiRequest): Promise<Members> {
    let trouble: unknown;
    for (const name of this.#hostsInOrder()) {
      try {
        const json = await this.#onHost(name, request);
        this.#usesOtherHost = name !== HOSTS[0];
        return json;
      } catch (error) {
        request.signal.throwIfAborted();
        if (!(error instanceof Refusal) && !(error instanceof SourceError && error.kind === "unreachable")) throw error;
        if (!(trouble instanceof Refusal)) trouble = error;
      }
    }
    throw trouble;
  }

  /** The one that answered last is first, unless its circuit breaker is open. */
  #hostsInOrder(): readonly string[] {
    const [first, other] = this.#usesOtherHost ? [HOSTS[1], HOSTS[0]] : HOSTS;
    return this.#host.backend(first).isOpen && !this.#host.backend(other).isOpen ? [other, first] : [first, other];
  }

  async #onHost(name: string, request: ApiRequest): Promise<Members> {
    const token = await this.#tokens.current(request.signal);
    try {
      return await this.#ask(name, token, request);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 401 || this.#tokens.isOwn(token)) throw error;
      const other = await this.#tokens.another(token, request.signal);
      if (other === undefined) throw error;
      return await this.#ask(name, other, request);
    }
  }

  #ask(name: string, token: ApiToken, { path, query, signal }: ApiRequest): Promise<Members> {
    const { http } = this.#host;
    return this.#host.backend(name).run(async () => {
      const answer = await http.request(`https://${name}/v1/catalog/${path}`, {
        signal,
        timeoutMs: TIMEOUT_MS,
        query,
        redirect: "manual",
        headers: {
          accept: "application/json",
          authorization: `Bearer ${token.token}`,
          origin: token.origin ?? ORIGIN,
        },
      });
      if (answer.status === 401 || answer.status === 403) throw new Refusal(name, answer.status, token);
      if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
      return readAnswer(answer);
    });
  }
}

/** Apple does not take the token. */
class Refusal extends SourceError {
  readonly status: number;
  readonly token: ApiToken;

  constructor(name: string, status: number, token: ApiToken) {
    super("changed", `${name} refuses the token (HTTP ${status}); set plugins.applemusic.mediaAPIToken to another`);
    this.status = status;
    this.token = token;
  }
}

function readAnswer({ text }: HttpAnswer): Members {
  const json = objectOf(parsed(text));
  if (json === undefined) {
    const found = text.trimStart().startsWith("<") ? "a page" : "something else";
    throw new SourceError("changed", `Apple Music's API answered ${found} where a JSON object was expected`);
  }
  const [error] = objectsOf(json.errors, 1);
  if (error === undefined || listOf(json.data).length > 0 || json.results !== undefined) return json;
  const said = (trimmedText(error.detail) ?? trimmedText(error.title) ?? "an error").slice(0, 200);
  throw new SourceError(Number(error.status) === 404 ? "not-found" : "changed", `Apple Music answered: ${said}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says what it is instead.
    return undefined;
  }
}
