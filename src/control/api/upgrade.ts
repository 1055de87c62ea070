// Targets of requests to switch to WebSocket: the protocol's endpoint, the dashboard's. Main thread; control/server
// routes each request to its target.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** A request to switch, and its connection. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** Bytes that have arrived after the request. */
  readonly head: Buffer;
}

/** One WebSocket endpoint. */
export interface UpgradeTarget {
  /** Whether requests with this path, without its query, are its own. */
  isFor(path: string): boolean;
  /** Answers; the connection is its own from here on. `onUpgraded` is called when 101 is sent. */
  upgrade(upgrade: UpgradeRequest, onUpgraded: () => void): void;
}
