// A plugin's HTTP client: guarded connections, redirects followed by hand, bounded bodies and waits, failures as
// SourceErrors without secrets. Plugin thread; the audio itself is fetched by audio workers.

import type { Dispatcher } from "undici";
import type { PluginSettings } from "../../../bridge/plugin-messages.ts";
import { NodeError, rootCause } from "../../../errors.ts";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { describeUrl, parseUrl } from "../../../lib/parse-url.ts";
import type { DispatcherPool } from "../../../network/dispatcher-pool.ts";
import { followRedirects, type Hop } from "../../../network/follow-redirects.ts";
import type { RoutedRequest } from "../../../network/outgoing-routes.ts";
import { resendStale } from "../../../network/resend-stale.ts";
import {
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
  type JsonMembers,
  SourceError,
} from "../../../plugin-api/plugin.ts";
import { currentOwners } from "../current-work.ts";
import { BodyMemory } from "./body-memory.ts";
import { readHttpBody } from "./http-body.ts";
import { OwnLimitError } from "./own-limit-error.ts";
import { Semaphore } from "./semaphore.ts";

const REQUESTS_MAX = 32;
const WAITING_MAX = 512;
/** So long one account may hold a request while others wait that have fewer. Nearly all finish sooner. */
const YIELD_AFTER_MS = 2000;
const TIMEOUT_MS = 10_000;
const SIZE_BYTES_MAX = 8 * 1024 * 1024;
const SIZE_BYTES_LIMIT = 64 * 1024 * 1024;
/** However many large bodies are being read, each body has space for this much … */
const LITTLE_BYTES = 512 * 1024;
const LITTLE_BYTES_OF_ALL = REQUESTS_MAX * LITTLE_BYTES;
/**
 * … and all together have this much, with space for one of the largest. Twice that, since in the end each is copied
 * into one buffer, is less than the buffers that a plugin's thread may have.
 */
const BODIES_BYTES_MAX = SIZE_BYTES_LIMIT + LITTLE_BYTES_OF_ALL;
const REDIRECTS_MAX = 5;
const REDIRECTS_LIMIT = 10;
/** Longest `retry-after` that is trusted. */
const RETRY_AFTER_MS_MAX = 60 * 60_000;

/** A site's answer, its body not read yet. */
interface SentAnswer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: { cancel(): void };
  readonly data: Dispatcher.ResponseData;
}

/** Decides from where a request is sent, once or several times. */
export type Leave = (request: RoutedRequest<SentAnswer>) => Promise<SentAnswer>;

interface PluginHttpOptions {
  readonly dispatchers: Pick<DispatcherPool, "get">;
  /** Default: once, from the machine's own address. */
  readonly leave?: Leave | undefined;
  /** Default: the machine's own. */
  readonly currentAddress?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  readonly settings: Pick<PluginSettings, "hosts" | "http">;
  readonly clock: Clock;
}

