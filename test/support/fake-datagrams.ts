// UDP sockets that record sent packets and behave as a test says, for code that runs in the pacer.

import type { DatagramSocket, Sockets } from "../../src/network/sockets.ts";
import { systemSockets } from "../../src/network/sockets.ts";

export class FakeDatagrams implements Sockets {
  readonly connectTcp = systemSockets.connectTcp;
  readonly createConnector = undefined;
  /** All sockets, in order of creation. */
  readonly made: FakeDatagramSocket[] = [];
  /** No more sockets are available. */
  isUsedUp = false;
  /** Behaviour of sockets created from now on. */
  readonly conduct = { hasServer: true, connects: true };
  readonly #onSent: (socket: FakeDatagramSocket) => void;

  constructor(onSent: (socket: FakeDatagramSocket) => void = () => undefined) {
    this.#onSent = onSent;
  }

  createUdp(): FakeDatagramSocket {
    if (this.isUsedUp) throw new Error("too many open files");
    const socket = new FakeDatagramSocket({ ...this.conduct, onSent: () => this.#onSent(socket) });
    this.made.push(socket);
    return socket;
  }
}

interface Conduct {
  /** It answers IP discovery. */
  readonly hasServer: boolean;
  /** False: calls to the system are never answered. */
  readonly connects: boolean;
  readonly onSent: () => void;
}

export class FakeDatagramSocket implements DatagramSocket {
  /** Copies: the buffers of sent packets may be overwritten later. */
  readonly sent: Buffer[] = [];
  /** The buffers themselves. */
  readonly handedOver: Uint8Array[] = [];
  isClosed = false;
  connectedTo: string | undefined;
  /** Thrown by the next sends. */
  thrown: Error | undefined;
  readonly #conduct: Conduct;
  #onMessage: (packet: Buffer) => void = () => undefined;
  #onError: (error: Error) => void = () => undefined;

  constructor(conduct: Conduct) {
    this.#conduct = conduct;
  }

  on(event: "error" | "message", listener: ((error: Error) => void) | ((packet: Buffer) => void)): void {
    // The overloads of DatagramSocket define the arguments.
    if (event === "error") this.#onError = listener as (error: Error) => void;
    else this.#onMessage = listener as (packet: Buffer) => void;
  }

  connect(port: number, address: string, callback: (error?: Error) => void): void {
    this.connectedTo = `${address}:${port}`;
    if (this.#conduct.connects) queueMicrotask(() => callback());
  }

  send(packet: Uint8Array, callback?: (error: Error | null, sizeBytes: number) => void): void {
    if (this.isClosed) throw new Error("not running");
    if (this.thrown !== undefined) throw this.thrown;
    this.sent.push(Buffer.from(packet));
    this.handedOver.push(packet);
    if (callback !== undefined) queueMicrotask(() => callback(null, packet.length));
    if (packet.length === 74 && this.#conduct.hasServer) queueMicrotask(() => this.#onMessage(answerTo(packet)));
    this.#conduct.onSent();
  }

  close(): void {
    if (this.isClosed) throw new Error("closed twice");
    this.isClosed = true;
  }

  /** The system reports an error. */
  fail(error: Error): void {
    this.#onError(error);
  }

  /** Packets that look like RTP. */
  get rtp(): readonly Buffer[] {
    return this.sent.filter((packet) => packet[0] === 0x80 && packet[1] === 0x78);
  }
}

function answerTo(request: Uint8Array): Buffer {
  const answer = Buffer.from(request);
  answer.writeUInt16BE(2, 0);
  answer.write("203.0.113.9", 8);
  answer.writeUInt16BE(4000, 72);
  return answer;
}
