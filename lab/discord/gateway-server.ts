// The listening side of the fake voice gateway: HTTP upgrade to WebSocket, with the faults that strike before a
// WebSocket exists.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { DiscordNetwork } from "./discord-network.ts";
import { type ConnectionRecord, GatewayConnection, type GatewayHost } from "./gateway-connection.ts";

/** Larger than any message of the voice gateway. */
const MESSAGE_BYTES_MAX = 1024 * 1024;
/** The first byte of a TLS connection: its record type, "handshake". */
const TLS_HANDSHAKE = 0x16;
const GATEWAY_VERSIONS: readonly (string | null)[] = ["8", "9"];

export class GatewayServer {
  /** `127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly #host: GatewayHost;
  readonly #http: Server;
  readonly #webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
  });
  readonly #sockets = new Set<Duplex>();
  /** Every WebSocket accepted so far, oldest first. */
  readonly connections: ConnectionRecord[] = [];
  #upgradeCount = 0;
  #tlsAttemptCount = 0;

  private constructor(host: GatewayHost, http: Server, endpoint: string) {
    this.#host = host;
    this.#http = http;
    this.endpoint = endpoint;
    this.#http.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
    this.#http.on("clientError", (error: Error & { readonly rawPacket?: Buffer }, socket: Duplex) => {
      if (error.rawPacket?.[0] === TLS_HANDSHAKE) this.#tlsAttemptCount++;
      socket.destroy();
    });
    this.#http.on("connection", (socket: Duplex) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  static async open(host: GatewayHost, network: DiscordNetwork): Promise<GatewayServer> {
    const http = createServer();
    const port = await network.listen(http);
    return new GatewayServer(host, http, `${network.address}:${port}`);
  }

  /** Upgrades asked for, refused ones included. */
  get upgradeCount(): number {
    return this.#upgradeCount;
  }

  /** Count of TLS handshakes received instead of HTTP. */
  get tlsAttemptCount(): number {
    return this.#tlsAttemptCount;
  }

  async close(): Promise<void> {
    const closed = once(this.#http, "close");
    this.#http.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#upgradeCount++;
    socket.on("error", () => undefined); // the client gave up; "close" follows
    const fault = this.#host.faults.take("upgrade");
    const version = new URL(request.url ?? "/", "http://gateway").searchParams.get("v");
    if (fault?.kind === "hang") {
      this.#host.changed();
    } else if (fault?.kind === "terminate") {
      socket.destroy();
    } else if (fault?.kind === "status") {
      refuse(socket, fault.status);
    } else if (!GATEWAY_VERSIONS.includes(version)) {
      this.#host.violations.add("gateway-version", undefined, `upgrade of ${request.url} asks for version ${version}`);
      refuse(socket, 400);
    } else {
      const delayMs = fault?.kind === "delay" ? fault.delayMs : undefined;
      if (delayMs === undefined) this.#accept(request, socket, head);
      else this.#host.clock.after(delayMs, () => this.#accept(request, socket, head));
    }
  }

  #accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (socket.destroyed) return;
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      this.connections.push(new GatewayConnection(this.#host, webSocket).record);
      this.#host.changed();
    });
  }
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
