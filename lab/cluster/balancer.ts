// A plain TCP load balancer on loopback, as haproxy is in TCP mode: round robin over the machines, one that refuses a
// connection is left out at once, bytes are piped both ways, and the end of one side ends the other. Lab only.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

const HOST = "127.0.0.1";

/** A machine by the port that it listens on. */
interface Target {
  readonly port: number;
}

export class Balancer<Machine extends Target = Target> {
  readonly #server: Server;
  readonly machines: readonly Machine[];
  /** Those that get new connections. */
  #chosen: readonly Machine[];
  #turn = 0;
  /** Open connections by the client's port. */
  readonly #joined = new Map<number, { readonly client: Socket; readonly machine: Machine }>();
  readonly #sockets = new Set<Socket>();

  private constructor(machines: readonly Machine[]) {
    this.machines = machines;
    this.#chosen = machines;
    // A side may end its direction first, as with haproxy.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  static async start<Machine extends Target>(machines: readonly Machine[]): Promise<Balancer<Machine>> {
    const balancer = new Balancer(machines);
    balancer.#server.listen(0, HOST);
    await once(balancer.#server, "listening");
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  get url(): string {
    return `http://${HOST}:${this.port}`;
  }

  /** New connections go to these only. */
  only(...machines: readonly Machine[]): void {
    this.#chosen = machines;
  }

  /** New connections go to all machines again. */
  all(): void {
    this.#chosen = this.machines;
  }

  /** A connection of a client. */
  connect(): Socket {
    return connect({ host: HOST, port: this.port });
  }

  /** The machine at the other end of the open connection from this port. */
  machineOf(clientPort: number): Machine | undefined {
    return this.#joined.get(clientPort)?.machine;
  }

  /** Ends all connections to this machine, whatever it does. */
  drop(machine: Machine): void {
    for (const joined of this.#joined.values()) if (joined.machine === machine) joined.client.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Tries one machine after the other; without any, the client's connection is reset. */
  #accept(client: Socket): void {
    this.#own(client);
    const first = this.#turn++;
    const candidates = this.#chosen.map((_, index) => this.#chosen[(first + index) % this.#chosen.length]);
    const tryNext = (): void => {
      const machine = candidates.shift();
      if (machine === undefined || client.destroyed) {
        client.resetAndDestroy();
        return;
      }
      const server = connect({ host: HOST, port: machine.port, allowHalfOpen: true, noDelay: true });
      this.#own(server);
      server.once("error", tryNext);
      server.once("connect", () => {
        server.off("error", tryNext);
        this.#join(client, server, machine);
      });
    };
    tryNext();
  }

  #join(client: Socket, server: Socket, machine: Machine): void {
    const { remotePort } = client;
    if (client.destroyed || remotePort === undefined) {
      server.resetAndDestroy();
      return;
    }
    this.#joined.set(remotePort, { client, machine });
    client.once("close", () => this.#joined.delete(remotePort));
    endTogether(client, server);
    endTogether(server, client);
    client.pipe(server);
    server.pipe(client);
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined); // `close` follows
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

/** `pipe` passes on the end of a direction; this, that a side is gone: a reset as a reset. */
function endTogether(from: Socket, to: Socket): void {
  from.once("close", (hadError) => {
    if (hadError) to.resetAndDestroy();
    else to.destroySoon();
  });
}
