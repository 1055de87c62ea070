// The UDP side of the fake Discord: IP discovery, keepalives, and RTP handed to the receiver of its SSRC. One socket
// normally; more can be asked for so that 500 players do not share one kernel receive buffer.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { FaultAction } from "./faults.ts";
import type { RtpReceiver } from "./rtp-receiver.ts";
import type { ViolationLog } from "./violations.ts";

const DISCOVERY_BYTES = 74;
const DISCOVERY_LENGTH_FIELD = 70;
/** JDA's keepalive has 9 bytes, discord.js' and the unofficial ping 8: nothing that short is RTP. */
const KEEPALIVE_BYTES_MAX = 9;
const PING_REQUEST = 0x1337cafe;
const PING_ANSWER = 0x1337f00d;
/** Asked of the kernel, which may grant less. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

/** What the UDP side needs to know of a voice session. */
export interface UdpPeer {
  readonly guildId: string;
  readonly receiver: RtpReceiver;
  /** False: datagrams of this session vanish unseen. */
  readonly isUdpReachable: boolean;
  onDiscovery(): FaultAction | undefined;
  onKeepalive(): void;
}

interface Sender {
  readonly address: string;
  readonly port: number;
}

export class UdpServer {
  /** Where it listens, for Ready. */
  readonly address: string;
  readonly #sockets: Socket[] = [];
  readonly #violations: ViolationLog;
  readonly #peersBySsrc = new Map<number, UdpPeer>();
  /** Who sent a discovery request from `address:port`: keepalives carry no SSRC. */
  readonly #peersByAddress = new Map<string, UdpPeer>();
  #nextSocket = 0;
  #isClosed = false;

  private constructor(address: string, violations: ViolationLog) {
    this.address = address;
    this.#violations = violations;
  }

  static async open(options: {
    readonly address: string;
    readonly socketCount: number;
    readonly violations: ViolationLog;
  }): Promise<UdpServer> {
    const server = new UdpServer(options.address, options.violations);
    for (let index = 0; index < options.socketCount; index++) server.#sockets.push(await server.#openSocket());
    return server;
  }

  /** The port to name in the next Ready; sessions are dealt out in turn. */
  nextPort(): number {
    const socket = this.#sockets[this.#nextSocket++ % this.#sockets.length];
    return socket === undefined || this.#isClosed ? 9 : (socket.address() as AddressInfo).port;
  }

  /** Sessions stay known after their end, so that what they still send is told from an invented SSRC. */
  add(peer: UdpPeer): void {
    this.#peersBySsrc.set(peer.receiver.ssrc, peer);
  }

  /** Also a fault: from now on the ports are closed and senders get ICMP "port unreachable". */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.close();
  }

  async #openSocket(): Promise<Socket> {
    const socket = createSocket({ type: "udp4", recvBufferSize: RECEIVE_BUFFER_BYTES });
    socket.on("message", (packet, sender) => this.#onDatagram(socket, packet, sender));
    // A player that closed its port answers our discovery reply with ICMP unreachable; nothing to do about it.
    socket.on("error", () => undefined);
    socket.bind(0, this.address);
    await once(socket, "listening");
    return socket;
  }

  #onDatagram(socket: Socket, packet: Buffer, sender: Sender): void {
    const arrivalMs = performance.now();
    if (packet.length <= KEEPALIVE_BYTES_MAX) {
      this.#onKeepalive(socket, packet, sender);
    } else if (packet.readUInt16BE(0) === 1) {
      this.#onDiscovery(socket, packet, sender);
    } else if (packet.length >= 12) {
      this.#onRtp(packet, arrivalMs);
    }
  }

  #onRtp(packet: Buffer, arrivalMs: number): void {
    const ssrc = packet.readUInt32BE(8);
    const peer = this.#peersBySsrc.get(ssrc);
    if (peer === undefined) {
      this.#violations.add("rtp-unknown-ssrc", undefined, `RTP with SSRC ${ssrc}, which nobody was given`);
    } else if (peer.isUdpReachable) {
      peer.receiver.receive(packet, arrivalMs);
    }
  }

  #onKeepalive(socket: Socket, packet: Buffer, sender: Sender): void {
    const peer = this.#peersByAddress.get(`${sender.address}:${sender.port}`);
    if (peer?.isUdpReachable === false) return;
    peer?.onKeepalive();
    if (packet.length !== 8 || packet.readUInt32BE(0) !== PING_REQUEST) return;
    const answer = Buffer.from(packet);
    answer.writeUInt32BE(PING_ANSWER, 0);
    this.#send(socket, answer, sender);
  }

  #onDiscovery(socket: Socket, packet: Buffer, sender: Sender): void {
    const ssrc = packet.readUInt32BE(4);
    const peer = this.#peersBySsrc.get(ssrc);
    const problem = discoveryProblem(packet, peer);
    if (problem !== undefined || peer === undefined) {
      this.#violations.add("discovery-malformed", peer?.guildId, problem ?? "");
      return;
    }
    if (!peer.isUdpReachable) return;
    this.#peersByAddress.set(`${sender.address}:${sender.port}`, peer);
    const answer = encodeDiscoveryAnswer(ssrc, sender.address, sender.port);
    const fault = peer.onDiscovery();
    if (fault?.kind === "withhold") return;
    if (fault?.kind === "delay") {
      setTimeout(() => this.#send(socket, answer, sender), fault.delayMs).unref();
    } else if (fault?.kind === "foreignAnswer") {
      this.#sendForeignAnswer(sender, ssrc, () => this.#send(socket, answer, sender));
    } else {
      this.#send(socket, answer, sender);
    }
  }

  /** An answer with a wrong address from a port that Ready did not name, then the right one. */
  #sendForeignAnswer(sender: Sender, ssrc: number, sendRightOne: () => void): void {
    const stranger = createSocket("udp4");
    stranger.on("error", () => undefined); // as in #openSocket
    stranger.send(encodeDiscoveryAnswer(ssrc, "192.0.2.1", 1), sender.port, sender.address, () => {
      stranger.close();
      sendRightOne();
    });
  }

  #send(socket: Socket, packet: Buffer, to: Sender): void {
    if (!this.#isClosed) socket.send(packet, to.port, to.address);
  }
}

/** Type 2, length 70, SSRC, address as text filled up with zeros, port. */
export function encodeDiscoveryAnswer(ssrc: number, address: string, port: number): Buffer {
  const answer = Buffer.alloc(DISCOVERY_BYTES);
  answer.writeUInt16BE(2, 0);
  answer.writeUInt16BE(DISCOVERY_LENGTH_FIELD, 2);
  answer.writeUInt32BE(ssrc, 4);
  answer.write(address, 8, "ascii");
  answer.writeUInt16BE(port, 72);
  return answer;
}

function discoveryProblem(packet: Buffer, peer: UdpPeer | undefined): string | undefined {
  if (packet.length !== DISCOVERY_BYTES) return `${packet.length} bytes instead of ${DISCOVERY_BYTES}`;
  if (packet.readUInt16BE(2) !== DISCOVERY_LENGTH_FIELD) return `length field ${packet.readUInt16BE(2)} instead of 70`;
  if (packet.subarray(8).some((byte) => byte !== 0)) return "address or port field is not zero-filled";
  if (peer === undefined) return `SSRC ${packet.readUInt32BE(4)} was given to nobody`;
  return undefined;
}
