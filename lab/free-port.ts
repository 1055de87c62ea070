// A port for what has to be told one before it starts.

import { once } from "node:events";
import { createServer } from "node:net";

/** A port of loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number }; // listening on TCP: an object
  server.close();
  await once(server, "close");
  return port;
}
