// Requests that are sent without waiting for the answers, on a real server whose connections are paced.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ConnectionLines } from "../../../../src/control/server/connection-lines.ts";
import { paceConnections } from "../../../../src/control/server/inbound-connection.ts";
import { systemClock } from "../../../../src/lib/clock.ts";

const SLICE_BYTES = 1024;
const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

let server: Server;

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

test("few of a thousand requests on one connection wait in the server, the rest in the socket", async () => {
  const COUNT = 1000;
  const lines = new ConnectionLines(systemClock);
  let waiting = 0;
  let waitingMax = 0;
  server = createServer(async (request, response) => {
    waitingMax = Math.max(waitingMax, ++waiting);
    await lines.enter(request, response);
    waiting--;
    response.end("answer");
  });
  paceConnections(server, systemClock);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // listening on TCP: an object
  const client = connect({ port, host: "127.0.0.1" });
  let answers = "";
  client.setEncoding("latin1").on("data", (text) => {
    answers += text;
  });
  client.write(GET.repeat(COUNT));
  await expect.poll(() => answers.split("answer").length - 1).toBe(COUNT);
  client.destroy();
  expect(waitingMax).toBeGreaterThan(1);
  // The requests of one slice, and the one that started in the slice before.
  expect(waitingMax).toBeLessThanOrEqual(SLICE_BYTES / GET.length + 2);
});
