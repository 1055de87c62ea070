import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { healthCommand } from "../../../src/cli/health.ts";
import { Certificates } from "../../support/certificates.ts";

const PASSWORD = "a password of ours";
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

/** Listens on a free port of loopback; the port. */
async function serve(answer: RequestListener, host = "127.0.0.1"): Promise<number> {
  const server = createServer(answer);
  servers.push(server.unref());
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port; // TCP
}

/** A node that answers so. */
function node(status: number): RequestListener {
  return (_request, response) => response.writeHead(status, { "Lavalink-Api-Version": "4" }).end("4.0.0");
}

interface HealthOptions {
  readonly address?: string;
  readonly timeoutMs?: number;
  readonly ssl?: readonly string[];
}

async function health(port: number, options: HealthOptions = {}) {
  const { address = "127.0.0.1", timeoutMs = 30_000, ssl = [] } = options;
  let output = "";
  let errors = "";
  const args = [`--server.port=${port}`, `--server.address=${address}`, `--lavalink.server.password=${PASSWORD}`];
  const status = await healthCommand([...args, ...ssl], {
    cwd: "/nowhere",
    timeoutMs,
    write: (text) => {
      output += text;
    },
    writeError: (text) => {
      errors += text;
    },
  });
  return { status, output, errors };
}

test("a node that answers is healthy; it is asked for its version, without the password", async () => {
  const asked: unknown[] = [];
  const port = await serve((request, response) => {
    asked.push([request.method, request.url, request.headers["user-agent"], request.headers.authorization]);
    node(200)(request, response);
  });
  const output = `healthy: http://127.0.0.1:${port} answers\n`;
  expect(await health(port)).toEqual({ status: 0, output, errors: "" });
  expect(asked).toEqual([["GET", "/version", "tonearm-health", undefined]]);
});

test.each([
  ["an error of the node's", node(500), /answers 500\n$/],
  ["another program", ((_request, response) => response.end("hello")) as RequestListener, /is no Lavalink or Tonearm/],
  ["a connection that breaks", ((request) => request.socket.destroy()) as RequestListener, /\(ECONNRESET\)\n$/],
])("%s is unhealthy", async (_what, answer, line) => {
  const { status, errors } = await health(await serve(answer));
  expect(status).toBe(1);
  expect(errors).toMatch(line);
});

test("silence is unhealthy once the time is up", async () => {
  const { status, errors } = await health(await serve(() => undefined), { timeoutMs: 50 });
  expect({ status, errors }).toMatchObject({ status: 1, errors: expect.stringContaining("(no answer in time)") });
});

test("an address without a node is unhealthy", async () => {
  const port = await serve(node(200));
  await new Promise((resolve) => servers.pop()?.close(resolve));
  expect(await health(port)).toMatchObject({ status: 1, errors: expect.stringContaining("(ECONNREFUSED)") });
});

test("a node on every address is asked over loopback", async () => {
  const port = await serve(node(200), "0.0.0.0");
  expect((await health(port, { address: "0.0.0.0" })).output).toContain(`http://127.0.0.1:${port} `);
  const refused = await serve(node(200));
  // Whether or not this machine has IPv6.
  expect((await health(refused, { address: "::" })).errors).toContain(`http://[::1]:${refused} `);
});

test("a port that the system chose cannot be known", async () => {
  expect(await health(0)).toMatchObject({ status: 1, errors: expect.stringContaining("server.port is 0") });
});

test("a node that serves HTTPS is checked over HTTPS, even if it requires client certificates", async () => {
  const certificates = new Certificates();
  certificates.make("node");
  const [crt, key] = [certificates.path("node.crt"), certificates.path("node.key")];
  const ssl = [`--server.ssl.certificate=${crt}`, `--server.ssl.certificate-private-key=${key}`];
  const answered: number[] = [];
  for (const isNeeded of [false, true]) {
    const material = { cert: readFileSync(crt), key: readFileSync(key), requestCert: isNeeded, ca: readFileSync(crt) };
    const server = createTlsServer(material, node(200)).unref();
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // TCP
    const more = isNeeded ? ["--server.ssl.client-auth=need", `--server.ssl.trust-certificate=${crt}`] : [];
    const { status, output } = await health(port, { ssl: [...ssl, ...more] });
    expect(output).toMatch(/^healthy: https:\/\/127\.0\.0\.1:\d+ /);
    answered.push(status);
  }
  expect(answered).toEqual([0, 0]);
  certificates.remove();
});
