import { beforeEach, describe, expect, test } from "vitest";
import { LiveConnection, type SessionAnswer, type SocketListener } from "../../../../dashboard/live/live-connection.ts";
import { viewOf } from "../../../../dashboard/state/page-route.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const HELLO = JSON.stringify({ type: "hello", role: "operator", version: "1", intervalMs: 1000 });
const NODE_VIEW = viewOf({ page: "node" });

interface FakeSocket extends SocketListener {
  readonly sent: string[];
  isClosed: boolean;
}

let clock: FakeClock;
let answer: SessionAnswer;
let asked: number;
let sockets: FakeSocket[];
let kinds: string[];
let connection: LiveConnection;

const last = (): FakeSocket => {
  const socket = sockets.at(-1);
  if (socket === undefined) throw new Error("no socket was opened");
  return socket;
};

/** Waits until pending promises have settled. */
const settled = async (): Promise<void> => {
  for (let iteration = 0; iteration < 5; iteration += 1) await Promise.resolve();
};

async function pass(milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  await settled();
}

async function goLive(): Promise<FakeSocket> {
  connection.connect();
  await settled();
  last().onOpen();
  last().onText(HELLO);
  return last();
}

beforeEach(() => {
  clock = new FakeClock();
  [answer, asked, sockets, kinds] = ["in", 0, [], []];
  connection = new LiveConnection(
    {
      askSession: async () => {
        asked += 1;
        return answer;
      },
      openSocket: (listener) => {
        const socket: FakeSocket = { ...listener, sent: [], isClosed: false };
        sockets.push(socket);
        return { send: (text) => socket.sent.push(text), close: () => (socket.isClosed = true) };
      },
      now: () => clock.now(),
      later: (call, delayMs) => {
        const timer = clock.after(delayMs, call);
        return () => timer.cancel();
      },
    },
    {
      connectionChanged: (now) => kinds.push(now.kind === "refused" ? `refused: ${now.reason}` : now.kind),
      messageCame: () => undefined,
    },
  );
});

describe("connecting", () => {
  test("an open connection sends its view, and each different view once", async () => {
    connection.setView(NODE_VIEW);
    const socket = await goLive();
    connection.setView({ ...NODE_VIEW });
    connection.setView({ ...NODE_VIEW, filter: "a" });
    expect(socket.sent.map((text) => JSON.parse(text).filter)).toEqual(["", "a"]);
    expect(kinds).toEqual(["checking", "live"]);
  });

  test("no connection is opened without a login", async () => {
    answer = "out";
    connection.connect();
    await settled();
    expect(kinds).toEqual(["checking", "loggedOut"]);
    expect(sockets).toEqual([]);
    await pass(60_000);
    expect(asked).toBe(1);
  });

  test("the connection reports why the node refuses viewers, and tries again", async () => {
    answer = { reason: "16 pages are open" };
    connection.connect();
    await settled();
    expect(kinds).toEqual(["checking", "refused: 16 pages are open"]);
    expect(sockets).toEqual([]);
    answer = "in";
    await pass(500);
    last().onOpen();
    last().onText(HELLO);
    expect(kinds.at(-1)).toBe("live");
  });
});

describe("a lost connection", () => {
  test("a lost connection is retried in pauses that grow to ten seconds, and start over after a success", async () => {
    const socket = await goLive();
    answer = "gone";
    socket.onClose();
    const tries: number[] = [];
    for (const pauseMs of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
      const before = asked;
      await pass(pauseMs - 1);
      expect(asked).toBe(before);
      await pass(1);
      tries.push(asked - before);
    }
    expect(tries).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(kinds).toEqual(["checking", "live", "lost"]);
    answer = "in";
    await pass(10_000);
    last().onOpen();
    last().onText(HELLO);
    expect(kinds.at(-1)).toBe("live");
    last().onClose();
    await pass(500);
    expect(sockets).toHaveLength(3);
  });

  test("a lost connection is not retried when the login has expired", async () => {
    const socket = await goLive();
    answer = "out";
    socket.onClose();
    await pass(500);
    expect(kinds.at(-1)).toBe("loggedOut");
  });

  test("a lost connection is detected when no messages arrive", async () => {
    const socket = await goLive();
    await pass(9999);
    expect(kinds.at(-1)).toBe("live");
    await pass(1);
    expect([kinds.at(-1), socket.isClosed]).toEqual(["lost", true]);
  });

  test("a lost connection is retried immediately on request", async () => {
    const socket = await goLive();
    socket.onClose();
    connection.connect();
    await settled();
    expect(sockets).toHaveLength(2);
    await pass(500);
    expect(sockets).toHaveLength(2);
  });
});

describe("a hidden tab", () => {
  test("a hidden tab disconnects after a minute, and reconnects when it is visible", async () => {
    const socket = await goLive();
    connection.setHidden(true);
    for (let second = 0; second < 59; second += 1) {
      await pass(1000);
      socket.onText("{}");
    }
    expect(socket.isClosed).toBe(false);
    await pass(1000);
    expect([socket.isClosed, kinds.at(-1)]).toEqual([true, "asleep"]);
    await pass(600_000);
    expect(sockets).toHaveLength(1);
    connection.setHidden(false);
    await settled();
    expect(sockets).toHaveLength(2);
    expect(kinds.at(-1)).toBe("connecting");
  });

  test("a hidden tab that is visible again within the minute stays connected", async () => {
    const socket = await goLive();
    connection.setHidden(true);
    await pass(5000);
    connection.setHidden(false);
    socket.onText("{}");
    await pass(9000);
    socket.onText("{}");
    await pass(9000);
    socket.onText("{}");
    for (let second = 0; second < 60; second += 1) {
      await pass(1000);
      socket.onText("{}");
    }
    expect(kinds.at(-1)).toBe("live");
  });
});

describe("an action", () => {
  const act = () => connection.act({ kind: "drain", isOn: true });

  test("an action is numbered, and gets its result", async () => {
    const socket = await goLive();
    const [first, second] = [act(), act()];
    expect(socket.sent.map((text) => JSON.parse(text).id)).toEqual([1, 2]);
    socket.onText(JSON.stringify({ type: "done", id: 2, error: "no" }));
    socket.onText(JSON.stringify({ type: "done", id: 1, error: null }));
    expect([await first, await second]).toEqual([null, "no"]);
  });

  test("an action without an answer is given up", async () => {
    const socket = await goLive();
    const outcome = act();
    for (let second = 0; second < 20; second += 1) {
      clock.advance(1000);
      socket.onText("{}");
    }
    expect(await outcome).toBe("the node has not answered");
  });

  test("an action has an unknown result when the connection is lost, and does not start without one", async () => {
    const socket = await goLive();
    const outcome = act();
    socket.onClose();
    expect(await outcome).toContain("whether it was done is not known");
    expect(await act()).toBe("there is no connection to the node");
  });
});

test("a text that is not a message of the node changes nothing", async () => {
  const socket = await goLive();
  socket.onText("<html>");
  expect(kinds).toEqual(["checking", "live"]);
});
