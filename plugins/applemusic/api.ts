// Asks the API of Apple Music: the public host, or the one of the web site where that refuses; with another token when
// one is refused. Plugin thread.

import { type HttpAnswer, SourceError } from "../../src/plugin-api/plugin.ts";
import {
  listOf,
  type Members,
  membersOf,
  numberOf,
  objectOf,
  objectsOf,
  parsedJson,
  trimmedText,
} from "../reading/json.ts";
import { valueOrTrouble } from "../reading/trouble.ts";
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
const MESSAGE_LENGTH_MAX = 200;
const NO_CONTENT = 204;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const NOT_FOUND = 404;

interface ApiRequest {
  /** Below the catalogue: `us/songs/1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly signal: AbortSignal;
}

interface ListRequest {
  readonly pagesMax: number;
  /** The option that says so. */
  readonly limitOption: string;
  /** How many entries there are, where the list itself does not say it. Never rejects. */
  readonly total: Promise<number | undefined>;
  readonly signal: AbortSignal;
}

interface Page {
  readonly entries: readonly Members[];
  /** The offset of the next page; undefined on the last one. */
  readonly next: number | undefined;
  readonly total: number | undefined;
  /** Why it could not be read. */
  readonly trouble?: SourceError;
}

/** A host does not take the token. */
interface Refusal {
  readonly name: string;
  readonly status: number;
  /** No host takes it. */
  readonly isByAll?: boolean;
}

type Answer = Refusal | { readonly json: Members };

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
    const refused = new Set<string>();
    const refusedByAll: ApiToken[] = [];
    let refusal: Refusal | undefined;
    for (;;) {
      const token = await this.#tokens.next(refused, request.signal);
      if (token === undefined) throw refusalError(refusal);
      const answer = await this.#onHosts(token, request);
      if ("json" in answer) {
        // It is the token, and not the request, that is refused.
        for (const other of refusedByAll) this.#tokens.pause(other);
        return answer.json;
      }
      refusal = answer;
      refused.add(token.token);
      if (answer.isByAll) refusedByAll.push(token);
    }
  }

  /** The item at a path. */
  async item(request: ApiRequest): Promise<Members> {
    const [item] = objectsOf((await this.get(request)).data, 1);
    if (item !== undefined) return item;
    throw new SourceError("not-found", "Apple Music answered no item");
  }

  /**
   * The first `pagesMax` pages of a list: at once as far as the total is known, and one after the other beyond it. What
   * could be read is returned if a later page fails.
   */
  async list(path: string, { pagesMax, limitOption, total, signal }: ListRequest): Promise<Members[]> {
    const limit = Math.min(Math.max(pagesMax, 1), PAGES_MAX);
    const first = await this.#page(path, 0, signal);
    const step = first.next ?? 0;
    const count = step > 0 ? Math.min(Math.ceil((first.total ?? (await total) ?? 0) / step), limit) : 1;
    const pages = [first, ...(await this.#pages(path, { step, count, signal }))];
    let offset = (pages.length - 1) * step;
    for (let next = pages.at(-1)?.next; next !== undefined && next > offset && pages.length < limit; ) {
      const page = await this.#laterPage(path, next, signal);
      pages.push(page);
      offset = next;
      next = page.next;
    }
    const entries = pages.flatMap((page) => page.entries);
    const isCut = pages.length >= limit && (pages.at(-1)?.next ?? 0) > offset;
    const limited = `${limitOption} allows ${limit} pages of up to ${PAGE_ENTRIES} (at most ${PAGES_MAX})`;
    const reason = pages.find(({ trouble }) => trouble)?.trouble?.message ?? (isCut ? limited : undefined);
    if (reason !== undefined) this.#host.log.info(`a list was cut at ${entries.length} songs: ${reason}`);
    return entries;
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
    const page = await valueOrTrouble(this.#page(path, offset, signal), signal);
    if (!(page instanceof SourceError)) return page;
    const none = { entries: [], next: undefined, total: undefined };
    return page.kind === "not-found" ? none : { ...none, trouble: page };
  }

  async #page(path: string, offset: number, signal: AbortSignal): Promise<Page> {
    const json = await this.get({ path, query: { limit: PAGE_ENTRIES, offset }, signal });
    if (!Array.isArray(json.data)) throw new SourceError("changed", "Apple Music answered a list without data");
    const next = trimmedText(json.next);
    const written = Number(/[?&]offset=(\d{1,9})(?:&|$)/.exec(next ?? "")?.[1] ?? offset + json.data.length);
    return {
      entries: objectsOf(json.data, PAGE_ENTRIES),
      next: next === undefined || json.data.length === 0 ? undefined : written,
      total: numberOf(membersOf(json.meta).total),
    };
  }

  async #onHosts(token: ApiToken, request: ApiRequest): Promise<Answer> {
    const refusals: Refusal[] = [];
    let trouble: unknown;
    for (const name of this.#hostsInOrder()) {
      // In the same turn as the request: the breaker may have opened in the meantime.
      const isLeftAlone = this.#host.backend(name).isOpen;
      try {
        const answer = await this.#ask(name, token, request);
        if ("json" in answer) {
          this.#usesOtherHost = name !== HOSTS[0];
          return answer;
        }
        if (answer.status === UNAUTHORIZED && (await this.#tokens.isRenewed(token, request.signal))) return answer;
        refusals.push(answer);
      } catch (error) {
        request.signal.throwIfAborted();
        if (!isWorthTheOther(error, isLeftAlone)) throw error;
        trouble ??= error;
      }
    }
    const [refusal] = refusals;
    if (refusal === undefined) throw trouble;
    if (refusals.every(({ status }) => status === UNAUTHORIZED)) this.#tokens.pause(token);
    return { ...refusal, isByAll: refusals.length === HOSTS.length };
  }

  /** The one that answered last is first, unless its circuit breaker is open. */
  #hostsInOrder(): readonly string[] {
    const [first, other] = this.#usesOtherHost ? [HOSTS[1], HOSTS[0]] : HOSTS;
    return this.#host.backend(first).isOpen && !this.#host.backend(other).isOpen ? [other, first] : [first, other];
  }

  /** A refused token says nothing about the host, so that its circuit breaker counts no failure. */
  #ask(name: string, token: ApiToken, { path, query, signal }: ApiRequest): Promise<Answer> {
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
      const { status } = answer;
      if (status === UNAUTHORIZED || status === FORBIDDEN) return { name, status };
      if (status === NO_CONTENT) throw new SourceError("not-found", `${name} answered HTTP ${status}`);
      if (status === NOT_FOUND && path.endsWith("/search")) throw noStorefront(path);
      if (status < 200 || status > 299) throw errorOf(http.statusError(answer), answer);
      return { json: readAnswer(answer) };
    });
  }
}

