import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClientKey, hashOf } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import type { PluginRestControl } from "../../../../src/control/api/api-context.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { AskedPlayer } from "../../../../src/control/cluster/session-places.ts";
import { NodeError } from "../../../../src/errors.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { ApiServer } from "../../../support/api-server.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { JoinedPlaces, type TestPlaces } from "../../../support/joined-places.ts";
import { EMPTY_UPDATE, playersInto } from "../../../support/session-builders.ts";

type StartOptions = NonNullable<Parameters<typeof ApiServer.start>[0]>;

const NO_PLAYER: AskedPlayer = { sessionId: "", guildId: undefined };
const VOICE = { token: "t", endpoint: "rotterdam1.discord.media", sessionId: "v", channelId: null };

let joined: JoinedPlaces;
let places: Record<"home" | "far" | "third", TestPlaces>;
/** The machine of the session. */
let home: ApiServer;
/** A machine that has players of it. */
let far: ApiServer;
let third: ApiServer;
let sessionId: string;
let lines: string[];
let stored: (() => Promise<void>) | undefined;

async function start(options: StartOptions = {}, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const logger = createLogger((_level, message, fields) => {
    if (!message.startsWith("client ")) lines.push(`${message} ${JSON.stringify(fields)}`);
  });
  const requestLogging = {
    ...{ isClientShown: false, areHeadersShown: false, isQueryShown: false, isPayloadShown: false },
    ...{ payloadLengthMax: 0, isLoggedBefore: false },
  };
  const state = { report: () => ({}) as never, written: () => stored?.() };
  home = await ApiServer.start({ logger, requestLogging, ...options, places: places.home });
  far = await ApiServer.start({ state, ...options, places: places.far });
  third = await ApiServer.start({ ...options, places: places.third });
  ({ sessionId } = await home.connect(headers));
  joined.homes.set(sessionId, "home");
  const { owner } = home.sessions.get(sessionId)!;
  for (const { sessions } of [far, third]) {
    // As a session whose client is elsewhere.
    const client = { userId: "1", clientName: undefined, dialect: V4_PROTOCOL, owner, account: "a" };
    sessions.open(new FakeSocket(), client, sessionId);
  }
}

beforeEach(() => {
  joined = new JoinedPlaces();
  places = { home: joined.of("home"), far: joined.of("far"), third: joined.of("third") };
  lines = [];
  stored = undefined;
});

afterEach(async () => {
  for (const server of [home, far, third]) await server.close();
});

function playersPath(): string {
  return `/v4/sessions/${sessionId}/players`;
}

function playerPath(guildId = "1"): string {
  return `${playersPath()}/${guildId}`;
}

function playerOn({ sessions }: ApiServer, guildId = "1") {
  return sessions.get(sessionId)?.players.get(guildId)?.toJson();
}

/** What became of the only hold. */
function released() {
  expect(places.home.holds).toHaveLength(1);
  return places.home.holds[0]?.released;
}

/** What was asked of other machines, without the texts. */
function asked(): (AskedPlayer & { readonly machine: string })[] {
  return joined.playerCalls.map(({ machine, sessionId: session, guildId }) => ({
    ...{ machine, guildId },
    sessionId: session,
  }));
}

const PLUGIN: PluginRestControl = {
  list: () => [
    {
      manifest: {
        ...{ method: "PUT", path: "/v4/sessions/:sessionId/players/:guildId/example/state", summary: "State." },
        ...{ access: "client", query: {}, ofPlayer: { needs: "session", missingStatus: 204 }, isListBody: true },
        body: { names: { type: "texts", meaning: "names" } },
      },
      serve: async ({ segments, body, owner }) => ({
        kind: "served",
        status: 201,
        json: { ...segments, ...(body as { names: string[] }), owner: [...owner] },
      }),
    },
  ],
};

