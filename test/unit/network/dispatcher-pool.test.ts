import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Dispatcher } from "undici";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DispatcherPool } from "../../../src/network/dispatcher-pool.ts";
import { OutboundGuard } from "../../../src/network/outbound-guard.ts";
import { until } from "../../support/input-builders.ts";

let server: Server;
let pool: DispatcherPool;
let origin: string;
/** `address:port` of the open connections at the server. */
const connections = new Set<string>();

beforeEach(async () => {
  connections.clear();
  server = createServer((request, response) => {
    response.write("started ");
    if (request.url !== "/endless") response.end(`${request.socket.remoteAddress}:${request.socket.remotePort}`);
  });
  // Idle connections shall not go by themselves while the test looks.
  server.keepAliveTimeout = 600_000;
  server.on("connection", (socket) => {
    const name = `${socket.remoteAddress}:${socket.remotePort}`;
    connections.add(name);
    socket.once("close", () => connections.delete(name));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const guard = new OutboundGuard(["127.0.0.0/8"]);
  pool = new DispatcherPool({ guard, connectTimeoutMs: 5_000, socketTimeoutMs: 5_000 });
});

afterEach(async () => {
  pool.close();
  await new Promise((resolve) => server.close(resolve));
});

async function get(localAddress: string | undefined): Promise<string> {
  const { body } = await pool.get(localAddress).request({ origin, path: "/", method: "GET" });
  return (await body.text()).slice("started ".length);
}

function begin(localAddress: string): Promise<Dispatcher.ResponseData> {
  return pool.get(localAddress).request({ origin, path: "/endless", method: "GET" });
}

function address(index: number): string {
  return `127.16.1.${index}`;
}

it("requests from one address share its connection, and no others do", async () => {
  const first = await get(address(1));
  expect(first).toMatch(/^127\.16\.1\.1:/);
  expect(await get(address(2))).toMatch(/^127\.16\.1\.2:/);
  expect(await get(undefined)).toMatch(/^127\.0\.0\.1:/);
  expect(await get(address(1))).toBe(first);
});

it("a thousand addresses leave only the idle connections of the last 32", async () => {
  const unbound = await get(undefined);
  for (let block = 0; block < 10; block++) {
    // Started together, so that many are evicted while they connect.
    const seen = await Promise.all(Array.from({ length: 100 }, (_, index) => get(`127.17.${block}.${index + 1}`)));
    expect(seen.map((name) => name.split(":")[0])).toEqual(seen.map((_, index) => `127.17.${block}.${index + 1}`));
  }
  await until(() => connections.size === 33);
  expect(connections).toContain(unbound);
});

it("an address in use is retained, and its body continues after eviction", async () => {
  const { body } = await begin(address(1));
  const retained = await get(address(2));
  for (let index = 3; index <= 40; index++) {
    await get(address(index));
    expect(await get(address(2))).toBe(retained);
  }
  await until(() => connections.size === 33);
  expect([...connections].some((name) => name.startsWith(`${address(1)}:`))).toBe(true);
  expect(body.destroyed).toBe(false);
  body.on("error", () => undefined);
  body.destroy();
  await until(() => connections.size === 32);
});

it("closing drops idle connections and bodies being received", async () => {
  const { body } = await begin(address(1));
  body.on("error", () => undefined);
  await get(address(2));
  await get(undefined);
  pool.close();
  await until(() => connections.size === 0);
  expect(body.destroyed).toBe(true);
});
