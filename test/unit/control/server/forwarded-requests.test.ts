import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClientKey, hashOf } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import type { PluginRestControl } from "../../../../src/control/api/api-context.ts";
import { NodeError } from "../../../../src/errors.ts";
import { type Clock, systemClock } from "../../../../src/lib/clock.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { type Answer, ApiServer, type RequestOptions } from "../../../support/api-server.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { JoinedPlaces, type TestPlaces } from "../../../support/joined-places.ts";
import { EMPTY_UPDATE, playersInto } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

/** Two nodes never answer at the same time: their answers hold the time all the same. */
const CLOCK: Clock = { ...systemClock, epochMs: () => 1_700_000_000_000 };
const NO_BODY = { status: 204 };

type StartOptions = NonNullable<Parameters<typeof ApiServer.start>[0]>;

let joined: JoinedPlaces;
let places: Record<"near" | "far", TestPlaces>;
/** The clients' machine. */
let near: ApiServer;
/** The machine of the session. */
let far: ApiServer;
let sessionId: string;
let lines: string[];
let stored: (() => Promise<void>) | undefined;

async function start(options: StartOptions = {}, farOptions: StartOptions = options): Promise<void> {
  const logger = createLogger((_level, message, fields) => {
    if (!message.startsWith("client ")) lines.push(`${message} ${JSON.stringify(fields)}`);
  });
  const requestLogging = {
    ...{ isClientShown: false, areHeadersShown: false, isQueryShown: false, isPayloadShown: false },
    ...{ payloadLengthMax: 0, isLoggedBefore: false },
  };
  const shared = { clock: CLOCK, logger, requestLogging };
  const state = { report: () => ({}) as never, written: () => stored?.() };
  near = await ApiServer.start({ ...shared, ...options, places: places.near });
  far = await ApiServer.start({ ...shared, state, ...farOptions, places: places.far });
  ({ sessionId } = await far.connect());
  joined.homes.set(sessionId, "far");
}

beforeEach(() => {
  joined = new JoinedPlaces();
  places = { near: joined.of("near"), far: joined.of("far") };
  lines = [];
  stored = undefined;
});

afterEach(async () => {
  await near.close();
  await far.close();
});

function playerPath(guildId = "1"): string {
  return `/v4/sessions/${sessionId}/players/${guildId}`;
}

