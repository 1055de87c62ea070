// The network of the fake Discord: by default ports of this machine; a simulation replaces it with its own links
// (lab/simulate).

import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface UdpSender {
  readonly address: string;
  readonly port: number;
}

/** An open UDP port. */
export interface UdpPort {
  readonly port: number;
  /** Resolves when it has left, or could not. */
  send(packet: Buffer, to: UdpSender): Promise<void>;
  /** Datagrams sent there from now on are answered with "port unreachable". */
  close(): void;
}

export interface DiscordNetwork {
  /** IPv4 address of everything it opens. */
  readonly address: string;
  /** Takes the server's connections on a free port; resolves with that. Ends with the server. */
  listen(server: Server): Promise<number>;
  /** Opens a free port. */
  openUdp(onDatagram: (packet: Buffer, sender: UdpSender) => void): Promise<UdpPort>;
}

/** Asked of the kernel, which may grant less. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

/** Free ports of this machine, at a dedicated IPv4 address. */
export function systemNetwork(address: string): DiscordNetwork {
  return {
    address,
    async listen(server) {
      server.listen(0, address);
      await once(server, "listening");
      return (server.address() as AddressInfo).port; // listens on TCP
    },
    async openUdp(onDatagram) {
      const socket = createSocket({ type: "udp4", recvBufferSize: RECEIVE_BUFFER_BYTES });
      socket.on("message", onDatagram);
      // A player that closed its port answers with ICMP unreachable; nothing to do about it.
      socket.on("error", () => undefined);
      socket.bind(0, address);
      await once(socket, "listening");
      return {
        port: socket.address().port,
        send: (packet, to) => new Promise((resolve) => socket.send(packet, to.port, to.address, () => resolve())),
        close: () => socket.close(),
      };
    },
  };
}