describe("a player on another machine", () => {
  beforeEach(async () => {
    await start({ pluginRest: PLUGIN });
    places.home.chosen = "far";
  });

  test("a player is made on the machine that is chosen for it, and nowhere else", async () => {
    const { status, json } = await home.request("PATCH", playerPath(), { body: { volume: 7 } });
    expect([status, json.volume]).toEqual([200, 7]);
    expect([playerOn(home), playerOn(far)?.volume]).toEqual([undefined, 7]);
    expect(asked()).toEqual([{ machine: "far", sessionId, guildId: "1" }]);
    expect(places.home.holds).toMatchObject([{ sessionId, guildId: "1", isMaking: true, region: undefined }]);
    expect(places.far.holds).toEqual([]);
    expect(released()).toEqual([{ mayBeGone: false }]);
  });

  test("the machine is chosen by the region of the voice server that the client names", async () => {
    await home.request("PATCH", playerPath(), { body: { voice: { ...VOICE, endpoint: "rotterdam1.discord.media" } } });
    expect(places.home.holds[0]?.region).toBe("rotterdam");
  });

  test("a player is read, changed and ended where it is", async () => {
    const made = await home.request("PATCH", playerPath(), { body: { volume: 7 } });
    const read = await home.request("GET", playerPath());
    expect([read.status, read.json]).toEqual([200, { ...made.json, state: read.json.state }]);
    expect(read.headers["content-type"]).toBe("application/json");
    expect(await home.request("HEAD", playerPath())).toMatchObject({ status: 200, body: "" });
    expect(await home.request("DELETE", playerPath())).toMatchObject({ status: 204, body: "" });
    expect(playerOn(far)).toBeUndefined();
    const { holds } = places.home;
    expect(holds.map(({ isMaking }) => isMaking)).toEqual([true, false, false, false]);
    expect(holds.flatMap((hold) => hold.released.map(({ mayBeGone }) => mayBeGone))).toEqual([
      ...[false, false, false, true],
    ]);
  });

  test("the guild is named to the cluster in plain digits, and to the other machine as the client has sent it", async () => {
    expect((await home.request("PATCH", playerPath("%200x0A"), { body: {} })).json.guildId).toBe("10");
    expect(asked()).toEqual([{ machine: "far", sessionId, guildId: "10" }]);
    expect(playerOn(far, "10")).toBeDefined();
  });

  test("what a plugin keeps for a guild is kept on the machine of its player", async () => {
    const path = `${playerPath()}/example/state`;
    const headers = { "User-Agent": "bot/1" };
    const { status, json } = await home.request("PUT", path, { headers, body: ["a"] });
    const account = "address 127.0.0.1";
    const owner = [account, `${account}, bot/1`];
    expect([status, json]).toEqual([201, { sessionId, guildId: "1", names: ["a"], owner }]);
    expect(places.home.holds).toMatchObject([{ isMaking: true, released: [{ mayBeGone: false }] }]);
    expect(asked()).toHaveLength(1);
  });

  test("lyrics of a player are asked for on its machine", async () => {
    joined.players.set(`${sessionId}/1`, "far");
    const lyrics = await home.request("GET", `${playerPath()}/track/lyrics`);
    expect([lyrics.status, lyrics.json.message]).toEqual([404, "Player not found"]);
    expect((await home.request("DELETE", `${playerPath()}/lyrics/subscribe`)).status).toBe(204);
    expect(asked()).toHaveLength(2);
  });

  test("a player that could not be made may be gone", async () => {
    const { status } = await home.request("PATCH", playerPath(), { body: { track: { identifier: "x" } } });
    expect(status).toBe(400);
    expect(asked()).toHaveLength(1);
    expect(released()).toEqual([{ mayBeGone: true }]);
  });

  test("an answer waits until the other machine has stored what was changed", async () => {
    let isStored = false;
    stored = async () => {
      isStored = true;
    };
    await home.request("PATCH", playerPath(), { body: {} });
    expect(isStored).toBe(true);
  });

  test("a request of v3 reaches a player on another machine, and is answered in its form", async () => {
    const path = `/v3/sessions/${sessionId}/players/1`;
    expect((await home.request("PATCH", path, { body: { volume: 7 } })).json.volume).toBe(7);
    const { headers, json } = await home.request("GET", path);
    expect([headers["lavalink-api-version"], json.volume]).toEqual(["3", 7]);
    expect(playerOn(far)?.volume).toBe(7);
  });

  test("a request that comes from another machine is passed on to the machine of the player", async () => {
    const { status, json } = await third.request("PATCH", playerPath(), { body: { volume: 7 } });
    expect([status, json.volume, playerOn(far)?.volume]).toEqual([200, 7, 7]);
    expect([joined.calls.length, joined.playerCalls.length]).toEqual([1, 1]);
    expect(released()).toEqual([{ mayBeGone: false }]);
  });

  test("a request is logged once, with the machine that has answered it", async () => {
    await home.request("PATCH", playerPath(), { body: {} });
    joined.players.set(`${sessionId}/1`, "dead");
    await home.request("GET", playerPath());
    await expect.poll(() => lines.length).toBe(2);
    expect(lines).toEqual([
      expect.stringMatching(/^answered PATCH .*"status":200.*"machine":"far"/),
      expect.stringMatching(/^answered GET .*"status":503.*"machine":"dead"/),
    ]);
  });
});