/** One for a plugin. */
export class PluginHttpClient implements HttpClient {
  readonly #options: PluginHttpOptions;
  readonly #semaphore: Semaphore;
  readonly #bodies = new BodyMemory({
    limitBytes: BODIES_BYTES_MAX,
    bodyBytesMax: SIZE_BYTES_LIMIT,
    littleBytes: LITTLE_BYTES,
    littleBytesOfAll: LITTLE_BYTES_OF_ALL,
  });

  constructor(options: PluginHttpOptions) {
    this.#options = options;
    const bounds = { runningMax: REQUESTS_MAX, waitingMax: WAITING_MAX, yieldAfterMs: YIELD_AFTER_MS };
    this.#semaphore = new Semaphore(options.clock, { ...bounds, what: "requests" });
  }

  async request(url: string, request: HttpRequest): Promise<HttpAnswer> {
    const { clock } = this.#options;
    const { signal, timeoutMs = TIMEOUT_MS } = request;
    signal.throwIfAborted();
    const first = firstHop(url, request, this.#options.settings.http.userAgent);
    const late = new AbortController();
    // Includes the wait for a permit, so that the caller gets an answer by then.
    const timer = clock.after(timeoutMs, () => late.abort(new Error(`no whole answer within ${timeoutMs} ms`)));
    const ended = AbortSignal.any([signal, late.signal]);
    let isSent = false;
    const send = (permitted: AbortSignal): Promise<HttpAnswer> => {
      isSent = true;
      return this.#follow(first, request, permitted);
    };
    try {
      return await this.#semaphore.run(send, { signal: ended });
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted && !isSent) {
        throw new OwnLimitError(`all ${REQUESTS_MAX} concurrent requests of this plugin were busy for too long`);
      }
      throw error instanceof SourceError ? error : unreachable(first.url, error);
    } finally {
      timer.cancel();
      // Bodies of redirects may still be coming in.
      late.abort();
    }
  }

  async json<Value = unknown>(url: string, request: HttpRequest): Promise<Value> {
    const headers = { accept: "application/json", ...request.headers };
    const text = await this.text(url, { ...request, headers });
    try {
      // The caller checks its type: nothing is trusted here.
      return JSON.parse(text) as Value;
    } catch {
      const found = text.trimStart().startsWith("<") ? "a page" : "something else";
      throw new SourceError("changed", `${describe(url)} answered ${found} where JSON was expected`);
    }
  }

  async text(url: string, request: HttpRequest): Promise<string> {
    const answer = await this.request(url, request);
    if (answer.status < 200 || answer.status > 299) throw this.statusError(answer);
    return answer.text;
  }

  async address({ signal }: { readonly signal: AbortSignal }): Promise<string | undefined> {
    try {
      return await this.#options.currentAddress?.(signal);
    } catch (error) {
      signal.throwIfAborted();
      throw unsent(error);
    }
  }

  statusError({ status, headers, url }: HttpAnswer): SourceError {
    const message = `${describe(url)} answered HTTP ${status}`;
    if (status === 404 || status === 410) return new SourceError("not-found", message);
    const isBusy = status === 429 || status >= 500;
    const retryAfterMs = isBusy ? retryAfterOf(headers["retry-after"], this.#options.clock) : undefined;
    return new SourceError(isBusy ? "busy" : "unavailable", message, { retryAfterMs });
  }

  async #follow(first: Hop, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const send = (hop: Hop) => this.#send(hop, request, signal);
    if (request.redirect === "manual") return this.#read(await send(first), first.url, request);
    const { redirectsMax = REDIRECTS_MAX } = request;
    const { answer, hop } = await followRedirects(first, {
      // `|| 0`: NaN, too, means none.
      redirectsMax: Math.max(0, Math.min(redirectsMax, REDIRECTS_LIMIT) || 0),
      send,
      parseTarget,
      tooMany: (count) =>
        new SourceError("changed", `${describe(first.url.href)} goes through more than ${count} redirects`),
    });
    return this.#read(answer, hop.url, request);
  }

  /** Sends one request; `hop` has the address as the plugin knows it. */
  async #send(hop: Hop, { cookies }: HttpRequest, signal: AbortSignal): Promise<SentAnswer> {
    const { dispatchers, settings, clock, leave = fromThisMachine } = this.#options;
    const { url, method, body } = hop;
    const target = replaced(url, settings.hosts);
    const cookie = cookies?.headerFor(url.href);
    const headers = cookie === undefined ? hop.headers : { ...hop.headers, cookie };
    const send = (localAddress: string | undefined) =>
      dispatchers.get(localAddress).request({
        origin: target.origin,
        path: `${target.pathname}${target.search}`,
        method,
        headers,
        signal,
        ...(body !== undefined && { body }),
      });
    const sendFrom = async (localAddress: string | undefined): Promise<SentAnswer> => {
      const data = await resendStale(method, () => send(localAddress));
      const cancel = (): void => void data.body.dump().catch(() => undefined);
      return { status: data.statusCode, headers: data.headers, body: { cancel }, data };
    };
    const answer = await leave({ url: target, site: url.host, sendFrom, signal });
    for (const setCookie of [answer.headers["set-cookie"] ?? []].flat()) {
      cookies?.take(url.href, setCookie, clock.epochMs());
    }
    return answer;
  }

  async #read(
    { data: answer }: SentAnswer,
    url: URL,
    { sizeBytesMax = SIZE_BYTES_MAX }: HttpRequest,
  ): Promise<HttpAnswer> {
    const bytesMax = Math.min(sizeBytesMax, SIZE_BYTES_LIMIT);
    const noMemory = (): OwnLimitError =>
      new OwnLimitError(`${describe(url.href)}: this plugin receives too much at once`);
    const { bytes, text } = await readHttpBody(answer, {
      sizeBytesMax: bytesMax,
      tooLarge: () =>
        new SourceError("changed", `${describe(url.href)} sent more than ${bytesMax} bytes`, { isTooLarge: true }),
      memory: this.#bodies.open(currentOwners().all[0] ?? [], noMemory),
    });
    return { status: answer.statusCode, headers: joined(answer.headers), url: url.href, text, bytes };
  }
}

