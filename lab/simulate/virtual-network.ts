// The network of a simulation: TCP and UDP between parts of one process, with ports, delays and faults, all on its
// clock. Sockets that a thread has opened are closed with the thread.

import type { Server } from "node:http";
import type { NetConnectOpts, Socket as TcpSocket } from "node:net";
import type { buildConnector } from "undici";
import type { Clock } from "../../src/lib/clock.ts";
import type { DatagramSocket, Sockets } from "../../src/network/sockets.ts";
import type { DiscordNetwork, UdpPort, UdpSender } from "../discord/discord-network.ts";
import type { Dice } from "./dice.ts";
import type { ThreadGate } from "./thread-gate.ts";
import { type Link, resetError, VirtualSocket } from "./virtual-socket.ts";

const ADDRESS = "127.0.0.1";
const KEEP_ALIVE_MS = 600_000;

/** One-way transit times, in milliseconds. */
export interface Latency {
  /** Range for connections; each draws its own. */
  readonly tcpMs: { readonly min: number; readonly max: number };
  readonly udpMs: number;
  /** On top of either, at most. */
  readonly jitterMs: number;
}

/** Servers in the same part of the world. */
export const FAR: Latency = { tcpMs: { min: 1, max: 20 }, udpMs: 5, jitterMs: 3 };
/** All on one machine. */
export const NEAR: Latency = { tcpMs: { min: 0.02, max: 0.1 }, udpMs: 0.05, jitterMs: 0.02 };

interface Connection {
  readonly port: number;
  readonly ends: readonly [VirtualSocket, VirtualSocket];
  /** Nothing passes any more, and neither side is notified. */
  isDead: boolean;
}

type OnDatagram = (packet: Buffer, sender: UdpSender) => void;

export class VirtualNetwork {
  readonly #clock: Clock;
  readonly #random: Dice;
  readonly #latency: Latency;
  readonly #servers = new Map<number, Server>();
  readonly #connections = new Set<Connection>();
  readonly #udpPorts = new Map<number, OnDatagram>();
  #nextPort = 1024;
  /** Arrival time of the last UDP datagram, in milliseconds: datagrams stay in order, also after a change of latency. */
  #udpArrivesMs = 0;
  #lostDatagrams = 0;
  /** UDP datagrams are lost without notice. */
  losesDatagrams = false;

  constructor(clock: Clock, random: Dice, latency: Latency) {
    this.#clock = clock;
    this.#random = random;
    this.#latency = latency;
  }

  /** Datagrams that a fault has swallowed. */
  get lostDatagrams(): number {
    return this.#lostDatagrams;
  }

  /** Takes the server's connections from here; returns its port. */
  readonly listen = (server: Server): number => {
    const port = this.#nextPort++;
    this.#servers.set(port, server);
    // For undici, which would otherwise drop idle connections by its own timers, in real time.
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    return port;
  };

  /** The sockets of a thread; closed when it ends. */
  socketsFor(gate: ThreadGate): Sockets {
    const createConnector = (() => (options: buildConnector.Options, callback: buildConnector.Callback) => {
      const socket = this.#connect(Number(options.port), gate);
      socket.once("connect", () => {
        socket.off("error", onError);
        callback(null, asTcp(socket));
      });
      const onError = (error: Error): void => callback(error, null);
      socket.once("error", onError);
    }) as typeof buildConnector;
    return {
      connectTcp: (options: NetConnectOpts) => asTcp(this.#connect("port" in options ? Number(options.port) : 0, gate)),
      createConnector,
      createUdp: () => new VirtualUdp(this, gate),
    };
  }

  /** The fake Discord's part of it. */
  get discordNetwork(): DiscordNetwork {
    return {
      address: ADDRESS,
      listen: (server) => Promise.resolve(this.listen(server)),
      openUdp: (onDatagram) => Promise.resolve(this.#openUdp(onDatagram)),
    };
  }

  /** A connection to this port from outside of all threads. */
  connect(port: number): VirtualSocket {
    return this.#connect(port, undefined);
  }

  /** Cuts all connections to this port, or makes them silent without notice. */
  breakConnections(port: number, how: "cut" | "silent"): void {
    for (const connection of this.#connections) {
      if (connection.port !== port) continue;
      connection.isDead = true;
      if (how === "silent") continue;
      const [client, server] = connection.ends;
      client.destroy(resetError());
      // While it is being established the other end is not handed out yet.
      server.destroy(client.connecting ? undefined : resetError());
    }
  }

  /** For VirtualUdp: sends from one port to another; false when no socket is bound there. */
  carryDatagram(
    packet: Uint8Array,
    ports: { readonly from: number; readonly to: number },
    onRefused: () => void,
  ): void {
    if (this.losesDatagrams) {
      this.#lostDatagrams += 1;
      return;
    }
    const copy = Buffer.from(packet);
    const { udpMs, jitterMs } = this.#latency;
    this.#udpArrivesMs = Math.max(this.#udpArrivesMs, this.#clock.now() + udpMs + this.#random.unit() * jitterMs);
    this.#clock.after(this.#udpArrivesMs - this.#clock.now(), () => {
      const receive = this.#udpPorts.get(ports.to);
      if (receive === undefined) onRefused();
      else receive(copy, { address: ADDRESS, port: ports.from });
    });
  }

