// A port for what has to be told one before it starts.

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below those that systems give to whoever asks for any, so that none of these takes it meanwhile. */
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
