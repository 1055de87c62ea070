// Handshakes and conversations on the WebSocket that no sane client holds: headers of any kind, operations of v3 right
// and wrong, frames that break the rules.

import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { anyOperation } from "../../support/any-request.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { NodeUnderFire } from "./node-under-fire.ts";

const HANDSHAKE_COUNT = 600;
const TALKER_COUNT = 16;
const OPERATION_COUNT = 300;
const SILENCE_TIMEOUT_MS = 10_000;

const VALUES = ["", "0", "1", "-5", "abc", "1.5", "9".repeat(30), "x".repeat(2000), "websocket", "h2c", "13", "\u00e9"];
const HEADERS = ["User-Id", "Session-Id", "Resume-Key", "Client-Name", "Upgrade", "Connection", "Origin", "Host"];
const FRAMES = [
  ...[
    [0x81, 0x80, 0, 0, 0, 0],
    [0x81, 0x01, 0x41],
    [0x8f, 0x80, 0, 0, 0, 0],
    [0xff, 0xff],
    [0x88, 0x81, 1, 2, 3, 4, 5],
  ],
  ...[
    [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    [0x01, 0x80, 0, 0, 0, 0],
    [0x80, 0x80, 0, 0, 0, 0],
  ],
  ...[
    [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
    [0x89, 0x80, 0, 0, 0, 0],
    [0xc1, 0x80, 0, 0, 0, 0],
  ],
];

let node: NodeUnderFire;
let random: () => number;

beforeAll(async () => {
  node = await NodeUnderFire.start();
  random = seededRandom(fuzzSeed());
});

afterAll(() => node.close());

test("a random handshake or frame ends its connection or is ignored, without an effect on others", async () => {
  const warmMemoryBytes = await node.memoryBytes();
  const answers = new Map<string, number>();
  for (let count = 0; count < HANDSHAKE_COUNT; count += 8) {
    for (const answer of await Promise.all(Array.from({ length: 8 }, handshake))) {
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  }
  console.log("handshakes", Object.fromEntries(answers));
  expect([...answers.keys()].filter((answer) => !/^(101|200|400|401|403|404|405|429|431|)$/.test(answer))).toEqual([]);
  expect(answers.has("101")).toBe(true);
  await node.expectUnharmed(warmMemoryBytes);
});

test("a random message on a socket is carried out or ignored, without an effect on others", async () => {
  await talk(TALKER_COUNT);
  const warmMemoryBytes = await node.memoryBytes();
  await talk(TALKER_COUNT);
  await node.expectUnharmed(warmMemoryBytes);
});

/**
 * One handshake over plain TCP with a frame behind it. Resolves with the status, or nothing, once the connection is
 * over.
 */
function handshake(): Promise<string> {
  const headers = new Map<string, string>([
    ...([
      ["Host", "localhost"],
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
    ] as const),
    ...[["Sec-WebSocket-Version", "13"] as const, ["Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="] as const],
    ...[["Authorization", node.password] as const, ["User-Id", "3"] as const],
  ]);
  if (random() < 0.6) headers.set(pick([...HEADERS, ...headers.keys()]), pick(VALUES));
  if (random() < 0.1) headers.delete(pick([...headers.keys()]));
  const path = pick(["/v4/websocket", "/v4/websocket", "/v3/websocket", "/", "/v4/info", "/v4/websocket?x", "*"]);
  const method = pick(["GET", "GET", "GET", "POST", "PATCH"]);
  const lines = [`${method} ${path} HTTP/1.1`, ...Array.from(headers, ([name, value]) => `${name}: ${value}`), "", ""];
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(node.url);
    const socket = connectTcp(Number(port), hostname);
    let received = "";
    socket.setEncoding("latin1");
    socket.setTimeout(SILENCE_TIMEOUT_MS, () => reject(new Error(`no answer to ${lines.join("\\n")}`)));
    socket.on("data", (chunk) => {
      received += chunk;
      // Answered: what follows is ours to end, at some point or other.
      if (received.includes("\r\n\r\n")) socket.write(Buffer.from(pick(FRAMES)), () => socket.destroy());
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? ""));
    socket.write(lines.join("\r\n"));
  });
}

/** Clients that say things, some of them at the same time. */
async function talk(talkerCount: number): Promise<void> {
  await Promise.all(Array.from({ length: talkerCount }, (_, index) => talker(String(100 + index))));
}

async function talker(userId: string): Promise<void> {
  const path = pick(["/v3/websocket", "/v3/websocket", "/", "/v4/websocket"]);
  const headers = { Authorization: node.password, "User-Id": userId, "Client-Name": "fuzz/1", "Resume-Key": "none" };
  const socket = new WebSocket(`${node.url.replace("http", "ws")}${path}`, { headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  for (let count = 0; count < OPERATION_COUNT; count++) {
    socket.send(anyOperation(random));
    if (count % 50 === 0) await pong(socket);
  }
  await pong(socket);
  // Half of them part with what no client may send.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  if (random() < 0.5) socket.send(Buffer.from([1, 2, 3]));
  else socket.terminate();
  await closed;
}

async function pong(socket: WebSocket): Promise<void> {
  await new Promise((resolve, reject) => {
    socket.once("pong", resolve).once("close", () => reject(new Error("the node closed a socket for a text")));
    socket.ping();
  });
}

function pick<Item>(items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)]!; // within
}
