// Creates sockets: passed in, so that a simulation can replace a node's network (lab/simulate). Used for voice
// gateways, voice servers and web sites. A leaf, on audio and probe threads.

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
  /** Fixes the peer. `callback` receives the system's error, if any. */
  connect(port: number, address: string, callback: (error?: Error) => void): void;
  /** `callback` reports whether it was sent. Do not overwrite `packet` before. */
  send(packet: Uint8Array, callback?: (error: Error | null, sizeBytes: number) => void): void;
  /** Once; no event follows. */
  close(): unknown;
}

/** A thread's network access: the system's sockets, or those of a simulation. */
export interface Sockets {
  /** As `net.connect`. */
  connectTcp(options: NetConnectOpts): TcpSocket;
  /** Creates HTTP connections; undefined: undici's own connector, which is loaded on demand. */
  readonly createConnector: typeof buildConnector | undefined;
  /** For IPv4. */
  createUdp(): DatagramSocket;
}

/** The sockets of this machine. */
export const systemSockets: Sockets = {
  connectTcp: (options) => connect(options),
  createConnector: undefined,
  createUdp: () => createSocket("udp4"),
};
