import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClientKey, hashOf } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import type { PluginRestControl } from "../../../../src/control/api/api-context.ts";
import { NodeError } from "../../../../src/errors.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { PlacedMachines } from "../../../support/placed-machines.ts";

const VOICE = { token: "t", endpoint: "rotterdam1.discord.media", sessionId: "v", channelId: null };

let machines: PlacedMachines;

beforeEach(() => {
  machines = new PlacedMachines();
});

afterEach(() => machines.close());

/** What became of the only hold. */
function released() {
  const { holds } = machines.places.home;
  expect(holds).toHaveLength(1);
  return holds[0]?.released;
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
    await machines.start({ pluginRest: PLUGIN });
    machines.places.home.chosen = "far";
  });

  test("a player is made on the machine that is chosen for it, and nowhere else", async () => {
    const { status, json } = await machines.home.request("PATCH", machines.playerPath(), { body: { volume: 7 } });
    expect([status, json.volume]).toEqual([200, 7]);
    expect([machines.playerOn(machines.home), machines.playerOn(machines.far)?.volume]).toEqual([undefined, 7]);
    expect(machines.asked).toEqual([{ machine: "far", sessionId: machines.sessionId, guildId: "1" }]);
    expect(machines.places.home.holds).toMatchObject([{ guildId: "1", isMaking: true, region: undefined }]);
    expect(machines.places.far.holds).toEqual([]);
    expect(released()).toEqual([{ mayBeGone: false }]);
  });

  test("the machine is chosen by the region of the voice server that the client names", async () => {
    await machines.home.request("PATCH", machines.playerPath(), {
      body: { voice: VOICE },
    });
    expect(machines.places.home.holds[0]?.region).toBe("rotterdam");
  });

  test("a player is read, changed and ended where it is", async () => {
    const made = await machines.home.request("PATCH", machines.playerPath(), { body: { volume: 7 } });
    const read = await machines.home.request("GET", machines.playerPath());
    expect([read.status, read.json]).toEqual([200, { ...made.json, state: read.json.state }]);
    expect(read.headers["content-type"]).toBe("application/json");
    expect(await machines.home.request("HEAD", machines.playerPath())).toMatchObject({ status: 200, body: "" });
    expect(await machines.home.request("DELETE", machines.playerPath())).toMatchObject({ status: 204, body: "" });
    expect(machines.playerOn(machines.far)).toBeUndefined();
    const { holds } = machines.places.home;
    expect(holds.map(({ isMaking }) => isMaking)).toEqual([true, false, false, false]);
    expect(holds.flatMap((hold) => hold.released.map(({ mayBeGone }) => mayBeGone))).toEqual([
      ...[false, false, false, true],
    ]);
  });

  test("the guild is named to the cluster in plain digits, and to the other machine as the client has sent it", async () => {
    expect((await machines.home.request("PATCH", machines.playerPath("%200x0A"), { body: {} })).json.guildId).toBe(
      "10",
    );
    expect(machines.asked).toEqual([{ machine: "far", sessionId: machines.sessionId, guildId: "10" }]);
    expect(machines.playerOn(machines.far, "10")).toBeDefined();
  });

  test("what a plugin keeps for a guild is kept on the machine of its player", async () => {
    const path = `${machines.playerPath()}/example/state`;
    const headers = { "User-Agent": "bot/1" };
    const { status, json } = await machines.home.request("PUT", path, { headers, body: ["a"] });
    const account = "address 127.0.0.1";
    const owner = [account, `${account}, bot/1`];
    expect([status, json]).toEqual([201, { sessionId: machines.sessionId, guildId: "1", names: ["a"], owner }]);
    expect(machines.places.home.holds).toMatchObject([{ isMaking: true, released: [{ mayBeGone: false }] }]);
    expect(machines.asked).toHaveLength(1);
  });

  test("lyrics of a player are asked for on its machine", async () => {
    machines.place("1", "far");
    const lyrics = await machines.home.request("GET", `${machines.playerPath()}/track/lyrics`);
    expect([lyrics.status, lyrics.json.message]).toEqual([404, "Player not found"]);
    expect((await machines.home.request("DELETE", `${machines.playerPath()}/lyrics/subscribe`)).status).toBe(204);
    expect(machines.asked).toHaveLength(2);
  });

  test("a player that could not be made may be gone", async () => {
    const { status } = await machines.home.request("PATCH", machines.playerPath(), {
      body: { track: { identifier: "x" } },
    });
    expect(status).toBe(400);
    expect(machines.asked).toHaveLength(1);
    expect(released()).toEqual([{ mayBeGone: true }]);
  });

  test("an answer waits until the other machine has stored what was changed", async () => {
    let isStored = false;
    machines.stored = async () => {
      isStored = true;
    };
    await machines.home.request("PATCH", machines.playerPath(), { body: {} });
    expect(isStored).toBe(true);
  });

  test("a request of v3 reaches a player on another machine, and is answered in its form", async () => {
    const path = `/v3/sessions/${machines.sessionId}/players/1`;
    expect((await machines.home.request("PATCH", path, { body: { volume: 7 } })).json.volume).toBe(7);
    const { headers, json } = await machines.home.request("GET", path);
    expect([headers["lavalink-api-version"], json.volume]).toEqual(["3", 7]);
    expect(machines.playerOn(machines.far)?.volume).toBe(7);
  });

  test("a request that comes from another machine is passed on to the machine of the player", async () => {
    const { status, json } = await machines.third.request("PATCH", machines.playerPath(), { body: { volume: 7 } });
    expect([status, json.volume, machines.playerOn(machines.far)?.volume]).toEqual([200, 7, 7]);
    expect([machines.joined.calls.length, machines.joined.playerCalls.length]).toEqual([1, 1]);
    expect(released()).toEqual([{ mayBeGone: false }]);
  });

  test("a request is logged once, with the machine that has answered it", async () => {
    await machines.home.request("PATCH", machines.playerPath(), { body: {} });
    machines.place("1", "dead");
    await machines.home.request("GET", machines.playerPath());
    await expect.poll(() => machines.lines.length).toBe(2);
    expect(machines.lines).toEqual([
      expect.stringMatching(/^answered PATCH .*"status":200.*"machine":"far"/),
      expect.stringMatching(/^answered GET .*"status":503.*"machine":"dead"/),
    ]);
  });
});

