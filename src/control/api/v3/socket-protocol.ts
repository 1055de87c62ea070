// v3 on the WebSocket: its paths, resuming by a key the client has chosen, its operations (protocol-v4.md section
// 2.11). Main thread.

import type { ApiContext } from "../api-context.ts";
import type { SocketProtocol } from "../socket-protocol.ts";
import { v3Message } from "./message-forms.ts";
import { V3Operations } from "./operations.ts";

/** On `/v3/websocket`, also with a slash at its end, and `/`. */
export function createV3Protocol(
  context: Pick<ApiContext, "disabledFilters" | "moduleFilters" | "limitsOf" | "logger">,
): SocketProtocol {
  const operations = new V3Operations(context);
  return {
    version: "3",
    paths: ["/v3/websocket", "/v3/websocket/", "/"],
    write: v3Message,
    findSession(sessions, { "resume-key": key }, client) {
      const session = typeof key === "string" ? sessions.withResumeKey(key, client) : undefined;
      return session?.dialect.version === "3" ? session : undefined;
    },
    askedSession: ({ "resume-key": key }) => (typeof key === "string" ? { resumeKey: key } : undefined),
    onText: (session, text) => operations.onText(session, text),
  };
}