  /** For VirtualUdp. */
  bindUdp(onDatagram: OnDatagram): number {
    const port = this.#nextPort++;
    this.#udpPorts.set(port, onDatagram);
    return port;
  }

  releaseUdp(port: number): void {
    this.#udpPorts.delete(port);
  }

  #openUdp(onDatagram: OnDatagram): UdpPort {
    const port = this.bindUdp(onDatagram);
    return {
      port,
      send: (packet, to) => {
        this.carryDatagram(packet, { from: port, to: to.port }, () => undefined);
        return Promise.resolve();
      },
      close: () => this.releaseUdp(port),
    };
  }

  #connect(port: number, gate: ThreadGate | undefined): VirtualSocket {
    const localPort = this.#nextPort++;
    const link = new DelayedLink({ clock: this.#clock, random: this.#random.branch(), latency: this.#latency }, gate);
    const client = new VirtualSocket(link, { local: localPort, remote: port }, false);
    const server = new VirtualSocket(link, { local: port, remote: localPort }, true);
    client.peer = server;
    server.peer = client;
    const connection: Connection = { port, ends: [client, server], isDead: false };
    link.connection = connection;
    this.#connections.add(connection);
    const leave = () => {
      if (client.destroyed && server.destroyed) this.#connections.delete(connection);
    };
    client.once("close", leave);
    server.once("close", leave);
    gate?.onEnd(() => client.destroy());
    client.connecting = true;
    link.carry(server, () => this.#open(port, client, server));
    return client;
  }

  #open(port: number, client: VirtualSocket, server: VirtualSocket): void {
    if (client.destroyed) return;
    const listener = this.#servers.get(port);
    client.connecting = false;
    if (listener === undefined) {
      const error = Object.assign(new Error(`connect ECONNREFUSED ${ADDRESS}:${port}`), { code: "ECONNREFUSED" });
      client.destroy(error);
      return;
    }
    listener.emit("connection", server);
    client.emit("connect");
  }
}

/** In order in each direction, some milliseconds each way; data for a thread passes its gate. */
class DelayedLink implements Link {
  connection: Connection | undefined;
  readonly #clock: Clock;
  readonly #random: Dice;
  readonly #gate: ThreadGate | undefined;
  readonly #delayMs: number;
  readonly #jitterMs: number;
  readonly #arrivesMs = new Map<VirtualSocket, number>();

  constructor(
    { clock, random, latency }: { readonly clock: Clock; readonly random: Dice; readonly latency: Latency },
    gate: ThreadGate | undefined,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#gate = gate;
    this.#delayMs = random.between(latency.tcpMs.min, latency.tcpMs.max);
    this.#jitterMs = latency.jitterMs;
  }

  carry(from: VirtualSocket, deliver: () => void): void {
    const nowMs = this.#clock.now();
    const arrivesMs = Math.max(
      this.#arrivesMs.get(from) ?? 0,
      nowMs + this.#delayMs + this.#random.unit() * this.#jitterMs,
    );
    this.#arrivesMs.set(from, arrivesMs);
    this.#clock.after(arrivesMs - nowMs, () => {
      if (this.connection?.isDead) return;
      const isToThread = from !== this.connection?.ends[0];
      if (isToThread && this.#gate !== undefined) this.#gate.enter(deliver);
      else deliver();
    });
  }
}

class VirtualUdp implements DatagramSocket {
  readonly #network: VirtualNetwork;
  readonly #port: number;
  #peerPort = 0;
  #onError: ((error: Error) => void) | undefined;
  #onMessage: ((packet: Buffer) => void) | undefined;

  constructor(network: VirtualNetwork, gate: ThreadGate) {
    this.#network = network;
    this.#port = network.bindUdp((packet, sender) => {
      // As a connected socket: from its peer only.
      if (sender.port === this.#peerPort) gate.enter(() => this.#onMessage?.(packet));
    });
    gate.onEnd(() => this.close());
  }

  on(event: "error" | "message", listener: ((error: Error) => void) | ((packet: Buffer) => void)): void {
    // The overloads of DatagramSocket say which is which.
    if (event === "error") this.#onError = listener as (error: Error) => void;
    else this.#onMessage = listener as (packet: Buffer) => void;
  }

  connect(port: number, _address: string, callback: (error?: Error) => void): void {
    this.#peerPort = port;
    setImmediate(callback);
  }

  send(packet: Uint8Array, callback?: (error: Error | null, sizeBytes: number) => void): void {
    this.#network.carryDatagram(packet, { from: this.#port, to: this.#peerPort }, () => {
      this.#onError?.(Object.assign(new Error("recvmsg ECONNREFUSED"), { code: "ECONNREFUSED" }));
    });
    if (callback !== undefined) setImmediate(callback, null, packet.length);
  }

  close(): void {
    this.#onError = undefined;
    this.#onMessage = undefined;
    this.#network.releaseUdp(this.#port);
  }
}

/** The typings ask for a `net.Socket`; Node and the libraries take any stream that has what they use of it. */
function asTcp(socket: VirtualSocket): TcpSocket {
  return socket as unknown as TcpSocket;
}