describe("a player on the machine of its session", () => {
  beforeEach(() => machines.start({ pluginRest: PLUGIN }));

  test("nothing is passed on", async () => {
    expect((await machines.home.request("PATCH", machines.playerPath(), { body: { volume: 7 } })).json.volume).toBe(7);
    expect((await machines.home.request("GET", machines.playersPath)).json).toMatchObject([{ volume: 7 }]);
    expect(machines.playerOn(machines.home)?.volume).toBe(7);
    expect(machines.joined.playerCalls).toEqual([]);
  });

  test("a player that is held is held until the request is over", async () => {
    machines.places.home.beforeHold = async () => undefined;
    for (const [method, options] of [["PATCH", { body: {} }], ["GET"], ["DELETE"], ["GET"]] as const) {
      await machines.home.request(method, machines.playerPath(), options);
    }
    const outcomes = machines.places.home.holds.map((hold) => hold.released.map(({ mayBeGone }) => mayBeGone));
    expect(outcomes).toEqual([[false], [false], [true], [true]]);
  });

  test("a machine that loses its sessions while it asks for the place gives no answer", async () => {
    machines.places.home.beforeHold = async () => void machines.places.home.lives++;
    await expect(machines.home.request("PATCH", machines.playerPath(), { body: {} })).rejects.toThrow("socket hang up");
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
    await machines.start({ pluginRest: PLUGIN, keys }, { Authorization: "a's key" });
    machines.places.home.chosen = "far";
    machines.place("2", "far");
  });

  afterEach(() => {
    expect(machines.joined.playerCalls).toEqual([]);
    expect(machines.places.home.holds).toEqual([]);
  });

  test("a session of somebody else is unknown", async () => {
    const asked = { password: "b's key", body: {} };
    const { status, json } = await machines.home.request("PATCH", machines.playerPath(), asked);
    expect([status, json.message]).toEqual([404, "Session not found"]);
    expect((await machines.home.request("GET", machines.playersPath, { password: "b's key" })).status).toBe(404);
    const put = { password: "b's key", body: ["a"] };
    expect((await machines.home.request("PUT", `${machines.playerPath()}/example/state`, put)).status).toBe(204);
  });

  test("a session that is nowhere is unknown", async () => {
    const { json } = await machines.home.request("PATCH", "/v4/sessions/nobody/players/1", { body: {} });
    expect(json).toMatchObject({ status: 404, message: "Session not found" });
    expect((await machines.home.request("GET", "/v4/sessions/nobody/players")).status).toBe(404);
  });

  test("what is no guild id is refused", async () => {
    for (const guildId of ["x", "9223372036854775808", "1.5"]) {
      expect((await machines.home.request("PATCH", machines.playerPath(guildId), { body: {} })).status).toBe(400);
      expect((await machines.home.request("GET", machines.playerPath(guildId))).status).toBe(400);
    }
  });

  test("requests about the session are answered by its machine", async () => {
    const { json } = await machines.home.request("PATCH", `/v4/sessions/${machines.sessionId}`, {
      body: { resuming: true, timeout: 7 },
    });
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
    await machines.start({ keys }, { Authorization: "a's key" });
    await machines.restartFar({ keys: farKeys });
    machines.places.home.chosen = "far";
    const asked = { body: {}, password: "a's key" };
    expect((await machines.home.request("PATCH", machines.playerPath(), asked)).status).toBe(200);
    farKeys.replace([]);
    expect(await machines.home.request("PATCH", machines.playerPath(), asked)).toMatchObject({ status: 403, body: "" });
    expect(machines.joined.playerCalls[0]?.request).toContain('"key":"a"');
    expect(machines.joined.playerCalls[0]?.request).not.toContain("a's key");
  });
});