/** Scheme, host and path: what follows may be a secret. */
function describe(url: string): string {
  const parsed = parseUrl(url);
  return parsed === undefined ? "an invalid address" : describeUrl(parsed);
}

function firstHop(text: string, { query = {}, headers = {}, body, method }: HttpRequest, userAgent: string): Hop {
  const url = parseUrl(text);
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new SourceError("invalid", "the address of a request is invalid; it has to begin with https:// or http://");
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const sent = bodyOf(body);
  const all: Record<string, string> = {
    "user-agent": userAgent,
    accept: "*/*",
    "accept-encoding": "gzip, deflate, br",
    ...(sent.type !== undefined && { "content-type": sent.type }),
  };
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name.toLowerCase()] = value;
  }
  return { url, method: method ?? (sent.text === undefined ? "GET" : "POST"), headers: all, body: sent.text };
}

function bodyOf(body: HttpRequest["body"]): { readonly text?: string; readonly type?: string } {
  if (body === undefined) return {};
  if (typeof body === "string") return { text: body };
  if (body instanceof URLSearchParams) return { text: body.toString(), type: "application/x-www-form-urlencoded" };
  return { text: JSON.stringify(body satisfies JsonMembers | readonly unknown[]), type: "application/json" };
}

function parseTarget(location: string, from: URL): URL {
  const to = parseUrl(location, from.href);
  if (to !== undefined && (to.protocol === "https:" || to.protocol === "http:")) return to;
  throw new SourceError("changed", `${describe(from.href)} redirects to an invalid address`);
}

/** Applies the operator's replacement of a host. */
function replaced(url: URL, hosts: Readonly<Record<string, string>>): URL {
  const base = Object.hasOwn(hosts, url.hostname) ? parseUrl(hosts[url.hostname]!) : undefined; // it has it
  if (base === undefined) return url;
  return new URL(`${base.pathname.replace(/\/$/, "")}${url.pathname}${url.search}`, base.origin);
}

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(", ")]],
    ),
  );
}

function retryAfterOf(text: string | undefined, clock: Clock): number | undefined {
  if (text === undefined) return undefined;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.epochMs();
  return waitMs > 0 ? Math.min(waitMs, RETRY_AFTER_MS_MAX) : undefined;
}

const fromThisMachine: Leave = ({ sendFrom }) => sendFrom(undefined);

/** No address to send from was available. */
function unsent(error: unknown): SourceError {
  return new SourceError("busy", messageOf(error), { cause: error });
}

function unreachable(url: URL, error: unknown): SourceError {
  if (error instanceof NodeError && error.code === "routes-exhausted") return unsent(error);
  const root = rootCause(error);
  const known = [error, root].find((candidate) => candidate instanceof NodeError);
  const reason = known ?? root;
  const text = messageOf(reason);
  return new SourceError("unreachable", `${describe(url.href)} cannot be reached: ${text}`, { cause: error });
}
