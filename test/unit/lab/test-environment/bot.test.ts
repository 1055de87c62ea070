import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { Bot, HandshakeRefused } from "../../../../lab/test-environment/bot.ts";

let server: WebSocketServer | undefined;
afterEach(() => server?.close());

test.each(["<html>", "null", "5", ""])(
  "the bot disconnects from a node that sends %j, and keeps earlier messages",
  async (nonsense) => {
    const node = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    server = node;
    await once(node, "listening");
    node.on("connection", (socket) => {
      socket.send('{"op":"ready","sessionId":"s"}');
      socket.send(nonsense);
    });
    const { port } = node.address() as AddressInfo; // listens on TCP
    const bot = await Bot.connect({ url: `http://127.0.0.1:${port}`, password: "p" });
    expect(await bot.closed()).toMatchObject({ code: 1007 });
    expect(bot.messages.map(({ op }) => op)).toEqual(["ready"]);
  },
);

test("a handshake that the node refuses rejects with its status and Retry-After", async () => {
  const node = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    verifyClient: (_info, answer) => answer(false, 503, "later", { "Retry-After": "2" }),
  });
  server = node;
  await once(node, "listening");
  const { port } = node.address() as AddressInfo; // listens on TCP
  const refusal = await Bot.connect({ url: `http://127.0.0.1:${port}`, password: "p" }).catch((error) => error);
  expect(refusal).toBeInstanceOf(HandshakeRefused);
  expect(refusal).toMatchObject({ status: 503, retryAfterSeconds: 2 });
});

test("a connection that ends before ready rejects at once", async () => {
  const node = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server = node;
  await once(node, "listening");
  node.on("connection", (socket) => socket.close(1011));
  const { port } = node.address() as AddressInfo; // listens on TCP
  await expect(Bot.connect({ url: `http://127.0.0.1:${port}`, password: "p" })).rejects.toThrow(/before ready.*1011/);
});

test("a connection that has no ready in time is cut", async () => {
  const node = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server = node;
  await once(node, "listening");
  const closed = once(node, "connection").then(([socket]) => once(socket, "close"));
  const { port } = node.address() as AddressInfo; // listens on TCP
  const connecting = Bot.connect({ url: `http://127.0.0.1:${port}`, password: "p", connectTimeoutMs: 50 });
  await expect(connecting).rejects.toThrow(/ready/);
  await closed;
});
