import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toWireError } from "../../../../../src/bridge/wire-error.ts";
import { v3LoadResult } from "../../../../../src/control/api/v3/json-forms.ts";
import { v3Message } from "../../../../../src/control/api/v3/message-forms.ts";
import type { EventMessage } from "../../../../../src/control/protocol/outgoing-message.ts";
import { loadResultToJson } from "../../../../../src/control/sources/load-result.ts";
import { NodeError } from "../../../../../src/errors.ts";
import { trackToJson } from "../../../../../src/track/track.ts";
import { ApiServer, PASSWORD, type TestClient } from "../../../../support/api-server.ts";
import { createPlanner } from "../../../../support/planner-builders.ts";
import { buildTrack } from "../../../../support/track-builder.ts";

const TRACK = buildTrack({ title: "Song" });
const ERROR = toWireError(new NodeError("input-unreachable", "no such address on this machine"));

let server: ApiServer;

beforeEach(async () => {
  server = await ApiServer.start({
    disabledFilters: ["karaoke"],
    load: async (identifier) => {
      if (identifier === "song") return { kind: "track", track: TRACK };
      return identifier === "broken" ? { kind: "error", error: ERROR } : { kind: "empty" };
    },
  });
});

afterEach(() => server.close());

async function connect(headers: Readonly<Record<string, string>> = {}, path = "/v3/websocket"): Promise<TestClient> {
  const { answer, client } = await server.handshake({
    path,
    headers: { Authorization: PASSWORD, "User-Id": "1", "Client-Name": "old/1", ...headers },
  });
  if (client === undefined) throw new Error(`the handshake was answered with ${answer.status}`);
  await client.until(({ op }) => op === "ready");
  return client;
}

/** Says operations and waits until they are carried out. */
async function say(client: TestClient, ...operations: readonly (object | string)[]): Promise<void> {
  for (const operation of operations) {
    client.socket.send(typeof operation === "string" ? operation : JSON.stringify(operation));
  }
  await client.flushed();
  // The players' own queues: an update behind all others.
  const players = await server.request("GET", `/v3/sessions/${client.sessionId}/players`);
  for (const { guildId } of players.json) {
    await server.request("PATCH", `/v3/sessions/${client.sessionId}/players/${guildId}`, { body: {} });
  }
}

async function playerOf(client: TestClient, guildId = "7") {
  return (await server.request("GET", `/v3/sessions/${client.sessionId}/players/${guildId}`)).json;
}

describe("paths of v3 that end with a slash", () => {
  type Asked = readonly [method: string, path: string, body?: object];
  const ROUTES: readonly Asked[] = [
    ["GET", "/v3/info"],
    ["GET", "/v3/stats"],
    ["GET", "/plugins"],
    ["PATCH", "/v3/sessions/SESSION", {}],
    ["GET", "/v3/sessions/SESSION/players"],
    ["PATCH", "/v3/sessions/SESSION/players/7?noReplace=false", { volume: 50 }],
    ["GET", "/v3/sessions/SESSION/players/7"],
    ["DELETE", "/v3/sessions/SESSION/players/7"],
    ...["/v3", ""].flatMap((prefix): Asked[] => [
      ["GET", `${prefix}/loadtracks?identifier=song`],
      ["GET", `${prefix}/decodetrack?encodedTrack=${encodeURIComponent(TRACK.encoded)}`],
      ["POST", `${prefix}/decodetracks`, [TRACK.encoded]],
      ["GET", `${prefix}/routeplanner/status`],
      ["POST", `${prefix}/routeplanner/free/address`, { address: "1.2.3.4" }],
      ["POST", `${prefix}/routeplanner/free/all`],
    ]),
  ];

  test.each(ROUTES.map(([method, path, body]) => ({ method, path, body })))(
    "$method $path answers as without",
    async (asked) => {
      const { method, path, body } = asked;
      const client = await connect();
      const players = `/v3/sessions/${client.sessionId}/players/7`;
      const url = path.replace("SESSION", client.sessionId);
      const answers = [];
      for (const target of [url, url.replace(/(?=\?|$)/, "/")]) {
        await server.request("PATCH", players, { body: { volume: 50 } });
        const { status, headers, json } = await server.request(method, target, body === undefined ? {} : { body });
        const { uptime, cpu, memory, timestamp, path: _, ...stable } = json ?? {};
        answers.push({ status, version: headers["lavalink-api-version"], stable });
      }
      const [plain, slashed] = answers;
      expect(plain?.version).toBe("3");
      expect(slashed).toEqual(plain);
      expect(plain?.stable.message ?? "").not.toContain("No endpoint");
    },
  );

  test("other methods, unknown sessions and v4 are answered as before", async () => {
    expect((await server.request("POST", "/v3/info/")).status).toBe(405);
    const unknown = await server.request("GET", "/v3/sessions/nope/players/");
    expect(unknown.json).toMatchObject({ status: 404, message: "Session not found" });
    for (const path of ["/v4/info/", "/v4/loadtracks/?identifier=song", "/version/", "/v3/info//", "/v3/sessions//"]) {
      expect([path, (await server.request("GET", path)).status]).toEqual([path, 404]);
    }
  });

  test("the WebSocket of v3 opens, that of v4 does not", async () => {
    expect((await connect({}, "/v3/websocket/")).sessionId).toMatch(/^\w{16}$/);
    const { answer } = await server.handshake({ path: "/v4/websocket/", headers: { Authorization: PASSWORD } });
    expect(answer.status).toBe(404);
  });
});

