// Replays every recorded WebSocket handshake against our API. The recordings have lost the request headers, so they are
// listed here by name. Sequences with audio and voice need the whole node.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiServer, PASSWORD, type TestClient } from "../../../support/api-server.ts";
import { type Parsed, readLines } from "../../../support/golden.ts";
import { HANDSHAKE_DIFFERENCES, NEEDS_WHOLE_NODE_SEQUENCES } from "./golden-differences.ts";

type Headers = Readonly<Record<string, string>>;

const CLIENT: Headers = { Authorization: PASSWORD, "User-Id": "1", "Client-Name": "test/1" };

const HEADERS: Readonly<Record<string, Headers>> = {
  "bad-client": { ...CLIENT, "Client-Name": "bad client" },
  "empty-client": { ...CLIENT, "Client-Name": "" },
  "empty-user": { ...CLIENT, "User-Id": "" },
  "float-user": { ...CLIENT, "User-Id": "1.5" },
  "huge-user": { ...CLIENT, "User-Id": "99999999999999999999" },
  "negative-user": { ...CLIENT, "User-Id": "-5" },
  "no-auth": { "User-Id": "1" },
  "no-client": { Authorization: PASSWORD, "User-Id": "1" },
  "no-user": { Authorization: PASSWORD },
  "nonnumeric-user": { ...CLIENT, "User-Id": "abc" },
  origin: { ...CLIENT, Origin: "http://example.com" },
  "session-empty": { ...CLIENT, "Session-Id": "" },
  "session-unknown": { ...CLIENT, "Session-Id": "nope" },
  "wrong-auth": { ...CLIENT, Authorization: "wrong" },
  "zero-user": { ...CLIENT, "User-Id": "0" },
};

/** The actions of the client once it is connected. */
const ACTIONS: Readonly<Record<string, (client: TestClient) => void>> = {
  "client-closes-4000": ({ socket }) => socket.close(4000, "bye"),
  "client-sends-9000": ({ socket }) => socket.send("x".repeat(9000)),
  "client-sends-big": ({ socket }) => socket.send("x".repeat(500_000)),
  "client-sends-binary": ({ socket }) => socket.send(Buffer.from([1, 2, 3])),
  "client-sends-garbage": ({ socket }) => socket.send("{"),
  "client-sends-json": ({ socket }) => socket.send('{"op":"play"}'),
};

let server: ApiServer;

beforeAll(async () => {
  server = await ApiServer.start();
});

afterAll(() => server.close());

const cases: readonly Parsed[] = readLines("ws.jsonl").map((line) => JSON.parse(line));
const handshakes = cases.filter(({ request }) => request !== undefined);

describe("every recorded WebSocket handshake", () => {
  test.each(handshakes.map((recorded) => [recorded.name, recorded]))("%s", async (name, recorded) => {
    const headers = HEADERS[name] ?? CLIENT;
    const { answer, client } = await server.handshake({ path: recorded.request.path, headers });
    const difference = HANDSHAKE_DIFFERENCES[name];
    expect(answer.headers["lavalink-api-version"]).toBe(difference?.apiVersion ?? "4");
    if (difference !== undefined) {
      expect(recorded.response.status).not.toBe(difference.status);
      expect(answer.status).toBe(difference.status);
      return;
    }
    expect(answer.status).toBe(recorded.response.status);
    for (const [header, value] of recorded.response.headers) expect(answer.headers[header.toLowerCase()]).toBe(value);
    if (name === "trailing-slash") expect(answer.json.message).toBe("No endpoint GET /v4/websocket/.");
    else expect(answer.body).toBe(recorded.response.body ?? "");
    if (client !== undefined) await compareConversation(client, recorded);
  });
});

test("recorded sequences that are not replayed here need audio and voice", () => {
  const sequences = cases.filter(({ request }) => request === undefined).map(({ name }) => name);
  expect(sequences.filter((name) => !NEEDS_WHOLE_NODE_SEQUENCES.test(name))).toEqual([]);
});

async function compareConversation(client: TestClient, recorded: Parsed): Promise<void> {
  await client.until(({ op }) => op === "stats");
  ACTIONS[recorded.name]?.(client);
  if (recorded.close === null) await client.flushed();
  else expect(await client.closed).toEqual(recorded.close);
  // Recorded in either order; we always send ready first.
  expect(recorded.messages.map(({ msg }: Parsed) => msg.op).sort()).toEqual(["ready", "stats"]);
  const [ready, stats, ...more] = client.messages;
  const recordedReady = recorded.messages.find(({ msg }: Parsed) => msg.op === "ready").msg;
  expect(ready).toEqual({ ...recordedReady, sessionId: expect.stringMatching(/^[a-z0-9]{16}$/) });
  const recordedStats = recorded.messages.find(({ msg }: Parsed) => msg.op === "stats").msg;
  expect(shape(stats)).toEqual(shape(recordedStats));
  expect(more).toEqual([]);
}

/** Names in their order and types, without the values. */
function shape(value: Parsed): unknown {
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  return Object.entries(value).map(([key, member]) => [key, shape(member)]);
}
