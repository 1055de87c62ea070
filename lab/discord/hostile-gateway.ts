// A voice gateway under an attacker's control: sends anything, as fast as it can, and does not read. Any node can be
// told to connect to it (the `endpoint` of PATCH player), so it must not disturb other players. On 127.0.0.1, in the
// thread that starts it; a flood is best started in a separate thread or process.
//
//   const gateway = await startHostileGateway({ behaviour: "heartbeat-requests" });
//   … PATCH player with { endpoint: gateway.endpoint, token: "t", sessionId: "s", channelId: "1" } …
//   await gateway.close();

import { createHash } from "node:crypto";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { FLOODS, type FloodBytes, type FloodName } from "./hostile-floods.ts";

/** Behaviours other than floods of WebSocket frames. */
const OTHER_BEHAVIOURS = [
  /** Accepts TCP and says nothing. */
  "silent",
  /** A byte of the upgrade's answer every 50 ms, without end. */
  "drip",
  /** Opens and closes with 1001 at once, every time. */
  "close-at-once",
  /** A whole handshake, and then 4015, every time. */
  "close-when-live",
  /** A whole handshake, then datagrams to the node's UDP port, as many as can be sent. */
  "udp-flood",
  /** Every discovery request is answered with a thousand wrong ones. */
  "udp-false-discoveries",
] as const;

export type HostileBehaviour = FloodName | (typeof OTHER_BEHAVIOURS)[number];

/** All behaviours, for callers that try one after the other. */
export const HOSTILE_BEHAVIOURS: readonly HostileBehaviour[] = [
  ...(Object.keys(FLOODS) as FloodName[]),
  ...OTHER_BEHAVIOURS,
];

interface HostileGatewayOptions {
  readonly behaviour: HostileBehaviour;
  /** The `channelId` of the voice object the node is given: genuine MLS messages are made for it. Default "1". */
  readonly channelId?: string;
}

export interface HostileGateway {
  /** `127.0.0.1:PORT`, for the `endpoint` of a voice object. */
  readonly endpoint: string;
  /** Connections so far. */
  readonly connectionCount: number;
  /** Connections still open. */
  readonly openCount: number;
  /** Bytes of floods that the node's side has accepted so far, without those in transit. */
  readonly bytesSent: number;
  readonly datagramsSent: number;
  close(): Promise<void>;
}

const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const DRIP_MS = 50;
const DATAGRAMS_PER_ITERATION = 200;
const FALSE_DISCOVERIES = 1000;

export async function startHostileGateway(options: HostileGatewayOptions): Promise<HostileGateway> {
  const server = new HostileServer(options);
  await server.open();
  return server;
}

class HostileServer implements HostileGateway {
  readonly options: HostileGatewayOptions;
  readonly #tcp = createServer((socket) => this.#onConnection(socket));
  readonly #udp: UdpSocket = createSocket("udp4");
  readonly #sockets = new Set<Socket>();
  #isClosed = false;
  connectionCount = 0;
  datagramsSent = 0;
  #bytesOfGone = 0;

  constructor(options: HostileGatewayOptions) {
    this.options = options;
    this.#udp.on("error", () => undefined); // the node has closed its port
    this.#udp.on("message", (packet, { port, address }) => this.#onDatagram(packet, port, address));
  }

