// A node that gives wrong answers: stands in front of a real one and changes what it says, over REST and over the
// WebSocket.

import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";

export interface TamperedAnswer {
  status: number;
  readonly headers: Record<string, string>;
  body: string;
}

export interface Tampering {
  /** Changes an answer in place. */
  readonly answer?: (answer: TamperedAnswer, request: { readonly method: string; readonly path: string }) => void;
  /** Another text for a message of the WebSocket; undefined drops it. */
  readonly message?: (text: string) => string | undefined;
}

export class TamperingProxy {
  readonly #server: Server;
  readonly #nodePort: number;
  readonly #sockets = new WebSocketServer({ noServer: true });
  /** Applied to every answer from now on. */
  tampering: Tampering = {};

  private constructor(server: Server, nodePort: number) {
    this.#server = server;
    this.#nodePort = nodePort;
    server.on("request", (request, response) => this.#forward(request, response));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  static async start(nodePort: number): Promise<TamperingProxy> {
    const server = createServer();
    const proxy = new TamperingProxy(server, nodePort);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url: path = "/", headers } = request;
    const forwarded = httpRequest({ host: "127.0.0.1", port: this.#nodePort, method, path, headers });
    forwarded.on("error", () => response.destroy());
    forwarded.on("response", (reply) => {
      void readBody(reply).then((body) => {
        const answer: TamperedAnswer = { status: reply.statusCode ?? 0, headers: plainHeaders(reply), body };
        this.tampering.answer?.(answer, { method, path });
        delete answer.headers["content-length"];
        delete answer.headers["transfer-encoding"];
        response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    });
    request.pipe(forwarded);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { authorization = "", "user-id": userId = "" } = request.headers;
    const headers = { Authorization: authorization, "User-Id": String(userId) };
    const node = new WebSocket(`ws://127.0.0.1:${this.#nodePort}${request.url}`, { headers });
    const early: string[] = [];
    let client: WebSocket | undefined;
    node.on("error", () => socket.destroy());
    node.on("message", (data) => {
      const text = this.tampering.message === undefined ? String(data) : this.tampering.message(String(data));
      if (text === undefined) return;
      if (client === undefined) early.push(text);
      else client.send(text);
    });
    this.#sockets.handleUpgrade(request, socket, head, (opened) => {
      client = opened;
      for (const text of early) opened.send(text);
      opened.on("close", () => node.terminate());
    });
  }
}

function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

async function readBody(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part);
  return Buffer.concat(parts).toString();
}
