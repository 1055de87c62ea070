// A fake web site for tests, demo and conformance checks: serves files on loopback with every habit and fault that real
// servers have, chosen by path (behaviours.ts) or by a script, and keeps a log of what it was asked.

import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join, normalize, sep } from "node:path";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { type Answer, plainPlan, sendAnswer, statusPlan } from "./answer-plan.ts";
import { BEHAVIOURS } from "./behaviours.ts";

export interface MediaServerOptions {
  /** Folder to serve files from. */
  readonly root?: string;
  /** Files in memory by path without leading slash; they take precedence over those of `root`. */
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
  /** Asked first for every request; undefined leaves it to the path. */
  readonly script?: (request: LoggedRequest) => Answer | undefined;
  /** Where to listen, default 127.0.0.1; `::` is every address of both families. */
  readonly address?: string;
  /** The clock for its faults. Default: the system's. */
  readonly clock?: Clock;
  /** Takes its connections from elsewhere than a port of this machine; returns the port there. */
  readonly listen?: (server: Server) => number;
}

export interface LoggedRequest {
  /** Path and query as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Address it was sent from. */
  readonly from: string;
  /** How often this very path was asked for before. */
  readonly earlierRequests: number;
  /** True once the connection is closed or the answer sent. */
  isOver: boolean;
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  ".mp3": "audio/mpeg",
  ".m4a": "audio/mp4",
  ".mp4": "video/mp4",
  ".aac": "audio/aac",
  ".ogg": "audio/ogg",
  ".opus": "audio/ogg",
  ".flac": "audio/flac",
  ".wav": "audio/wav",
  ".webm": "video/webm",
  ".mka": "audio/x-matroska",
  ".ts": "video/mp2t",
  ".m3u": "audio/x-mpegurl",
  ".m3u8": "application/vnd.apple.mpegurl",
  ".pls": "audio/x-scpls",
  ".txt": "text/plain",
};

/** The size that `/huge` claims. */
const HUGE_SIZE_BYTES = 10_000_000_000;

export class MediaServer {
  /** Everything asked for so far, in order. */
  readonly requests: LoggedRequest[] = [];
  readonly #options: MediaServerOptions;
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  readonly #banned = new Set<string>();
  /** Ends the stalls that wait to be released. */
  #waitingStalls: (() => void)[] = [];

  /** Listens on a free port. */
  static async start(options: MediaServerOptions): Promise<MediaServer> {
    const server = createServer();
    const { address = "127.0.0.1", listen } = options;
    if (listen !== undefined) return new MediaServer(server, `http://127.0.0.1:${listen(server)}`, options);
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    return new MediaServer(server, urlOf(server.address() as AddressInfo), options); // listens on TCP
  }

  private constructor(server: Server, url: string, options: MediaServerOptions) {
    this.url = url;
    this.#options = options;
    this.#server = server;
    server.on("connection", (socket) => {
      this.#connections.add(socket);
      socket.once("close", () => this.#connections.delete(socket));
    });
    server.on("request", (request, response) => {
      this.#answer(request, response).catch((error) => response.destroy(error));
    });
  }

  /** Lets stalled answers continue. */
  release(): void {
    for (const resume of this.#waitingStalls.splice(0)) resume();
  }

  /** Takes against an address, as sites do: cuts its connections, and answers it 429 from now on. */
  ban(address: string): void {
    this.#banned.add(address);
    for (const socket of this.#connections) {
      if (senderOf(socket) === address) socket.destroy();
    }
  }

  /** Forgives an address. */
  unban(address: string): void {
    this.#banned.delete(address);
  }

  async close(): Promise<void> {
    this.release();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const earlierRequests = this.requests.filter((earlier) => earlier.path === path).length;
    const from = senderOf(request.socket);
    const logged: LoggedRequest = { path, headers: request.headers, from, earlierRequests, isOver: false };
    this.requests.push(logged);
    response.once("close", () => {
      logged.isOver = true;
    });
    const url = new URL(path, this.url);
    const isBanned = this.#banned.has(from);
    if (!isBanned && url.pathname.startsWith("/shoutcast/")) return this.#answerAsShoutcast(url.pathname, response);
    const answer = isBanned
      ? statusPlan(429)
      : (this.#options.script?.(logged) ?? (await this.#answerFor(url, logged)));
    const released = (): Promise<void> => new Promise((resolve) => this.#waitingStalls.push(resolve));
    const { clock = systemClock } = this.#options;
    await sendAnswer(request, response, { answer, clock, released });
  }

  async #answerFor(url: URL, request: LoggedRequest): Promise<Answer> {
    const fixed = fixedAnswer(url);
    if (fixed !== undefined) return fixed;
    const [first = "", ...rest] = decodeURIComponent(url.pathname).slice(1).split("/");
    const behaviour = Object.hasOwn(BEHAVIOURS, first) ? BEHAVIOURS[first] : undefined;
    const filePath = behaviour === undefined ? [first, ...rest].join("/") : rest.join("/");
    const file = await this.#file(filePath);
    if (file === undefined) return statusPlan(404);
    const mimeType = MIME_TYPES[extname(filePath).toLowerCase()];
    // `ranges` is in the table.
    return (behaviour ?? BEHAVIOURS.ranges!)({ ...request, path: filePath, file, mimeType });
  }

  async #file(path: string): Promise<Uint8Array | undefined> {
    const { files = {}, root } = this.#options;
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (file !== undefined) return typeof file === "string" ? Buffer.from(file) : file;
    const relativePath = normalize(path);
    if (root === undefined || relativePath.startsWith("..") || relativePath.startsWith(sep)) return undefined;
    // Whatever cannot be read is not there.
    return readFile(join(root, relativePath)).catch(() => undefined);
  }

  /** The status line of old Shoutcast servers, written past node's HTTP. */
  async #answerAsShoutcast(pathname: string, response: ServerResponse): Promise<void> {
    const file = await this.#file(pathname.slice("/shoutcast/".length));
    const head = "ICY 200 OK\r\nicy-name:Old Station\r\nicy-metaint:4\r\ncontent-type:audio/mpeg\r\n\r\n";
    const parts: Uint8Array[] = [Buffer.from(head)];
    for (let at = 0; file !== undefined && at < file.length; at += 4) {
      parts.push(file.subarray(at, at + 4), new Uint8Array(1));
    }
    response.socket?.end(Buffer.concat(parts));
  }
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

/** An IPv4 address in plain, also where both families are listened to. */
function senderOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress.replace(/^::ffff:(?=.*\.)/, "");
}

/** Answers that need no file: `/404`, `/loop`, `/huge`, `/to?URL`. */
function fixedAnswer(url: URL): Answer | undefined {
  if (/^\/[1-5]\d\d$/.test(url.pathname)) return statusPlan(Number(url.pathname.slice(1)));
  if (url.pathname === "/loop") return statusPlan(302, { location: "/loop" });
  if (url.pathname === "/to") return statusPlan(302, { location: decodeURIComponent(url.search.slice(1)) });
  if (url.pathname !== "/huge") return undefined;
  const headers = { "content-type": "audio/mpeg", "content-length": String(HUGE_SIZE_BYTES) };
  return { ...plainPlan(new Uint8Array(0), undefined), headers, body: zeros() };
}

async function* zeros(): AsyncGenerator<Uint8Array> {
  for (let sentBytes = 0; sentBytes < HUGE_SIZE_BYTES; sentBytes += 16_384) yield new Uint8Array(16_384);
}