  async open(): Promise<void> {
    this.#tcp.listen(0, "127.0.0.1");
    this.#udp.bind(0, "127.0.0.1");
    await Promise.all([once(this.#tcp, "listening"), once(this.#udp, "listening")]);
  }

  get endpoint(): string {
    return `127.0.0.1:${(this.#tcp.address() as AddressInfo).port}`; // listens on TCP
  }

  get openCount(): number {
    return this.#sockets.size;
  }

  get bytesSent(): number {
    let sum = this.#bytesOfGone;
    for (const socket of this.#sockets) sum += socket.bytesWritten - socket.writableLength;
    return sum;
  }

  get udpPort(): number {
    return this.#udp.address().port;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
    this.#udp.close();
    this.#tcp.close();
    await once(this.#tcp, "close");
  }

  #onConnection(socket: Socket): void {
    this.connectionCount++;
    this.#sockets.add(socket);
    socket.on("error", () => undefined); // "close" follows
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#bytesOfGone += socket.bytesWritten - socket.writableLength;
    });
    new HostileConnection(this, socket);
  }

  #onDatagram(packet: Buffer, port: number, address: string): void {
    const { behaviour } = this.options;
    const isDiscovery = packet.length === 74 && packet.readUInt16BE(0) === 1;
    if (!isDiscovery) return;
    const answer = Buffer.from(packet);
    answer.writeUInt16BE(2, 0);
    if (behaviour === "udp-false-discoveries") {
      answer.fill(0xff, 8);
      for (let count = 0; count < FALSE_DISCOVERIES; count++) this.#udp.send(answer, port, address);
      return;
    }
    answer.write(address, 8);
    answer.writeUInt16BE(port, 72);
    this.#udp.send(answer, port, address);
    if (behaviour === "udp-flood") this.#floodUdp(port, address);
  }

  #floodUdp(port: number, address: string): void {
    if (this.#isClosed) return;
    const packet = Buffer.alloc(200, 0x90);
    let pending = DATAGRAMS_PER_ITERATION;
    const onSent = () => {
      this.datagramsSent++;
      if (--pending === 0) setImmediate(() => this.#floodUdp(port, address));
    };
    for (let count = 0; count < DATAGRAMS_PER_ITERATION; count++) this.#udp.send(packet, port, address, onSent);
  }
}

/** One TCP connection of the node. */
class HostileConnection {
  readonly #server: HostileServer;
  readonly #socket: Socket;
  /** Undefined until the WebSocket is open. */
  #received: Buffer | undefined;

  constructor(server: HostileServer, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    socket.once("data", (request) => this.#onRequest(request.toString("latin1")));
  }

  #onRequest(request: string): void {
    const { behaviour } = this.#server.options;
    if (behaviour === "silent") return;
    if (behaviour === "drip") {
      this.#socket.write("HTTP/1.1 101 Switching Protocols\r\nX-Slow: ");
      this.#drip();
      return;
    }
    if (this.#isDue("upgrade")) {
      this.#flood();
      return;
    }
    const key = /^sec-websocket-key: (.*)\r$/im.exec(request)?.[1] ?? "";
    const accept = createHash("sha1").update(`${key}${WEBSOCKET_GUID}`).digest("base64");
    this.#socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    if (behaviour === "close-at-once") this.#close(1001);
    else if (this.#isDue("opened")) this.#flood();
    else this.#shakeHands();
  }

  #drip(): void {
    if (this.#socket.destroyed) return;
    this.#socket.write("x");
    setTimeout(() => this.#drip(), DRIP_MS).unref();
  }

  #isDue(env: string): boolean {
    const { behaviour } = this.#server.options;
    return behaviour in FLOODS && FLOODS[behaviour as FloodName].env === env;
  }

  /** Hello; then Ready for Identify, and the Session Description for Select Protocol. */
  #shakeHands(): void {
    this.#received = Buffer.alloc(0);
    this.#socket.on("data", (data) => this.#onData(data));
    this.#send(8, { v: 8, heartbeat_interval: 13_750 });
  }

  #onData(data: Buffer): void {
    let rest = Buffer.concat([this.#received ?? Buffer.alloc(0), data]);
    for (let message = readMaskedFrame(rest); message !== undefined; message = readMaskedFrame(rest)) {
      rest = rest.subarray(message.sizeBytes);
      if (message.isText) this.#onMessage(JSON.parse(message.payload.toString()) as { op: number });
    }
    this.#received = rest;
  }

  #onMessage({ op }: { readonly op: number }): void {
    const mode = "aead_xchacha20_poly1305_rtpsize";
    const { udpPort, options } = this.#server;
    if (op === 0) this.#send(2, { ssrc: 1, ip: "127.0.0.1", port: udpPort, modes: [mode], experiments: [] });
    else if (op === 3) this.#send(6, { t: 0 });
    else if (op === 7) this.#send(9, null);
    if (op !== 1 && op !== 7) return;
    const isDave = options.behaviour in FLOODS;
    const key = Array.from({ length: 32 }, (_, index) => index);
    if (op === 1) this.#send(4, { mode, secret_key: key, dave_protocol_version: isDave ? 1 : 0 });
    if (options.behaviour === "close-when-live") this.#close(4015);
    else if (isDave) this.#flood();
  }

  /** Stops reading, and writes whenever something may be written. */
  #flood(): void {
    const { behaviour, channelId = "1" } = this.#server.options;
    this.#socket.pause();
    const { start, block }: FloodBytes = FLOODS[behaviour as FloodName].create({ channelId });
    if (start !== undefined) this.#socket.write(start);
    const write = () => {
      // One iteration of the event loop at a time, so that the thread can also be asked to stop.
      while (!this.#socket.destroyed && this.#socket.write(block));
    };
    this.#socket.on("drain", () => setImmediate(write));
    write();
  }

  #send(op: number, d: unknown): void {
    const payload = Buffer.from(JSON.stringify({ op, d }));
    const header =
      payload.length < 126 ? [0x81, payload.length] : [0x81, 126, payload.length >> 8, payload.length & 0xff];
    this.#socket.write(Buffer.concat([Buffer.from(header), payload]));
  }

  #close(code: number): void {
    this.#socket.write(Buffer.from([0x88, 2, code >> 8, code & 0xff]));
    this.#socket.end();
  }
}

/** The first whole frame of a client in `bytes`; undefined when it is incomplete. */
function readMaskedFrame(
  bytes: Buffer,
): { readonly sizeBytes: number; readonly isText: boolean; readonly payload: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const shortLength = bytes.readUInt8(1) & 0x7f;
  const headerBytes = shortLength === 126 ? 4 : 2;
  if (shortLength === 127 || bytes.length < headerBytes + 4) return undefined;
  const length = shortLength === 126 ? bytes.readUInt16BE(2) : shortLength;
  const sizeBytes = headerBytes + 4 + length;
  if (bytes.length < sizeBytes) return undefined;
  const mask = bytes.subarray(headerBytes, headerBytes + 4);
  const payload = Buffer.from(bytes.subarray(headerBytes + 4, sizeBytes)).map((byte, index) => byte ^ mask[index % 4]!);
  return { sizeBytes, isText: (bytes.readUInt8(0) & 0x0f) === 1, payload: Buffer.from(payload) };
}
