// Counts what a client has sent of a message that is not complete: ws collects it up to the longest message, for each
// of thousands of sockets. Main thread; one per client, under web-socket-endpoint.ts.

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { ByteBudget } from "../../lib/byte-budget.ts";
import { BufferedBytes } from "../sessions/buffered-bytes.ts";

/** A control frame of a client without its payload: two bytes and the mask. */
const CONTROL_HEAD_BYTES = 6;

/** Calls `onExceeded` when an unfinished message takes more than there is memory for. */
export function countUnfinished(
  webSocket: WebSocket,
  connection: Duplex,
  { memory, onExceeded }: { readonly memory: ByteBudget; readonly onExceeded: () => void },
): void {
  const unfinished = new BufferedBytes(memory);
  connection.on("data", (slice: Buffer) => {
    if (!unfinished.change(unfinished.sizeBytes + slice.length)) onExceeded();
  });
  // Control frames may come between the parts of a message.
  const onControl = (data: Buffer): void => {
    unfinished.change(Math.max(0, unfinished.sizeBytes - data.length - CONTROL_HEAD_BYTES));
  };
  webSocket.on("ping", onControl);
  webSocket.on("pong", onControl);
  webSocket.on("message", () => unfinished.change(0));
  webSocket.on("close", () => unfinished.change(0));
}
