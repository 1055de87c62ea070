import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { Clock } from "../../../../src/lib/clock.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { ApiServer, PASSWORD, type TestClient } from "../../../support/api-server.ts";
import { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { fastClock } from "../../../support/fast-clock.ts";

let server: ApiServer;
let players: FakeSessionPlayer[];

beforeEach(() => start());

afterEach(() => server.close());

async function start(clock?: Clock): Promise<void> {
  players = [];
  server = await ApiServer.start({
    ...(clock === undefined ? {} : { clock }),
    createPlayer: (options) => {
      const player = new FakeSessionPlayer(options);
      players.push(player);
      return player;
    },
  });
}

async function resumable(): Promise<{ client: TestClient; player: FakeSessionPlayer }> {
  const client = await server.connect();
  await server.request("PATCH", `/v4/sessions/${client.sessionId}`, { body: { resuming: true, timeout: 60 } });
  await server.request("PATCH", `/v4/sessions/${client.sessionId}/players/7`, { body: {} });
  return { client, player: players.at(-1)! }; // made by the request
}

/** Drops the TCP connection and waits until the server has noticed. */
async function drop(client: TestClient): Promise<void> {
  const session = server.sessions.get(client.sessionId)!; // it is connected
  client.socket.terminate();
  while (session.isConnected) await new Promise((resolve) => setImmediate(resolve));
}

describe("resuming over a real socket", () => {
  test("resuming returns the session with the missed messages", async () => {
    const { client, player } = await resumable();
    await drop(client);
    expect((await server.request("GET", `/v4/sessions/${client.sessionId}/players`)).status).toBe(404);
    player.say(1);
    player.say(2);
    const next = await server.connect({ "Session-Id": client.sessionId });
    expect(next.handshake["session-resumed"]).toBe("true");
    await next.until(({ op }) => op === "playerUpdate");
    expect(next.messages.map(({ op }) => op)).toEqual(["ready", "event", "event", "playerUpdate"]);
    expect(next.messages[0]).toEqual({ op: "ready", resumed: true, sessionId: client.sessionId });
    const players = await server.request("GET", `/v4/sessions/${client.sessionId}/players`);
    expect(players.json).toHaveLength(1);
  });

  test("another User-Id gets a new session, and the waiting one continues to wait", async () => {
    const { client } = await resumable();
    await drop(client);
    const other = await server.connect({ "Session-Id": client.sessionId, "User-Id": "99" });
    expect(other.handshake["session-resumed"]).toBe("false");
    expect(other.sessionId).not.toBe(client.sessionId);
    expect(server.sessions.get(other.sessionId)).toMatchObject({ userId: "99", players: new Map() });
    const back = await server.connect({ "Session-Id": client.sessionId, "User-Id": "+01" });
    expect(back.handshake["session-resumed"]).toBe("true");
  });

  test("any close code of the client will do, and another name is ignored", async () => {
    const { client } = await resumable();
    client.socket.close(4000, "bye");
    await client.closed;
    const next = await server.connect({ "Session-Id": client.sessionId, "Client-Name": "other" });
    expect(next.sessionId).toBe(client.sessionId);
    expect(server.sessions.get(client.sessionId)).toMatchObject({ userId: "1", clientName: "test/1" });
  });

  test("resuming a session that has ended opens a new one", async () => {
    const client = await server.connect();
    await drop(client);
    const next = await server.connect({ "Session-Id": client.sessionId });
    expect(next.handshake["session-resumed"]).toBe("false");
    expect(next.sessionId).not.toBe(client.sessionId);
  });

  test("one of two clients that ask for the same session gets it", async () => {
    const { client } = await resumable();
    await drop(client);
    const asked = { "Session-Id": client.sessionId };
    const both = await Promise.all([server.connect(asked), server.connect(asked)]);
    expect(both.map(({ handshake }) => handshake["session-resumed"]).sort()).toEqual(["false", "true"]);
  });

  test("a handshake that breaks off leaves the session waiting", async () => {
    const { client } = await resumable();
    await drop(client);
    const lines = [
      "GET /v4/websocket HTTP/1.1",
      "Host: localhost",
      "Connection: Upgrade",
      "Upgrade: websocket",
      `Authorization: ${PASSWORD}`,
      "User-Id: 1",
      `Session-Id: ${client.sessionId}`,
    ];
    // No Sec-WebSocket-Key: refused by the protocol, after our code has checked the session.
    const answer = await exchange(`${lines.join("\r\n")}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\nLavalink-Api-Version: 4\r\n/);
    const next = await server.connect({ "Session-Id": client.sessionId });
    expect(next.handshake["session-resumed"]).toBe("true");
  });
});

test("a session whose socket answers stays with its client", async () => {
  const { client } = await resumable();
  const next = await server.connect({ "Session-Id": client.sessionId });
  expect(next.handshake["session-resumed"]).toBe("false");
  expect(next.sessionId).not.toBe(client.sessionId);
  await client.flushed();
});

describe("a session whose socket is open but dead", () => {
  beforeEach(async () => {
    await server.close();
    await start(fastClock);
  });

  test("a session with a dead socket goes to the returning client of the same user", async () => {
    const { client, player } = await resumable();
    // As with a connection that broke on the way: nothing is read any more, nothing is closed.
    client.socket.pause();
    player.say(1);
    const next = await server.connect({ "Session-Id": client.sessionId });
    expect(next.handshake["session-resumed"]).toBe("true");
    player.say(2);
    await next.until(({ thresholdMs }) => thresholdMs === 2);
  });

  test("a session with a dead socket goes to one of two clients that return at once, and stays with it", async () => {
    const { client } = await resumable();
    client.socket.pause();
    const asked = { "Session-Id": client.sessionId };
    const both = await Promise.all([server.connect(asked), server.connect(asked)]);
    const resumed = both.filter(({ handshake }) => handshake["session-resumed"] === "true");
    expect(resumed).toHaveLength(1);
    await resumed[0]?.flushed();
    expect(server.sessions.connected(client.sessionId)).toBeDefined();
  });

  test("a session is returned without a wait when its old socket closes meanwhile", async () => {
    const { client } = await resumable();
    client.socket.pause();
    const next = server.connect({ "Session-Id": client.sessionId });
    setImmediate(() => client.socket.terminate());
    expect((await next).handshake["session-resumed"]).toBe("true");
  });

  test("a session with a dead socket never goes to another user", async () => {
    const { client } = await resumable();
    client.socket.pause();
    const next = await server.connect({ "Session-Id": client.sessionId, "User-Id": "2" });
    expect(next.handshake["session-resumed"]).toBe("false");
    expect(server.sessions.connected(client.sessionId)).toBeDefined();
  });
});

describe("the connection itself", () => {
  test("a ping follows the first messages, for clients that leave them unread until more arrives", async () => {
    const client = await server.connect();
    await once(client.socket, "ping");
    expect(client.messages.map(({ op }) => op)).toEqual(["ready", "stats"]);
  });

  test("compression is not agreed on", async () => {
    const client = await server.connect();
    expect(client.handshake["sec-websocket-extensions"]).toBeUndefined();
  });

  test("the end of the node closes with 1001", async () => {
    const client = await server.connect();
    await server.sessions.close();
    expect(await client.closed).toEqual({ code: 1001, reason: "" });
  });

  test("a client that connects while the node ends gets no answer: some would take one for final", async () => {
    server.sessions.disconnect();
    const headers = { Authorization: PASSWORD, "User-Id": "1" };
    await expect(server.handshake({ headers })).rejects.toThrow("socket hang up");
  });

  test("a client that does not answer the close is disconnected, and delays no other", async () => {
    await server.close();
    await start(fastClock);
    const client = await server.connect();
    client.socket.pause();
    await server.close();
    client.socket.resume();
    await client.closed;
  });

  test("a client that does not read is cut off", async () => {
    const { client, player } = await resumable();
    client.socket.pause();
    const session = server.sessions.get(client.sessionId)!; // it is connected
    const text = "x".repeat(100_000);
    for (let count = 0; count < 1000 && session.isConnected; count++) {
      player.sink.send({
        op: "event",
        type: "WebSocketClosedEvent",
        guildId: "7",
        code: 1,
        reason: text,
        byRemote: true,
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(session.isWaiting).toBe(true);
  });

  test("an unfinished message counts in the memory of its session until it is complete", async () => {
    const client = await server.connect();
    const { buffered } = server.sessions.get(client.sessionId)!; // it is connected
    for (let part = 0; part < 100; part++) {
      client.socket.send("x".repeat(1000), { fin: false });
      client.socket.ping("y".repeat(100));
    }
    await expect.poll(() => buffered.usedBytes).toBeGreaterThan(90_000);
    expect(buffered.usedBytes).toBeLessThan(102_000);
    client.socket.send("x", { fin: true });
    await expect.poll(() => buffered.usedBytes).toBe(0);
  });

  test("a client is disconnected when there is no memory for its message, and one with short messages is not", async () => {
    const [client, other] = [await server.connect(), await server.connect()];
    const { buffered } = server.sessions.get(client.sessionId)!; // it is connected
    const own = server.sessions.get(other.sessionId)!.buffered;
    for (const memory of [own, buffered]) {
      for (let sizeBytes = memory.limitBytes; sizeBytes >= 1; sizeBytes = Math.floor(sizeBytes / 2)) {
        while (memory.hasCapacity(sizeBytes)) memory.take(sizeBytes, "the test");
      }
    }
    other.socket.send("x".repeat(1000));
    client.socket.send("x".repeat(100_000), { fin: false });
    expect((await client.closed).code).toBe(1006);
    expect(other.socket.readyState).toBe(other.socket.OPEN);
  });

  test("an account without memory for one more session gets 503, and the log says so", async () => {
    await server.close();
    const lines: unknown[] = [];
    const logger = createLogger((level, message, fields) => lines.push([level, message, fields]));
    server = await ApiServer.start({ logger });
    const account = "address 127.0.0.1";
    const client = { userId: "1", clientName: undefined, dialect: V4_PROTOCOL, owner: undefined, account };
    while (server.sessions.makeSpaceFor(client) === "available") {
      const { memory } = server.sessions.open(new FakeSocket(), client);
      for (let sizeBytes = memory.limitBytes; sizeBytes >= 1; sizeBytes = Math.floor(sizeBytes / 2)) {
        while (memory.hasCapacity(sizeBytes)) memory.take(sizeBytes, "the test");
      }
    }
    const { answer } = await server.handshake({ headers: { Authorization: PASSWORD, "User-Id": "1" } });
    expect(answer).toMatchObject({
      status: 503,
      body: expect.stringContaining(`the ${account} has used up its memory`),
    });
    const message = "client refused: its account has used up its memory for sessions";
    expect(lines).toContainEqual(["warn", message, { account, count: 1 }]);
  });

  test("a machine that is no gateway of its cluster has no clients, and says where they are to go", async () => {
    await server.close();
    server = await ApiServer.start({ isGateway: false });
    for (const path of ["/v4/websocket", "/v3/websocket"]) {
      const { answer } = await server.handshake({ path, headers: { Authorization: PASSWORD, "User-Id": "1" } });
      expect(answer).toMatchObject({
        status: 503,
        body: expect.stringContaining("connect to one that has the role gateway"),
      });
    }
    const { answer } = await server.handshake({ headers: { Authorization: "wrong", "User-Id": "1" } });
    expect(answer?.status).toBe(401);
    expect(server.sessions.all()).toEqual([]);
  });

  test("a message beyond the bound closes with 1009", async () => {
    const client = await server.connect();
    client.socket.send("x".repeat(1024 * 1024 + 1));
    expect((await client.closed).code).toBe(1009);
  });

  test("a request without an upgrade is answered with what the path is for", async () => {
    const headers = { "User-Id": "1" };
    const plain = await server.request("GET", "/v4/websocket", { headers });
    expect([plain.status, plain.body]).toEqual([400, 'Can "Upgrade" only to "WebSocket".']);
    expect((await server.request("POST", "/v4/websocket", { headers })).status).toBe(405);
    expect((await server.request("GET", "/v4/websocket")).status).toBe(400);
    expect((await server.request("GET", "/v4/websocket", { password: null })).status).toBe(401);
    expect((await server.request("GET", "/v4/websocket", { password: "wrong" })).status).toBe(401);
  });
});

describe("the password", () => {
  test.each(["utf8", "latin1"] as const)("may be sent in %s", async (encoding) => {
    const nonAscii = await ApiServer.start({ password: "pässwörd" });
    const password = Buffer.from("pässwörd", encoding).toString("latin1");
    expect((await nonAscii.request("GET", "/v4/info", { password })).status).toBe(200);
    expect((await nonAscii.request("GET", "/v4/info", { password: "pxsswxrd" })).status).toBe(403);
    await nonAscii.close();
  });
});

describe("upgrades to something else", () => {
  test("other upgrades are ignored, and the request is answered with its body", async () => {
    const client = await server.connect();
    const body = JSON.stringify({ timeout: 7 });
    const answer = await exchange(
      [
        `PATCH /v4/sessions/${client.sessionId} HTTP/1.1`,
        "Host: localhost",
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAAQAAP__",
        `Authorization: ${PASSWORD}`,
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        "",
        `${body}GET /version HTTP/1.1`,
        "Host: localhost",
        "Connection: close",
        "",
        "",
      ].join("\r\n"),
    );
    expect(answer).toContain('{"resuming":false,"timeout":7}');
    // The connection stays usable: the next request on it is answered too.
    expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
  });
});

test("bytes that are not HTTP are answered with our header", async () => {
  expect(await exchange("nonsense\r\n\r\n")).toMatch(/^HTTP\/1.1 400 Bad Request\r\nLavalink-Api-Version: 4\r\n/);
});

test("headers without end are answered with 431", async () => {
  const answer = await exchange(`GET /version HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 431 .*\r\nLavalink-Api-Version: 4\r\n/);
});

/** Sends raw bytes and gives back everything received until the server closes. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp(server.port, "127.0.0.1", () => socket.write(text));
    let received = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
}
