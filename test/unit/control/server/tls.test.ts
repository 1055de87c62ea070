import { copyFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { TlsListener } from "../../../../src/control/server/tls-listener.ts";
import { readTlsMaterial } from "../../../../src/control/server/tls-material.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { Certificates } from "../../../support/certificates.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const HANDSHAKES_PER_ADDRESS_MAX = 64;
const HANDSHAKES_MAX = 512;

let certificates: Certificates;
let clock: FakeClock;
let lines: unknown[];
let server: ApiServer | undefined;
const sockets: Socket[] = [];

beforeAll(() => {
  certificates = new Certificates();
  for (const name of ["one", "two", "client"]) certificates.make(name);
  certificates.make("old", { days: 3 });
  certificates.lock("one", "open sesame");
  certificates.store("one", "open sesame");
  certificates.oldStore("old", "x");
  copyFileSync(certificates.path("old.crt"), certificates.path("short.crt"));
  copyFileSync(certificates.path("old.key"), certificates.path("short.key"));
  certificates.store("short", "x");
});
afterAll(() => certificates.remove());

beforeEach(() => {
  clock = new FakeClock({ epochMs: Date.now() });
  lines = [];
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

/** The settings as the node makes them of the keys of `server.ssl`. */
function settingsOf(ssl: Readonly<Record<string, string>>) {
  const args = Object.entries(ssl).map(([name, value]) => `--server.ssl.${name}=${value}`);
  const { config } = loadConfig({ args, env: {}, cwd: certificates.folder, readFile: () => undefined });
  return config.server.tls;
}

async function start(ssl: Readonly<Record<string, string>>): Promise<ApiServer> {
  const settings = settingsOf(ssl);
  if (settings === undefined) throw new Error("these settings are those of HTTP");
  const logger = createLogger((level, message, fields) => lines.push([level, message, fields]));
  server = await ApiServer.start({ tls: new TlsListener({ settings, clock, logger }) });
  return server;
}

const ONE = { certificate: "one.crt", "certificate-private-key": "one.key" };

/** The name on the certificate that a client sees; rejects where it cannot connect. */
function nameSeen({ port }: ApiServer, options: ConnectionOptions = {}): Promise<string> {
  const trusted = certificates.read("one.crt");
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port, ca: trusted, ...options });
    sockets.push(socket);
    socket.on("error", reject).on("close", () => reject(new Error("the connection was closed")));
    // With TLS 1.3 a refused client learns of it after its own handshake is done.
    socket.once("data", (answer) =>
      resolve(`${socket.getPeerX509Certificate()?.subject} ${String(answer).slice(0, 12)}`),
    );
    socket.write(`GET /v4/info HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${PASSWORD}\r\n\r\n`);
  });
}

describe("over TLS", () => {
  test("REST and the WebSocket are served as they are without", async () => {
    const { port } = await start(ONE);
    const ca = certificates.read("one.crt");
    const headers = { Authorization: PASSWORD, "User-Id": "1" };
    const status = await new Promise((resolve, reject) => {
      const asking = request({ host: "127.0.0.1", port, path: "/v4/info", ca, headers, agent: false });
      asking.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
      asking.end();
    });
    expect(status).toBe(200);
    const socket = new WebSocket(`wss://127.0.0.1:${port}/v4/websocket`, { ca, headers });
    const ready = await new Promise((resolve, reject) => {
      socket.on("message", (data) => resolve(JSON.parse(String(data)).op)).on("error", reject);
    });
    expect(ready).toBe("ready");
    socket.terminate();
  });

  test.each([
    ["PEM", ONE],
    ["a locked key", { ...ONE, "certificate-private-key": "one.locked.key", "key-password": "open sesame" }],
    ["file: in front", { certificate: "file:one.crt", "certificate-private-key": "file:one.key" }],
    ["PKCS#12", { "key-store": "one.p12", "key-store-password": "open sesame", "key-store-type": "PKCS12" }],
  ])("TLS works with %s", async (_, ssl) => {
    expect(await nameSeen(await start(ssl))).toBe("CN=one HTTP/1.1 200");
  });

  test("TLS works with the texts of certificate and key in the settings", async () => {
    const [certificate, key] = [certificates.read("one.crt"), certificates.read("one.key")];
    const served = await start({ certificate, "certificate-private-key": key });
    expect(await nameSeen(served)).toBe("CN=one HTTP/1.1 200");
  });

  test("TLS accepts only the enabled versions", async () => {
    const served = await start({ ...ONE, "enabled-protocols": "TLSv1.3" });
    await expect(nameSeen(served, { maxVersion: "TLSv1.2" })).rejects.toThrow(/protocol version/);
    expect(await nameSeen(served)).toContain("200");
  });

  test("clients without a certificate of ours are refused where one is needed", async () => {
    const served = await start({ ...ONE, "client-auth": "need", "trust-certificate": "client.crt" });
    const shown = (name: string) => ({
      cert: certificates.read(`${name}.crt`),
      key: certificates.read(`${name}.key`),
    });
    await expect(nameSeen(served)).rejects.toThrow();
    await expect(nameSeen(served, shown("two"))).rejects.toThrow();
    expect(await nameSeen(served, shown("client"))).toContain("200");
  });
});