describe("routes of v3", () => {
  test.each(["/v3/info", "/v3/stats", "/v3/loadtracks?identifier=x", "/loadtracks?identifier=x", "/plugins"])(
    "GET %s says which version it is and needs the password",
    async (path) => {
      for (const [password, status] of [[undefined, 200] as const, [null, 401] as const, ["wrong", 403] as const]) {
        const answer = await server.request("GET", path, password === undefined ? {} : { password });
        expect([answer.status, answer.headers["lavalink-api-version"]]).toEqual([status, "3"]);
      }
    },
  );

  test("errors are the same objects, with its version", async () => {
    const answer = await server.request("GET", "/v3/sessions/nope/players");
    expect(answer.json).toMatchObject({ status: 404, message: "Session not found", path: "/v3/sessions/nope/players" });
    expect(answer.headers["lavalink-api-version"]).toBe("3");
  });

  test("info is that of the last v3 release, stats have no empty frame counts", async () => {
    const info = (await server.request("GET", "/v3/info")).json;
    expect(info.version).toMatchObject({ major: 3, minor: 7, patch: 13, build: null });
    expect("frameStats" in (await server.request("GET", "/v3/stats")).json).toBe(false);
    expect((await server.request("GET", "/plugins")).json).toMatchObject([
      { name: "lavadspx-plugin" },
      { name: "lavalink-filter-plugin" },
    ]);
  });

  test("a track has its encoded form twice and no newer fields", async () => {
    const query = encodeURIComponent(TRACK.encoded);
    for (const prefix of ["/v3", ""]) {
      const { json } = await server.request("GET", `${prefix}/loadtracks?identifier=song`);
      expect(json).toMatchObject({ loadType: "TRACK_LOADED", playlistInfo: {}, tracks: [{ encoded: TRACK.encoded }] });
      expect(json.tracks[0].track).toBe(TRACK.encoded);
      expect(Object.keys(json.tracks[0])).toEqual(["encoded", "track", "info"]);
      expect(Object.keys(json.tracks[0].info)).not.toContain("artworkUrl");
      const decoded = (await server.request("GET", `${prefix}/decodetrack?track=${query}`)).json;
      expect(decoded).toMatchObject({ encoded: TRACK.encoded, title: "Song", info: { title: "Song" } });
      const list = await server.request("POST", `${prefix}/decodetracks`, { body: [TRACK.encoded] });
      expect(list.json).toEqual(json.tracks);
    }
  });

  test("every kind of load result has its form", () => {
    const playlist = { name: "List", selectedTrack: 1, pluginInfo: {}, tracks: [TRACK, TRACK] };
    expect(v3LoadResult(loadResultToJson({ kind: "playlist", playlist }))).toMatchObject({
      loadType: "PLAYLIST_LOADED",
      playlistInfo: { name: "List", selectedTrack: 1 },
      tracks: [{}, {}],
    });
    expect(v3LoadResult(loadResultToJson({ kind: "search", tracks: [TRACK] })).loadType).toBe("SEARCH_RESULT");
    expect(v3LoadResult(loadResultToJson({ kind: "empty" }))).toEqual({
      loadType: "NO_MATCHES",
      playlistInfo: {},
      tracks: [],
    });
    expect(v3LoadResult(loadResultToJson({ kind: "error", error: ERROR }))).toMatchObject({
      loadType: "LOAD_FAILED",
      exception: {
        message: "no such address on this machine",
        severity: ERROR.severity.toUpperCase(),
        cause: ERROR.cause,
      },
    });
  });

  test("the route planner's status is an object of nulls while it is off", async () => {
    for (const prefix of ["/v3", ""]) {
      const answer = await server.request("GET", `${prefix}/routeplanner/status`);
      expect([answer.status, answer.json]).toEqual([200, { class: null, details: null }]);
      expect((await server.request("POST", `${prefix}/routeplanner/free/all`)).status).toBe(500);
    }
  });

  test("an enabled route planner has the status of v4, and frees addresses", async () => {
    const { planner } = createPlanner({ ipBlocks: ["192.0.2.0/24"] });
    const withPlanner = await ApiServer.start({ routePlanner: planner });
    for (const prefix of ["/v3", ""]) {
      planner.onFailure({ type: "routeFailed", address: "192.0.2.1", reason: "banned" });
      const { status, json } = await withPlanner.request("GET", `${prefix}/routeplanner/status`);
      expect([status, json]).toEqual([200, JSON.parse(JSON.stringify(planner.status()))]);
      const body = { address: "192.0.2.1" };
      const freed = await withPlanner.request("POST", `${prefix}/routeplanner/free/address`, { body });
      expect([freed.status, freed.headers["lavalink-api-version"]]).toEqual([204, "3"]);
      expect(planner.status().details.failingAddresses).toEqual([]);
    }
    await withPlanner.close();
  });

  test("a session is configured by its key", async () => {
    const { sessionId } = await connect();
    const configure = async (body: object) =>
      (await server.request("PATCH", `/v3/sessions/${sessionId}`, { body })).json;
    expect(await configure({})).toEqual({ resumingKey: null, timeout: 60 });
    expect(await configure({ resumingKey: "k", timeout: 5 })).toEqual({ resumingKey: "k", timeout: 5 });
    expect(server.sessions.get(sessionId)?.resuming).toBe(true);
    expect(await configure({ resumingKey: null })).toEqual({ resumingKey: null, timeout: 5 });
    expect(server.sessions.get(sessionId)?.resuming).toBe(false);
  });

  test("a v3 player has no state, and its voice has the state of the connection", async () => {
    const { sessionId } = await connect();
    const path = `/v3/sessions/${sessionId}/players/7`;
    const answer = await server.request("PATCH", path, {
      body: { encodedTrack: TRACK.encoded, volume: 50, paused: true },
    });
    expect(answer.json).toMatchObject({ guildId: "7", volume: 50, paused: true, track: { info: { title: "Song" } } });
    expect(Object.keys(answer.json)).toEqual(["guildId", "track", "volume", "paused", "voice", "filters"]);
    expect(answer.json.voice).toEqual({ token: "", endpoint: "", sessionId: "", connected: false, ping: -1 });
    expect((await server.request("GET", `/v3/sessions/${sessionId}/players`)).json).toHaveLength(1);
    expect((await server.request("DELETE", path)).status).toBe(204);
    expect((await server.request("GET", path)).status).toBe(404);
  });

  test("a refused v3 update has the error of v3", async () => {
    const { sessionId } = await connect();
    const patch = async (body: object) =>
      (await server.request("PATCH", `/v3/sessions/${sessionId}/players/7`, { body })).json;
    expect(await patch({ voice: { token: "x", endpoint: "" } })).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^Partial voice state update: /),
    });
    expect(await patch({ identifier: "broken" })).toMatchObject({
      status: 500,
      message: expect.stringContaining("no such address on this machine"),
    });
    expect(await patch({ identifier: "nothing" })).toMatchObject({ status: 400 });
  });
});

