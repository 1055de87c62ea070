// Detects WebSockets whose other side no longer answers although the connection is open. Main thread; one per client.

import type { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";

const PING_INTERVAL_MS = 60_000;
/** A client that is busy for so long has lost its voice connections to Discord, too. */
const SILENCE_MAX_MS = 180_000;

/** Pings once a minute, and ends the connection when nothing at all was received for three. */
export function watchLiveness(webSocket: WebSocket, clock: Clock): void {
  let receivedAtMs = clock.now();
  const onReceived = (): void => {
    receivedAtMs = clock.now();
  };
  for (const event of ["pong", "ping", "message"] as const) webSocket.on(event, onReceived);
  const check = (): void => {
    if (clock.now() - receivedAtMs >= SILENCE_MAX_MS) {
      webSocket.terminate();
      return;
    }
    webSocket.ping();
    timer = clock.after(PING_INTERVAL_MS, check);
  };
  let timer = clock.after(PING_INTERVAL_MS, check);
  webSocket.on("close", () => timer.cancel());
}
