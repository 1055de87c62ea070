// A voice gateway and UDP port that do what a test says, step by step, for what the fake Discord of lab/ is too well
// behaved for. By default it shakes hands by itself; a test switches steps off and sends what it likes.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export interface ScriptedGatewayOptions {
  readonly modes?: readonly string[];
  readonly daveVersion?: number;
  readonly heartbeatIntervalMs?: number;
  /** Opcodes of the client that are left unanswered. */
  readonly silentOn?: readonly number[];
  /** Discovery requests that get no answer. */
  readonly lostDiscoveries?: number;
  /** The address and port Ready names. */
  readonly udpAddress?: string;
  readonly udpPort?: number;
}

export const SECRET_KEY: readonly number[] = Array.from({ length: 32 }, (_, index) => index);

export class ScriptedVoiceGateway {
  readonly connections: ScriptedConnection[] = [];
  /** Every datagram, discovery requests and keep-alives included. */
  readonly packets: Buffer[] = [];
  readonly options: ScriptedGatewayOptions;
  readonly #server: WebSocketServer;
  readonly #udp: Socket;
  readonly #udpPort: number;
  #discoveryCount = 0;
  #nextSsrc = 1000;
  #isUdpClosed = false;

  private constructor(options: ScriptedGatewayOptions, server: WebSocketServer, udp: Socket) {
    this.options = options;
    this.#server = server;
    this.#udp = udp;
    this.#udpPort = udp.address().port;
    server.on("connection", (socket) => this.connections.push(new ScriptedConnection(this, socket)));
    udp.on("message", (packet, peer) => {
      this.packets.push(packet);
      if (packet.length !== 74 || this.#discoveryCount++ < (options.lostDiscoveries ?? 0)) return;
      const answer = Buffer.from(packet);
      answer.writeUInt16BE(2, 0);
      answer.write(peer.address, 8);
      answer.writeUInt16BE(peer.port, 72);
      udp.send(answer, peer.port, peer.address);
    });
  }

  static async start(options: ScriptedGatewayOptions = {}): Promise<ScriptedVoiceGateway> {
    const udp = createSocket("udp4");
    udp.bind(0, "127.0.0.1");
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await Promise.all([once(udp, "listening"), once(server, "listening")]);
    return new ScriptedVoiceGateway(options, server, udp);
  }

  get endpoint(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Packets that look like RTP. */
  get rtpPackets(): readonly Buffer[] {
    return this.packets.filter((packet) => packet[0] === 0x80 && packet[1] === 0x78);
  }

  get last(): ScriptedConnection {
    const connection = this.connections.at(-1);
    if (connection === undefined) throw new Error("no client has connected yet");
    return connection;
  }

  /** The payload of the next Ready. */
  ready(): unknown {
    const { modes = ["aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize"] } = this.options;
    const { udpAddress: ip = "127.0.0.1", udpPort: port = this.#udpPort } = this.options;
    return { ssrc: this.#nextSsrc++, ip, port, modes, experiments: [], streams: [] };
  }

  /** From now on datagrams to the UDP port are answered with "port unreachable". */
  closeUdp(): Promise<void> {
    this.#isUdpClosed = true;
    return new Promise((resolve) => this.#udp.close(resolve));
  }

  async close(): Promise<void> {
    for (const { socket } of this.connections) socket.terminate();
    if (!this.#isUdpClosed) await this.closeUdp();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

class ScriptedConnection {
  readonly socket: WebSocket;
  /** JSON messages of the client, and binary ones with the payload as `d`. */
  readonly received: { readonly op: number; readonly d: unknown }[] = [];
  closeCode: number | undefined;
  readonly #gateway: ScriptedVoiceGateway;

  constructor(gateway: ScriptedVoiceGateway, socket: WebSocket) {
    this.#gateway = gateway;
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("close", (code) => {
      this.closeCode = code;
    });
    socket.on("message", (data, isBinary) => this.#receive(data as Buffer, isBinary));
    this.send(8, { v: 8, heartbeat_interval: gateway.options.heartbeatIntervalMs ?? 13_750 });
  }

  /** The payloads of the messages with this opcode. */
  all(opcode: number): readonly Record<string, unknown>[] {
    return this.received.filter(({ op }) => op === opcode).map(({ d }) => d as Record<string, unknown>);
  }

  send(op: number, d: unknown, seq?: number): void {
    this.socket.send(JSON.stringify(seq === undefined ? { op, d } : { op, d, seq }));
  }

  sendBinary(seq: number, op: number, payload: Uint8Array): void {
    this.socket.send(Buffer.concat([Uint8Array.of(seq >> 8, seq & 0xff, op), payload]));
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const message = isBinary ? { op: data[0]!, d: data.subarray(1) } : JSON.parse(data.toString());
    this.received.push(message);
    if (this.#gateway.options.silentOn?.includes(message.op)) return;
    if (message.op === 0) this.send(2, this.#gateway.ready());
    if (message.op === 1) this.#describe(message.d.data.mode);
    if (message.op === 3) this.send(6, { t: message.d.t });
    if (message.op === 7) this.send(9, null);
  }

  #describe(mode: string): void {
    const { daveVersion = 0 } = this.#gateway.options;
    this.send(4, { mode, secret_key: SECRET_KEY, dave_protocol_version: daveVersion, audio_codec: "opus" });
  }
}
