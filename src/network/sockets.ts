// Where sockets come from: passed in, so that a simulation can give a node links of its own (lab/simulate). Voice
// gateways, voice servers and web sites are reached through it. A leaf, on audio and probe threads.

import { createSocket } from "node:dgram";
import { connect, type NetConnectOpts, type Socket as TcpSocket } from "node:net";
import type { buildConnector } from "undici";

/** A UDP socket with one peer, as far as voice uses it; a `dgram.Socket` is one. */
export interface DatagramSocket {
  /**
   * An error may come at any time until `close`, and without a listener ends the thread; messages begin with `connect`.
   */
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "message", listener: (packet: Buffer) => void): unknown;
  /** Fixes the peer. `callback` hears of the system's error, if there is one. */
  connect(port: number, address: string, callback: (error?: Error) => void): void;
  /** `callback` hears whether it left. Not to be overwritten before. */
  send(packet: Uint8Array, callback?: (error: Error | null, sizeBytes: number) => void): void;
  /** Once; no event follows. */
  close(): unknown;
}

/** A thread's way out: the system's sockets, or those that a simulation has made. */
export interface Sockets {
  /** As `net.connect`. */
  connectTcp(options: NetConnectOpts): TcpSocket;
  /** What makes the connections of HTTP; undefined: undici's own, which is not loaded before it is needed. */
  readonly createConnector: typeof buildConnector | undefined;
  /** For IPv4. */
  createUdp(): DatagramSocket;
}

/** Those of this machine. */
export const systemSockets: Sockets = {
  connectTcp: (options) => connect(options),
  createConnector: undefined,
  createUdp: () => createSocket("udp4"),
};
