// The health checks of the lab's balancer, at a machine that stops answering and answers again.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { Balancer } from "../../../../lab/cluster/balancer.ts";
import { HealthChecks } from "../../../../lab/cluster/health-checks.ts";

const WAIT = { timeout: 10_000, interval: 20 };
const closing: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).reverse()) await close();
});

interface Site {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  status: number;
  requests: number;
}

async function site(): Promise<Site> {
  const server = createServer((_, response) => {
    made.requests++;
    response.writeHead(made.status).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.closeAllConnections());
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const made: Site = { server, port, url: `http://127.0.0.1:${port}`, status: 401, requests: 0 };
  return made;
}

test("a machine that fails three times gets no connections and loses those it has, until it answers", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const [a, b] = [await site(), await site()];
  const balancer = await Balancer.start([a, b]);
  closing.push(() => balancer.close());
  const checks = new HealthChecks(balancer);
  closing.push(() => checks.close());
  const only = vi.spyOn(balancer, "only");
  /** One check of each, with its answers. */
  const check = async (): Promise<void> => {
    const before = a.requests;
    vi.advanceTimersByTime(1000);
    await vi.waitFor(() => expect(a.requests).toBe(before + 1), WAIT);
  };
  const socket = connect({ host: "127.0.0.1", port: balancer.port }).on("error", () => undefined);
  await once(socket, "connect");
  await vi.waitFor(() => expect(balancer.machineOf(socket.localPort ?? 0)).toBe(a), WAIT);
  a.status = 500;
  await check();
  await check();
  expect(only).not.toHaveBeenCalled();
  const closed = once(socket.resume(), "close");
  await check();
  await closed;
  expect(only.mock.lastCall).toEqual([b]);
  a.status = 200;
  await check();
  await vi.waitFor(() => expect(only.mock.lastCall).toEqual([a, b]), WAIT);
});
