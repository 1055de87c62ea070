// The first messages of a session leave a moment after the answer to its handshake, and before the session's answers.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { HeldSocket } from "../../../../src/control/server/held-socket.ts";
import { ApiServer, PASSWORD, type TestClient } from "../../../support/api-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

describe("a held socket", () => {
  let log: string[];
  /** The client answers its first ping. */
  let answer: () => void;

  beforeEach(() => {
    log = [];
  });

  type Connection = ConstructorParameters<typeof HeldSocket>[1];

  function hold(connection: Connection = { writableLength: 0, write: () => true }): HeldSocket {
    const webSocket = {
      bufferedAmount: 3,
      once: ((_event: string, onPong: () => void) => {
        answer = onPong;
      }) as WebSocket["once"],
      ping: () => log.push("ping"),
      send: (text: string, onSent: () => void) => {
        log.push(text);
        onSent();
      },
      pause: () => log.push("pause"),
      resume: () => log.push("resume"),
      close: (code: number) => log.push(`close ${code}`),
      terminate: () => log.push("terminate"),
    };
    return new HeldSocket(webSocket as Partial<WebSocket> as WebSocket, connection, clock); // all that it uses
  }

  const onSent = () => undefined;

  test("messages are held until a ping is answered, leave in order, and are passed on at once from then on", () => {
    const held = hold();
    held.send("ready", () => log.push("sent"));
    held.send("stats", onSent);
    clock.advance(5);
    expect(log).toEqual([]);
    clock.advance(5);
    expect(log).toEqual(["ping"]);
    answer();
    expect(log).toEqual(["ping", "ready", "sent", "stats", "resume"]);
    held.send("event", onSent);
    expect(log.at(-1)).toBe("event");
    clock.advance(2000);
    expect(log).toHaveLength(6);
  });

  test("a client that answers no ping has them after a second", () => {
    hold().send("ready", onSent);
    clock.advance(1000);
    expect(log).toEqual(["ping"]);
    clock.advance(10);
    expect(log).toEqual(["ping", "ready", "resume"]);
  });

  test("what the client asks for is carried out behind them, in order, and it is not listened to without end", async () => {
    const held = hold();
    held.send("ready", onSent);
    for (let number = 1; number <= 20; number++) held.receive(() => log.push(`work ${number}`));
    expect(log).toEqual(["pause"]);
    clock.advance(10);
    answer();
    await held.released;
    held.receive(() => log.push("late"));
    const works = Array.from({ length: 20 }, (_, index) => `work ${index + 1}`);
    expect(log).toEqual(["pause", "ping", "ready", "resume", ...works, "late"]);
  });

  test("the time counts from when the answer is flushed, and is bounded when it never is", () => {
    let onFlushed: () => void = () => undefined;
    const write = (_text: string, onWritten?: unknown) => {
      onFlushed = onWritten as () => void; // as it is called
      return true;
    };
    hold({ writableLength: 200, write });
    clock.advance(20);
    onFlushed();
    clock.advance(5);
    expect(log).toEqual([]);
    clock.advance(5);
    expect(log).toEqual(["ping"]);
    clock.advance(100);
    expect(log).toEqual(["ping"]);

    log = [];
    hold({ writableLength: 200, write });
    clock.advance(50);
    expect(log).toEqual(["ping"]);
  });

  test("held bytes are no backlog: a client that resumes with a full queue is not cut off for them", async () => {
    const held = hold();
    held.send("äöü", onSent);
    expect(held.bufferedAmount).toBe(3);
    clock.advance(10);
    answer();
    expect(held.bufferedAmount).toBe(3);
    await held.released;
  });

  test("a close passes the held messages on first", async () => {
    const held = hold();
    held.send("ready", onSent);
    held.close(1001);
    expect(log).toEqual(["ready", "resume", "close 1001"]);
    await held.released;
    clock.advance(2000);
    expect(log).toHaveLength(3);
  });

  test("a lost connection drops them, unsent", async () => {
    for (const end of ["drop", "terminate"] as const) {
      const held = hold();
      held.send("ready", () => log.push("sent"));
      held[end]();
      await held.released;
      clock.advance(2000);
    }
    expect(log).toEqual(["terminate"]);
  });
});

