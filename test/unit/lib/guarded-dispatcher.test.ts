import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createGuardedDispatcher } from "../../../src/lib/guarded-dispatcher.ts";
import { OutboundGuard } from "../../../src/lib/outbound-guard.ts";

const timeouts = { connectTimeoutMs: 5_000, socketTimeoutMs: 5_000 };
let server: Server;
let port: number;
let hits = 0;

beforeAll(async () => {
  server = createServer((incoming, response) => {
    hits++;
    response.end(`${incoming.socket.remoteAddress} ${incoming.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
});

async function get(url: string, allow: string[], options: { localAddress?: string; proxyUrl?: string } = {}) {
  const dispatcher = createGuardedDispatcher({ guard: new OutboundGuard(allow), ...timeouts, ...options });
  try {
    const response = await request(url, { dispatcher });
    return await response.body.text();
  } finally {
    await dispatcher.destroy();
  }
}

it.each(["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost"])(
  "refuses %s before a connection is made",
  async (host) => {
    const before = hits;
    await expect(get(`http://${host}:${port}/`, [])).rejects.toMatchObject({ code: "address-refused" });
    expect(hits).toBe(before);
  },
);

it("reaches what the allow list opens, by address and by name", async () => {
  expect(await get(`http://127.0.0.1:${port}/a`, ["127.0.0.0/8"])).toContain("/a");
  expect(await get(`http://localhost:${port}/b`, ["127.0.0.0/8"])).toContain("/b");
});

it("sends from the local address asked for", async () => {
  expect(await get(`http://127.0.0.1:${port}/`, ["127.0.0.0/8"], { localAddress: "127.0.0.2" })).toContain("127.0.0.2");
});

it("plain HTTP goes through a proxy with its credentials", async () => {
  const seen: unknown[] = [];
  const proxy = createServer((incoming, response) => {
    seen.push([incoming.url, incoming.headers["proxy-authorization"]]);
    response.end("from the proxy");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const proxyUrl = `http://user:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  expect(await get("http://radio.example/live?x=1", [], { proxyUrl })).toBe("from the proxy");
  expect(seen).toEqual([["http://radio.example/live?x=1", "Basic dXNlcjpzZWNyZXQ="]]);
  await new Promise((resolve) => proxy.close(resolve));
});

it("refuses literal private targets behind a proxy as well", async () => {
  const proxied = get("http://10.0.0.1/", [], { proxyUrl: `http://127.0.0.1:${port}` });
  await expect(proxied).rejects.toMatchObject({ code: "address-refused" });
});
