// One request to a node's REST API, over TCP or over a simulation's network.

import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";

export interface RestAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** A node's address and credentials. */
export interface NodeAccess {
  /** `http://host:port` of the node. */
  readonly url: string;
  readonly password: string;
  /** Opens a connection to it. Default: TCP. */
  readonly connect?: (() => Duplex) | undefined;
}

/** Any request, whatever its answer; the body is parsed when there is one, unless it is text. Rejects without an answer. */
export async function requestNode<T>(
  { url, password, connect }: NodeAccess,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
): Promise<RestAnswer<T>> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(new URL(path, url), {
      method,
      headers: {
        authorization: password,
        ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      },
      ...(connect !== undefined && { createConnection: connect }),
    });
    sent.on("response", resolve);
    sent.on("error", reject);
    sent.end(text);
  });
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const answer = Buffer.concat(parts).toString();
  const isText = response.headers["content-type"]?.startsWith("text/plain") === true;
  // The caller knows the type of the answer.
  const content = (answer === "" ? undefined : isText ? answer : JSON.parse(answer)) as T;
  return { status: response.statusCode ?? 0, body: content };
}