describe("the WebSocket of v3", () => {
  test.each(["/v3/websocket", "/"])("the v3 WebSocket opens on %s", async (path) => {
    const client = await connect({}, path);
    expect(client.handshake).toMatchObject({ "lavalink-api-version": "3", "session-resumed": "false" });
    expect(client.messages[0]).toEqual({ op: "ready", resumed: false, sessionId: client.sessionId });
    await client.until(({ op }) => op === "stats");
    expect("frameStats" in client.messages[1]).toBe(false);
  });

  test("the v3 WebSocket refuses a wrong password as that of v4 does", async () => {
    const { answer } = await server.handshake({ path: "/v3/websocket", headers: { "User-Id": "1" } });
    expect([answer.status, answer.headers["lavalink-api-version"]]).toEqual([401, "3"]);
  });

  test("a v3 client resumes by its key and gets the buffered messages in v3 form", async () => {
    const client = await connect();
    await say(client, { op: "configureResuming", key: "mine", timeout: "60" });
    await say(client, { op: "play", guildId: "7", track: TRACK.encoded });
    client.socket.terminate();
    await expect.poll(() => server.sessions.get(client.sessionId)?.isWaiting).toBe(true);
    await server.sessions.get(client.sessionId)?.destroyPlayer("7");
    const again = await connect({ "Resume-Key": "mine" });
    expect(again.handshake["session-resumed"]).toBe("true");
    expect(again.messages[0]).toEqual({ op: "ready", resumed: true, sessionId: client.sessionId });
    const end = await again.until(({ type }) => type === "TrackEndEvent");
    expect(end).toEqual({
      op: "event",
      type: "TrackEndEvent",
      guildId: "7",
      encodedTrack: end.track,
      track: expect.any(String),
      reason: "STOPPED",
    });
  });

  test("an unknown key opens a new session, and the session id of v4 does not resume it", async () => {
    const client = await connect();
    await say(client, { op: "configureResuming", key: "mine" });
    client.socket.terminate();
    await expect.poll(() => server.sessions.get(client.sessionId)?.isWaiting).toBe(true);
    expect((await connect({ "Resume-Key": "other" })).handshake["session-resumed"]).toBe("false");
    const v4 = await server.connect({ "Session-Id": client.sessionId });
    expect(v4.handshake["session-resumed"]).toBe("false");
  });

  test("the later of two sessions that wait under one resume key stays", async () => {
    const [first, second] = [await connect(), await connect()];
    for (const client of [second, first]) {
      await say(client, { op: "configureResuming", key: "same" });
      client.socket.terminate();
      await expect.poll(() => server.sessions.get(client.sessionId)?.isWaiting).toBe(true);
    }
    expect(server.sessions.get(second.sessionId)).toBeUndefined();
    expect((await connect({ "Resume-Key": "same" })).sessionId).toBe(first.sessionId);
  });

  test("each user has a separate set of resume keys", async () => {
    const [mine, other] = [await connect(), await connect({ "User-Id": "2" })];
    for (const client of [mine, other]) {
      await say(client, { op: "configureResuming", key: "lavalink" });
      client.socket.terminate();
      await expect.poll(() => server.sessions.get(client.sessionId)?.isWaiting).toBe(true);
    }
    const key = { "Resume-Key": "lavalink" };
    expect((await connect({ ...key, "User-Id": "3" })).handshake["session-resumed"]).toBe("false");
    expect((await connect(key)).sessionId).toBe(mine.sessionId);
    expect((await connect({ ...key, "User-Id": "2" })).sessionId).toBe(other.sessionId);
  });
});

