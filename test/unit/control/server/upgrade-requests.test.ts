import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";

let server: ApiServer;
/** Finishes the loads that a test has requested. */
let answer: () => void;

beforeEach(async () => {
  const waiting: (() => void)[] = [];
  answer = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  server = await ApiServer.start({
    load: () =>
      new Promise<LoadResult>((resolve) => {
        waiting.push(() => resolve({ kind: "empty" }));
      }),
  });
});

afterEach(() => server.close());

function lines(first: string, ...headers: readonly string[]): string {
  return [first, "Host: x", `Authorization: ${PASSWORD}`, ...headers, "", ""].join("\r\n");
}

const H2C = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];
const WEB_SOCKET = [
  ...["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
  ...["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "User-Id: 1"],
];
const SLOW = lines("GET /v4/loadtracks?identifier=x HTTP/1.1");

interface Talk {
  readonly socket: Socket;
  received(): string;
  /** Resolves when this many answers have started. */
  answers(count: number): Promise<void>;
}

async function talk(text: string): Promise<Talk> {
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  let received = "";
  socket.setEncoding("latin1").on("data", (data) => {
    received += data;
  });
  socket.write(text);
  return {
    socket,
    received: () => received,
    answers: (count) => expect.poll(() => received.split("HTTP/1.1 ").length - 1).toBe(count),
  };
}

/** The statuses in the order of their arrival. */
function statuses({ received }: Talk): number[] {
  return [...received().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
}

describe("requests before an upgrade are answered first", () => {
  test("a WebSocket behind a slow request opens after its answer", async () => {
    const client = await talk(SLOW + lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET));
    await server.request("GET", "/version");
    expect(client.received()).toBe("");
    answer();
    await client.answers(2);
    expect(statuses(client)).toEqual([200, 101]);
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"loadType":"empty"[^}]*\}HTTP\/1\.1 101 /);
    await expect.poll(client.received).toContain('"op":"ready"');
    client.socket.destroy();
  });

  test("an h2c request behind slow requests is answered in order, with a body and more behind", async () => {
    const free = lines("POST /v4/decodetracks HTTP/1.1", ...H2C, "Content-Type: application/json", "Content-Length: 2");
    const client = await talk(`${SLOW}${SLOW}${free}[]${lines("GET /version HTTP/1.1")}`);
    await server.request("GET", "/version");
    expect(client.received()).toBe("");
    answer();
    await client.answers(1);
    await server.request("GET", "/version");
    answer();
    await client.answers(4);
    expect(client.received()).toMatch(
      /empty[\s\S]*empty[\s\S]*No tracks to decode[\s\S]*HTTP\/1\.1 200 [\s\S]*4\.2\.2$/,
    );
    client.socket.destroy();
  });

  test("data that arrives before an upgrade is answered is not lost", async () => {
    const body = "Content-Type: application/json";
    const client = await talk(SLOW + SLOW + lines("POST /v4/decodetracks HTTP/1.1", ...H2C, body, "Content-Length: 2"));
    await server.request("GET", "/version");
    answer();
    await client.answers(1);
    client.socket.write("[");
    await server.request("GET", "/version");
    answer();
    await client.answers(2);
    client.socket.write("]");
    await client.answers(3);
    expect(client.received()).toMatch(/empty[\s\S]*empty[\s\S]*No tracks to decode/);
    client.socket.destroy();
  });

  test("a client that disconnects before its upgrade is answered does no harm", async () => {
    const client = await talk(SLOW + lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET));
    await server.request("GET", "/version");
    client.socket.resetAndDestroy();
    await server.request("GET", "/version");
    answer();
    expect((await server.request("GET", "/version")).status).toBe(200);
  });

  test("a request that ends the connection is the last one", async () => {
    const client = await talk(
      lines("GET /v4/loadtracks?identifier=x HTTP/1.1", "Connection: close") +
        lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET),
    );
    await server.request("GET", "/version");
    answer();
    await once(client.socket, "close");
    expect(statuses(client)).toEqual([200]);
  });

  test("earlier requests are answered also when bytes follow that are no request", async () => {
    const client = await talk(`${SLOW}nonsense\r\n\r\n`);
    await server.request("GET", "/version");
    expect(client.received()).toBe("");
    answer();
    await client.answers(2);
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*empty[\s\S]*HTTP\/1\.1 400 Bad Request/);
    client.socket.destroy();
  });
});

test("upgrades that are not taken may follow one another without end", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on("warning", onWarning);
  const client = await talk(lines("GET /version HTTP/1.1", ...H2C).repeat(300));
  await client.answers(300);
  client.socket.write(lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET));
  await client.answers(301);
  expect(statuses(client)).toEqual([...Array(300).fill(200), 101]);
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
  client.socket.destroy();
});

test("an upgrade that is not taken leaves the other options of its connection", async () => {
  const client = await talk(lines("GET /version HTTP/1.1", "Connection: close, Upgrade", "Upgrade: h2c"));
  await once(client.socket, "close");
  expect(statuses(client)).toEqual([200]);
});

test("a handshake with a body is answered as a plain request; an empty body does not count", async () => {
  const handshake = (length: string) => lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET, length);
  const client = await talk(`${handshake("Content-Length: 2")}x`);
  await server.request("GET", "/version");
  client.socket.write("x");
  await client.answers(1);
  client.socket.write(`${handshake("Transfer-Encoding: chunked")}0\r\n\r\n`);
  await client.answers(2);
  client.socket.write(handshake("Content-Length: 0"));
  await client.answers(3);
  expect(statuses(client)).toEqual([400, 400, 101]);
  client.socket.destroy();
});

test("data right behind the handshake belongs to the WebSocket", async () => {
  const ping = String.fromCharCode(0x89, 0x80, 0, 0, 0, 0);
  const text = lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET);
  const socket = connect(server.port, "127.0.0.1");
  socket.write(Buffer.from(text + ping, "latin1"));
  let received = Buffer.alloc(0);
  socket.on("data", (data) => {
    received = Buffer.concat([received, data]);
  });
  await expect.poll(() => received.includes(Buffer.from([0x8a, 0x00]))).toBe(true);
  socket.destroy();
});

test("a second upgrade behind a first that is taken is a broken frame, and ends only that client", async () => {
  const client = await talk(lines("GET /v4/websocket HTTP/1.1", ...WEB_SOCKET).repeat(2));
  await once(client.socket, "close");
  expect(statuses(client)).toEqual([101]);
  expect((await server.request("GET", "/version")).status).toBe(200);
});
