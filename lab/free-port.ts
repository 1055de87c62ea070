// Picks a port for a program that must be given one before it starts.

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ephemeral ports of operating systems, so that none of these takes it in the meantime. */
const FIRST_PORT = 20_000;
const AFTER_PORTS = 30_000;
const TRIES_MAX = 50;

/** A port of loopback that was free a moment ago. Rejects with what the last try failed with. */
export async function freePort(): Promise<number> {
  for (let count = 1; ; count++) {
    const port = randomInt(FIRST_PORT, AFTER_PORTS);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if (count === TRIES_MAX) throw error;
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
