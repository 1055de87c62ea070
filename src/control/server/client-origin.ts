// Where a client's connection comes from, for operators: its address and what it calls itself. Main thread.

import type { IncomingMessage } from "node:http";
import type { ClientOrigin } from "../sessions/session-socket.ts";

/** The longest text of an IPv6 address. */
const ADDRESS_LENGTH_MAX = 45;
const USER_AGENT_LENGTH_MAX = 200;

/** Reads the request that opened the connection. */
export function clientOrigin({ headers, socket }: Pick<IncomingMessage, "headers" | "socket">): ClientOrigin {
  const forwarded = String(headers["x-forwarded-for"] ?? "");
  const hop = forwarded.slice(forwarded.lastIndexOf(",") + 1).trim();
  return {
    address: socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, ""),
    forwardedFor: hop === "" ? undefined : cut(hop, ADDRESS_LENGTH_MAX),
    userAgent: headers["user-agent"] && cut(headers["user-agent"], USER_AGENT_LENGTH_MAX),
  };
}

/** A copy: a part of a long header, however short, would keep all of it in memory. */
function cut(text: string, lengthMax: number): string {
  return Buffer.from(text.slice(0, lengthMax), "latin1").toString("latin1");
}
