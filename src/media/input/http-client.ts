// One HTTP GET for inputs: guarded connection, redirects followed by hand, every wait bounded, failures in words a user
// can act on. Byte sources, playlists, segments and keys all use it. The source address is chosen by
// outgoing-routes.ts, where the operator has address blocks. Audio thread.

import { errors } from "undici";
import type { Egress } from "../../bridge/playable-link.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { describeUrl, serverOf } from "../../lib/parse-url.ts";
import { DispatcherPool } from "../../network/dispatcher-pool.ts";
import { followRedirects, type Hop, headersFor } from "../../network/follow-redirects.ts";
import type { OutboundGuard } from "../../network/outbound-guard.ts";
import type { OutgoingRoutes } from "../../network/outgoing-routes.ts";
import { isBadAnswer, resendStale } from "../../network/resend-stale.ts";
import type { Sockets } from "../../network/sockets.ts";
import { type ConnectionShare, ConnectionShares } from "./connection-shares.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { barredError, connectionError, isUnreadable } from "./http-errors.ts";
import { exchange } from "./http-exchange.ts";
import { parseInputUrl } from "./input-url.ts";
import type { RequestPace } from "./request-pace.ts";
import { requestShoutcast } from "./shoutcast-client.ts";

export interface HttpRequest {
  readonly url: URL;
  /**
   * Names in lower case. Sent as they are, except that a redirect to another site removes secrets; the client adds user
   * agent, accept, accept-encoding and credentials where they are missing.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** URL that the secrets belong to, if `url` is the target of an earlier redirect. Default: `url`. */
  readonly headersOf?: URL | undefined;
  readonly signal: AbortSignal;
  /** Request pace of the track. */
  readonly pace: RequestPace;
  /** A server of the operator's own, `host:port`, that this request may reach wherever it is; redirects as well. */
  readonly ownServer?: string | undefined;
  /** Default: as the client has it. */
  readonly egress?: Egress | undefined;
}

export interface HttpClientOptions {
  readonly guard: OutboundGuard;
  /** Default: undici's own. */
  readonly createConnector?: Sockets["createConnector"];
  readonly settings: WorkerSettings["http"];
  readonly clock: Clock;
  /** Undefined: every request leaves from the machine's own address. */
  readonly routes?: OutgoingRoutes | undefined;
  /** Egress of requests without one. Default: `blocks`. */
  readonly egress?: Egress | undefined;
}

/** As browsers follow; podcasts pass through several trackers. */
const REDIRECTS_MAX = 20;
/** All hops together may take so many times what one may. */
const ALL_HOPS_FACTOR = 3;

/** Servers with unreadable answers that are remembered. */
const UNREADABLE_MAX = 256;

/** A dispatcher and the egress of its connections. */
interface ClientPool {
  readonly guard: OutboundGuard;
  readonly dispatchers: DispatcherPool;
  readonly isProxied: boolean;
}

