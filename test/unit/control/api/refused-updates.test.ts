// A refused PATCH of a player changes nothing, also when it is refused late: by the result of loading its identifier.
// Real sessions and players; workers that render no audio.

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { toWireError } from "../../../../src/bridge/wire-error.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import { NodeError } from "../../../../src/errors.ts";
import { type Answer, ApiServer, type TestClient } from "../../../support/api-server.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const UNREACHABLE: LoadResult = { kind: "error", error: toWireError(new NodeError("input-unreachable", "refused")) };
const VOICE = { token: "t", endpoint: "voice.example:443", sessionId: "s", channelId: "9" };

let server: ApiServer;
let client: TestClient;
let finishSlowLoads: (() => void)[];

beforeAll(async () => {
  server = await ApiServer.start({
    load: async (identifier) => {
      if (identifier === "song") return { kind: "track", track: buildTrack({ title: "Song" }) };
      if (identifier === "slow") await new Promise<void>((resolve) => finishSlowLoads.push(resolve));
      return UNREACHABLE;
    },
  });
});

afterAll(() => server.close());

beforeEach(async () => {
  finishSlowLoads = [];
  client = await server.connect();
});

function request(method: string, body?: object, version = "v4", query = ""): Promise<Answer> {
  const path = `/${version}/sessions/${client.sessionId}/players/7${query}`;
  return server.request(method, path, body === undefined ? {} : { body });
}

const patch = (body: object, version?: string, query?: string) => request("PATCH", body, version, query);

/** The player's JSON, or the status if there is none. */
async function player(): Promise<Answer["json"]> {
  const { status, json } = await request("GET");
  return status === 200 ? json : status;
}

/** Makes the slow load fail when it has started. */
async function finishSlowLoad(): Promise<void> {
  await vi.waitFor(() => expect(finishSlowLoads).toHaveLength(1));
  finishSlowLoads.pop()?.();
}

describe("an update whose identifier cannot be loaded", () => {
  const more = { volume: 30, filters: { volume: 0.5 }, paused: true, voice: VOICE };

  test("a refused update creates no player, and the client gets no message", async () => {
    expect((await patch({ track: { identifier: "unreachable" }, ...more })).status).toBe(400);
    expect(await player()).toBe(404);
    await client.flushed();
    expect(client.events.map(({ op }) => op)).toEqual(["ready"]);
  });

  test("a refused update leaves the player as the update before it left it", async () => {
    const { json: before } = await patch({ voice: VOICE, track: { identifier: "song" }, volume: 60, paused: true });
    const others = { ...more, voice: { ...VOICE, token: "t2" }, paused: false };
    expect((await patch({ track: { identifier: "unreachable" }, ...others })).status).toBe(400);
    const { state: _state, ...rest } = await player();
    const { state: _before, ...restBefore } = before;
    expect(rest).toEqual(restBefore);
  });

  test("a refused update of v3 is answered with 500 and leaves no player behind", async () => {
    const { voice: _voice, ...others } = more;
    expect((await patch({ identifier: "unreachable", ...others }, "v3")).status).toBe(500);
    expect(await player()).toBe(404);
  });

  test("an update that waits behind a refused one is carried out", async () => {
    const first = patch({ track: { identifier: "slow" }, ...more });
    const second = patch({ volume: 70 });
    await finishSlowLoad();
    expect((await first).status).toBe(400);
    expect(await second).toMatchObject({ status: 200, json: { volume: 70, filters: {}, paused: false } });
    expect(await player()).toMatchObject({ volume: 70, voice: { token: "" } });
  });

  test("two refused updates, one behind the other, leave no player behind", async () => {
    const both = [patch({ track: { identifier: "slow" } }), patch({ track: { identifier: "slow" } })];
    await finishSlowLoad();
    await finishSlowLoad();
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([400, 400]);
    expect(await player()).toBe(404);
  });

  test("updates that come right after a refused one are carried out", async () => {
    for (let count = 1; count <= 20; count++) {
      const refused = patch({ track: { identifier: "unreachable" } });
      const carriedOut = [patch({ volume: count }), patch({ paused: true })];
      expect((await refused).status).toBe(400);
      expect((await Promise.all(carriedOut)).map(({ status }) => status)).toEqual([200, 200]);
      expect(await player()).toMatchObject({ volume: count, paused: true });
      expect((await request("DELETE")).status).toBe(204);
    }
  });

  test("an update with noReplace is carried out but for its track, which is not loaded", async () => {
    await patch({ track: { identifier: "song" }, paused: true });
    const answer = await patch({ track: { identifier: "unreachable" }, volume: 30 }, "v4", "?noReplace=true");
    expect(answer).toMatchObject({
      status: 200,
      json: { volume: 30, paused: true, track: { info: { title: "Song" } } },
    });
  });
});
