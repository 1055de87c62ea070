// What the system's UDP sockets can do that Node has no public method for: to stop receiving, and to send without objects
// of its own for each packet. Where Node's internals are not as expected, callers do without. Pacer thread.

import type { DatagramSocket } from "../../network/sockets.ts";

interface Receiver {
  recvStart(): number;
  recvStop(): number;
}

/** A request to send, which is Node's while the system has not taken the packet. */
interface SendRequest {
  list?: readonly Uint8Array[];
}

interface Sender {
  /** 0: the system takes it later. 1 and more: it has taken it. Otherwise an error. */
  send(request: SendRequest, list: readonly Uint8Array[], count: number, hasCallback: boolean): number;
}

/** The part of a socket that receives; undefined: not known. */
export function receiverOf(socket: DatagramSocket): Receiver | undefined {
  const handle = handleOf(socket);
  return isReceiver(handle) ? handle : undefined;
}

/** Undefined until a packet was sent by a socket itself. */
let createRequest: (() => SendRequest) | undefined;

/** Sends packets of one connected socket. */
export class DirectSender {
  readonly #sender: Sender | undefined;
  #request: SendRequest | undefined;
  #list: Uint8Array[] = [];

  constructor(socket: DatagramSocket) {
    const handle = handleOf(socket);
    this.#sender = isSender(handle) ? handle : undefined;
  }

  /**
   * As `DatagramSocket.send` without a callback. "taken": its bytes may be written again. "pending": the system reads
   * them later. "unable": the socket has to send it.
   */
  send(packet: Uint8Array): "taken" | "pending" | "unable" {
    const sender = this.#sender;
    if (sender === undefined) return "unable";
    if (createRequest === undefined) {
      learnRequest(sender);
      return "unable";
    }
    this.#request ??= createRequest();
    this.#list[0] = packet;
    const result = sender.send(this.#request, this.#list, 1, false);
    if (result !== 0) return "taken";
    this.#request.list = this.#list;
    this.#request = undefined;
    this.#list = [];
    return "pending";
  }
}

/** Looks at the request with which the socket sends the next packet. */
function learnRequest(sender: Sender): void {
  if (Object.hasOwn(sender, "send")) return;
  const value: Sender["send"] = (request, ...others) => {
    Reflect.deleteProperty(sender, "send");
    const ofNode = request.constructor;
    createRequest = () => Reflect.construct(ofNode, []) as SendRequest; // the class of `request`
    return sender.send(request, ...others);
  };
  Object.defineProperty(sender, "send", { value, configurable: true });
}

function handleOf(socket: DatagramSocket): unknown {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "state symbol");
  const state: unknown = key === undefined ? undefined : Reflect.get(socket, key);
  return isObject(state) && "handle" in state ? state.handle : undefined;
}

function isReceiver(handle: unknown): handle is Receiver {
  if (!isObject(handle) || !("recvStart" in handle) || !("recvStop" in handle)) return false;
  return typeof handle.recvStart === "function" && typeof handle.recvStop === "function";
}

function isSender(handle: unknown): handle is Sender {
  return isObject(handle) && "send" in handle && typeof handle.send === "function";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