describe("operations", () => {
  test("play, pause, volume, seek and stop do what updates do", async () => {
    const client = await connect();
    await say(client, {
      op: "play",
      guildId: 7,
      track: TRACK.encoded,
      startTime: "1500",
      endTime: 0,
      volume: 30,
      pause: true,
    });
    expect(await playerOf(client)).toMatchObject({
      volume: 30,
      paused: true,
      track: { info: { title: "Song", position: 1500 } },
    });
    const start = await client.until(({ type }) => type === "TrackStartEvent");
    expect(start.encodedTrack).toBe(start.track);
    await say(client, { op: "pause", guildId: "7", pause: false }, { op: "volume", guildId: "7", volume: 70 });
    await say(client, { op: "seek", guildId: "7", position: 9000 });
    const player = await playerOf(client);
    expect(player).toMatchObject({ volume: 70, paused: false });
    expect(player.track.info.position).toBeGreaterThanOrEqual(9000);
    await say(client, { op: "stop", guildId: "7" });
    expect((await playerOf(client)).track).toBeNull();
    expect(client.events.findLast(({ type }) => type === "TrackEndEvent")).toMatchObject({ reason: "STOPPED" });
  });

  test("noReplace leaves the track, and everything else, as it is", async () => {
    const client = await connect();
    await say(client, { op: "play", guildId: "7", track: TRACK.encoded });
    const other = buildTrack({ title: "Other" }).encoded;
    await say(client, { op: "play", guildId: "7", track: other, noReplace: true, volume: 5 });
    expect(await playerOf(client)).toMatchObject({ volume: 100, track: { info: { title: "Song" } } });
    await say(client, { op: "play", guildId: "7", track: other, volume: 5 });
    expect(await playerOf(client)).toMatchObject({ volume: 5, track: { info: { title: "Other" } } });
    expect(client.events.filter(({ type }) => type === "TrackEndEvent")).toMatchObject([{ reason: "REPLACED" }]);
  });

  test("equalizer changes only the equalizer, filters replace all", async () => {
    const client = await connect();
    await say(client, { op: "filters", guildId: "7", timescale: { speed: 2 } });
    await say(client, { op: "equalizer", guildId: "7", bands: [{ band: 1, gain: 0.25 }] });
    expect((await playerOf(client)).filters).toEqual({
      equalizer: [{ band: 1, gain: 0.25 }],
      timescale: { speed: 2, pitch: 1, rate: 1 },
    });
    await say(client, { op: "filters", guildId: "7", tremolo: {} });
    expect((await playerOf(client)).filters).toEqual({ tremolo: { frequency: 2, depth: 0.5 } });
  });

  test("a filter that is switched off is named once", async () => {
    const client = await connect();
    const path = `/v3/sessions/${client.sessionId}/players/7`;
    const { status, json } = await server.request("PATCH", path, { body: { filters: { karaoke: {}, volume: 1 } } });
    expect([status, json.message]).toEqual([400, "Following filters are disabled in the config: karaoke"]);
  });

  test("Tonearm's own filters stand among the others, over REST and as an operation, with the equalizer", async () => {
    const client = await connect();
    const echo = { delay: 100, decay: 0.4, mix: 0.35 };
    await say(client, { op: "filters", guildId: "7", tonearm: { echo: { delay: 100 } } });
    await say(client, { op: "equalizer", guildId: "7", bands: [] });
    expect((await playerOf(client)).filters).toEqual({ equalizer: [], tonearm: { echo } });
    const body = { filters: { volume: 0.5, tonearm: { highPass: {} }, pluginFilters: { tonearm: { echo: {} } } } };
    const path = `/v3/sessions/${client.sessionId}/players/7`;
    const { json } = await server.request("PATCH", path, { body });
    expect(json.filters).toEqual({ volume: 0.5, tonearm: { highPass: { frequency: 80 } } });
  });

  test("operations are applied in their order, also when they arrive together", async () => {
    const client = await connect();
    const play = { op: "play", guildId: "7", track: TRACK.encoded };
    await say(client, play, { op: "destroy", guildId: "7" }, { op: "volume", guildId: "7", volume: 5 });
    expect(await playerOf(client)).toMatchObject({ volume: 5, track: null });
    await say(client, play, { op: "destroy", guildId: "7" });
    expect((await playerOf(client)).status).toBe(404);
    const events = client.events.filter(({ op }) => op === "event").map(({ type }) => type);
    expect(events).toEqual(["TrackStartEvent", "TrackEndEvent", "TrackStartEvent", "TrackEndEvent"]);
  });

  test("stop and destroy make no player", async () => {
    const client = await connect();
    await say(client, { op: "stop", guildId: "7" }, { op: "destroy", guildId: "8" });
    expect(server.sessions.get(client.sessionId)?.players.size).toBe(0);
  });

  test("invalid operations are ignored and the socket stays open", async () => {
    const client = await connect();
    await say(
      client,
      ...["", "{", "[]", "null", '"op"', "[".repeat(5000)],
      ...[{}, { op: "nope" }, { op: "play", guildId: "7" }, { op: "play", guildId: "x", track: "QA" }],
      { op: "play", guildId: "7", track: "QAAA" },
      { op: "filters", guildId: "7", karaoke: {} },
      { op: "voiceUpdate", guildId: "7", sessionId: "s", event: { token: "t", endpoint: null } },
      { op: "voiceUpdate", guildId: "7", sessionId: "s", event: { token: "t", endpoint: "a/b" } },
      { op: "volume", guildId: "9", volume: 42 },
    );
    expect(await playerOf(client, "9")).toMatchObject({ volume: 42 });
    expect(client.events.filter(({ op }) => op === "event")).toEqual([]);
  });

  test("voiceUpdate connects", async () => {
    const client = await connect();
    const event = { token: "t", guild_id: "7", endpoint: "voice.example:443" };
    await say(client, { op: "voiceUpdate", guildId: "7", sessionId: "s", event });
    expect((await playerOf(client)).voice).toMatchObject({ token: "t", endpoint: "voice.example:443", sessionId: "s" });
  });

  test("operations are ignored on a v4 socket", async () => {
    const client = await server.connect();
    client.socket.send(JSON.stringify({ op: "volume", guildId: "7", volume: 42 }));
    await client.flushed();
    expect(server.sessions.get(client.sessionId)?.players.size).toBe(0);
  });
});

