// A TCP link between a client and a node that a test can cut, as a network does: without a close frame.

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class CuttableLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on a free port and passes everything on to `targetPort`, both on 127.0.0.1. */
  static async open(targetPort: number): Promise<CuttableLink> {
    const server = createServer();
    const link = new CuttableLink(server);
    server.on("connection", (socket) => {
      const target = connect(targetPort, "127.0.0.1");
      for (const [from, to] of [
        [socket, target],
        [target, socket],
      ] as const) {
        link.#sockets.add(from);
        from.on("error", () => undefined); // `close` follows
        from.on("close", () => {
          link.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // a TCP server that listens
  }

  /** Resets every connection; new ones work. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Accepts no new connection. Open ones end with the client or the node: pending requests are answered. */
  close(): void {
    this.#server.close();
  }
}
