// Requests that ask to switch protocols: to WebSocket on a path that has one they go to the end point, all others are
// answered as if they had not asked. Main thread. Java's HTTP client asks for h2c with every first request, also with a
// body.

import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { UpgradeRequest, WebSocketEndpoint } from "./web-socket-endpoint.ts";

const SWITCHING_HEADERS = new Set(["upgrade", "connection", "http2-settings"]);

export function routeUpgrades(server: Server, endpoint: WebSocketEndpoint): void {
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const protocol = isForWebSocket(request) ? endpoint.protocolOf(request) : undefined;
    if (protocol === undefined) replayWithoutUpgrade(server, { request, socket, head });
    else endpoint.upgrade(protocol, { request, socket, head });
  });
}

function isForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * Node has stopped parsing the connection, so what was parsed is written back in front of what is still to come, without
 * the headers that ask for the switch, and the connection starts anew.
 */
function replayWithoutUpgrade(server: Server, { request, socket, head }: UpgradeRequest): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index]!; // names and values alternate
    if (!SWITCHING_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${request.rawHeaders[index + 1]}`);
  }
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
  server.emit("connection", socket);
}
