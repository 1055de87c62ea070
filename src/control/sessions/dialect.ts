// How messages are written for the client of a session: each version of the protocol has its own form. Main thread; the
// WebSocket end point chooses it by the path of the handshake, the session writes by it.

import type { OutgoingMessage } from "../protocol/outgoing-message.ts";

/** One per version, shared by all its sessions; has no state. */
export interface Dialect {
  /** The version of the protocol, as in `Lavalink-Api-Version`. */
  readonly version: "3" | "4";
  /** The message as the client knows it, ready to become JSON. */
  write(message: OutgoingMessage): object;
}
