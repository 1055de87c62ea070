import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGuardedDispatcher } from "../../../src/network/guarded-dispatcher.ts";
import { OutboundGuard, type ResolveHost } from "../../../src/network/outbound-guard.ts";
import { type Hello, readHello, readNumbers, SUPPORTED_GROUPS } from "../../support/tls-hello.ts";

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

async function get(
  url: string,
  allow: string[],
  {
    resolve,
    ownServers = [],
    ...options
  }: {
    localAddress?: string;
    proxyUrl?: string;
    resolve?: ResolveHost;
    connectTimeoutMs?: number;
    ownServers?: string[];
  } = {},
) {
  const guard = new OutboundGuard(allow, { ownServers, ...(resolve !== undefined && { resolve }) });
  const dispatcher = createGuardedDispatcher({ guard, ...timeouts, ...options });
  try {
    const response = await request(url, { dispatcher });
    return await response.body.text();
  } finally {
    await dispatcher.destroy();
  }
}

it.each(["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost"])(
  "the dispatcher refuses %s before a connection is made",
  async (host) => {
    const before = hits;
    await expect(get(`http://${host}:${port}/`, [])).rejects.toMatchObject({ code: "address-refused" });
    expect(hits).toBe(before);
  },
);

it("addresses on the allow list are reached, by address and by name", async () => {
  expect(await get(`http://127.0.0.1:${port}/a`, ["127.0.0.0/8"])).toContain("/a");
  expect(await get(`http://localhost:${port}/b`, ["127.0.0.0/8"])).toContain("/b");
});

it.each([undefined, "127.0.0.2"])(
  "a site cannot choose Diffie-Hellman over primes of its choice (from %s)",
  async (localAddress) => {
    const hellos: Hello[] = [];
    const silent = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (record) => {
        hellos.push(readHello(record));
        socket.destroy();
      });
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const options = localAddress === undefined ? {} : { localAddress };
    const contacted = get(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`, ["127.0.0.0/8"], options);
    await expect(contacted).rejects.toThrow();
    silent.close();
    const [hello] = hellos;
    // DHE-RSA with AES, in GCM and CBC (RFC 5288, 5246).
    for (const suite of [0x9e, 0x9f, 0x67, 0x6b, 0x33, 0x39]) expect(hello?.suites).not.toContain(suite);
    expect(hello?.suites).toContain(0xc02f);
    const [x25519, p256, p384] = [29, 23, 24];
    const groups = readNumbers(hello?.extensions.get(SUPPORTED_GROUPS)?.subarray(2) ?? Buffer.alloc(0));
    expect(groups).toEqual([x25519, p256, p384]);
  },
);

it("requests are sent from the configured local address", async () => {
  expect(await get(`http://127.0.0.1:${port}/`, ["127.0.0.0/8"], { localAddress: "127.0.0.2" })).toContain("127.0.0.2");
});

describe("a bound socket connects to a name", () => {
  it.each([
    ["at the next address when the first does not answer", ["127.0.0.98", "127.0.0.99", "127.0.0.1"], 1],
    ["only at addresses that are allowed", ["10.0.0.1", "127.0.0.1"], 1],
    ["only at addresses of its own family", ["::1", "127.0.0.1"], 1],
    ["at three addresses, no more", ["127.0.0.97", "127.0.0.98", "127.0.0.99", "127.0.0.1"], 0],
    ["nowhere when none is left", ["10.0.0.1", "::1"], 0],
  ])("a bound socket connects to a name %s", async (_what, addresses, hitsMore) => {
    const before = hits;
    const resolve: ResolveHost = (_host, { family }, callback) => {
      const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      callback(
        null,
        found.filter((each) => each.family === family),
      );
    };
    const guard = new OutboundGuard(["127.0.0.0/8", "::1"], { resolve });
    const dispatcher = createGuardedDispatcher({ guard, ...timeouts, localAddress: "127.0.0.2" });
    const answer = request(`http://several.example:${port}/`, { dispatcher }).then(({ body }) => body.text());
    if (hitsMore === 1) expect(await answer).toBe("127.0.0.2 /");
    else await expect(answer).rejects.toThrow();
    expect(hits - before).toBe(hitsMore);
    await dispatcher.destroy();
  });
});

it.each([undefined, "127.0.0.2"])(
  "TLS checks the certificate for the name, not for the address (bound to %s)",
  async (localAddress) => {
    const asked: [string, string | undefined][] = [];
    // It has no certificate to show: the handshake ends once it knows which one was asked for.
    const tls = createTlsServer({
      SNICallback: (serverName, callback) => {
        asked.push([serverName, from.shift()]);
        callback(new Error("no such name"));
      },
    });
    const from: (string | undefined)[] = [];
    tls.on("connection", (socket) => from.push(socket.remoteAddress));
    tls.on("tlsClientError", () => undefined);
    await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
    const resolve: ResolveHost = (_host, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]);
    const url = `https://radio.example:${(tls.address() as AddressInfo).port}/`;
    const options = localAddress === undefined ? { resolve } : { resolve, localAddress };
    await expect(get(url, ["127.0.0.0/8"], options)).rejects.toThrow();
    expect(asked).toEqual([["radio.example", localAddress ?? "127.0.0.1"]]);
    await new Promise((done) => tls.close(done));
  },
);

