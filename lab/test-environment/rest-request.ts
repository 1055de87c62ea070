// One request to a node's REST API, over TCP or over a simulation's network.

import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";

export interface RestAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** Where a node is, and what lets one in. */
export interface NodeAccess {
  /** `http://host:port` of the node. */
  readonly url: string;
  readonly password: string;
  /** Opens a connection to it. Default: TCP. */
  readonly connect?: (() => Duplex) | undefined;
}

/** Any request, whatever its answer; the body is parsed when there is one. Rejects without an answer. */
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
  // The caller knows what it asks for.
  return { status: response.statusCode ?? 0, body: (answer === "" ? undefined : JSON.parse(answer)) as T };
}
