// What is between a machine and its NATS servers in the lab, with a server that repeats what it gets.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { NatsProxies } from "../../../../lab/cluster/nats-proxies.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Repeating {
  readonly port: number;
  readonly sockets: readonly Socket[];
}

async function repeating(): Promise<Repeating> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    socket.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  closing.push(() => sockets.map((socket) => socket.destroy()));
  return { port: (server.address() as AddressInfo).port, sockets }; // it listens on TCP
}

async function proxyOf(server: Repeating): Promise<{ readonly proxies: NatsProxies; readonly port: number }> {
  const proxies = await NatsProxies.start([server]);
  closing.push(() => proxies.close());
  return { proxies, port: Number(new URL(proxies.urls[0]!).port) };
}

function open(port: number): Socket {
  const socket = connect({ host: "127.0.0.1", port });
  closing.push(() => socket.destroy());
  return socket.on("error", () => undefined).setEncoding("utf8");
}

async function next(socket: Socket): Promise<string> {
  const [text] = await once(socket, "data");
  return String(text);
}

/** All that is on its way through loopback has arrived. */
async function arrived(): Promise<void> {
  const server = await repeating();
  const socket = open(server.port);
  socket.write("done");
  expect(await next(socket)).toBe("done");
}

test("what is written comes through and back, and the end of a side ends the other", async () => {
  const server = await repeating();
  const { port } = await proxyOf(server);
  const socket = open(port);
  socket.write("one");
  expect(await next(socket)).toBe("one");
  server.sockets[0]?.destroy();
  await once(socket, "close");
});

test("while it is cut nothing comes through and no side learns of it; then what was on its way arrives", async () => {
  const server = await repeating();
  const { proxies, port } = await proxyOf(server);
  const socket = open(port);
  socket.write("one");
  expect(await next(socket)).toBe("one");
  const heard: string[] = [];
  socket.on("data", (text) => heard.push(String(text)));
  proxies.cut();
  socket.write("two");
  await arrived();
  expect(heard).toEqual([]);
  expect([socket.closed, server.sockets[0]?.closed]).toEqual([false, false]);
  proxies.heal();
  expect(await next(socket)).toBe("two");
});

test("a connection made while it is cut is accepted and hears nothing until it is healed", async () => {
  const server = await repeating();
  const { proxies, port } = await proxyOf(server);
  proxies.cut();
  const socket = open(port);
  await once(socket, "connect");
  socket.write("one");
  await arrived();
  expect(server.sockets).toEqual([]);
  proxies.heal();
  expect(await next(socket)).toBe("one");
});

test("a side that leaves while it is cut is missed by the other only after that", async () => {
  const server = await repeating();
  const { proxies, port } = await proxyOf(server);
  const socket = open(port);
  socket.write("one");
  expect(await next(socket)).toBe("one");
  proxies.cut();
  socket.resetAndDestroy();
  await arrived();
  expect(server.sockets[0]?.closed).toBe(false);
  proxies.heal();
  await once(server.sockets[0]!, "close");
});

test("without its server a proxy refuses connections, and listens at the same port again", async () => {
  const server = await repeating();
  const { proxies, port } = await proxyOf(server);
  await proxies.setListening(server, false);
  const [error] = await once(connect({ host: "127.0.0.1", port }), "error");
  expect(error).toMatchObject({ code: "ECONNREFUSED" });
  await proxies.setListening(server, true);
  const socket = open(port);
  socket.write("one");
  expect(await next(socket)).toBe("one");
});