describe("when its files change", () => {
  beforeEach(() => {
    for (const end of ["crt", "key"]) copyFileSync(certificates.path(`one.${end}`), certificates.path(`live.${end}`));
  });

  const LIVE = { certificate: "live.crt", "certificate-private-key": "live.key" };

  async function untilReported(message: string): Promise<void> {
    const check = () => {
      clock.advance(2000);
      return lines.map((line) => (line as string[])[1]);
    };
    await expect.poll(check).toContain(message);
  }

  test("new connections get the new certificate, and open ones continue", async () => {
    const served = await start(LIVE);
    const before = await nameSeen(served);
    const open = sockets[0]!;
    for (const end of ["crt", "key"]) copyFileSync(certificates.path(`two.${end}`), certificates.path(`live.${end}`));
    await untilReported("TLS certificate reloaded: new connections get it");
    const after = await nameSeen(served, { ca: certificates.read("two.crt") });
    expect([before, after]).toEqual(["CN=one HTTP/1.1 200", "CN=two HTTP/1.1 200"]);
    const answer = new Promise((resolve) => open.once("data", (data) => resolve(String(data).slice(0, 12))));
    open.write("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await answer).toBe("HTTP/1.1 200");
  });

  test("an invalid certificate file changes nothing", async () => {
    const served = await start(LIVE);
    writeFileSync(certificates.path("live.crt"), "half of a certi");
    await untilReported("TLS reload failed: the certificate in use stays, because its changed files are invalid");
    expect(await nameSeen(served)).toBe("CN=one HTTP/1.1 200");
  });
});

describe("the log of TLS", () => {
  test("a client that speaks HTTP is logged once a minute", async () => {
    const { port } = await start(ONE);
    const speak = () =>
      new Promise((resolve) => {
        const socket = connectPlain({ host: "127.0.0.1", port }, () => socket.write("GET / HTTP/1.1\r\n\r\n"));
        socket.on("error", () => undefined).on("close", resolve);
      });
    await Promise.all([speak(), speak()]);
    const reason = "it speaks HTTP: its `secure` option, or https and wss, must be set";
    expect(lines).toEqual([["warn", "TLS handshake with a client failed", { address: "127.0.0.1", reason, count: 1 }]]);
  });

  test.each([
    ["PEM", { certificate: "old.crt", "certificate-private-key": "old.key" }],
    ["a PKCS#12", { "key-store": "short.p12", "key-store-password": "x" }],
  ])("a certificate in %s that expires is logged once a day, also without connections", async (_, ssl) => {
    await start(ssl);
    const soon = ["warn", "TLS certificate expires soon", { validTo: expect.any(String) }];
    await expect.poll(() => lines).toEqual([soon]);
    clock.advance(24 * 60 * 60 * 1000);
    await expect.poll(() => lines).toEqual([soon, soon]);
    clock.advance(3 * 24 * 60 * 60 * 1000);
    await expect.poll(() => lines[2]).toMatchObject(["warn", "TLS certificate has expired", {}]);
  });
});

test("TLS connections are closed when the node closes", async () => {
  const served = await start(ONE);
  await nameSeen(served);
  const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
  await served.close();
  server = undefined;
  await closed;
});

test("the oldest connection without a finished handshake is closed for a new one", async () => {
  const served = await start(ONE);
  const idle = Array.from({ length: HANDSHAKES_PER_ADDRESS_MAX }, () =>
    connectPlain({ host: "127.0.0.1", port: served.port }),
  );
  sockets.push(...idle);
  await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  const dropped = Promise.race(
    idle.map((socket, index) => new Promise((resolve) => socket.once("close", () => resolve(index)))),
  );
  expect(await nameSeen(served)).toContain("200");
  expect(await dropped).toBeTypeOf("number");
  expect(idle.filter(({ destroyed }) => destroyed)).toHaveLength(1);
});

test("handshakes are bounded in all, also after connections that were reset before they were accepted", async () => {
  const { port } = await start(ONE);
  const until = (event: string) => (socket: Socket) => new Promise((resolve) => socket.once(event, resolve));
  const reset = Array.from({ length: HANDSHAKES_PER_ADDRESS_MAX * 2 }, () => connectPlain({ host: "127.0.0.1", port }));
  for (const socket of reset) socket.once("connect", () => socket.resetAndDestroy());
  await Promise.all(reset.map(until("close")));
  const localAddresses = Array.from({ length: 9 }, (_, index) => `127.0.1.${index + 1}`);
  const idle = localAddresses.flatMap((localAddress) =>
    Array.from({ length: HANDSHAKES_MAX / 8 - 4 }, () => connectPlain({ host: "127.0.0.1", port, localAddress })),
  );
  sockets.push(...idle);
  await Promise.all(idle.map(until("connect")));
  await expect.poll(() => idle.filter(({ destroyed }) => destroyed)).toHaveLength(idle.length - HANDSHAKES_MAX);
});

describe("an invalid TLS setting is reported by the name of its key", () => {
  test.each([
    [{ ...ONE, certificate: "gone.crt" }, /^server\.ssl\.certificate: .*gone\.crt could not be read/],
    [{ ...ONE, certificate: "one.key" }, /^server\.ssl\.certificate: it is not of the kind/],
    [{ ...ONE, "certificate-private-key": "one.crt" }, /^server\.ssl\.certificate-private-key: it is not of the kind/],
    [{ ...ONE, "certificate-private-key": "two.key" }, /^server\.ssl\.certificate: the private key belongs to another/],
    [{ ...ONE, "certificate-private-key": "one.locked.key" }, /^server\.ssl\.certificate-private-key: its password/],
    [{ "key-store": "one.p12", "key-store-password": "wrong" }, /^server\.ssl\.key-store: its password is wrong/],
    [
      { "key-store": "old.p12", "key-store-password": "x" },
      /^server\.ssl\.key-store: it is encrypted in an old format/,
    ],
    [{ "key-store": "one.crt" }, /^server\.ssl\.key-store: it is not of the kind/],
    [{ ...ONE, "client-auth": "want", "trust-certificate": "one.key" }, /^server\.ssl\.trust-certificate: it is not/],
    [{ ...ONE, certificate: "loop.crt" }, /^server\.ssl\.certificate: .*loop\.crt could not be read/],
  ])("%j", (ssl, message) => {
    symlinkSync("loop.crt", certificates.path("loop.crt"));
    const settings = settingsOf(ssl)!; // fatal errors of TLS
    const logger = createLogger(() => undefined);
    expect(() => readTlsMaterial(settings)).toThrow(message);
    expect(() => new TlsListener({ settings, clock, logger })).toThrow(message);
    expect(clock.pendingCount).toBe(0);
    rmSync(certificates.path("loop.crt"));
  });

  test.each([
    ["quotes around it", (key: string) => `"${key}"`],
    ["only what PEM has within", (key: string) => key.replaceAll(/-----.*-----|\n/g, "")],
    ["base64 around it", (key: string) => Buffer.from(key).toString("base64")],
  ])("no private key is shown as the name of a file: %s", (_, spoil) => {
    const key = certificates.read("one.key");
    const load = () => settingsOf({ ...ONE, "certificate-private-key": spoil(key) });
    expect(load).toThrow(/certificate-private-key: expected PEM that begins with -----BEGIN/);
    expect(load).toThrow(expect.not.objectContaining({ message: expect.stringContaining(spoil(key).slice(40, 80)) }));
  });
});