function refusalError(refusal: Refusal | undefined): SourceError {
  const { name = "Apple", status = UNAUTHORIZED } = refusal ?? {};
  const advice = "set plugins.applemusic.mediaAPIToken to another";
  return new SourceError("changed", `${name} refuses the token (HTTP ${status}); ${advice}`);
}

function isWorthTheOther(error: unknown, isLeftAlone: boolean): boolean {
  return error instanceof SourceError && (error.kind === "unreachable" || (isLeftAlone && error.kind === "busy"));
}

/** A search that finds nothing is an empty answer: 404 means that the country is wrong. */
function noStorefront(path: string): SourceError {
  const advice = "set plugins.applemusic.countryCode (United Kingdom is gb)";
  return new SourceError("unavailable", `Apple Music has no storefront \`${path.split("/")[0]}\`: ${advice}`);
}

/** With what Apple says of it. */
function errorOf({ kind, message, retryAfterMs }: SourceError, { text }: HttpAnswer): SourceError {
  const said = saidIn(membersOf(parsedJson(text)));
  return new SourceError(kind, said === undefined ? message : `${message}: ${said}`, { retryAfterMs });
}

function saidIn({ errors }: Members): string | undefined {
  const [error] = objectsOf(errors, 1);
  return (trimmedText(error?.detail) ?? trimmedText(error?.title))?.slice(0, MESSAGE_LENGTH_MAX);
}

function readAnswer({ text }: HttpAnswer): Members {
  const json = objectOf(parsedJson(text));
  if (json === undefined) {
    const found = text.trimStart().startsWith("<") ? "a page" : "something else";
    throw new SourceError("changed", `Apple Music's API answered ${found} where a JSON object was expected`);
  }
  const [error] = objectsOf(json.errors, 1);
  if (error === undefined || listOf(json.data).length > 0 || json.results !== undefined) return json;
  throw new SourceError(
    Number(error.status) === 404 ? "not-found" : "changed",
    `Apple Music answered: ${saidIn(json) ?? "an error"}`,
  );
}
