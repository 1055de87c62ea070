// The port by which this machine shows others that its process runs: any process that connects is told the id of the
// machine, and from then on the connection is only there. The system closes it when the process ends, and accepts no
// others. Main thread; one for the node.

import { createServer, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { Logger } from "../log/log.ts";
import type { Endpoint } from "./machine.ts";
import { ownHosts } from "./own-hosts.ts";

/** Machines that connect are three, for a moment a few more. */
const CONNECTIONS_MAX = 64;
/** Without a packet of the other side; then it is asked for one. */
const KEEP_ALIVE_MS = 10_000;
/** Of what is said to one that connects. */
export const GREETING_LENGTH_MAX = 256;

interface Greeting {
  /** Of the machine. */
  readonly id: string;
  /** Those of the machine that connects, as both ends must see them. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** What a machine says to one that has connected. */
export function greetingOf({ id, address = "", port = 0 }: Greeting): string {
  // A port for both families tells addresses of IPv4 as such of IPv6.
  return `tonearm ${id} ${address.replace(/^::ffff:/i, "")} ${port}\n`;
}

/**
 * A connection that ends while the process goes on is reset: only the end of the process (or `close`) ends it with a FIN,
 * by which other machines know that end.
 */
export class LifeListener {
  readonly #logger: Logger;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #id: string | undefined;
  #hasWarned = false;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /** Where others can connect. `seenAs`: the address of this machine for its NATS server. */
  endpoint(seenAs: string | undefined): Endpoint | undefined {
    const address = this.#server?.address();
    if (typeof address !== "object" || address === null) return undefined;
    const hosts = ownHosts(networkInterfaces(), seenAs);
    return hosts.length === 0 ? undefined : { hosts, port: address.port };
  }

  /** Takes a port of the system's choice. */
  listen(): void {
    const server = createServer((socket) => this.#onConnection(socket));
    this.#server = server;
    // Also each time that one cannot be accepted.
    server.on("error", (error) => this.#warn(error));
    server.listen({ port: 0 });
    server.unref();
  }

  /** The id of this machine from now on. Undefined: it has none, and accepts nobody. */
  setId(id: string | undefined): void {
    if (id === this.#id) return;
    this.#id = id;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** As at the end of the process. Call it when nothing is done under the id of this machine any more. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  #warn(error: Error): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#logger.warn("cluster: other machines cannot connect to this one, to notice when its process ends", { error });
  }

  #onConnection(socket: Socket): void {
    // It is gone; the machine that was connected notices, too.
    socket.on("error", () => undefined);
    if (this.#server === undefined || this.#id === undefined || this.#sockets.size >= CONNECTIONS_MAX) {
      socket.resetAndDestroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    // Nobody says anything here. With something unread, the end of the process would be a reset.
    socket.on("data", () => socket.resetAndDestroy());
    socket.unref();
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const { remoteAddress: address, remotePort: port } = socket;
    socket.write(greetingOf({ id: this.#id, address, port }));
  }
}
