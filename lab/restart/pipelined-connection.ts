// A connection to a node's REST API that sends requests without waiting for the answers before: they reach the node in
// the order of sending, and when it dies it is known which answers had arrived whole. Nothing is ever sent twice.
// Lab only.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

type Resolve = (answer: RawAnswer | undefined) => void;

export class PipelinedConnection {
  readonly #socket: Socket;
  readonly #head: string;
  readonly #pending: Resolve[] = [];
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket, password: string) {
    this.#socket = socket;
    this.#head = `Host: 127.0.0.1\r\nAuthorization: ${password}\r\n`;
    socket.setNoDelay(true);
    socket.on("data", (data: Buffer) => this.#onData(data));
    socket.on("error", () => undefined); // followed by `close`
    socket.on("close", () => {
      for (const resolve of this.#pending.splice(0)) resolve(undefined);
    });
  }

  /** Rejects when nothing listens there. */
  static async open(port: number, password: string): Promise<PipelinedConnection> {
    const socket = connect({ host: "127.0.0.1", port });
    await once(socket, "connect");
    return new PipelinedConnection(socket, password);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Resolves with the whole answer; undefined: the connection ended before. Never rejects. */
  send(method: string, path: string, body?: unknown): Promise<RawAnswer | undefined> {
    if (!this.isOpen) return Promise.resolve(undefined);
    const text = body === undefined ? "" : JSON.stringify(body);
    const type = body === undefined ? "" : "Content-Type: application/json\r\n";
    const length = `Content-Length: ${Buffer.byteLength(text)}\r\n`;
    this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${type}${length}\r\n${text}`);
    return new Promise((resolve) => this.#pending.push(resolve));
  }

  /** Resolves when the other side has ended the connection, and all that it had sent was read. */
  async closed(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, "close");
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    for (;;) {
      const answer = readAnswer(this.#received);
      if (answer === undefined) return;
      this.#received = this.#received.subarray(answer.sizeBytes);
      this.#pending.shift()?.({ status: answer.status, text: answer.text });
    }
  }
}

/** The first answer of these bytes; undefined: it is not whole yet. A node gives the length of all its answers. */
function readAnswer(bytes: Buffer): (RawAnswer & { readonly sizeBytes: number }) | undefined {
  const headBytes = bytes.indexOf("\r\n\r\n");
  if (headBytes === -1) return undefined;
  const head = bytes.toString("latin1", 0, headBytes);
  const status = Number(head.slice(9, 12));
  if (/^transfer-encoding:/im.test(head)) throw new Error("an answer without its length");
  const sizeBytes = headBytes + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  if (bytes.length < sizeBytes) return undefined;
  return { status, text: bytes.toString("utf8", headBytes + 4, sizeBytes), sizeBytes };
}
