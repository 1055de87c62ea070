import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClientKey, hashOf } from "../../../../src/control/access/client-key.ts";
import { type Limits, type Role, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import { ApiServer, type TestClient } from "../../../support/api-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const clock = new FakeClock();
let keys: KeyRing;
let server: ApiServer;

beforeEach(async () => {
  keys = new KeyRing(clock);
  server = await ApiServer.start({ keys });
});

afterEach(() => server.close());

/** The key of a name is the name with `'s key` behind. */
function key(name: string, limits: Partial<Limits> = {}, role: Role = "client"): ClientKey {
  return { name, role, hashes: [hashOf(keyOf(name))], limits: { ...UNLIMITED, ...limits } };
}

function keyOf(name: string): string {
  return `${name}'s key`;
}

function connect(name: string, more: Readonly<Record<string, string>> = {}): Promise<TestClient> {
  return server.connect({ Authorization: keyOf(name), ...more });
}

async function ask(name: string, method: string, path: string, body?: object): Promise<[number, string | undefined]> {
  const options = body === undefined ? {} : { body };
  const { status, json } = await server.request(method, path, { password: keyOf(name), ...options });
  return [status, json?.message];
}

function playersOf(client: TestClient): string {
  return `/v4/sessions/${client.sessionId}/players`;
}

describe("a key", () => {
  test("a client key opens sessions and plays in them, and does not see those of other keys", async () => {
    keys.replace([key("a"), key("b")]);
    const [a, b] = [await connect("a"), await connect("b")];
    expect((await ask("a", "PATCH", `${playersOf(a)}/1`, { volume: 50 }))[0]).toBe(200);
    expect((await ask("b", "PATCH", `${playersOf(b)}/1`, { volume: 20 }))[0]).toBe(200);
    const notFound = [404, "Session not found"];
    expect(await ask("b", "GET", playersOf(a))).toEqual(notFound);
    expect(await ask("b", "PATCH", `${playersOf(a)}/1`, { paused: true })).toEqual(notFound);
    expect(await ask("b", "DELETE", `${playersOf(a)}/1`)).toEqual(notFound);
    expect(await ask("b", "PATCH", `/v4/sessions/${a.sessionId}`, { resuming: true })).toEqual(notFound);
    // The password is the operator's.
    expect((await server.request("GET", playersOf(a))).json).toMatchObject([{ guildId: "1", volume: 50 }]);
    const seen = await server.request("GET", "/v4/tonearm/players/1", { password: keyOf("b") });
    expect(seen.json.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([b.sessionId]);
    expect((await server.request("GET", "/v4/tonearm/players/1")).json).toHaveLength(2);
  });

  test.each(["b", undefined])("a key resumes its own sessions, and none of %s", async (other) => {
    keys.replace([key("a"), key("b")]);
    const client = await connect("a");
    await ask("a", "PATCH", `/v4/sessions/${client.sessionId}`, { resuming: true, timeout: 60 });
    client.socket.terminate();
    await client.closed;
    const session = { "Session-Id": client.sessionId };
    const foreign = other === undefined ? await server.connect(session) : await connect(other, session);
    expect(foreign.handshake["session-resumed"]).toBe("false");
    expect((await connect("a", session)).handshake["session-resumed"]).toBe("true");
  });

  test("a key cannot resume a session of another key by its v3 resume key", async () => {
    keys.replace([key("a"), key("b")]);
    const open = async (name: string) => {
      const headers = { Authorization: keyOf(name), "User-Id": "1", "Resume-Key": "shared" };
      const { client, answer } = await server.handshake({ path: "/v3/websocket", headers });
      return { client: client!, isResumed: answer.headers["session-resumed"] };
    };
    const { client } = await open("a");
    await client.until(({ op }) => op === "ready");
    await ask("a", "PATCH", `/v3/sessions/${client.sessionId}`, { resumingKey: "shared", timeout: 60 });
    client.socket.terminate();
    await client.closed;
    expect((await open("b")).isResumed).toBe("false");
    expect((await open("a")).isResumed).toBe("true");
  });
});

describe("past its limit", () => {
  const NAMED = /^the key small /;

  test("sessions above the limit are refused with 429 and the limit's name, but a waiting one is ended for a new one", async () => {
    keys.replace([key("small", { sessions: 2 }), key("other")]);
    const [first, second] = [await connect("small"), await connect("small")];
    const headers = { Authorization: keyOf("small"), "User-Id": "1" };
    const { answer } = await server.handshake({ headers });
    expect([answer.status, answer.body]).toEqual([429, expect.stringMatching(NAMED)]);
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    await connect("other");
    await ask("small", "PATCH", `/v4/sessions/${first.sessionId}`, { resuming: true, timeout: 60 });
    first.socket.terminate();
    await first.closed;
    const third = await connect("small");
    expect(server.sessions.get(first.sessionId)).toBeUndefined();
    expect((await server.handshake({ headers })).answer.status).toBe(429);
    for (const client of [second, third]) expect((await ask("small", "GET", playersOf(client)))[0]).toBe(200);
  });

  test("players are refused with 429 and its name, in all of its sessions together", async () => {
    keys.replace([key("small", { players: 2 })]);
    const [first, second] = [await connect("small"), await connect("small")];
    expect((await ask("small", "PATCH", `${playersOf(first)}/1`, {}))[0]).toBe(200);
    expect((await ask("small", "PATCH", `${playersOf(second)}/2`, {}))[0]).toBe(200);
    const refusal = [429, expect.stringMatching(NAMED)];
    expect(await ask("small", "PATCH", `${playersOf(first)}/3`, {})).toEqual(refusal);
    expect((await ask("small", "PATCH", `${playersOf(first)}/1`, { volume: 1 }))[0]).toBe(200);
    await ask("small", "DELETE", `${playersOf(first)}/1`);
    expect((await ask("small", "PATCH", `${playersOf(first)}/3`, {}))[0]).toBe(200);
  });

  test("sources are refused with 403 and its name, however a track is named", async () => {
    keys.replace([key("small", { sources: new Set(["http"]) })]);
    const client = await connect("small");
    const path = `${playersOf(client)}/1`;
    const encoded = (sourceName: string) => buildTrack({ sourceName }).encoded;
    const refusal = [403, "the key small may not play from soundcloud"];
    expect(await ask("small", "PATCH", path, { track: { encoded: encoded("soundcloud") } })).toEqual(refusal);
    expect(await ask("small", "PATCH", path, { encodedTrack: encoded("soundcloud") })).toEqual(refusal);
    expect((await ask("small", "PATCH", path, { track: { encoded: encoded("http") } }))[0]).toBe(200);
    const info = await server.request("GET", "/v4/info", { password: keyOf("small") });
    expect(info.json.sourceManagers).toEqual(["http"]);
  });

  test("filters are refused with 403 and its name", async () => {
    keys.replace([key("small", { filters: new Set(["volume"]) })]);
    const client = await connect("small");
    const path = `${playersOf(client)}/1`;
    const filters = { volume: 1, timescale: { speed: 2 }, pluginFilters: { tonearm: { reverb: {} } } };
    const refusal = [403, "the key small may not use these filters: timescale, tonearm"];
    expect(await ask("small", "PATCH", path, { filters })).toEqual(refusal);
    expect((await ask("small", "PATCH", path, { filters: { volume: 1 } }))[0]).toBe(200);
    expect((await server.request("GET", "/v4/info", { password: keyOf("small") })).json.filters).toEqual(["volume"]);
  });

  test("requests are refused with 429 and its name, and one more is let in with time", async () => {
    keys.replace([key("small", { requestsPerSecond: 1 }), key("other")]);
    for (let count = 0; count < 10; count++) expect((await ask("small", "GET", "/v4/info"))[0]).toBe(200);
    const { status, json, headers } = await server.request("GET", "/v4/info", { password: keyOf("small") });
    expect([status, json.message, headers["retry-after"]]).toEqual([429, expect.stringMatching(NAMED), "1"]);
    const handshake = { headers: { Authorization: keyOf("small"), "User-Id": "1" } };
    expect((await server.handshake(handshake)).answer).toMatchObject({
      status: 429,
      body: expect.stringMatching(NAMED),
    });
    expect((await ask("other", "GET", "/v4/info"))[0]).toBe(200);
    clock.advance(1000);
    expect((await ask("small", "GET", "/v4/info"))[0]).toBe(200);
    expect((await ask("small", "GET", "/v4/info"))[0]).toBe(429);
  });
});

describe("by its role", () => {
  const ROUTES = [
    ["GET", "/v4/info", "known"],
    ["GET", "/v4/stats", "known"],
    ["GET", "/v4/tonearm/load", "known"],
    ["GET", "/v4/tonearm/health", "known"],
    ["GET", "/v4/loadtracks?identifier=x", "client"],
    ["GET", "/v4/sessions/x/players", "client"],
    ["GET", "/loadtracks?identifier=x", "client"],
    ["GET", "/v4/tonearm/sources", "viewer"],
    ["GET", "/v4/tonearm/plugins", "viewer"],
    ["GET", "/v4/routeplanner/status", "viewer"],
    ["GET", "/v3/routeplanner/status", "viewer"],
    ["POST", "/v4/routeplanner/free/all", "operator"],
    ["POST", "/routeplanner/free/all", "operator"],
    ["POST", "/v4/tonearm/plugins/x/reload", "operator"],
    ["PATCH", "/v4/tonearm/plugins/x/options", "operator"],
    ["PATCH", "/v4/lavasrc/config", "operator"],
    ["GET", "/youtube", "operator"],
    ["GET", "/youtube/oauth/x", "operator"],
    ["POST", "/youtube", "operator"],
  ] as const;

  test.each(ROUTES)("%s %s is for %s", async (method, path, access) => {
    keys.replace([key("client"), key("viewer", {}, "viewer"), key("operator", {}, "operator")]);
    const refused: string[] = [];
    for (const name of ["client", "viewer", "operator"]) {
      const [status, message] = await ask(name, method, path);
      if (status !== 403) continue;
      refused.push(name);
      expect(message).toBe(`the key ${name} has the role ${name}; this request needs the role ${access}`);
    }
    const others = ["client", "viewer"].filter((name) => access !== "known" && name !== access);
    expect(refused).toEqual(others);
  });

  test("a viewer opens no session", async () => {
    keys.replace([key("viewer", {}, "viewer")]);
    const { answer } = await server.handshake({ headers: { Authorization: keyOf("viewer"), "User-Id": "1" } });
    expect([answer.status, answer.body]).toEqual([403, "the key viewer has the role viewer: it may not play"]);
  });
});

test("a key that is changed lets its sockets go, and its sessions are resumed with the new one", async () => {
  const before = { ...key("bot"), hashes: [hashOf("old"), hashOf(keyOf("bot"))] };
  keys.replace([before, key("other")]);
  const client = await server.connect({ Authorization: "old" });
  const other = await connect("other");
  await ask("bot", "PATCH", `/v4/sessions/${client.sessionId}`, { resuming: true, timeout: 60 });
  keys.replace([key("bot"), key("other")]);
  server.keysChanged();
  expect(await client.closed).toEqual({ code: 1008, reason: "the key of this connection is no longer valid" });
  expect((await server.request("GET", "/v4/info", { password: "old" })).status).toBe(403);
  expect((await connect("bot", { "Session-Id": client.sessionId })).handshake["session-resumed"]).toBe("true");
  await other.flushed();
});

test("a key that is changed within a handshake opens nothing any more", async () => {
  keys.replace([key("a")]);
  const before = await connect("a");
  await ask("a", "PATCH", `/v4/sessions/${before.sessionId}`, { resuming: true, timeout: 60 });
  // Its socket gets a ping, whose answer takes a while.
  before.socket.pause();
  const asked = { Authorization: keyOf("a"), "User-Id": "1", "Session-Id": before.sessionId };
  const handshake = server.handshake({ headers: asked });
  const ping = await server.request("GET", "/version");
  expect(ping.status).toBe(200);
  keys.replace([{ ...key("a"), hashes: [hashOf("another")] }]);
  server.keysChanged();
  expect((await handshake).answer.status).toBe(401);
  expect((await server.handshake({ headers: { ...asked, Authorization: "another" } })).answer.status).toBe(101);
});

test("a key that is taken away ends its sessions, and their players", async () => {
  keys.replace([key("bot"), key("other")]);
  const [client, other] = [await connect("bot"), await connect("other")];
  await ask("bot", "PATCH", `/v4/sessions/${client.sessionId}`, { resuming: true, timeout: 60 });
  keys.replace([key("other")]);
  server.keysChanged();
  expect((await client.closed).code).toBe(1008);
  expect(server.sessions.get(client.sessionId)).toBeUndefined();
  await other.flushed();
  expect((await ask("other", "GET", playersOf(other)))[0]).toBe(200);
});
