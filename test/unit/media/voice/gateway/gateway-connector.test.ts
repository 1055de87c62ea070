// What the voice gateway's TLS lets a server choose, read from our ClientHello: before the server is authenticated, it
// must not make us compute for long.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import type WebSocket from "ws";
import { connectGateway } from "../../../../../src/media/voice/gateway/gateway-connector.ts";
import { OutboundGuard } from "../../../../../src/network/outbound-guard.ts";
import { systemSockets } from "../../../../../src/network/sockets.ts";
import { type Hello, readHello, readNumbers, SERVER_NAME, SUPPORTED_GROUPS } from "../../../../support/tls-hello.ts";

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

/** Connects to a server that sends nothing, and returns both ends of the connection and the first bytes. */
async function connectSilent(host: string): Promise<{ socket: WebSocket; peer: Socket; hello: Hello }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push({ close: () => server.close() });
  const { port } = server.address() as AddressInfo;
  const guard = new OutboundGuard(["127.0.0.0/8"], {
    resolve: (_host, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]),
  });
  const socket = connectGateway({
    url: `wss://${host}:${port}/?v=8`,
    guard,
    sockets: systemSockets,
    admit: () => true,
  });
  socket.on("error", () => undefined);
  open.push({ close: () => socket.terminate() });
  const [peer] = (await once(server, "connection")) as [Socket];
  peer.on("error", () => undefined);
  const [record] = (await once(peer, "data")) as [Buffer];
  return { socket, peer, hello: readHello(record) };
}

async function contacted(host: string): Promise<Hello> {
  return (await connectSilent(host)).hello;
}

test("a server can choose no Diffie-Hellman group by itself, and no slow group", async () => {
  const { suites, extensions } = await contacted("voice.example");
  const tls13 = [0x1301, 0x1302, 0x1303];
  const ecdhe = [0xc02b, 0xc02c, 0xc02f, 0xc030, 0xcca8, 0xcca9];
  // No suite, but the word that none is renegotiated without care; newer OpenSSL says it in an extension.
  const renegotiationInfo = 0x00ff;
  expect(suites.filter((suite) => suite !== renegotiationInfo).sort()).toEqual([...tls13, ...ecdhe].sort());
  const x25519 = 29;
  const [p256, p384] = [23, 24];
  expect(readNumbers(extensions.get(SUPPORTED_GROUPS)?.subarray(2) ?? Buffer.alloc(0))).toEqual([x25519, p256, p384]);
});

test("the server is asked for the certificate of its name, and of no name when connected by address", async () => {
  const named = await contacted("voice.example");
  expect(named.extensions.get(SERVER_NAME)?.subarray(5).toString()).toBe("voice.example");
  const addressed = await contacted("127.0.0.1");
  expect(addressed.extensions.has(SERVER_NAME)).toBe(false);
});

test("a handshake of more than 10 kB is refused before its certificates are checked", async () => {
  const { socket, peer } = await connectSilent("voice.example");
  const failed = once(socket, "error");
  // One record that holds one handshake message, of 16 kB each.
  const headers = Buffer.from([0x16, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc]);
  peer.write(Buffer.concat([headers, Buffer.alloc(10 * 1024)]));
  const [error] = await failed;
  expect(error).toMatchObject({
    code: "voice-limit-exceeded",
    message: expect.stringContaining("TLS handshake has more than 10 kB"),
  });
});
