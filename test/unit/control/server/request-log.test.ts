import { afterEach, describe, expect, test } from "vitest";
import { toWireError } from "../../../../src/bridge/wire-error.ts";
import type { RequestLogging } from "../../../../src/config/node-config.ts";
import { HEALTH_AGENT, HEALTH_PATH } from "../../../../src/control/server/health-check.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import type { LoadOptions } from "../../../../src/control/sources/track-loader.ts";
import { NodeError } from "../../../../src/errors.ts";
import { createNodeLogger } from "../../../../src/log/log-pino.ts";
import { writeTracks } from "../../../../src/track/written-tracks.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const ALL: RequestLogging = {
  isClientShown: true,
  areHeadersShown: true,
  isQueryShown: true,
  isPayloadShown: true,
  payloadLengthMax: 100,
  isLoggedBefore: true,
};
const NONE: RequestLogging = {
  isClientShown: false,
  areHeadersShown: false,
  isQueryShown: false,
  isPayloadShown: false,
  payloadLengthMax: 100,
  isLoggedBefore: false,
};
const SECRET = "hunter2hunter2";

let server: ApiServer;

afterEach(() => server.close());

/** Starts a node and gives what a request left in the log. */
async function logged(
  requestLogging: RequestLogging,
  ask: (server: ApiServer) => Promise<unknown>,
  load?: (identifier: string, options?: LoadOptions) => Promise<LoadResult>,
) {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  const logger = createNodeLogger({ level: "info", format: "json", stream });
  server = await ApiServer.start({ logger, requestLogging, ...(load && { load }) });
  await ask(server);
  // Lines are written after the answer; the answer to this request comes after it.
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { entries: lines.map((line) => JSON.parse(line)), text: lines.join("") };
}

describe("a request", () => {
  test("a request leaves one line with method, path, status and time", async () => {
    const { entries } = await logged(NONE, (node) => node.request("GET", "/v4/info?trace=1"));
    expect(entries).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        msg: "answered GET /v4/info",
        status: 200,
        durationMs: expect.any(Number),
      },
    ]);
  });

  test("the log shows the configured fields: client, headers, query, body, and a line before", async () => {
    const { entries } = await logged(ALL, (node) =>
      node.request("PATCH", "/v4/sessions/x?a=b%20c", { body: { timeout: 5 } }),
    );
    const origin = { client: "127.0.0.1", headers: expect.objectContaining({ "content-type": "application/json" }) };
    expect(entries).toMatchObject([
      { msg: "before PATCH /v4/sessions/x?a=b c", ...origin },
      { msg: "answered PATCH /v4/sessions/x?a=b c", status: 404, payload: '{"timeout":5}', ...origin },
    ]);
  });

  test.each<[string, LoadResult, string | undefined, object]>([
    ["a track", { kind: "track", track: buildTrack() }, "http", { loadType: "track", tracks: 1, source: "http" }],
    [
      "a search",
      { kind: "search", tracks: writeTracks([buildTrack(), buildTrack()]) },
      "youtube",
      { loadType: "search", tracks: 2, source: "youtube" },
    ],
    ["nothing", { kind: "empty" }, undefined, { loadType: "empty", tracks: 0 }],
    [
      "an error",
      {
        kind: "error",
        error: toWireError(new NodeError("source-unavailable", `off, see http://me:${SECRET}@a.example/`)),
      },
      "youtube",
      { loadType: "error", tracks: 0, source: "youtube", reason: "off, see http://<redacted>@a.example/" },
    ],
  ])(
    "the line of a load of %s has its type, its tracks, its source and the reason",
    async (_what, result, source, fields) => {
      const load = async (_identifier: string, options?: LoadOptions) => {
        if (source !== undefined) options?.onSource?.(source);
        return result;
      };
      for (const path of ["/v4/loadtracks", "/v3/loadtracks"]) {
        const { entries, text } = await logged(NONE, (node) => node.request("GET", `${path}?identifier=x`), load);
        const line = { level: 30, time: expect.any(Number), msg: `answered GET ${path}`, status: 200 };
        expect(entries).toEqual([{ ...line, durationMs: expect.any(Number), ...fields }]);
        expect(text).not.toContain(SECRET);
        await server.close();
      }
    },
  );

  test("a request of `tonearm health` leaves no line; one for anything else by that name does", async () => {
    const { entries } = await logged(NONE, async (node) => {
      const headers = { "user-agent": HEALTH_AGENT };
      expect((await node.request("GET", HEALTH_PATH, { headers, password: null })).status).toBe(200);
      await node.request("GET", "/v4/info", { headers });
    });
    expect(entries).toMatchObject([{ msg: "answered GET /v4/info", status: 200 }]);
  });

  test("a request that is refused, or has no route, is logged too", async () => {
    const { entries } = await logged(NONE, (node) => node.request("GET", "/nope", { password: null }));
    expect(entries).toMatchObject([{ msg: "answered GET /nope", status: 404 }]);
  });

  test("the log shows no more of a body than configured", async () => {
    const { entries } = await logged({ ...ALL, isLoggedBefore: false }, (node) =>
      node.request("POST", "/v4/decodetracks", { body: ["x".repeat(500)] }),
    );
    expect(entries[0].payload).toHaveLength(100);
  });
});

describe("no secret", () => {
  test("no secret of header, query or body gets into the log", async () => {
    const voice = { token: SECRET, endpoint: "voice.example", sessionId: "s", channelId: "1" };
    const { text } = await logged({ ...ALL, payloadLengthMax: 10_000 }, async (node) => {
      await node.request(
        "GET",
        `/v4/loadtracks?identifier=http%3A%2F%2Fme%3A${SECRET}%40host%2F&accessToken=${SECRET}`,
        {
          password: SECRET,
        },
      );
      await node.request("PATCH", "/v4/sessions/x/players/1", { body: { voice } });
      const spaced = `{ "accessToken" : "a\\"${SECRET}", "url": "https://me:${SECRET}@host/x" }`;
      await node.request("PATCH", "/v4/sessions/x/players/1", { body: spaced });
    });
    expect(text).toContain("voice.example");
    expect(text).not.toContain(SECRET);
  });

  test("no secret gets into the log in whatever form a body or a query has it", async () => {
    const track = buildTrack({ uri: `http://me:${SECRET}@host/` }).encoded;
    const { text, entries } = await logged({ ...ALL, payloadLengthMax: 10_000 }, async (node) => {
      const patch = (body: string | object) => node.request("PATCH", "/v4/sessions/x/players/1", { body });
      await patch(`{"voice":{"\\u0074oken":"${SECRET}","sessionId":"${SECRET}"}}`);
      await patch({ track: { encoded: track } });
      await patch({
        track: { identifier: `http:\\\\u:p@${SECRET}@host/?sig=${SECRET}`, userData: { token: { a: SECRET } } },
      });
      await node.request("GET", `/v4/decodetrack?encodedTrack=${encodeURIComponent(track)}&%74oken=${SECRET}`);
      await node.request("GET", "/v4/info", {
        headers: { Cookie: `a=${SECRET}`, "X-Api-Key": SECRET, "Session-Id": SECRET },
      });
    });
    expect(entries).toHaveLength(10);
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(track);
  });

  test("no secret shows at the end of a body that was cut", async () => {
    for (const payloadLengthMax of [22, 25, 30]) {
      const { text } = await logged({ ...ALL, payloadLengthMax }, (node) =>
        node.request("PATCH", "/v4/sessions/x", { body: { voice: { token: SECRET } } }),
      );
      expect(text).not.toContain(SECRET.slice(0, 2));
      await server.close();
    }
  });
});