describe("no answer of the other machine", () => {
  beforeEach(async () => {
    await machines.start();
    machines.place("1", "far");
  });

  const away = (): NodeError => new NodeError("cluster-away", "no connection to the cluster");

  test.each<[string, number, () => void]>([
    ["the machine is gone", 1, () => machines.place("1", "dead")],
    ["the machine cannot be reached", 1, () => (machines.places.home.onSent = () => Promise.reject(away()))],
    ["the session is not there any more", 1, () => machines.far.sessions.get(machines.sessionId)?.destroy()],
    [
      "the answer is lost",
      1,
      () => {
        machines.places.home.onSent = async (handle) => {
          await handle();
          throw away();
        };
      },
    ],
    [
      "the machine loses its players meanwhile",
      1,
      () => (machines.stored = async () => void machines.places.far.lives++),
    ],
    ["the machine stops", 1, () => machines.far.sessions.disconnect()],
    ["the place cannot be known", 0, () => (machines.places.home.beforeHold = () => Promise.reject(away()))],
  ])("a request is answered with 503 and not sent again: %s", async (_what, calls, happen) => {
    happen();
    const { status, headers, json } = await machines.home.request("PATCH", machines.playerPath(), { body: {} });
    expect([status, headers["retry-after"], json.path]).toEqual([503, "2", machines.playerPath()]);
    expect(machines.joined.playerCalls).toHaveLength(calls);
    expect(released()).toEqual(calls === 0 ? [] : [{ mayBeGone: true }]);
  });

  test("an answer that cannot be read is a fault, which the log names", async () => {
    machines.places.home.onSent = async () => "HTTP/1.1 200 OK";
    expect((await machines.home.request("GET", machines.playerPath())).status).toBe(500);
    expect(machines.lines.join()).toContain("request failed: unexpected error");
    expect(released()).toEqual([{ mayBeGone: true }]);
  });
});
