// A raw REST client: sends exactly the given headers and bytes, and returns the whole answer.

import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** The result of JSON.parse: checks inspect answers of every shape. */
export type Json = ReturnType<JSON["parse"]>;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; undefined when it is no JSON. Numbers beyond 2^53 lose digits. */
  readonly json: Json;
}

export interface RequestOptions {
  /** Objects are sent as JSON with its content type, text unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null sends no Authorization header. Default: the right one. */
  readonly password?: string | null;
  /** Ends the request, and its connection. */
  readonly signal?: AbortSignal;
}

const REPLY_TIMEOUT_MS = 15_000;

export class NodeClient {
  readonly url: string;
  readonly password: string;
  readonly #connection: { readonly localAddress?: string };

  /** `localAddress`: where its connections come from. */
  constructor(url: string, password: string, connection: { readonly localAddress?: string } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.password = password;
    this.#connection = connection;
  }

  request(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
    const { body, password = this.password } = options;
    const isText = typeof body === "string";
    const text = body === undefined || isText ? body : JSON.stringify(body);
    const headers = {
      ...(password === null ? {} : { Authorization: password }),
      ...(body === undefined || isText ? {} : { "Content-Type": "application/json" }),
      ...(text === undefined ? {} : { "Content-Length": String(Buffer.byteLength(text)) }),
      ...options.headers,
    };
    const send = this.url.startsWith("https:") ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const request = send(`${this.url}${path}`, {
        ...this.#connection,
        method,
        headers,
        agent: false,
        timeout: REPLY_TIMEOUT_MS,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      request.on("error", reject);
      request.on("timeout", () => request.destroy(new Error(`no answer to ${method} ${path} in time`)));
      request.on("response", (response) => readReply(response).then(resolve, reject));
      request.end(text);
    });
  }

  get(path: string, options?: RequestOptions): Promise<Reply> {
    return this.request("GET", path, options);
  }
}

export async function readReply(response: IncomingMessage): Promise<Reply> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  const text = Buffer.concat(parts).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) };
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not every body is JSON; the check judges that
  }
}