/** Made once per worker; its idle connections are shared by all inputs. */
export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #pool: ClientPool;
  /** For tracks of the operator's servers: no other track may use these connections, open or idle. */
  readonly #ownPools = new Map<string, ClientPool>();
  /** Keyed by proxy, for tracks of plugins with a separate proxy. */
  readonly #proxyPools = new Map<string, ClientPool>();
  readonly #shares: ConnectionShares;
  /** Servers, `host:port`, whose answers undici does not take: they are asked by the lenient client at once. */
  readonly #unreadable = new Set<string>();

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#shares = new ConnectionShares(options.clock);
    this.#pool = this.#openPool(options.guard);
  }

  /**
   * Sends a GET and follows up to twenty redirects.
   * @throws NodeError "address-refused", "input-unreachable", "input-redirects", "input-url-invalid",
   * "input-site-busy", "routes-exhausted", "link-refused" where the one address that it may leave from is barred
   */
  async get(request: HttpRequest): Promise<HttpAnswer> {
    const { url, headers = {}, headersOf = url } = request;
    const first: Hop = { url, method: "GET", headers: headersFor(headers, { from: headersOf, to: url }) };
    const startedMs = this.#options.clock.now();
    const { answer } = await followRedirects(first, {
      redirectsMax: REDIRECTS_MAX,
      send: (hop) => this.#getHop(hop, request, startedMs),
      parseTarget: parseInputUrl,
      tooMany: (count) => new NodeError("input-redirects", `loading ${describeUrl(url)}: more than ${count} redirects`),
    });
    return answer;
  }

  close(): void {
    const pools = [this.#pool, ...this.#ownPools.values(), ...this.#proxyPools.values()];
    for (const { dispatchers } of pools) dispatchers.close();
    this.#ownPools.clear();
    this.#proxyPools.clear();
  }

  #noteUnreadable(server: string): void {
    this.#unreadable.delete(server);
    this.#unreadable.add(server);
    for (const oldest of this.#unreadable) {
      if (this.#unreadable.size <= UNREADABLE_MAX) return;
      this.#unreadable.delete(oldest);
    }
  }

  #openPool(guard: OutboundGuard, proxyUrl = this.#options.settings.proxyUrl): ClientPool {
    const { createConnector, settings } = this.#options;
    const { connectTimeoutMs, socketTimeoutMs } = settings;
    return {
      guard,
      isProxied: proxyUrl !== undefined,
      dispatchers: new DispatcherPool({ guard, createConnector, connectTimeoutMs, socketTimeoutMs, proxyUrl }),
    };
  }

  #poolFor(url: URL, { ownServer, egress }: HttpRequest): ClientPool {
    if (ownServer === undefined || ownServer !== serverOf(url)) return this.#poolVia(egress);
    const pool = this.#ownPools.get(ownServer) ?? this.#openPool(this.#options.guard.withOwnServer(ownServer));
    // Few: the operator has written them down.
    this.#ownPools.set(ownServer, pool);
    return pool;
  }

  #poolVia(egress: Egress | undefined): ClientPool {
    if (!hasProxy(egress)) return this.#pool;
    const { proxyUrl } = egress;
    const pool = this.#proxyPools.get(proxyUrl) ?? this.#openPool(this.#options.guard, proxyUrl);
    // Few: the operator has written these down, too.
    this.#proxyPools.set(proxyUrl, pool);
    return pool;
  }

  async #getHop({ url, headers }: Hop, request: HttpRequest, startedMs: number): Promise<HttpAnswer> {
    if (this.#options.clock.now() - startedMs > this.#answerMsMax * ALL_HOPS_FACTOR) {
      throw connectionError(url, new Error("its redirects took too long"));
    }
    await request.pace.next(request.signal);
    const { cookies } = request.pace.budget;
    const nowMs = this.#options.clock.epochMs();
    const { cookie: own, ...others } = headers;
    const cookie = cookies.headerFor(url, { own, nowMs });
    const answer = await this.#getRouted(url, {
      ...request,
      headers: cookie === undefined ? others : { ...others, cookie },
    });
    cookies.note(url, answer.headers, nowMs);
    return answer;
  }

  async #getRouted(url: URL, request: HttpRequest): Promise<HttpAnswer> {
    const { routes, egress: usual = "blocks" } = this.#options;
    const { egress = usual, signal } = request;
    // Servers of the operator's own are not sites: they are asked from the machine's own address.
    const isOwn = egress === "machine" || request.ownServer === serverOf(url);
    if (routes === undefined || isOwn || hasProxy(egress)) return this.#getOnce(url, request, undefined);
    const { owner } = request.pace.budget;
    const routed = {
      url,
      owner,
      signal,
      sendFrom: (address: string | undefined) => this.#getOnce(url, request, address),
    };
    try {
      if (egress === "blocks") return await routes.request(routed);
      const answer = await routes.requestFrom(egress.address, routed);
      if (answer === undefined) throw barredError(url);
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      throw connectionError(url, error);
    }
  }

  /** How long an answer may take, from connecting to its head. */
  get #answerMsMax(): number {
    return this.#options.settings.connectTimeoutMs + this.#options.settings.socketTimeoutMs;
  }

  async #getOnce(url: URL, request: HttpRequest, localAddress: string | undefined): Promise<HttpAnswer> {
    const share = await this.#shares.take(url.host, {
      owner: request.pace.budget.owner,
      waitMsMax: this.#answerMsMax,
      signal: request.signal,
    });
    try {
      const answer = await this.#answerTo(url, request, localAddress);
      share.opened();
      return { ...answer, body: new SharedBody(answer.body, share, request.signal) };
    } catch (error) {
      share.release();
      throw error;
    }
  }

  async #answerTo(url: URL, request: HttpRequest, localAddress: string | undefined): Promise<HttpAnswer> {
    const { settings, clock } = this.#options;
    const { guard, dispatchers, isProxied } = this.#poolFor(url, request);
    const waitMs = this.#answerMsMax;
    const silence = new AbortController();
    const timer = clock.after(waitMs, () => silence.abort(new Error(`no answer within ${waitMs} ms`)));
    const signal = AbortSignal.any([request.signal, silence.signal]);
    const headers = { ...this.#baseHeaders(url), ...request.headers };
    const { budget } = request.pace;
    const server = serverOf(url);
    const askLeniently = (): Promise<HttpAnswer> =>
      requestShoutcast({ url, headers, signal, guard, clock, settings, localAddress, budget });
    const dispatch = (): Promise<HttpAnswer> => {
      const dispatcher = dispatchers.get(localAddress);
      const { portions } = dispatchers;
      return exchange(dispatcher, {
        url,
        headers,
        signal,
        clock,
        portions,
        timeoutMs: settings.socketTimeoutMs,
        budget,
      });
    };
    try {
      // Not through a proxy; and servers of the operator's own are to speak HTTP.
      if (isProxied || guard.hasOwnServers) return await resendStale("GET", dispatch);
      if (this.#unreadable.has(server)) return await askLeniently();
      const answer = await resendStale("GET", dispatch).catch((error) => {
        if (!isUnreadableHead(error)) throw error;
        this.#noteUnreadable(server);
        return askLeniently();
      });
      return { ...answer, body: new WatchedBody(answer.body, () => this.#noteUnreadable(server)) };
    } catch (error) {
      request.signal.throwIfAborted();
      throw connectionError(url, error);
    } finally {
      timer.cancel();
    }
  }

  #baseHeaders(url: URL): Record<string, string> {
    const headers: Record<string, string> = {
      "user-agent": this.#options.settings.userAgent,
      accept: "*/*",
      "accept-encoding": "identity",
    };
    if (url.username !== "" || url.password !== "") headers.authorization = basicCredentials(url);
    return headers;
  }
}

function basicCredentials(url: URL): string {
  const text = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
  return `Basic ${Buffer.from(text, "utf8").toString("base64")}`;
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone percent sign is meant as it stands.
    return text;
  }
}

