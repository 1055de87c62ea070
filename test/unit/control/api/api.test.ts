import { METHODS } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { ApiServer, type RequestOptions, type TestClient } from "../../../support/api-server.ts";
import { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { buildTrack } from "../../../support/track-builder.ts";

let server: ApiServer;
let client: TestClient;
let players: FakeSessionPlayer[];

beforeAll(async () => {
  players = [];
  server = await ApiServer.start({
    disabledFilters: ["karaoke", "lowPass"],
    createPlayer: (options) => {
      const player = new FakeSessionPlayer(options);
      players.push(player);
      return player;
    },
    load: async (identifier) => {
      if (identifier === "crash") throw new Error("at /home/someone/secret.ts");
      if (identifier === "stream")
        return { kind: "track", track: buildTrack({ isStream: true, length: 2n ** 63n - 1n }) };
      return { kind: "empty" };
    },
  });
  client = await server.connect();
});

afterAll(() => server.close());

const sessionPath = (): string => `/v4/sessions/${client.sessionId}`;

let guildCount = 1000;

/** Updates a player that did not exist before. */
async function patch(body: string | object, options: RequestOptions & { query?: string } = {}) {
  const guildId = String(++guildCount);
  const answer = await server.request("PATCH", `${sessionPath()}/players/${guildId}${options.query ?? ""}`, {
    body,
    ...(typeof body === "string" ? { headers: { "Content-Type": "application/json" } } : {}),
    ...options,
  });
  const player = players.find((candidate) => candidate.guildId === guildId);
  return { answer, player, update: player?.updates[0] };
}

async function updateFrom(body: string | object): Promise<PlayerUpdate> {
  const { answer, update } = await patch(body);
  expect([answer.status, answer.json?.message]).toEqual([200, undefined]);
  return update!; // the player got it, for the answer was 200
}

async function expectRefused(body: string | object, message: string): Promise<void> {
  const { answer, player } = await patch(body);
  expect([answer.status, answer.json?.message]).toEqual([400, message]);
  expect(player).toBeUndefined();
}

const ROUTES: readonly (readonly [string, string])[] = [
  ["GET", "/v4/info"],
  ["GET", "/v4/stats"],
  ["GET", "/v4/loadtracks?identifier=x"],
  ["GET", "/v4/decodetrack?encodedTrack=x"],
  ["POST", "/v4/decodetracks"],
  ["PATCH", "/v4/sessions/x"],
  ["GET", "/v4/sessions/x/players"],
  ["GET", "/v4/sessions/x/players/1"],
  ["PATCH", "/v4/sessions/x/players/1"],
  ["DELETE", "/v4/sessions/x/players/1"],
  ["GET", "/v4/routeplanner/status"],
  ["POST", "/v4/routeplanner/free/address"],
  ["POST", "/v4/routeplanner/free/all"],
  ["GET", "/"],
  ["GET", "/v3/websocket"],
];

describe("the password", () => {
  test.each(ROUTES)("%s %s needs it: 401 without, 403 when wrong, both empty", async (method, path) => {
    for (const [password, status] of [
      [null, 401],
      ["wrong", 403],
      ["", 403],
      ["Youshallnotpass", 403],
      ["youshallnotpass ".repeat(1000), 403],
    ] as const) {
      const answer = await server.request(method, path, { password });
      expect([answer.status, answer.body, answer.headers["lavalink-api-version"]]).toEqual([status, "", "4"]);
    }
  });

  test("GET /version needs none", async () => {
    const answer = await server.request("GET", "/version", { password: null });
    expect([answer.status, answer.body]).toEqual([200, "4.2.2"]);
  });

  test("the password is checked before the body is read", async () => {
    const body = "x".repeat(5 * 1024 * 1024);
    expect((await server.request("POST", "/v4/decodetracks", { password: "wrong", body })).status).toBe(403);
  });

  test("OPTIONS needs it on known paths", async () => {
    expect((await server.request("OPTIONS", "/v4/info", { password: null })).status).toBe(401);
    expect((await server.request("OPTIONS", "/v4/nope", { password: null })).status).toBe(404);
  });
});

describe("unknown paths and methods", () => {
  test.each([
    ["GET", "/nope"],
    ["GET", "/v4"],
    ["GET", "/v4/"],
    ["GET", "/V4/info"],
    ["GET", "/v4/info/"],
    ["GET", "/v4//info"],
    ["PUT", "/nope"],
    ["TRACE", "/nope"],
    ["GET", "/v4/sessions//players"],
    ["GET", "/v4/sessions/x/players/1/2"],
  ])("%s %s is not found, with or without a password", async (method, path) => {
    for (const password of [null, "wrong", undefined]) {
      const answer = await server.request(method, path, password === undefined ? {} : { password });
      expect(answer.json).toEqual({
        timestamp: expect.any(Number),
        status: 404,
        error: "Not Found",
        message: `No endpoint ${method} ${path}.`,
        path,
      });
      expect(answer.headers["content-type"]).toBe("application/json");
    }
  });

  test.each<[string, string, string]>([
    ["PUT", "/v4/info", "GET"],
    ["TRACE", "/v4/info", "GET"],
    // Node.js before 20.19.2 does not know it, and answers 400 by itself.
    ...(METHODS.includes("QUERY") ? [["QUERY", "/v4/info", "GET"] satisfies [string, string, string]] : []),
    ["POST", "/v4/sessions/x/players/1", "DELETE, GET, PATCH"],
    ["GET", "/v4/sessions/x", "PATCH"],
    ["GET", "/v4/routeplanner/free/address", "POST"],
    ["HEAD", "/v4/routeplanner/free/all", "POST"],
  ])("%s %s is not allowed", async (method, path, allowed) => {
    const answer = await server.request(method, path, { password: null });
    expect([answer.status, answer.headers.allow]).toEqual([405, allowed]);
    if (method !== "HEAD") expect(answer.json).toMatchObject({ message: `Method '${method}' is not supported.`, path });
  });

  test("HEAD works where GET does, without a body", async () => {
    const answer = await server.request("HEAD", "/v4/info");
    expect([answer.status, answer.body, answer.headers["content-type"]]).toEqual([200, "", "application/json"]);
  });

  test("a path that cannot be decoded is a bad request with our header", async () => {
    const answer = await server.request("GET", "/v4/sessions/%zz/players");
    expect([answer.status, answer.headers["lavalink-api-version"]]).toEqual([400, "4"]);
    expect(answer.json).toMatchObject({ status: 400, error: "Bad Request", path: "/v4/sessions/%zz/players" });
  });

  test.each(["%zz", "%", "a%2", "%e2%8"])("a query with the stray escape %s is a bad request", async (text) => {
    const answer = await server.request("GET", `/v4/loadtracks?identifier=${text}&trace=true`);
    expect(answer.json).toMatchObject({ status: 400, message: "Bad Request", path: "/v4/loadtracks" });
    expect((await server.request("GET", `/v4/loadtracks?identifier=${text}`, { password: null })).status).toBe(401);
  });

  test("escaped bytes that are not valid text become replacement characters", async () => {
    expect((await server.request("GET", "/v4/loadtracks?identifier=%ff%25")).json).toMatchObject({ loadType: "empty" });
  });

  test("path parameters after a semicolon are ignored", async () => {
    expect((await server.request("GET", "/v4;x=1/info;a=b?c=d;e")).status).toBe(200);
    expect((await server.request("PUT", "/v4/info;a=b")).status).toBe(405);
  });
});

describe("bodies", () => {
  const read = (body: string, type?: string) =>
    server.request("PATCH", sessionPath(), { body, headers: type === undefined ? {} : { "Content-Type": type } });

  test.each(["application/json", "application/json; charset=utf-8", "Application/JSON", "application/problem+json"])(
    "a body is accepted as %s",
    async (type) => {
      expect((await read("{}", type)).status).toBe(200);
    },
  );

  test.each([
    [undefined, "application/octet-stream"],
    ["", "application/octet-stream"],
    ["text/plain", "text/plain;charset=UTF-8"],
    ["text/plain; charset=latin1", "text/plain; charset=latin1"],
    ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded;charset=UTF-8"],
  ])("a body is refused as %s", async (type, shown) => {
    const answer = await read("{}", type);
    expect(answer.json).toMatchObject({
      status: 415,
      error: "Unsupported Media Type",
      message: `Content-Type '${shown}' is not supported.`,
    });
  });

  test("bodies whose Content-Type cannot be parsed are refused with 415", async () => {
    const answer = await read("{}", "json");
    expect(answer.json).toMatchObject({ status: 415, message: "Could not parse Content-Type." });
  });

  test("an empty body without a type is a bad request", async () => {
    expect((await server.request("PATCH", sessionPath())).json).toMatchObject({ status: 400, message: "Bad Request" });
  });

  test("a body that is not JSON is a bad request, also for an unknown session", async () => {
    const answer = await server.request("PATCH", "/v4/sessions/nope", {
      body: "{",
      headers: { "Content-Type": "application/json" },
    });
    expect(answer.json).toMatchObject({ status: 400, message: "Bad Request" });
  });

  test("a body beyond 4 MiB is refused with 413", async () => {
    const answer = await read(`{"a":"${"x".repeat(4 * 1024 * 1024)}"}`, "application/json");
    expect(answer.json).toMatchObject({ status: 413, message: expect.stringContaining("larger than") });
  });

  test("an error object has its reason only if the request asks for a trace", async () => {
    const ask = (query: string) =>
      server.request("PATCH", `${sessionPath()}${query}`, {
        body: '{"timeout":"abc"}',
        headers: { "Content-Type": "application/json" },
      });
    for (const query of ["?trace=true", "?trace", "?trace=1"]) {
      const { json } = await ask(query);
      expect(json.trace).toContain("timeout");
      expect(json.trace).not.toContain(process.cwd());
      expect(Object.keys(json)).toEqual(["timestamp", "status", "error", "trace", "message", "path"]);
    }
    for (const query of ["", "?trace=false", "?trace=FALSE"]) expect((await ask(query)).json.trace).toBeUndefined();
  });
});

describe("about the node", () => {
  test("info names the library twice and lists only filters that are on", async () => {
    const { json } = await server.request("GET", "/v4/info");
    expect(json).toMatchObject({
      version: { semver: "0.1.0", major: 4, minor: 2, patch: 2, preRelease: "" },
      jvm: `Node.js ${process.versions.node}`,
      sourceManagers: ["local", "http"],
      plugins: [{ name: "lavadspx-plugin" }, { name: "lavalink-filter-plugin" }],
    });
    expect(json.lavaplayer).toBe(json.audioLibrary);
    expect(json.filters).not.toContain("karaoke");
    expect(json.filters).toContain("volume");
  });

  test("stats have no frame counts over REST", async () => {
    const { json } = await server.request("GET", "/v4/stats");
    expect(Object.keys(json)).toEqual(["frameStats", "players", "playingPlayers", "uptime", "memory", "cpu"]);
    expect(json.frameStats).toBeNull();
  });

  test.each([
    [undefined, "text/plain;charset=ISO-8859-1"],
    ["*/*", "text/plain;charset=ISO-8859-1"],
    ["application/json, text/plain, */*", "application/json"],
    ["text/plain, application/json", "text/plain;charset=ISO-8859-1"],
    ["application/json;q=0.5, text/plain", "text/plain;charset=ISO-8859-1"],
  ])("version for Accept %s is %s", async (accept, type) => {
    const answer = await server.request("GET", "/version", { headers: accept === undefined ? {} : { Accept: accept } });
    expect(answer.headers["content-type"]).toBe(type);
  });

  test.each(["*/*", "application/*", "application/json", "text/html, application/json;q=0.1", "application/*+json"])(
    "Accept %s gets JSON",
    async (accept) => {
      expect((await server.request("GET", "/v4/stats", { headers: { Accept: accept } })).status).toBe(200);
    },
  );

  test.each(["text/plain", "image/png, text/*", "application/json;q=0"])("Accept %s gets 406", async (accept) => {
    const answer = await server.request("GET", "/v4/stats", { headers: { Accept: accept } });
    expect([answer.status, answer.body]).toEqual([406, ""]);
  });
});

describe("tracks", () => {
  test("the length of a stream is written to the digit", async () => {
    const answer = await server.request("GET", "/v4/loadtracks?identifier=stream");
    expect(answer.body).toContain('"length":9223372036854775807,');
  });

  test("a fault of ours is a 500 without its inside", async () => {
    const answer = await server.request("GET", "/v4/loadtracks?identifier=crash&trace=true");
    expect(answer.json).toMatchObject({ status: 500, error: "Internal Server Error" });
    expect(answer.json.message).not.toContain("secret");
  });

  test.each(["encodedTrack", "track"])("a plus sign that was not escaped in %s is what it was", async (name) => {
    // The official client for Java sends encoded tracks as they are.
    const { encoded } = buildTrack({ title: "\u{10ffff} ~~~>>>>" });
    expect(encoded).toContain("+");
    const answer = await server.request("GET", `/v4/decodetrack?${name}=${encoded}`);
    expect([answer.status, answer.json.encoded, answer.json.info.title]).toEqual([200, encoded, "\u{10ffff} ~~~>>>>"]);
  });

  test("encodedTrack wins over track, and one of them is needed", async () => {
    const encoded = encodeURIComponent(buildTrack().encoded);
    expect((await server.request("GET", `/v4/decodetrack?track=x&encodedTrack=${encoded}`)).status).toBe(200);
    expect((await server.request("GET", "/v4/decodetrack")).json.message).toBe("No track to decode provided");
  });

  test("an empty list of tracks is refused", async () => {
    const answer = await server.request("POST", "/v4/decodetracks", { body: [] });
    expect(answer.json).toMatchObject({ status: 400, message: "No tracks to decode provided" });
  });
});

describe("sessions and players", () => {
  test.each([
    ["7", "7"],
    ["-5", "-5"],
    ["%2B5", "5"],
    ["007", "7"],
    ["0x10", "16"],
    ["-0x10", "-16"],
    ["%20%205", "5"],
    ["9223372036854775807", "9223372036854775807"],
  ])("guild id %s is %s", async (written, guildId) => {
    const answer = await server.request("PATCH", `${sessionPath()}/players/${written}`, { body: {} });
    expect(answer.json.guildId).toBe(guildId);
  });

  test.each(["abc", "1.5", "9223372036854775808", "-9223372036854775809", "--5", "0x", "%20", "1e3"])(
    "guild id %s is a bad request, also in a session that is not there",
    async (written) => {
      for (const session of [sessionPath(), "/v4/sessions/nope"]) {
        for (const method of ["GET", "DELETE"]) {
          const answer = await server.request(method, `${session}/players/${written}`);
          expect(answer.json).toMatchObject({ status: 400, message: "Bad Request" });
        }
      }
    },
  );

  test("DELETE answers 204, also when there is no such player", async () => {
    const path = `${sessionPath()}/players/4242`;
    await server.request("PATCH", path, { body: {} });
    expect((await server.request("DELETE", path)).status).toBe(204);
    expect(players.find(({ guildId }) => guildId === "4242")?.isDestroyed).toBe(true);
    expect((await server.request("DELETE", path)).status).toBe(204);
  });

  test.each([
    ["", true],
    ["?noReplace=false", true],
    ["?noReplace=off", true],
    ["?noReplace=0", true],
    ["?noReplace=true", false],
    ["?noReplace=YES", false],
    ["?noReplace=on", false],
  ])("query %j", async (query) => {
    expect((await patch({}, { query })).answer.status).toBe(200);
  });

  test.each(["?noReplace=", "?noReplace=maybe", "?noReplace=2"])("query %s is a bad request", async (query) => {
    expect((await patch({}, { query })).answer.status).toBe(400);
  });
});

describe("the update that a player gets", () => {
  const UNCHANGED: PlayerUpdate = {
    trackChange: undefined,
    userData: undefined,
    positionMs: undefined,
    endTimeMs: undefined,
    volume: undefined,
    isPaused: undefined,
    filters: undefined,
    voice: undefined,
  };

  test("an update from an empty body changes nothing", async () => {
    expect(await updateFrom({})).toEqual(UNCHANGED);
    expect(await updateFrom({ foo: 1, track: { bar: 2 } })).toEqual(UNCHANGED);
  });

  test("a player update distinguishes a removed end time from an unchanged one", async () => {
    expect(await updateFrom({ endTime: null })).toEqual({ ...UNCHANGED, endTimeMs: null });
    expect(await updateFrom({ endTime: "1000" })).toEqual({ ...UNCHANGED, endTimeMs: 1000 });
  });

  test("an update has a track to play, to load or to stop", async () => {
    const track = buildTrack({ title: "Mine" });
    expect(await updateFrom({ track: { encoded: track.encoded, userData: { n: [1, 2.5] } } })).toEqual({
      ...UNCHANGED,
      trackChange: { kind: "play", track },
      userData: { n: [1, 2.5] },
    });
    expect((await updateFrom({ encodedTrack: track.encoded })).trackChange).toEqual({ kind: "play", track });
    expect((await updateFrom({ track: { identifier: "x" } })).trackChange).toEqual({ kind: "load", identifier: "x" });
    expect((await updateFrom({ identifier: "x" })).trackChange).toEqual({ kind: "load", identifier: "x" });
    expect((await updateFrom({ track: { encoded: null } })).trackChange).toEqual({ kind: "stop" });
    expect((await updateFrom({ encodedTrack: null })).trackChange).toEqual({ kind: "stop" });
  });

  test("an update has volume and position within their bounds", async () => {
    expect(await updateFrom({ volume: 1001, position: -1 })).toMatchObject({ volume: 1000, positionMs: 0 });
    expect(await updateFrom({ volume: -1 })).toMatchObject({ volume: 0 });
    expect(await updateFrom('{"position":9223372036854775807}')).toMatchObject({ positionMs: Number.MAX_SAFE_INTEGER });
  });

  test("an update has booleans and numbers that were written as strings", async () => {
    expect(await updateFrom({ volume: "50", paused: "true" })).toMatchObject({ volume: 50, isPaused: true });
    expect(await updateFrom('{"volume":1e1}')).toMatchObject({ volume: 10 });
  });

  test("an update keeps large numbers in userData to the digit", async () => {
    const { userData } = await updateFrom('{"track":{"userData":{"id":123456789012345678901,"half":0.50}}}');
    expect(userData).toEqual({ id: 123456789012345678901n, half: 0.5 });
  });

  test("an update has voice with or without a channel", async () => {
    const voice = { token: "t", endpoint: "rotterdam1.discord.media:443", sessionId: "s" };
    expect((await updateFrom({ voice })).voice).toEqual({ ...voice, channelId: undefined });
    expect((await updateFrom({ voice: { ...voice, channelId: "5" } })).voice).toEqual({ ...voice, channelId: "5" });
    expect((await updateFrom({ voice: { ...voice, endpoint: "[::1]:5" } })).voice?.endpoint).toBe("[::1]:5");
  });

  test.each([
    ["null", "null"],
    ["a list", "[]"],
    ["a volume with a point", '{"volume":50.0}'],
    ["a volume beyond 32 bits", '{"volume":2147483648}'],
    ["null for what cannot be null", '{"paused":null}'],
    ["null filters", '{"filters":null}'],
    ["1 for a boolean", '{"paused":1}'],
    ["a number for a text", '{"identifier":5}'],
    ["userData that is no object", '{"track":{"userData":[]}}'],
    ["voice without a token", '{"voice":{"endpoint":"h","sessionId":"s"}}'],
    ["a channel that is a number", '{"voice":{"token":"t","endpoint":"h","sessionId":"s","channelId":5}}'],
  ])("a player update with %s is a bad request", async (_name, body) => {
    await expectRefused(body, "Bad Request");
  });

  const VOICE = { token: "t", endpoint: "h", sessionId: "s", channelId: "5" };
  const VOICE_INCOMPLETE = "token, endpoint, sessionId and channelId must be provided in voice state";
  const BOTH_FORMS = "Cannot specify both track and encodedTrack/identifier";

  test.each<[string, object, string]>([
    ["both forms of the track, before anything else", { track: {}, identifier: "x", endTime: 0 }, BOTH_FORMS],
    ["both forms, also when one says null", { track: {}, encodedTrack: null }, BOTH_FORMS],
    [
      "a track and an identifier",
      { track: { encoded: null, identifier: "x" }, filters: { karaoke: {} } },
      "Cannot specify both encodedTrack and identifier",
    ],
    [
      "filters that are switched off, before voice",
      { filters: { lowPass: null, volume: 9, karaoke: {} }, voice: { ...VOICE, token: "" } },
      "Following filters are disabled in the config: karaoke, lowPass",
    ],
    ["blank voice fields, before the end time", { voice: { ...VOICE, sessionId: " " }, endTime: 0 }, VOICE_INCOMPLETE],
    ["a blank channel", { voice: { ...VOICE, channelId: "" } }, VOICE_INCOMPLETE],
    ["a null channel", { voice: { ...VOICE, channelId: null } }, VOICE_INCOMPLETE],
    ["an end time of 0", { endTime: 0, filters: { volume: 9 } }, "End time must be greater than 0"],
    ["a negative end time", { endTime: -5 }, "End time must be greater than 0"],
    ["a filter out of range", { filters: { volume: 5.5 } }, "filters.volume must be from 0 to 5, but is 5.5"],
    [
      "a channel that is no id",
      { voice: { ...VOICE, channelId: "abc" } },
      "voice.channelId must be the id of a channel, written as a string of digits",
    ],
  ])("a player update with %s is refused with its reason", async (_name, body, message) => {
    await expectRefused(body, message);
  });

  test.each(["not a host", "wss://h", "h/path", "u:p@h", "h:99999", "h?x", "", "h#"])(
    "a player update with the voice endpoint %j is refused",
    async (endpoint) => {
      const { answer, player } = await patch({ voice: { ...VOICE, endpoint } });
      expect([answer.status, player]).toEqual([400, undefined]);
    },
  );
});