/** Frames of a stack that tell how the request came. */
const WAY =
  /\\n\\tat (?:answer |ForwardedRequests|PlacedRequests|RequestPassing|RouteCalls|Object\.handler|process|preHandler|validation)[^\\"]*/g;

/** What a client sees of an answer; how it is cut into pieces is not its matter. */
function seen({ status, headers, body }: Answer) {
  const { date: _date, "transfer-encoding": _encoding, "content-length": _length, ...others } = headers;
  return { status, headers: others, body: body.replaceAll(WAY, "") };
}

/** Sends a request to the machine of the session, then to the other one; gives what both answer. */
async function answered(method: string, path: string, options: RequestOptions = {}) {
  const before = joined.calls.length;
  const direct = await far.request(method, path, options);
  expect(joined.calls).toHaveLength(before);
  const forwarded = await near.request(method, path, options);
  expect(joined.calls).toHaveLength(before + 1);
  expect(seen(forwarded)).toEqual(seen(direct));
  return forwarded;
}

const PLUGIN: PluginRestControl = {
  list: () => [
    {
      manifest: {
        ...{ method: "GET", path: "/v4/sessions/:sessionId/players/:guildId/example/state", summary: "State." },
        ...{ access: "client", query: {}, body: undefined, ofPlayer: { needs: "player" } },
      },
      serve: async ({ segments, owner }) => ({ kind: "served", status: 200, json: { ...segments, owner: [...owner] } }),
    },
    {
      manifest: {
        ...{ method: "PUT", path: "/v4/sessions/:sessionId/players/:guildId/example/state", summary: "State." },
        ...{ access: "client", query: {}, ofPlayer: { needs: "session", missingStatus: 204 }, isListBody: true },
        body: { names: { type: "texts", meaning: "names" } },
      },
      serve: async ({ body }) => ({ kind: "served", status: 201, json: { ...body } as { names: string[] } }),
    },
  ],
};

describe("what another machine answers", () => {
  beforeEach(() =>
    start({
      pluginRest: PLUGIN,
      disabledFilters: ["karaoke"],
      load: async () => ({ kind: "track", track: buildTrack() }),
    }),
  );

  test("players are read from another machine as from the one that has them", async () => {
    expect((await answered("GET", `/v4/sessions/${sessionId}/players`)).body).toBe("[]");
    await far.request("PATCH", playerPath(), { body: { volume: 7 } });
    expect((await answered("GET", `/v4/sessions/${sessionId}/players`)).json).toMatchObject([{ volume: 7 }]);
    expect((await answered("GET", playerPath())).json.volume).toBe(7);
    expect((await answered("GET", playerPath("%31"))).status).toBe(200);
    expect((await answered("HEAD", playerPath())).body).toBe("");
    expect((await answered("GET", playerPath("2"))).json.message).toBe("Player not found");
    expect((await answered("GET", playerPath("x"))).status).toBe(400);
  });

  test("a session is changed through another machine as through the one that has it", async () => {
    const path = `/v4/sessions/${sessionId}`;
    expect((await answered("PATCH", path, { body: { resuming: true, timeout: 7 } })).json.timeout).toBe(7);
    expect((await answered("PATCH", path, { body: '{"timeout": "x"}' })).status).toBe(415);
    expect((await answered("PATCH", path, { body: { timeout: "x" } })).status).toBe(400);
    const headers = { "Content-Type": "application/json" };
    expect((await answered("PATCH", path, { headers, body: '{"timeout": 9223372036854775807}' })).body).toContain(
      "9223",
    );
  });

  test("a player is changed through another machine as through the one that has it", async () => {
    const path = playerPath();
    const userData = '{"track":{"identifier":"x","userData":{"id":12345678901234567890,"text":"ä\\n\\u2028"}}}';
    const headers = { "Content-Type": "application/json; charset=utf-8", "User-Agent": "bot/1" };
    const { body } = await answered("PATCH", path, { headers, body: userData });
    expect(body).toContain("12345678901234567890");
    expect((await answered("PATCH", `${path}?noReplace=maybe`, { body: {} })).status).toBe(400);
    expect((await answered("PATCH", `${path}?noReplace=%`, { body: {} })).status).toBe(400);
    const filters = { karaoke: { level: 1 } };
    expect((await answered("PATCH", path, { body: { filters } })).json.message).toContain("karaoke");
    const lost = playerPath().replace(sessionId, "gone");
    joined.homes.set("gone", "far");
    expect((await answered("PATCH", lost, { body: {} })).json).toMatchObject({
      ...{ status: 404, message: "Session not found", path: lost },
    });
    const large = JSON.stringify({ track: { userData: { text: "x".repeat(100_000) } } });
    expect((await answered("PATCH", path, { headers, body: large })).status).toBe(200);
    for (const _time of ["first", "second"]) expect(await answered("DELETE", path)).toMatchObject(NO_BODY);
  });

  test("unusual headers, paths and traces are answered by another machine as by the one of the session", async () => {
    const path = `/v4/sessions/${sessionId}/players`;
    expect(await answered("GET", path, { headers: { Accept: "text/html" } })).toMatchObject({ status: 406, body: "" });
    expect((await answered("GET", `${path};a=b/1;c=d?x=%20`)).json.path).toBe(`${path};a=b/1;c=d`);
    const { status, json } = await answered("GET", `${path}/1?trace=true`);
    expect([status, json.trace]).toEqual([404, expect.stringContaining("Player not found")]);
  });

  test("requests of v3 are answered by another machine as by the one of the session", async () => {
    const path = `/v3/sessions/${sessionId}`;
    const { headers } = await answered("GET", `${path}/players/`);
    expect(headers["lavalink-api-version"]).toBe("3");
    expect((await answered("PATCH", path, { body: { resumingKey: "a", timeout: 5 } })).json.resumingKey).toBe("a");
    expect((await answered("PATCH", `${path}/players/1`, { body: { volume: 5 } })).json.volume).toBe(5);
    expect((await answered("GET", `${path}/players/2`)).status).toBe(404);
    expect((await answered("DELETE", `${path}/players/1`)).status).toBe(204);
  });

  test("routes of plugins and of lyrics are answered by another machine as by the one of the session", async () => {
    const path = `${playerPath()}/example/state`;
    expect((await answered("GET", path)).json.message).toBe("Player not found");
    await far.request("PATCH", playerPath(), { body: { volume: 7 } });
    const { json } = await answered("GET", path, { headers: { "User-Agent": "bot/1" } });
    const account = "address 127.0.0.1";
    expect(json).toEqual({ sessionId, guildId: "1", owner: [account, `${account}, bot/1`] });
    expect((await answered("PUT", path, { body: ["a", "b"] })).json).toEqual({ names: ["a", "b"] });
    expect((await answered("PUT", path, { body: {} })).status).toBe(400);
    joined.homes.set("gone", "far");
    expect((await answered("PUT", path.replace(sessionId, "gone"), { body: [] })).status).toBe(204);
    expect((await answered("POST", `${playerPath()}/lyrics/subscribe`)).status).toBe(500);
    expect((await answered("GET", `${playerPath()}/track/lyrics`)).json.message).toBe("No track playing");
  });
});

describe("who asks", () => {
  function key(name: string, more: Partial<ClientKey> = {}): ClientKey {
    return { name, role: "client", hashes: [hashOf(`${name}'s key`)], limits: UNLIMITED, ...more };
  }

  let farKeys: KeyRing;
  let path: string;

  beforeEach(async () => {
    const keys = new KeyRing(CLOCK);
    farKeys = new KeyRing(CLOCK);
    await start({ keys }, { keys: farKeys });
    keys.replace([key("a"), key("b"), key("viewer")]);
    farKeys.replace([key("a"), key("b"), key("viewer")]);
    const { sessionId: own } = await far.connect({ Authorization: "a's key" });
    joined.homes.set(own, "far");
    path = `/v4/sessions/${own}/players/1`;
  });

  test("a key reaches its own sessions on another machine, and no others; the password reaches all", async () => {
    const asked = { body: { volume: 5 } };
    expect((await answered("PATCH", path, { ...asked, password: "a's key" })).status).toBe(200);
    expect((await answered("PATCH", path, { ...asked, password: "b's key" })).json.message).toBe("Session not found");
    expect((await answered("PATCH", path, asked)).status).toBe(200);
  });

  test("the keys of the machine of the session count: their names, roles and limits", async () => {
    const limits = { ...UNLIMITED, players: 0 };
    farKeys.replace([key("a", { limits }), key("viewer", { role: "viewer" })]);
    const asked = { body: { volume: 5 } };
    expect((await near.request("PATCH", path, { ...asked, password: "a's key" })).json).toMatchObject({
      status: 429,
      message: expect.stringContaining("key a"),
    });
    expect((await answered("PATCH", path, { ...asked, password: "viewer's key" })).json.status).toBe(403);
    expect(await answered("PATCH", path, { ...asked, password: "b's key" })).toMatchObject({ status: 403, body: "" });
  });

  test("a request that this machine refuses is not passed on", async () => {
    for (const password of [null, "wrong"]) {
      expect((await near.request("GET", path, { password })).status).toBe(password === null ? 401 : 403);
    }
    expect((await near.request("GET", "/v4/info")).status).toBe(200);
    expect(joined.calls).toEqual([]);
  });

  test("the credentials of the client are not passed on", async () => {
    await near.request("GET", path, { password: "a's key", headers: { Cookie: "hunter2" } });
    expect(joined.calls).toHaveLength(1);
    expect(joined.calls[0]?.request).not.toMatch(/a's key|hunter2/);
  });
});

describe("no answer of the other machine", () => {
  beforeEach(() => start());

  test.each<[string, () => void]>([
    ["the machine is gone", () => joined.homes.set(sessionId, "dead")],
    ["the machine cannot be reached", () => (places.near.onSent = () => Promise.reject(away()))],
    ["nobody knows where the session is", () => places.near.answers.push(away())],
    ["the machine does not know whether it has the session", () => places.far.answers.push(away())],
    [
      "the answer is lost",
      () => {
        places.near.onSent = async (handle) => {
          await handle();
          throw away();
        };
      },
    ],
    ["the machine loses its sessions meanwhile", () => (stored = async () => void places.far.lives++)],
    ["the machine stops", () => far.sessions.disconnect()],
  ])("a request is answered with 503 and not sent again: %s", async (_what, happen) => {
    happen();
    const path = `/v4/sessions/${sessionId}?a=b`;
    const { status, headers, json } = await near.request("PATCH", path, { body: { resuming: true } });
    expect([status, headers["retry-after"], json.status, json.path]).toEqual([503, "2", 503, path.slice(0, -4)]);
    expect(joined.calls.length).toBeLessThanOrEqual(1);
  });

  test("an answer that cannot be read is a fault, which the log names", async () => {
    places.near.onSent = async () => "HTTP/1.1 200 OK";
    expect((await near.request("GET", playerPath())).status).toBe(500);
    expect(lines.join()).toContain("request failed: unexpected error");
  });

  test("this machine answers for the other one although it has lost its own sessions meanwhile", async () => {
    places.near.onSent = (handle) => {
      places.near.lives++;
      return handle();
    };
    expect((await near.request("GET", playerPath())).status).toBe(404);
  });
});

function away(): NodeError {
  return new NodeError("cluster-away", "no connection to the cluster");
}

describe("a session that moves", () => {
  beforeEach(() => start());

  test("a request that comes too late is passed on to where the session has moved", async () => {
    places.near.answers.push("farther");
    const farther = joined.of("farther");
    const other = await ApiServer.start({ places: farther });
    expect(await near.request("PATCH", playerPath(), { body: { volume: 3 } })).toMatchObject({ status: 200 });
    expect(joined.calls.map(({ machine }) => machine)).toEqual(["farther", "far"]);
    expect(far.sessions.connected(sessionId)?.players.get("1")?.toJson().volume).toBe(3);
    await other.close();
  });

  test("a session that has moved to this machine is found here", async () => {
    const { sessionId: own } = await near.connect();
    joined.homes.set(own, "near");
    places.near.answers.push("far");
    expect((await near.request("GET", `/v4/sessions/${own}/players`)).body).toBe("[]");
    expect(joined.calls.map(({ machine }) => machine)).toEqual(["far"]);
    expect(lines.at(-1)).not.toContain("machine");
  });

  test("a session that has moved twice is not followed further: the client is to try again", async () => {
    joined.homes.set(sessionId, "near");
    places.near.answers.push("far", "far", "far");
    const { status, json } = await near.request("GET", playerPath());
    expect([status, json.message]).toEqual([503, expect.stringContaining("moving from one machine to another")]);
    expect(joined.calls).toHaveLength(2);
  });

  test("a session that is nowhere is unknown", async () => {
    places.near.answers.push(undefined);
    const { status, json } = await near.request("GET", "/v4/sessions/nobody/players");
    expect([status, json.message]).toEqual([404, "Session not found"]);
  });
});

describe("a machine that loses its sessions", () => {
  test("a machine that loses its sessions gives no answer to what it was asked before, done or failed", async () => {
    let lose = (): void => void places.far.lives++;
    const load = async () => {
      lose();
      return { kind: "empty" } as const;
    };
    await start({ load });
    stored = async () => lose();
    const change = () => far.request("PATCH", `/v4/sessions/${sessionId}`, { body: { resuming: true } });
    const fail = () => far.request("PATCH", playerPath(), { body: { track: { identifier: "x" } } });
    await expect(change()).rejects.toThrow("socket hang up");
    await expect(fail()).rejects.toThrow("socket hang up");
    lose = () => undefined;
    expect([(await change()).status, (await fail()).status]).toEqual([200, 400]);
  });
});

describe("large answers", () => {
  const players: FakeSessionPlayer[] = [];

  async function fill(count: number, length: number): Promise<void> {
    await start({}, { createPlayer: playersInto(players) });
    const session = far.sessions.connected(sessionId);
    for (let index = 0; index < count; index++)
      await session?.updatePlayer(String(index), EMPTY_UPDATE, { isReplacing: true });
    const text = "ä".repeat(length);
    for (const player of players.splice(0)) {
      const json = { ...player.toJson(), voice: { token: text, endpoint: "", sessionId: "", channelId: null } };
      player.toJson = () => json;
    }
  }

  test("a list that is sent in parts arrives whole", async () => {
    await fill(400, 1000);
    const { json, headers } = await answered("GET", `/v4/sessions/${sessionId}/players`);
    expect(json).toHaveLength(400);
    expect(Number(headers["content-length"])).toBeGreaterThan(800_000);
  });

  test("a list of more than 32 MiB is refused", async () => {
    await fill(34, 512 * 1024);
    const { status, json } = await near.request("GET", `/v4/sessions/${sessionId}/players`);
    expect([status, json.message]).toEqual([503, expect.stringContaining("32 MiB")]);
    expect((await far.request("GET", `/v4/sessions/${sessionId}/players`)).json).toHaveLength(34);
  });
});

describe("the log", () => {
  beforeEach(() => start());

  test("a request that was passed on is logged once, with the machine that has answered it", async () => {
    await near.request("GET", playerPath());
    joined.homes.set(sessionId, "dead");
    await near.request("GET", playerPath());
    await expect.poll(() => lines.length).toBe(2);
    expect(lines).toEqual([
      expect.stringMatching(/^answered GET .*"status":404.*"machine":"far"/),
      expect.stringMatching(/^answered GET .*"status":503.*"machine":"dead"/),
    ]);
  });
});