test("every event has its form", () => {
  const start = { op: "event", guildId: "7", track: trackToJson(TRACK) } as const;
  const encoded = { encodedTrack: TRACK.encoded, track: TRACK.encoded };
  const exception = { message: "m", severity: "common", cause: "c", causeStackTrace: "trace" } as const;
  const events: readonly [EventMessage, object][] = [
    [{ ...start, type: "TrackStartEvent" }, encoded],
    [
      { ...start, type: "TrackEndEvent", reason: "loadFailed" },
      { ...encoded, reason: "LOAD_FAILED" },
    ],
    [
      { ...start, type: "TrackExceptionEvent", exception },
      { ...encoded, exception: { message: "m", severity: "COMMON", cause: "c" } },
    ],
    [
      { ...start, type: "TrackStuckEvent", thresholdMs: 5 },
      { ...encoded, thresholdMs: 5 },
    ],
    [
      { op: "event", guildId: "7", type: "WebSocketClosedEvent", code: 4006, reason: "r", byRemote: true },
      { code: 4006, reason: "r", byRemote: true },
    ],
  ];
  const members = { segment: { start: 1 } };
  expect(v3Message({ op: "extension", type: "SegmentSkipped", guildId: "7", members })).toEqual({
    op: "event",
    type: "SegmentSkipped",
    guildId: "7",
    segment: { start: 1 },
  });
  for (const [event, form] of events) {
    expect(v3Message(event)).toEqual({ op: "event", type: event.type, guildId: "7", ...form });
  }
});