it("plain HTTP is sent through a proxy with its credentials", async () => {
  const seen: unknown[] = [];
  const proxy = createServer((incoming, response) => {
    seen.push([incoming.url, incoming.headers["proxy-authorization"]]);
    response.end("from the proxy");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const proxyUrl = `http://user:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const resolve: ResolveHost = (_host, _options, callback) => callback(null, [{ address: "1.1.1.1", family: 4 }]);
  expect(await get("http://radio.example/live?x=1", [], { proxyUrl, resolve })).toBe("from the proxy");
  expect(seen).toEqual([["http://radio.example/live?x=1", "Basic dXNlcjpzZWNyZXQ="]]);
  await new Promise((resolve) => proxy.close(resolve));
});

it("a name that never resolves fails with the connect timeout", async () => {
  const resolve: ResolveHost = () => undefined;
  const pending = get("http://silent.example/", [], { resolve, connectTimeoutMs: 100 });
  await expect(pending).rejects.toMatchObject({ code: "UND_ERR_CONNECT_TIMEOUT" });
});

describe("behind a proxy", () => {
  const proxyUrl = () => `http://127.0.0.1:${port}`;

  it.each(["http://10.0.0.1/", "https://10.0.0.1/", "http://[::1]/", "http://2130706433/"])(
    "behind a proxy, %s is refused",
    async (url) => {
      const before = hits;
      await expect(get(url, [], { proxyUrl: proxyUrl() })).rejects.toMatchObject({ code: "address-refused" });
      expect(hits).toBe(before);
    },
  );

  it.each(["http:", "https:"])(
    "behind a proxy, a name is refused when one of its addresses is private: %s",
    async (scheme) => {
      const before = hits;
      const resolve: ResolveHost = (_host, _options, callback) =>
        callback(null, [
          { address: "1.1.1.1", family: 4 },
          { address: "fd00::1", family: 6 },
        ]);
      const proxied = get(`${scheme}//evil.example/`, [], { proxyUrl: proxyUrl(), resolve });
      await expect(proxied).rejects.toMatchObject({ code: "address-refused" });
      expect(hits).toBe(before);
    },
  );

  it("behind a proxy, a name that does not resolve here is refused, unless everything is allowed", async () => {
    const failure = Object.assign(new Error("no such host"), { code: "ENOTFOUND" });
    const resolve: ResolveHost = (_host, _options, callback) => callback(failure, []);
    const options = { proxyUrl: proxyUrl(), resolve };
    await expect(get("http://intranet/", [], options)).rejects.toBe(failure);
    expect(await get("http://intranet/a", ["0.0.0.0/0", "::/0"], options)).toContain("http://intranet/a");
  });
});

describe("a server of the operator", () => {
  const toLoopback: ResolveHost = (_host, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]);

  it("an own server is reached in a private network, by address and by name", async () => {
    expect(await get(`http://127.0.0.1:${port}/a`, [], { ownServers: [`127.0.0.1:${port}`] })).toContain("/a");
    const options = { ownServers: [`nas.local:${port}`], resolve: toLoopback };
    expect(await get(`http://nas.local:${port}/b`, [], options)).toContain("/b");
    expect(await get(`http://nas.local.:${port}/c`, [], options)).toContain("/c");
  });

  it("an own server is only that host and port", async () => {
    const before = hits;
    const ownServers = [`nas.local:${port}`, `127.0.0.1:${port + 1}`, "127.0.0.1:80"];
    const refused = { code: "address-refused" };
    const options = { ownServers, resolve: toLoopback };
    await expect(get(`http://127.0.0.1:${port}/`, [], options)).rejects.toMatchObject(refused);
    await expect(get(`http://other.local:${port}/`, [], options)).rejects.toMatchObject(refused);
    await expect(get("http://nas.local/", [], options)).rejects.toMatchObject(refused);
    await expect(get(`https://nas.local:${port + 2}/`, [], options)).rejects.toMatchObject(refused);
    expect(hits).toBe(before);
  });

  it("an own server has the port of the scheme if none is written", async () => {
    // No server is there; only the attempt counts.
    const contacted = (url: string, server: string) => get(url, [], { ownServers: [server], resolve: toLoopback });
    for (const [url, server] of [
      ["http://nas.local/", "nas.local:80"],
      ["https://nas.local/", "nas.local:443"],
    ] as const) {
      await expect(contacted(url, server)).rejects.not.toMatchObject({ code: "address-refused" });
    }
    await expect(contacted("https://nas.local/", "nas.local:80")).rejects.toMatchObject({ code: "address-refused" });
  });

  it("an own server is requested from whichever address reaches it", async () => {
    const options = { ownServers: [`127.0.0.1:${port}`], localAddress: "127.0.0.2" };
    expect(await get(`http://127.0.0.1:${port}/`, [], options)).toBe("127.0.0.1 /");
  });

  it("only own servers bypass the proxy", async () => {
    const proxied: unknown[] = [];
    const proxy = createServer((incoming, response) => {
      proxied.push(incoming.url);
      response.end("from the proxy");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const resolve: ResolveHost = (host, _options, callback) =>
      callback(null, [{ address: host === "radio.example" ? "1.1.1.1" : "127.0.0.1", family: 4 }]);
    const options = { proxyUrl, resolve, ownServers: [`nas.local:${port}`] };
    expect(await get(`http://nas.local:${port}/song`, [], options)).toBe("127.0.0.1 /song");
    expect(await get("http://radio.example/live", [], options)).toBe("from the proxy");
    await expect(get(`http://evil.example:${port}/`, [], options)).rejects.toMatchObject({ code: "address-refused" });
    expect(proxied).toEqual(["http://radio.example/live"]);
    await new Promise((done) => proxy.close(done));
  });
});
