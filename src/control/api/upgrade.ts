// What takes requests to switch to WebSocket: the protocol's end point, the dashboard's. Main thread; control/server
// leads each to the one that it is for.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** A request to switch, and the connection to go on with. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** What came behind the request already. */
  readonly head: Buffer;
}

/** One way to speak WebSocket. */
export interface UpgradeTarget {
  /** Whether requests with this path, without its query, are its own. */
  isFor(path: string): boolean;
  /** Answers; the connection is its own from here on. `onUpgraded` is called when 101 is sent. */
  upgrade(upgrade: UpgradeRequest, onUpgraded: () => void): void;
}
