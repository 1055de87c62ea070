import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Connections } from "../../../../src/control/server/connections.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const TIMED_OUT = "HTTP/1.1 408 Request Timeout\r\n\r\n";

let clock: FakeClock;
let connections: Connections;
let server: Server;
let handle: (request: IncomingMessage, response: ServerResponse) => void;
const clients: Client[] = [];

interface Client {
  readonly socket: Socket;
  readonly serverSide: Socket;
  received(): string;
  /** Sends, and resolves when the server has read it. */
  say(text: string): Promise<void>;
}

beforeEach(async () => {
  clock = new FakeClock();
  connections = new Connections({ clock, timeoutAnswer: TIMED_OUT });
  handle = (request, response) => {
    const { authorization } = request.headers;
    if (authorization !== undefined) connections.shownPassword(request.socket, `key ${authorization}`);
    response.end("answer");
  };
  server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 }, (request, response) =>
    handle(request, response),
  );
  connections.watch(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  connections.close();
  server.close();
});

/** A client that never closes its side, whatever the server does. */
async function open(text = ""): Promise<Client> {
  const { port } = server.address() as AddressInfo; // listening on TCP: an object
  const accepted = once(server, "connection");
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  let received = "";
  socket.on("data", (data) => {
    received += data;
  });
  const [serverSide] = (await accepted) as [Socket];
  const say = async (part: string): Promise<void> => {
    const expected = serverSide.bytesRead + Buffer.byteLength(part);
    socket.write(part);
    await expect.poll(() => serverSide.bytesRead).toBe(expected);
  };
  const client = { socket, serverSide, received: () => received, say };
  clients.push(client);
  if (text !== "") await say(text);
  return client;
}

/** Advances the clock and lets due timers run. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

async function isClosed({ serverSide }: Client): Promise<boolean> {
  await new Promise((resolve) => setImmediate(resolve));
  return serverSide.destroyed;
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const KNOWN = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\n\r\n";

describe("a connection that stops half way is closed, though its client never closes", () => {
  test.each([
    ["before anything", ""],
    ["within the headers", "GET / HTTP/1.1\r\nX: "],
    ["within the headers of the next request", `${GET}GET /`],
  ])("%s", async (_, text) => {
    const client = await open(text);
    if (text.startsWith(GET)) await expect.poll(client.received).toContain("answer");
    await pass(29_000);
    expect(await isClosed(client)).toBe(false);
    await pass(50_000);
    await pass(6000);
    expect(await isClosed(client)).toBe(true);
    expect(client.received()).toMatch(text.startsWith(GET) ? /^HTTP\/1.1 200/ : TIMED_OUT);
  });

  test("within the body, after an answer with 408", async () => {
    handle = () => undefined;
    const client = await open("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    for (let second = 0; second < 29; second++) {
      await pass(1000);
      if (second % 5 === 0) await client.say("d");
    }
    expect(await isClosed(client)).toBe(false);
    await pass(3000);
    await expect.poll(client.received).toBe(TIMED_OUT);
    await pass(6000);
    expect(await isClosed(client)).toBe(true);
  });

  test("within a body that was answered early", async () => {
    const client = await open("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    await expect.poll(client.received).toContain("answer");
    await pass(32_000);
    expect(await isClosed(client)).toBe(true);
    expect(client.received()).not.toContain("408");
  });

  test("after the answer to an invalid request", async () => {
    server.on("clientError", (_error, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const client = await open("nonsense\r\n\r\n");
    await expect.poll(client.received).toContain("400");
    await pass(4000);
    expect(await isClosed(client)).toBe(false);
    await pass(2000);
    expect(await isClosed(client)).toBe(true);
  });

  test("when its client has ended its side and the answer is not taken", async () => {
    handle = (_request, response) => void response.write("x".repeat(100));
    const client = await open(GET);
    client.socket.end();
    await once(client.serverSide, "end");
    await pass(7000);
    expect(await isClosed(client)).toBe(true);
  });

  test("when it does not take its answer", async () => {
    handle = (_request, response) => void response.end("x".repeat(20_000_000));
    const client = await open();
    client.socket.pause();
    await client.say(GET);
    await pass(119_000);
    expect(await isClosed(client)).toBe(false);
    await pass(3000);
    expect(await isClosed(client)).toBe(true);
  });

  test("between two requests", async () => {
    const client = await open(GET);
    await expect.poll(client.received).toContain("answer");
    await pass(74_000);
    expect(await isClosed(client)).toBe(false);
    await pass(10_000);
    expect(await isClosed(client)).toBe(true);
  });

  test("within an upgrade", async () => {
    server.on("upgrade", (_request, socket: Socket) => connections.upgrade(socket, () => undefined));
    const client = await open(GET.replace("Host", "Connection: upgrade\r\nUpgrade: websocket\r\nHost"));
    await pass(27_000);
    expect(await isClosed(client)).toBe(false);
    await pass(5000);
    expect(await isClosed(client)).toBe(true);
  });
});

test("a connection that is upgraded stays", async () => {
  server.on("upgrade", (_request, socket: Socket) => connections.upgrade(socket, () => connections.upgraded(socket)));
  const client = await open(GET.replace("Host", "Connection: upgrade\r\nUpgrade: websocket\r\nHost"));
  await pass(1_000_000);
  expect(await isClosed(client)).toBe(false);
  expect(openCounts()).toEqual({ upgraded: 1 });
});

test("a connection that keeps sending requests stays open", async () => {
  const client = await open(GET);
  for (let round = 0; round < 10; round++) {
    await pass(60_000);
    await client.say(GET);
    await expect.poll(() => client.received().split("answer").length).toBe(round + 3);
  }
  expect(await isClosed(client)).toBe(false);
});

test("above the bound the oldest connections without the password are closed, and all others stay", async () => {
  server.on("upgrade", (_request, socket: Socket) => connections.upgrade(socket, () => connections.upgraded(socket)));
  const known = await open(KNOWN);
  await expect.poll(known.received).toContain("answer");
  const upgraded = await open(GET.replace("Host", "Connection: upgrade\r\nUpgrade: websocket\r\nHost"));
  const unknown: Client[] = [];
  for (let count = 0; count < 300; count++) unknown.push(await open("GET /"));
  await expect.poll(() => unknown.filter(({ serverSide }) => serverSide.destroyed).length).toBe(300 - 256);
  expect(unknown.slice(0, 44).every(({ serverSide }) => serverSide.destroyed)).toBe(true);
  const version = await open(GET);
  await expect.poll(version.received).toContain("answer");
  await known.say(KNOWN);
  await expect.poll(() => known.received().split("answer").length).toBe(3);
  expect(await isClosed(upgraded)).toBe(false);
});

test("each of the answers on one connection has its own time", async () => {
  const waiting: ServerResponse[] = [];
  handle = (_request, response) => void waiting.push(response);
  const client = await open(GET.repeat(3));
  for (const response of waiting) {
    await pass(100_000);
    response.end("answer");
    await once(response, "close");
  }
  await expect.poll(() => client.received().split("answer").length).toBe(4);
});

test("no timer runs without connections", async () => {
  const client = await open(GET);
  client.socket.destroy();
  await expect.poll(openCounts).toEqual({});
  await pass(2000);
  expect(clock.pendingCount).toBe(0);
});

/** The states in which there are any. */
function openCounts(): object {
  return Object.fromEntries(Object.entries(connections.counts()).filter(([, count]) => count > 0));
}
