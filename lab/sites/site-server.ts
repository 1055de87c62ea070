// The base of all fake sites: one server on loopback that is several hosts at once (the first part of a path is the
// host), a log of its requests, faults in place of answers, and media behind links that expire. Runs in the process
// that starts it.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request, as a site would see it. */
export interface SiteRequest {
  readonly method: string;
  /** The client's address. */
  readonly from: string;
  /** The host that it was meant for. */
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** An answer; one of `json`, `text`, `bytes`, or none of them. */
export interface SiteAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly json?: unknown;
  readonly text?: string;
  readonly bytes?: Uint8Array;
  /** Then the connection is cut. */
  readonly cutAfterBytes?: number | undefined;
}

/** In place of an answer: no answer at all (`hang`), or the connection is cut (`cut`). */
export type SiteOutcome = SiteAnswer | "hang" | "cut";

/** Answers the requests of a fake site; undefined: 404. */
export type SiteScript = (request: SiteRequest) => SiteOutcome | undefined | Promise<SiteOutcome | undefined>;

/** Replaces the script's answer. */
export interface SiteFault {
  /** Host and path together: `api-v2.soundcloud.com/resolve`. */
  readonly at: RegExp;
  readonly outcome: SiteOutcome | ((request: SiteRequest) => SiteOutcome);
  /** Only for clients with this address. */
  readonly from?: string;
  /** Number of times; default: until it is removed. */
  readonly times?: number;
}

/** A file behind links. */
interface MediaFile {
  /** A function gets the ticket of the link that was used: a playlist adds it to the links it contains. */
  readonly bytes: Uint8Array | ((ticket: string) => Uint8Array);
  readonly mimeType: string;
  /**
   * Each connection is cut after so many bytes of it, as by a site that limits buffering ahead: the rest has to be
   * requested again. (Sockets' buffers take megabytes, so that otherwise no later request would be needed.)
   */
  readonly cutAfterBytes?: number;
}

type WholeFile = MediaFile & { readonly bytes: Uint8Array };

const MEDIA_HOST = "media.stand-in";

export class SiteServer {
  /** Everything asked for so far, in order, media too. */
  readonly requests: SiteRequest[] = [];
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  readonly #server: Server;
  readonly #script: SiteScript;
  readonly #faults: { readonly fault: SiteFault; left: number }[] = [];
  readonly #files = new Map<string, MediaFile>();
  #linkCount = 0;
  #expiredCount = 0;

  static async start(script: SiteScript): Promise<SiteServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new SiteServer(server, script);
  }

  private constructor(server: Server, script: SiteScript) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP
    this.#server = server;
    this.#script = script;
    server.on("request", (request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  /** For `tonearm.hosts`: where each of these hosts is. */
  hosts(...names: readonly string[]): Record<string, string> {
    return Object.fromEntries(names.map((name) => [name, `${this.url}/${name}`]));
  }

  /** From now on it goes wrong there; returns what takes it back. */
  fail(fault: SiteFault): () => void {
    const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#faults.unshift(entry);
    return () => {
      entry.left = 0;
    };
  }

  /** Adds a file for `link`. */
  addMedia(name: string, file: MediaFile): void {
    this.#files.set(name, file);
  }

  /** A link to it that is good until `expireLinks`. */
  link(name: string, query: Readonly<Record<string, string>> = {}): string {
    const url = new URL(`${this.url}/${MEDIA_HOST}/${name}`);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    url.searchParams.set("ticket", String(++this.#linkCount));
    return url.href;
  }

  /** All existing links are answered with 403 from now on, downloads in progress are cut off. */
  expireLinks(): void {
    this.#expiredCount = this.#linkCount;
    this.#server.closeAllConnections();
  }

  /** How often a media file was asked for. */
  mediaRequests(name: string): readonly SiteRequest[] {
    return this.requests.filter(({ host, path }) => host === MEDIA_HOST && path === `/${name}`);
  }

  /** Requests to a host, or to a path of it. */
  requestsTo(host: string, path?: string): readonly SiteRequest[] {
    return this.requests.filter((request) => request.host === host && (path === undefined || request.path === path));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming, this.url);
    this.requests.push(request);
    const outcome = this.#faultFor(request) ??
      (request.host === MEDIA_HOST ? this.#media(request) : await this.#script(request)) ?? { status: 404, json: {} };
    if (outcome === "hang") return;
    if (outcome === "cut") response.destroy();
    else send(outcome, response);
  }

  #faultFor(request: SiteRequest): SiteOutcome | undefined {
    const location = `${request.host}${request.path}`;
    const entry = this.#faults.find(({ fault: { at, from = request.from }, left }) => {
      return left > 0 && at.test(location) && from === request.from;
    });
    if (entry === undefined) return undefined;
    entry.left -= 1;
    const { outcome } = entry.fault;
    return typeof outcome === "function" ? outcome(request) : outcome;
  }

  #media({ path, query, headers }: SiteRequest): SiteAnswer {
    const file = this.#files.get(path.slice(1));
    if (file === undefined) return { status: 404 };
    const ticket = query.get("ticket") ?? "";
    if (Number(ticket) <= this.#expiredCount) return { status: 403, text: "expired" };
    const bytes = typeof file.bytes === "function" ? file.bytes(ticket) : file.bytes;
    return ranged({ ...file, bytes }, headers.range, query.get("range"));
  }
}

async function readRequest(incoming: IncomingMessage, base: string): Promise<SiteRequest> {
  const parts: Buffer[] = [];
  // Destroyed together with the connection.
  const from = incoming.socket.remoteAddress ?? "";
  for await (const part of incoming) parts.push(part as Buffer);
  const url = new URL(incoming.url ?? "/", base);
  const [, host = "", path = "/"] = /^\/([^/]*)(\/.*)?$/.exec(url.pathname) ?? [];
  return {
    method: incoming.method ?? "GET",
    host,
    path,
    query: url.searchParams,
    body: Buffer.concat(parts).toString(),
    from,
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
    ),
  };
}

/** The part that is asked for, by a header or, as googlevideo has it, in the query. */
function ranged(
  { bytes, mimeType, cutAfterBytes }: WholeFile,
  header: string | undefined,
  query: string | null,
): SiteAnswer {
  const [, from, to] = /^(?:bytes=)?(\d+)-(\d*)$/.exec(query ?? header ?? "") ?? [];
  const base = { "content-type": mimeType, "accept-ranges": "bytes", etag: `"${bytes.length}"` };
  if (from === undefined) return { headers: base, bytes, cutAfterBytes };
  const end = to ? Math.min(Number(to) + 1, bytes.length) : bytes.length;
  if (Number(from) >= bytes.length) return { status: 416, headers: { "content-range": `bytes */${bytes.length}` } };
  const part = bytes.subarray(Number(from), end);
  if (query !== null) return { headers: base, bytes: part, cutAfterBytes };
  const headers = { ...base, "content-range": `bytes ${from}-${end - 1}/${bytes.length}` };
  return { status: 206, headers, bytes: part, cutAfterBytes };
}

function send(answer: SiteAnswer, response: ServerResponse): void {
  const { status = 200, headers = {}, json, text, bytes, cutAfterBytes = Number.POSITIVE_INFINITY } = answer;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (json !== undefined) response.setHeader("content-type", "application/json; charset=utf-8");
  const body = Buffer.from(bytes ?? (json === undefined ? (text ?? "") : JSON.stringify(json)));
  response.setHeader("content-length", body.length);
  response.writeHead(status);
  if (body.length <= cutAfterBytes) response.end(body);
  else response.write(body.subarray(0, cutAfterBytes), () => response.socket?.end());
}