function hasProxy(egress: Egress | undefined): egress is Extract<Egress, { readonly proxyUrl: string }> {
  return typeof egress === "object" && "proxyUrl" in egress;
}

/** An answer that undici does not take: "ICY 200 OK" of old Shoutcast servers, a repeated length, 1xx unasked. */
function isUnreadableHead(error: unknown): boolean {
  // The parser's name for a length that it has put together from two.
  return isUnreadable(error) || isBadAnswer(error) || error instanceof errors.ResponseContentLengthMismatchError;
}

/** A body that reports when its framing cannot be read: it is read leniently when it is requested again. */
class WatchedBody implements HttpBody {
  readonly #body: HttpBody;
  readonly #onUnreadable: () => void;

  constructor(body: HttpBody, onUnreadable: () => void) {
    this.#body = body;
    this.#onUnreadable = onUnreadable;
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    try {
      return await this.#body.next(timeoutMs);
    } catch (error) {
      if (isUnreadable(error)) this.#onUnreadable();
      throw error;
    }
  }

  cancel(): void {
    this.#body.cancel();
  }
}

/** A body that holds its share of the connections until it is over. */
class SharedBody implements HttpBody {
  readonly #body: HttpBody;
  readonly #share: ConnectionShare;
  readonly #stopListening: () => void;

  constructor(body: HttpBody, share: ConnectionShare, signal: AbortSignal) {
    this.#body = body;
    this.#share = share;
    // An unneeded body is usually just abandoned.
    this.#stopListening = onAbort(signal, () => share.release());
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    try {
      const chunk = await this.#body.next(timeoutMs);
      if (chunk === undefined) this.#release();
      return chunk;
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  cancel(): void {
    this.#release();
    this.#body.cancel();
  }

  #release(): void {
    this.#stopListening();
    this.#share.release();
  }
}
