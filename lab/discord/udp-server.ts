// The UDP side of the fake Discord: IP discovery, keepalives, and RTP passed to the receiver of its SSRC. One socket by
// default; more can be requested so that 500 players do not share one kernel receive buffer.

import type { Clock } from "../../src/lib/clock.ts";
import type { DiscordNetwork, UdpPort, UdpSender } from "./discord-network.ts";
import type { FaultAction } from "./faults.ts";
import type { RtpReceiver } from "./rtp-receiver.ts";
import { StreamOverlaps } from "./stream-overlaps.ts";
import type { ViolationLog } from "./violations.ts";

const DISCOVERY_BYTES = 74;
const DISCOVERY_LENGTH_FIELD = 70;
/** JDA's keepalive has 9 bytes, discord.js' and the unofficial ping 8: nothing that short is RTP. */
const KEEPALIVE_BYTES_MAX = 9;
/** Packets that a lost session had prepared may still arrive when its replacement exists; Discord ignores them. */
const REPLACED_MS_MAX = 500;
const PING_REQUEST = 0x1337cafe;
const PING_ANSWER = 0x1337f00d;

/** What the UDP side needs to know of a voice session. */
export interface UdpPeer {
  readonly guildId: string;
  readonly userId: string;
  readonly receiver: RtpReceiver;
  /** False: datagrams of this session are dropped silently. */
  readonly isUdpReachable: boolean;
  onDiscovery(): FaultAction | undefined;
  onKeepalive(): void;
}

interface UdpServerOptions {
  readonly network: DiscordNetwork;
  readonly socketCount: number;
  readonly clock: Clock;
  readonly violations: ViolationLog;
}

export class UdpServer {
  readonly overlaps = new StreamOverlaps();
  readonly #ports: UdpPort[] = [];
  readonly #network: DiscordNetwork;
  readonly #clock: Clock;
  readonly #violations: ViolationLog;
  readonly #peersBySsrc = new Map<number, UdpPeer>();
  /** When each SSRC was assigned. */
  readonly #givenAtMs = new Map<number, number>();
  /** The peer that sent a discovery request from `address:port`: keepalives carry no SSRC. */
  readonly #peersByAddress = new Map<string, UdpPeer>();
  #nextPort = 0;
  #isClosed = false;

  private constructor({ network, clock, violations }: UdpServerOptions) {
    this.#network = network;
    this.#clock = clock;
    this.#violations = violations;
  }

  static async open(options: UdpServerOptions): Promise<UdpServer> {
    const server = new UdpServer(options);
    for (let index = 0; index < options.socketCount; index++) await server.#openPort();
    return server;
  }

  /** Its address, for Ready. */
  get address(): string {
    return this.#network.address;
  }

  /** The port to name in the next Ready; ports are assigned round-robin. */
  nextPort(): number {
    const port = this.#ports[this.#nextPort++ % this.#ports.length];
    return port === undefined || this.#isClosed ? 9 : port.port;
  }

  /** Sessions stay known after their end, so that their late packets differ from packets with an invented SSRC. */
  add(peer: UdpPeer): void {
    this.#peersBySsrc.set(peer.receiver.ssrc, peer);
    this.#givenAtMs.set(peer.receiver.ssrc, this.#clock.now());
  }

  /** Also a fault: from now on the ports are closed and senders get ICMP "port unreachable". */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const port of this.#ports) port.close();
  }

  async #openPort(): Promise<void> {
    const port = await this.#network.openUdp((packet, sender) => this.#onDatagram(port, packet, sender));
    this.#ports.push(port);
  }

  #onDatagram(port: UdpPort, packet: Buffer, sender: UdpSender): void {
    const arrivalMs = this.#clock.now();
    if (packet.length <= KEEPALIVE_BYTES_MAX) {
      this.#onKeepalive(port, packet, sender);
    } else if (packet.readUInt16BE(0) === 1) {
      this.#onDiscovery(port, packet, sender);
    } else if (packet.length >= 12) {
      this.#onRtp(packet, sender, arrivalMs);
    }
  }

  #onRtp(packet: Buffer, sender: UdpSender, arrivalMs: number): void {
    const ssrc = packet.readUInt32BE(8);
    const peer = this.#peersBySsrc.get(ssrc);
    if (peer !== undefined) this.overlaps.add(peer, ssrc, sender, arrivalMs);
    if (peer === undefined) {
      this.#violations.add("rtp-unknown-ssrc", undefined, `RTP with SSRC ${ssrc}, which was not assigned`);
    } else if (peer.receiver.ssrc !== ssrc) {
      this.#onReplaced(peer, arrivalMs);
    } else if (peer.isUdpReachable) {
      peer.receiver.receive(packet, arrivalMs);
    }
  }

  #onReplaced(peer: UdpPeer, arrivalMs: number): void {
    const sinceMs = arrivalMs - (this.#givenAtMs.get(peer.receiver.ssrc) ?? 0);
    if (sinceMs <= REPLACED_MS_MAX) return;
    this.#violations.add("rtp-unknown-ssrc", peer.guildId, "RTP with the SSRC of a session that was replaced long ago");
  }

  #onKeepalive(port: UdpPort, packet: Buffer, sender: UdpSender): void {
    const peer = this.#peersByAddress.get(`${sender.address}:${sender.port}`);
    if (peer?.isUdpReachable === false) return;
    peer?.onKeepalive();
    if (packet.length !== 8 || packet.readUInt32BE(0) !== PING_REQUEST) return;
    const answer = Buffer.from(packet);
    answer.writeUInt32BE(PING_ANSWER, 0);
    this.#send(port, answer, sender);
  }

  #onDiscovery(port: UdpPort, packet: Buffer, sender: UdpSender): void {
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
      this.#clock.after(fault.delayMs, () => this.#send(port, answer, sender));
    } else if (fault?.kind === "foreignAnswer") {
      void this.#sendForeignAnswer(sender, ssrc).then(() => this.#send(port, answer, sender));
    } else {
      this.#send(port, answer, sender);
    }
  }

  /** An answer with a wrong address from a port that Ready did not name. */
  async #sendForeignAnswer(sender: UdpSender, ssrc: number): Promise<void> {
    const foreignSocket = await this.#network.openUdp(() => undefined);
    await foreignSocket.send(encodeDiscoveryAnswer(ssrc, "192.0.2.1", 1), sender);
    foreignSocket.close();
  }

  #send(port: UdpPort, packet: Buffer, to: UdpSender): void {
    if (!this.#isClosed) void port.send(packet, to);
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
  if (peer === undefined) return `SSRC ${packet.readUInt32BE(4)} was not assigned`;
  return undefined;
}
