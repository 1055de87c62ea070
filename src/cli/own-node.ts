// How a command of this machine asks the node that runs with the same configuration. Main thread of the command's
// process.

import { type IncomingMessage, request as requestPlain } from "node:http";
import type { NodeConfig } from "../config/node-config.ts";

/** Wildcard addresses to listen on, which clients cannot connect to on every system. */
const ANY_ADDRESS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The request to send. */
interface OwnNodeQuestion {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the head of the answer. */
  readonly timeoutMs: number;
}

/** Where this machine reaches a node that listens there: `https://127.0.0.1:2333`. */
export function ownNodeUrl({ address, port, tls }: NodeConfig["server"]): string {
  const host = ANY_ADDRESS[address] ?? address;
  return `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Resolves with the head of the response; the caller reads the body. Rejects when there is no response in time.
 *
 * The certificate is not verified: it is issued for the name by which clients know the node, and the address used here
 * is local.
 */
export async function askOwnNode(server: NodeConfig["server"], question: OwnNodeQuestion): Promise<IncomingMessage> {
  const { path, headers, timeoutMs } = question;
  // Loaded where it is needed: health is asked for every half minute.
  const request = server.tls === undefined ? requestPlain : (await import("node:https")).request;
  return new Promise((resolve, reject) => {
    request(`${ownNodeUrl(server)}${path}`, {
      headers,
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
      ...(server.tls === undefined ? {} : { rejectUnauthorized: false }),
    })
      .on("error", reject)
      .on("response", resolve)
      .end();
  });
}
