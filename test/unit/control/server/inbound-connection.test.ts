// The HTTP server on connections whose data is handed to it slice by slice, over real TCP.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { paceConnections } from "../../../../src/control/server/inbound-connection.ts";

const SLICE_BYTES = 1024;
const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

let server: Server;
let accepted: Socket[];
let handle: (request: IncomingMessage, response: ServerResponse) => void;
/** Milliseconds that each reading of the clock takes. */
let msPerReading: number;
const clients: Socket[] = [];

beforeEach(async () => {
  accepted = [];
  handle = (_request, response) => response.end("answer");
  msPerReading = 0;
  let nowMs = 0;
  server = createServer((request, response) => handle(request, response));
  server.on("connection", (socket) => accepted.push(socket));
  paceConnections(server, { now: () => (nowMs += msPerReading) });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.close();
  server.closeAllConnections();
});

async function open(): Promise<{ client: Socket; received: () => string }> {
  const { port } = server.address() as AddressInfo; // listening on TCP: an object
  const count = accepted.length;
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  clients.push(client);
  let received = "";
  client.setEncoding("latin1").on("data", (text) => {
    received += text;
  });
  client.on("error", () => undefined);
  await expect.poll(() => accepted.length, { interval: 1 }).toBe(count + 1);
  return { client, received: () => received };
}

test("a request is read before the many bytes of others that arrived first", async () => {
  // Every slice takes a round.
  msPerReading = 1000;
  const bodies = 20;
  const bodyStart = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  handle = (request, response) => {
    request.resume();
    if (request.method === "GET") response.end("answer");
  };
  const hostile: Awaited<ReturnType<typeof open>>[] = [];
  while (hostile.length < bodies) hostile.push(await open());
  for (const { client } of hostile) client.write(bodyStart + "1\r\n[\r\n".repeat(10_000));
  await expect.poll(() => accepted.every(({ bytesRead }) => bytesRead > 0)).toBe(true);
  const control = await open();
  const before = accepted.slice(0, bodies).map(({ bytesRead }) => bytesRead);
  control.client.write(GET);
  await expect.poll(control.received, { interval: 1 }).toContain("answer");
  const meanwhile = accepted.slice(0, bodies).map(({ bytesRead }, index) => bytesRead - (before[index] ?? 0));
  // The bytes need some event loop iterations to go back and forth.
  expect(Math.max(...meanwhile)).toBeLessThanOrEqual(16 * SLICE_BYTES);
  await expect
    .poll(() => accepted.slice(0, bodies).map(({ bytesRead }) => bytesRead))
    .toEqual(new Array(bodies).fill(bodyStart.length + 60_000));
});

test("all connections that arrive at once are accepted before the first of them is read", async () => {
  const { port } = server.address() as AddressInfo; // listening on TCP: an object
  let acceptedAtFirst: number | undefined;
  handle = (_request, response) => {
    acceptedAtFirst ??= accepted.length;
    response.end("answer");
  };
  const answers = Array.from({ length: 50 }, () => {
    const client = connect({ port, host: "127.0.0.1" });
    clients.push(client);
    client.write(GET);
    return once(client, "data");
  });
  await Promise.all(answers);
  expect(acceptedAtFirst).toBe(50);
});

test("all slices that are due together are handed out in one round when they cost little", async () => {
  const { client, received } = await open();
  let slices = 0;
  let iterations = 0;
  let isCounted = false;
  handle = (request, response) => {
    request.on("data", () => {
      slices++;
      if (isCounted) return;
      isCounted = true;
      iterations++;
      setImmediate(() => {
        isCounted = false;
      });
    });
    request.on("end", () => response.end("answer"));
  };
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(1_000_000)}`);
  await expect.poll(received).toContain("answer");
  expect(slices).toBeGreaterThan(1_000_000 / SLICE_BYTES);
  expect(iterations).toBeLessThan(slices / 4);
});

test("the server sees its client as on a plain socket", async () => {
  const { client, received } = await open();
  let seen: unknown;
  handle = ({ socket }, response) => {
    seen = [socket.remoteAddress, socket.remotePort];
    response.setHeader("Connection", "close");
    response.end("answer");
  };
  client.write(GET);
  await once(client, "end");
  expect(received()).toContain("answer");
  expect(seen).toEqual(["127.0.0.1", client.localPort]);
});

test("a client that closes its side right behind its request is answered", async () => {
  const { client, received } = await open();
  client.end(GET);
  await once(client, "end");
  expect(received()).toContain("answer");
});

test("a large answer reaches a client that reads late, whole", async () => {
  const { client, received } = await open();
  const size = 20_000_000;
  handle = (_request, response) => {
    response.setHeader("Connection", "close");
    response.end(Buffer.alloc(size, "x"));
  };
  client.pause();
  client.write(GET);
  await expect.poll(() => client.readableLength > 0).toBe(true);
  client.resume();
  await once(client, "end");
  expect(received().length - received().indexOf("\r\n\r\n") - 4).toBe(size);
});

test("a silent connection ends after the server's keep-alive time", async () => {
  server.keepAliveTimeout = 1;
  const { client, received } = await open();
  client.write(GET);
  await once(client, "end");
  expect(received()).toContain("answer");
  expect(accepted[0]?.destroyed).toBe(true);
});

test("either side's end is the end of both", async () => {
  const { client } = await open();
  client.resetAndDestroy();
  await expect.poll(() => accepted[0]?.destroyed).toBe(true);
  const other = await open();
  accepted[1]?.destroy();
  await once(other.client, "end");
});
