// How a command of this machine asks the node that runs with the same configuration. Main thread of the command's
// process.

import { type IncomingMessage, request as requestPlain } from "node:http";
import type { NodeConfig } from "../config/node-config.ts";

/** Addresses that a server listens on and that nobody can connect to everywhere. */
const ANY_ADDRESS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** What is asked. */
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
 * The head of the answer; its body is the caller's to read. Rejects when there is none in time.
 *
 * A certificate is not looked at: it is for the name by which clients know the node, and the address is this machine's.
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