describe("a player on the machine of its session", () => {
  beforeEach(() => start({ pluginRest: PLUGIN }));

  test("nothing is passed on", async () => {
    expect((await home.request("PATCH", playerPath(), { body: { volume: 7 } })).json.volume).toBe(7);
    expect((await home.request("GET", playersPath())).json).toMatchObject([{ volume: 7 }]);
    expect(playerOn(home)?.volume).toBe(7);
    expect(joined.playerCalls).toEqual([]);
  });

  test("a player that is held is held until the request is over", async () => {
    places.home.beforeHold = async () => undefined;
    for (const [method, options] of [["PATCH", { body: {} }], ["GET"], ["DELETE"], ["GET"]] as const) {
      await home.request(method, playerPath(), options);
    }
    const outcomes = places.home.holds.map((hold) => hold.released.map(({ mayBeGone }) => mayBeGone));
    expect(outcomes).toEqual([[false], [false], [true], [true]]);
  });

  test("a machine that loses its sessions while it asks for the place gives no answer", async () => {
    places.home.beforeHold = async () => void places.home.lives++;
    await expect(home.request("PATCH", playerPath(), { body: {} })).rejects.toThrow("socket hang up");
    expect(released()).toHaveLength(1);
  });
});

describe("requests that are answered without a place", () => {
  beforeEach(async () => {
    const keys = new KeyRing(systemClock);
    const key = (name: string): ClientKey => ({
      ...{ name, role: "client", hashes: [hashOf(`${name}'s key`)], limits: UNLIMITED },
    });
    keys.replace([key("a"), key("b")]);
    await start({ pluginRest: PLUGIN, keys }, { Authorization: "a's key" });
    places.home.chosen = "far";
    joined.players.set(`${sessionId}/2`, "far");
  });

  afterEach(() => {
    expect(joined.playerCalls).toEqual([]);
    expect(places.home.holds).toEqual([]);
  });

  test("a session of somebody else is unknown", async () => {
    const asked = { password: "b's key", body: {} };
    const { status, json } = await home.request("PATCH", playerPath(), asked);
    expect([status, json.message]).toEqual([404, "Session not found"]);
    expect((await home.request("GET", playersPath(), { password: "b's key" })).status).toBe(404);
    const put = { password: "b's key", body: ["a"] };
    expect((await home.request("PUT", `${playerPath()}/example/state`, put)).status).toBe(204);
  });

  test("a session that is nowhere is unknown", async () => {
    const { json } = await home.request("PATCH", "/v4/sessions/nobody/players/1", { body: {} });
    expect(json).toMatchObject({ status: 404, message: "Session not found" });
    expect((await home.request("GET", "/v4/sessions/nobody/players")).status).toBe(404);
  });

  test("what is no guild id is refused", async () => {
    for (const guildId of ["x", "9223372036854775808", "1.5"]) {
      expect((await home.request("PATCH", playerPath(guildId), { body: {} })).status).toBe(400);
      expect((await home.request("GET", playerPath(guildId))).status).toBe(400);
    }
  });

  test("requests about the session are answered by its machine", async () => {
    const { json } = await home.request("PATCH", `/v4/sessions/${sessionId}`, { body: { resuming: true, timeout: 7 } });
    expect(json).toEqual({ resuming: true, timeout: 7 });
  });
});

