// The differences between protocol versions on the WebSocket. Main thread; web-socket-endpoint.ts does the rest.

import type { IncomingHttpHeaders } from "node:http";
import type { AskedSession } from "../cluster/session-homes.ts";
import { extensionEvent } from "../protocol/extension-message.ts";
import type { Dialect } from "../sessions/dialect.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionClient, Sessions } from "../sessions/sessions.ts";

/** One per version; the end point chooses it by the path of the handshake. */
export interface SocketProtocol extends Dialect {
  /** The paths it is served on. */
  readonly paths: readonly string[];
  /** The session that a handshake asks to resume, in whatever state. */
  findSession(
    sessions: Sessions,
    headers: IncomingHttpHeaders,
    client: Pick<SessionClient, "userId" | "owner">,
  ): Session | undefined;
  /** What a handshake says of the session that it asks to resume; undefined: nothing. */
  askedSession(headers: IncomingHttpHeaders): AskedSession | undefined;
  /** Takes what a client says. Never throws. */
  onText(session: Session, text: string): void;
}

/** Where v4 is served; the only WebSocket path that is also a route of REST, for requests without an upgrade. */
export const WEB_SOCKET_PATH = "/v4/websocket";

/** Clients of v4 have nothing to say; what they say is forgotten. */
export const V4_PROTOCOL: SocketProtocol = {
  version: "4",
  paths: [WEB_SOCKET_PATH],
  write: (message) => (message.op === "extension" ? extensionEvent(message) : message),
  findSession(sessions, { "session-id": id }) {
    const session = typeof id === "string" ? sessions.own(id) : undefined;
    return session?.dialect.version === "4" ? session : undefined;
  },
  askedSession: ({ "session-id": id }) => (typeof id === "string" ? { sessionId: id } : undefined),
  onText: () => undefined,
};