describe.each([
  ["v4", "/v4/websocket", "Session-Id"],
  ["v3", "/v3/websocket", "Resume-Key"],
])("clients of %s", (version, path, resumeHeader) => {
  const headers = { Authorization: PASSWORD, "User-Id": "1", "Client-Name": "test/1" };
  let server: ApiServer;

  beforeEach(async () => {
    server = await ApiServer.start({ clock });
  });
  afterEach(() => server.close());

  async function open(more: Readonly<Record<string, string>> = {}): Promise<TestClient> {
    // Handshakes are admitted one by one.
    clock.advance(0);
    const { client } = await server.handshake({ path, headers: { ...headers, ...more } });
    if (client === undefined) throw new Error("the handshake was refused");
    return client;
  }

  /** Resolves when the server has handled all that was sent before, without time passing. */
  const others = () => open();

  async function opened(): Promise<TestClient> {
    const client = await open();
    clock.advance(10);
    await client.until(({ op }) => op === "ready");
    return client;
  }

  async function leaveResumable(): Promise<string> {
    const client = await opened();
    const body = version === "v4" ? { resuming: true } : { resumingKey: "key" };
    await server.request("PATCH", `/${version}/sessions/${client.sessionId}`, { body });
    client.socket.terminate();
    await client.closed;
    await new Promise<void>((resolve) => {
      const look = () => (server.sessions.get(client.sessionId)?.isWaiting ? resolve() : setImmediate(look));
      look();
    });
    return client.sessionId;
  }

  test("nothing comes with the answer to the handshake, and ready is the first message", async () => {
    const client = await open();
    client.socket.ping();
    await others();
    clock.advance(5);
    await others();
    expect(client.messages).toEqual([]);
    clock.advance(5);
    await client.until(({ op }) => op === "stats");
    expect(client.messages.map(({ op }) => op)).toEqual(["ready", "stats"]);
  });

  test("requests that a client sends at once are answered after ready", async () => {
    const order: string[] = [];
    const client = await open();
    client.socket.once("message", () => order.push("ready"));
    const answer = server.request("GET", `/${version}/info`).then(({ status }) => order.push(`info ${status}`));
    await others();
    expect(order).toEqual([]);
    clock.advance(10);
    await answer;
    expect(order).toEqual(["ready", "info 200"]);
  });

  test("a resumed session gets ready, then what it missed, then its answers", async () => {
    const id = await leaveResumable();
    const session = server.sessions.get(id);
    session?.send({ op: "event", guildId: "7", type: "WebSocketClosedEvent", code: 1, reason: "a", byRemote: true });
    session?.send({ op: "event", guildId: "7", type: "WebSocketClosedEvent", code: 2, reason: "b", byRemote: true });
    const order: string[] = [];
    const client = await open({ [resumeHeader]: version === "v4" ? id : "key" });
    client.socket.on("message", (data) => {
      const { op, code } = JSON.parse(String(data));
      order.push(code === undefined ? op : `${op} ${code}`);
    });
    const answer = server.request("GET", `/${version}/sessions/${id}/players`).then(() => order.push("players"));
    session?.send({ op: "event", guildId: "7", type: "WebSocketClosedEvent", code: 3, reason: "c", byRemote: true });
    await others();
    expect(order).toEqual([]);
    clock.advance(10);
    await answer;
    expect(order).toEqual(["ready", "event 1", "event 2", "event 3", "players"]);
  });

  test("a client that is gone keeps no request waiting", async () => {
    const lost = await open();
    lost.socket.terminate();
    const answer = server.request("GET", `/${version}/info`);
    await others();
    clock.advance(10);
    expect((await answer).status).toBe(200);
  });
});