describe("who asks", () => {
  test("the key of the client is named to the other machine, whose keys count", async () => {
    const keys = new KeyRing(systemClock);
    const farKeys = new KeyRing(systemClock);
    const key: ClientKey = { name: "a", role: "client", hashes: [hashOf("a's key")], limits: UNLIMITED };
    keys.replace([key]);
    farKeys.replace([key]);
    await start({ keys }, { Authorization: "a's key" });
    await far.close();
    far = await ApiServer.start({ keys: farKeys, places: places.far });
    const client = { userId: "1", clientName: undefined, dialect: V4_PROTOCOL, owner: "a", account: "a" };
    far.sessions.open(new FakeSocket(), client, sessionId);
    places.home.chosen = "far";
    const asked = { body: {}, password: "a's key" };
    expect((await home.request("PATCH", playerPath(), asked)).status).toBe(200);
    farKeys.replace([]);
    expect(await home.request("PATCH", playerPath(), asked)).toMatchObject({ status: 403, body: "" });
    expect(joined.playerCalls[0]?.request).toContain('"key":"a"');
    expect(joined.playerCalls[0]?.request).not.toContain("a's key");
  });
});

describe("no answer of the other machine", () => {
  beforeEach(async () => {
    await start();
    joined.players.set(`${sessionId}/1`, "far");
  });

  const away = (): NodeError => new NodeError("cluster-away", "no connection to the cluster");

  test.each<[string, number, () => void]>([
    ["the machine is gone", 1, () => joined.players.set(`${sessionId}/1`, "dead")],
    ["the machine cannot be reached", 1, () => (places.home.onSent = () => Promise.reject(away()))],
    ["the session is not there any more", 1, () => far.sessions.get(sessionId)?.destroy()],
    [
      "the answer is lost",
      1,
      () => {
        places.home.onSent = async (handle) => {
          await handle();
          throw away();
        };
      },
    ],
    ["the machine loses its players meanwhile", 1, () => (stored = async () => void places.far.lives++)],
    ["the machine stops", 1, () => far.sessions.disconnect()],
    ["the place cannot be known", 0, () => (places.home.beforeHold = () => Promise.reject(away()))],
  ])("a request is answered with 503 and not sent again: %s", async (_what, calls, happen) => {
    happen();
    const { status, headers, json } = await home.request("PATCH", playerPath(), { body: {} });
    expect([status, headers["retry-after"], json.path]).toEqual([503, "2", playerPath()]);
    expect(joined.playerCalls).toHaveLength(calls);
    expect(released()).toEqual(calls === 0 ? [] : [{ mayBeGone: true }]);
  });

  test("an answer that cannot be read is a fault, which the log names", async () => {
    places.home.onSent = async () => "HTTP/1.1 200 OK";
    expect((await home.request("GET", playerPath())).status).toBe(500);
    expect(lines.join()).toContain("request failed: unexpected error");
    expect(released()).toEqual([{ mayBeGone: true }]);
  });
});

