// Sends requests of a local command to the node that runs with the same configuration. Main thread of the command's
// process.

import { type IncomingMessage, request as requestPlain } from "node:http";
import type { NodeConfig } from "../config/node-config.ts";

/** Wildcard addresses to listen on, which clients cannot connect to on every system. */
const ANY_ADDRESS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The request to send. */
interface OwnNodeQuestion {
  /** Default: GET. */
  readonly method?: "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Limit for the head of the response. */
  readonly timeoutMs: number;
}

/** The URL at which this machine reaches a node that listens there: `https://127.0.0.1:2333`. */
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
  const { method = "GET", path, headers, timeoutMs } = question;
  // Loaded only when needed, because health runs every half minute.
  const request = server.tls === undefined ? requestPlain : (await import("node:https")).request;
  return new Promise((resolve, reject) => {
    request(`${ownNodeUrl(server)}${path}`, {
      method,
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
