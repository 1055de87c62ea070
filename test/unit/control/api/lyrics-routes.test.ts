import { afterEach, expect, test } from "vitest";
import type { FoundLyrics } from "../../../../src/bridge/plugin-extensions.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const TRACK = buildTrack({ title: "Harbour + Lights", isStream: true });
const LYRICS: FoundLyrics = {
  sourceName: "lrclib",
  provider: "LRCLIB",
  text: "one\ntwo",
  lines: [
    { timestamp: 1000, duration: 500, line: "one" },
    { timestamp: 1500, duration: null, line: "two" },
  ],
};
const JSON_LYRICS = {
  ...LYRICS,
  lines: LYRICS.lines?.map((line) => ({ ...line, plugin: {} })),
  plugin: {},
};

let server: ApiServer;
let asked: unknown[] = [];
afterEach(() => server.close());

async function start(found: FoundLyrics | undefined = LYRICS): Promise<void> {
  asked = [];
  server = await ApiServer.start({
    lyrics: {
      isAvailable: true,
      find: async ({ info }, { isSourceSkipped }) => {
        asked.push([info.title, isSourceSkipped]);
        return found;
      },
    },
  });
}

test("the lyrics of an encoded track are answered, also where its + is sent as it is", async () => {
  await start();
  for (const track of [encodeURIComponent(TRACK.encoded), TRACK.encoded.replaceAll("/", "%2F")]) {
    const answer = await server.request("GET", `/v4/lyrics?track=${track}`);
    expect([answer.status, answer.json]).toEqual([200, JSON_LYRICS]);
  }
  await server.request("GET", `/v4/lyrics?track=${encodeURIComponent(TRACK.encoded)}&skipTrackSource=true`);
  expect(asked).toEqual([false, false, true].map((isSkipped) => ["Harbour + Lights", isSkipped]));
});

test("lyrics without times have null for lines, and none at all are 204", async () => {
  await start({ ...LYRICS, lines: null });
  const path = `/v4/lyrics?track=${encodeURIComponent(TRACK.encoded)}`;
  expect((await server.request("GET", path)).json).toMatchObject({ text: "one\ntwo", lines: null });
  await server.close();
  server = await ApiServer.start({ lyrics: { isAvailable: true, find: async () => undefined } });
  expect(await server.request("GET", path)).toMatchObject({ status: 204, body: "" });
});

test.each([
  ["", 400, "Required parameter 'track' is not present."],
  ["?track=nonsense", 400, expect.any(String)],
  [`?track=${encodeURIComponent(TRACK.encoded)}&skipTrackSource=perhaps`, 400, "Bad Request"],
])("the query %j is refused", async (query, status, message) => {
  await start();
  expect(await server.request("GET", `/v4/lyrics${query}`)).toMatchObject({ status, json: { message } });
  expect(asked).toEqual([]);
});

test("the lyrics of what a player plays are answered, and 404 says what is missing", async () => {
  await start();
  const { sessionId } = await server.connect();
  const players = `/v4/sessions/${sessionId}/players`;
  const missing = async (path: string) => {
    const { status, json } = await server.request("GET", `${path}/track/lyrics`);
    return [status, json.message];
  };
  expect(await missing("/v4/sessions/nope/players/7")).toEqual([404, "Session not found"]);
  expect(await missing(`${players}/7`)).toEqual([404, "Player not found"]);
  await server.request("PATCH", `${players}/7`, { body: { paused: true } });
  expect(await missing(`${players}/7`)).toEqual([404, "No track playing"]);
  await server.request("PATCH", `${players}/7`, { body: { track: { encoded: TRACK.encoded } } });
  const answer = await server.request("GET", `${players}/7/track/lyrics?skipTrackSource=true`);
  expect([answer.status, answer.json]).toEqual([200, JSON_LYRICS]);
  expect(asked).toEqual([["Harbour + Lights", true]]);
});

test("a node without a provider of lyrics says how to get one, with 500", async () => {
  server = await ApiServer.start();
  const path = `/v4/lyrics?track=${encodeURIComponent(TRACK.encoded)}`;
  expect(await server.request("GET", path)).toMatchObject({
    status: 500,
    json: { message: expect.stringMatching(/^No lyrics managers registered: .*plugins\.lrclib\.enabled: true$/) },
  });
});

test("too many searches at once are an error of the API", async () => {
  server = await ApiServer.start({
    lyrics: { isAvailable: true, find: () => Promise.reject(new NodeError("load-busy", "busy")) },
  });
  const path = `/v4/lyrics?track=${encodeURIComponent(TRACK.encoded)}`;
  expect(await server.request("GET", path)).toMatchObject({ status: 503, json: { message: "busy" } });
});