describe("the players of a session", () => {
  async function fill(server: ApiServer, machine: string, guildIds: readonly string[]): Promise<void> {
    for (const guildId of guildIds) {
      joined.players.set(`${sessionId}/${guildId}`, machine);
      await server.sessions.get(sessionId)?.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
    }
  }

  const guildsOf = (players: readonly { readonly guildId: string }[]) => players.map(({ guildId }) => guildId);

  test("the list joins the players of all machines, each of which is asked once", async () => {
    await start();
    await fill(home, "home", ["1", "2"]);
    joined.players.delete(`${sessionId}/1`);
    joined.players.delete(`${sessionId}/2`);
    await fill(far, "far", ["3"]);
    await fill(third, "third", ["4", "5"]);
    const { status, headers, json } = await home.request("GET", playersPath());
    expect([status, headers["content-type"], guildsOf(json)]).toEqual([
      ...[200, "application/json", ["1", "2", "3", "4", "5"]],
    ]);
    expect(asked()).toEqual([
      { machine: "far", sessionId, guildId: undefined },
      { machine: "third", sessionId, guildId: undefined },
    ]);
    expect(places.home.holds).toEqual([]);
  });

  test.each([
    ["nowhere", [], []],
    ["here", ["1"], []],
    ["elsewhere", [], ["2", "3"]],
  ])("the list is whole where players are only %s", async (_where, here, there) => {
    await start();
    await fill(home, "home", here);
    joined.players.clear();
    await fill(far, "far", there);
    joined.players.set(`${sessionId}/9`, "third");
    const { body } = await home.request("GET", playersPath());
    expect(guildsOf(JSON.parse(body))).toEqual([...here, ...there]);
    expect(await home.request("HEAD", playersPath())).toMatchObject({ status: 200, body: "" });
  });

  test("the list of v3 joins players in the form of v3", async () => {
    await start();
    await fill(far, "far", ["3"]);
    const { json } = await home.request("GET", `/v3/sessions/${sessionId}/players/`);
    expect(json).toMatchObject([{ guildId: "3", track: null }]);
    expect(json[0]).not.toHaveProperty("state.time.x");
    expect(asked()).toHaveLength(1);
  });

  test("the list reaches a client of another machine", async () => {
    await start();
    await fill(far, "far", ["3"]);
    expect(guildsOf((await third.request("GET", playersPath())).json)).toEqual(["3"]);
  });

  test("a client that takes no JSON gets no list", async () => {
    await start();
    await fill(far, "far", ["3"]);
    const { status, body } = await home.request("GET", playersPath(), { headers: { Accept: "text/html" } });
    expect([status, body]).toEqual([406, ""]);
  });

  test("there is no list without that of every machine", async () => {
    await start();
    await fill(far, "far", ["3"]);
    joined.players.set(`${sessionId}/9`, "dead");
    const { status, headers } = await home.request("GET", playersPath());
    expect([status, headers["retry-after"]]).toEqual([503, "2"]);
    await expect.poll(() => lines.length).toBe(1);
    expect(lines[0]).toContain('"machine":"dead"');
  });

  test("an answer that is no list is a fault", async () => {
    await start();
    await fill(far, "far", ["3"]);
    places.home.onSent = async (handle) => (await handle()).replace(/\[.*\]$/, "{}");
    expect((await home.request("GET", playersPath())).status).toBe(500);
  });

  test("many machines with long lists are joined, up to 32 MiB, without a warning of Node.js", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const players: FakeSessionPlayer[] = [];
    await start({ createPlayer: playersInto(players) });
    await fill(
      far,
      "far",
      Array.from({ length: 100 }, (_, index) => String(index)),
    );
    await fill(home, "home", ["1000", "1001", "1002"]);
    joined.players.clear();
    const text = "ä".repeat(5000);
    for (const player of players) {
      const json = { ...player.toJson(), voice: { token: text, endpoint: "", sessionId: "", channelId: null } };
      player.toJson = () => json;
    }
    const handle = (request: string): Promise<string> => places.home.callPlayer("far", NO_PLAYER, request);
    for (let index = 0; index < 20; index++) {
      joined.players.set(`${sessionId}/${index}`, `m${index}`);
      joined.of(`m${index}`).onPlayerCall(handle);
    }
    const { status, json } = await home.request("GET", playersPath());
    expect([status, json.length]).toEqual([200, 2003]);
    for (let index = 20; index < 34; index++) {
      joined.players.set(`${sessionId}/${index}`, `m${index}`);
      joined.of(`m${index}`).onPlayerCall(handle);
    }
    const refused = await home.request("GET", playersPath());
    expect([refused.status, refused.json.message]).toEqual([503, expect.stringContaining("32 MiB")]);
    await expect.poll(() => lines.length).toBe(2);
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });
});
