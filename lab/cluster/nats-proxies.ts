// What is between one machine and the NATS servers: a TCP proxy for each of them. Cut, nothing passes any more and no
// side is told, as when packets are dropped; then what was on its way arrives late. Lab only.

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "../free-port.ts";

const HOST = "127.0.0.1";

interface Target {
  readonly port: number;
}

/** A connection of the machine, and that to the server; there is none yet while the proxy is cut. */
interface Line {
  readonly client: Socket;
  server: Socket | undefined;
}

/** All proxies of one machine. */
export class NatsProxies {
  readonly #proxies: ReadonlyMap<Target, ServerProxy>;

  private constructor(proxies: ReadonlyMap<Target, ServerProxy>) {
    this.#proxies = proxies;
  }

  static async start(servers: readonly Target[]): Promise<NatsProxies> {
    const proxies = new NatsProxies(new Map(await Promise.all(servers.map(withProxy))));
    for (const server of servers) await proxies.setListening(server, true);
    return proxies;
  }

  /** As `tonearm.cluster.servers` takes them. */
  get urls(): readonly string[] {
    return [...this.#proxies.values()].map(({ port }) => `nats://${HOST}:${port}`);
  }

  /** Drops everything, both ways, without a word. */
  cut(): void {
    for (const proxy of this.#proxies.values()) proxy.cut();
  }

  /** Ends the cut. */
  heal(): void {
    for (const proxy of this.#proxies.values()) proxy.heal();
  }

  /** Without the server, its proxy refuses connections as well: that they are refused says that nobody reaches it. */
  async setListening(server: Target, isListening: boolean): Promise<void> {
    await this.#proxies.get(server)?.setListening(isListening);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }
}

async function withProxy(server: Target): Promise<readonly [Target, ServerProxy]> {
  return [server, new ServerProxy(await freePort(), server.port)];
}

class ServerProxy {
  readonly port: number;
  readonly #serverPort: number;
  readonly #lines = new Set<Line>();
  #listener: Server | undefined;
  #isCut = false;

  constructor(port: number, serverPort: number) {
    this.port = port;
    this.#serverPort = serverPort;
  }

  async setListening(isListening: boolean): Promise<void> {
    if (isListening === (this.#listener !== undefined)) return;
    if (!isListening) {
      // Its connections end with the server's.
      this.#listener?.close();
      this.#listener = undefined;
      return;
    }
    const listener = createServer({ pauseOnConnect: true, noDelay: true }, (client) => this.#accept(client));
    this.#listener = listener;
    listener.listen(this.port, HOST);
    await once(listener, "listening");
  }

  cut(): void {
    this.#isCut = true;
    for (const { client, server } of this.#lines) {
      for (const socket of [client, server]) socket?.unpipe().pause();
    }
  }

  heal(): void {
    this.#isCut = false;
    for (const line of [...this.#lines]) this.#pass(line);
  }

  async close(): Promise<void> {
    await this.setListening(false);
    for (const { client, server } of this.#lines) {
      client.destroy();
      server?.destroy();
    }
    this.#lines.clear();
  }

  #accept(client: Socket): void {
    const line: Line = { client, server: undefined };
    this.#lines.add(line);
    this.#watch(line, client);
    if (!this.#isCut) this.#pass(line);
  }

  #pass(line: Line): void {
    const { client } = line;
    if (line.server === undefined) {
      line.server = connect({ host: HOST, port: this.#serverPort, noDelay: true });
      this.#watch(line, line.server);
    }
    const { server } = line;
    if (client.destroyed || server.destroyed) this.#end(line);
    else {
      client.pipe(server);
      server.pipe(client);
    }
  }

  /** A side that has gone is not missed by the other while the proxy is cut. */
  #watch(line: Line, socket: Socket): void {
    socket.on("error", () => undefined); // `close` follows
    socket.once("close", () => {
      if (!this.#isCut) this.#end(line);
    });
  }

  #end(line: Line): void {
    this.#lines.delete(line);
    line.client.destroy();
    line.server?.destroy();
  }
}
