// Requests to switch protocols: to WebSocket on a path that supports it they go to the endpoint, all others are
// answered as if they had not asked. Main thread. Java's HTTP client asks for h2c with every first request, also with a
// body. Earlier requests on the same connection are answered first. From Node.js 22.21 and 24.9 on the server asks
// which upgrades are accepted (`shouldUpgrade`); older versions leave all of them to the listener, which replays the
// others.

import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { UpgradeRequest, UpgradeTarget } from "../api/upgrade.ts";
import type { Connections } from "./connections.ts";
import { inboundConnectionOf } from "./inbound-connection.ts";

const SWITCHING_HEADERS = new Set(["upgrade", "http2-settings"]);

/**
 * True for a request that leaves HTTP. The body of any other that asks for it is announced to the connection, as Node
 * loses track of where it ends.
 */
export function shouldUpgrade(request: IncomingMessage, targets: readonly UpgradeTarget[]): boolean {
  if (targetOf(request, targets) !== undefined) return true;
  inboundConnectionOf(request).expectBody(bodySizeBytes(request));
  return false;
}

/** From this call on requests to switch go to their target, when all previous requests are answered. */
export function routeUpgrades(server: Server, targets: readonly UpgradeTarget[], connections: Connections): void {
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // From here on there is no other listener.
    const onError = (): void => {
      socket.destroy();
    };
    socket.on("error", onError);
    // Data that arrives meanwhile stays in the socket, whatever the pending answers do.
    const hold = (): void => {
      socket.pause();
    };
    socket.on("resume", hold);
    connections.upgrade(socket, () => {
      socket.off("error", onError).off("resume", hold);
      // As the server itself has left it: the next that listens makes it flow.
      (socket as { readableFlowing: boolean | null }).readableFlowing = null;
      // The server has set it for the pause behind an earlier answer.
      socket.setTimeout(0);
      const target = targetOf(request, targets);
      if (target === undefined) replayWithoutUpgrade(server, { request, socket, head });
      else target.upgrade({ request, socket, head }, () => connections.upgraded(socket));
    });
  });
}

/**
 * The target of a handshake. A request with a body is not a handshake, in WebSocket as for Node.js, which from 25 on
 * hands out a separate stream instead of the socket while the body is still to come.
 */
function targetOf(request: IncomingMessage, targets: readonly UpgradeTarget[]): UpgradeTarget | undefined {
  const { method, headers, url } = request;
  const hasBody = headers["transfer-encoding"] !== undefined || bodySizeBytes(request) > 0;
  const isForWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && !hasBody;
  if (!isForWebSocket) return undefined;
  const path = (url ?? "").split(/[?#]/, 1)[0] ?? "";
  return targets.find((target) => target.isFor(path));
}

/** As announced: of a chunked one nothing is. */
function bodySizeBytes({ headers }: IncomingMessage): number {
  return Number(headers["content-length"] ?? 0);
}

/**
 * Node has stopped parsing the connection, so the parsed request is written back in front of the unread data, without
 * the headers that ask for the switch, and the connection starts again.
 */
function replayWithoutUpgrade(server: Server, { request, socket, head }: UpgradeRequest): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index]!; // names and values alternate
    const value = forwardedValue(name.toLowerCase(), request.rawHeaders[index + 1] ?? "");
    if (value !== undefined) lines.push(`${name}: ${value}`);
  }
  if (head.length > 0) socket.unshift(head);
  // Node removes its listeners only from sockets that it created.
  socket.removeAllListeners("pause").removeAllListeners("resume");
  socket.unshift(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
  server.emit("connection", socket);
}

/** Undefined for a header that asks for the switch; `close` and the like stay in `Connection`. */
function forwardedValue(name: string, value: string): string | undefined {
  if (SWITCHING_HEADERS.has(name)) return undefined;
  if (name !== "connection") return value;
  const forwarded = value.split(",").filter((option) => !SWITCHING_HEADERS.has(option.trim().toLowerCase()));
  return forwarded.length === 0 ? undefined : forwarded.join(",");
}
