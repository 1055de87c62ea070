// The OpenAPI document is held against real answers: of every route that it describes, and of errors.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { toWireError } from "../../../../src/bridge/wire-error.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import { NodeError } from "../../../../src/errors.ts";
import { FILTER_TABLE } from "../../../../src/filters/filter-table.ts";
import type { Json } from "../../../../src/plugin-api/plugin.ts";
import { type Answer, ApiServer, type RequestOptions } from "../../../support/api-server.ts";
import { createPlanner } from "../../../support/planner-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const TRACK = buildTrack();
const RESULTS: Readonly<Record<string, LoadResult>> = {
  track: { kind: "track", track: buildTrack({ isStream: true, length: 2n ** 63n - 1n, uri: null }) },
  playlist: {
    kind: "playlist",
    playlist: { name: "x", selectedTrack: -1, pluginInfo: { a: 1 }, tracks: [TRACK] },
  },
  search: { kind: "search", tracks: [TRACK] },
  error: { kind: "error", error: toWireError(new NodeError("input-unreachable", "no such address on this machine")) },
};
const ALL_FILTERS = {
  volume: 0.5,
  equalizer: [{ band: 0, gain: 0.25 }],
  karaoke: {},
  timescale: {},
  tremolo: {},
  vibrato: {},
  distortion: {},
  rotation: {},
  channelMix: {},
  lowPass: {},
  pluginFilters: {
    tonearm: Object.fromEntries(Object.keys(FILTER_TABLE.tonearm).map((name) => [name, {}])),
  },
};

type Document = ReturnType<JSON["parse"]>;

let server: ApiServer;
let document: Document;
let players: string;
/** `METHOD path` of the document, of everything that was asked. */
const asked = new Set<string>();

beforeAll(async () => {
  server = await ApiServer.start({ load: async (identifier) => RESULTS[identifier] ?? { kind: "empty" } });
  document = (await server.request("GET", "/v4/openapi.json")).json;
  const { sessionId } = await server.connect();
  players = `/v4/sessions/${sessionId}/players`;
});

afterAll(() => server.close());

/** Asks, and holds status and body against what the document says of that route. */
async function ask(
  method: string,
  path: string,
  { of = server, ...options }: RequestOptions & { readonly of?: ApiServer } = {},
): Promise<Answer> {
  const answer = await of.request(method, path, options);
  const [route, operation] = described(method, path.split("?", 1)[0] ?? "");
  asked.add(route);
  const response = operation.responses[answer.status];
  expect(response, `${route} names ${answer.status}`).toBeDefined();
  const content = response.content?.["application/json"];
  if (content === undefined) {
    const isText = response.content?.["text/plain"] !== undefined;
    expect([route, isText || answer.body === ""]).toEqual([route, true]);
  } else {
    const problem = mismatch(content.schema, answer.body);
    expect([route, answer.status, problem, answer.body]).toEqual([route, answer.status, undefined, answer.body]);
  }
  return answer;
}

function described(method: string, path: string): readonly [string, Document] {
  for (const [template, operations] of Object.entries<Document>(document.paths)) {
    const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    const operation = pattern.test(path) ? operations[method.toLowerCase()] : undefined;
    if (operation !== undefined) return [`${method} ${template}`, operation];
  }
  throw new Error(`${method} ${path} is not described`);
}

function routesOf({ paths }: Document): string[] {
  return Object.entries<object>(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** The first error of a body, or undefined. */
function mismatch(schema: object, body: string): string | undefined {
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
  const checked = z.fromJSONSchema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")));
  // The library refuses integers that a number cannot hold exactly.
  const result = checked.safeParse(JSON.parse(body.replaceAll("9223372036854775807", "9007199254740991")));
  return result.success ? undefined : z.prettifyError(result.error);
}

describe("the document", () => {
  test("the document needs the password and names its OpenAPI version", async () => {
    expect((await server.request("GET", "/v4/openapi.json", { password: null })).status).toBe(401);
    expect(document).toMatchObject({ openapi: "3.1.0", info: { title: "Tonearm" } });
  });

  test("the document refers only to its own parts", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w*)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, name] of references) expect(Object.keys(document.components.schemas)).toContain(name);
  });

  test("the document describes type and meaning of every parameter", () => {
    const parameters = routesOf(document).flatMap((route) => {
      const [method = "", path = ""] = route.split(" ");
      return document.paths[path][method.toLowerCase()].parameters.map((parameter: Document) => ({ route, parameter }));
    });
    expect(parameters.length).toBeGreaterThan(30);
    for (const { route, parameter } of parameters) {
      expect(parameter, `${route} ${parameter.name}`).toMatchObject({
        description: expect.stringMatching(/\.$/),
        schema: { type: expect.any(String) },
      });
    }
  });

  test("the document has its schemas in alphabetical order", () => {
    const names = Object.keys(document.components.schemas);
    expect(names).toEqual(names.toSorted());
  });

  test("the document has the routes of docs/reference/rest.md, which has its fields", () => {
    const page = readFileSync(new URL("../../../../docs/reference/rest.md", import.meta.url), "utf8");
    const headings = [...page.matchAll(/^## ([A-Z]+ \/.+)$/gm)].map((match) => match[1]);
    const served = ["GET /v4/openapi.json", "GET /metrics"];
    expect(headings.toSorted()).toEqual([...routesOf(document), ...served].toSorted());
    const schemas: Document = document.components.schemas;
    for (const name of ["PlayerUpdate", "TrackUpdate", "VoiceUpdate", "Filters", "SessionUpdate", "Info", "Stats"]) {
      for (const field of Object.keys(schemas[name].properties)) {
        if (field !== "pluginFilters") expect(page, `${name}.${field}`).toMatch(new RegExp(`[\\W]${field}[\\W]`));
      }
    }
  });

  test("the document accepts the bodies that the node accepts, and no others", () => {
    const problem = (body: object) => mismatch({ $ref: "#/components/schemas/PlayerUpdate" }, JSON.stringify(body));
    expect(problem({})).toBeUndefined();
    expect(problem({ endTime: null, encodedTrack: null, filters: ALL_FILTERS, volume: 1 })).toBeUndefined();
    expect(problem({ filters: { equalizer: [{ gain: 1 }] } })).toContain("band");
    expect(problem({ volume: null })).toContain("volume");
    const tonearm = (filters: object) => problem({ filters: { pluginFilters: { tonearm: filters } } });
    expect(tonearm({ echo: { delay: 2000 }, fadeIn: { curve: "linear" }, reverb: null })).toBeUndefined();
    expect(tonearm({ echo: { delay: 2001 } })).toBeDefined();
    expect(tonearm({ fadeIn: { curve: "round" } })).toBeDefined();
  });

  test("a wrong answer does not match the document", () => {
    const stats = { $ref: "#/components/schemas/Stats" };
    expect(mismatch(stats, '{"players":1}')).toContain("uptime");
    expect(mismatch({ $ref: "#/components/schemas/Player" }, "{}")).toContain("guildId");
  });
});

describe("real answers are as it says", () => {
  test("about the node", async () => {
    for (const path of ["/version", "/v4/info", "/v4/stats", "/v4/routeplanner/status"]) await ask("GET", path);
    for (const name of ["stats", "tonearm/load", "tonearm/health"]) {
      for (const query of ["", "?machines=all", "?machines=1"]) await ask("GET", `/v4/${name}${query}`);
    }
    for (const query of ["", "?key=00112233445566778899aabbccddeeff", "?key=me"]) {
      await ask("GET", `/v4/tonearm/support${query}`);
    }
    await ask("POST", "/v4/routeplanner/free/address", { body: { address: "127.0.0.1" } });
    await ask("POST", "/v4/routeplanner/free/all");
    for (const password of [null, "wrong"]) await ask("GET", "/v4/info", { password });
    await ask("GET", "/v4/info", { headers: { Accept: "text/plain" } });
  });

  test.each([
    ["RotateOnBan", "192.0.2.0/24"],
    ["LoadBalance", "192.0.2.0/24"],
    ["NanoSwitch", "2001:db8::/32"],
    ["RotatingNanoSwitch", "2001:db8::/32"],
  ] as const)("about a route planner that does %s", async (strategy, block) => {
    const { planner } = createPlanner({ strategy, ipBlocks: [block] });
    const of = await ApiServer.start({ routePlanner: planner });
    const address = block.replace(/0\/24|\/32/, "9");
    const status = async () => (await ask("GET", "/v4/routeplanner/status", { of })).json.details;
    try {
      await status();
      planner.answer({ type: "routeRequested", routeId: 1, families: [4, 6] });
      planner.onFailure({ type: "routeFailed", address, reason: "banned" });
      expect((await status()).failingAddresses).toMatchObject([{ failingAddress: `/${address}` }]);
      for (const wrong of ["198.51.100.1", "fe80::1", "nonsense"]) {
        const refused = await ask("POST", "/v4/routeplanner/free/address", { of, body: { address: wrong } });
        expect(refused.json.message).toBe(`Invalid address: ${wrong}: expected an IP address within ${block}`);
      }
      // As it stands in the status.
      const body = { address: `/${address}` };
      expect((await ask("POST", "/v4/routeplanner/free/address", { of, body })).status).toBe(204);
      expect((await status()).failingAddresses).toEqual([]);
      planner.onFailure({ type: "routeFailed", address, reason: "banned" });
      expect((await ask("POST", "/v4/routeplanner/free/all", { of })).status).toBe(204);
      expect((await status()).failingAddresses).toEqual([]);
    } finally {
      await of.close();
    }
  });

  test("about freeing an address of very many blocks, which are not all named", async () => {
    const ipBlocks = Array.from({ length: 300 }, (_, index) => `10.${index % 256}.${index >> 8}.0/24`);
    const of = await ApiServer.start({ routePlanner: createPlanner({ ipBlocks }).planner });
    const body = { address: "9".repeat(5000) };
    const { json } = await ask("POST", "/v4/routeplanner/free/address", { of, body });
    expect(json.message).toMatch(/^Invalid address: 9{60}…: expected .* within 10\.0\.0\.0\/24, .* and 290 more$/);
    await of.close();
  });

  test("about sources and plugins", async () => {
    const state = { state: "resting", trouble: "its thread ended" } as const;
    const counts = { succeeded: 1, refused: 0, failed: 1, lastError: { code: "site-busy", message: "429", atMs: 1 } };
    const backend = { name: "api", state: "open", succeeded: 1, failed: 5, lastError: "429", openUntilMs: 2 } as const;
    const plugin = {
      name: "songs",
      version: null,
      isBuiltIn: false,
      ...state,
      losses: 1,
      sources: ["songs"],
      counts: { a: 1 },
      changedOptions: ["limit"],
    };
    const of = await ApiServer.start({
      sources: {
        sourcesJson: () => [
          { name: "songs", plugin: "songs", ...state, loads: counts, links: null, backends: [backend] },
        ],
        pluginsJson: () => [plugin],
        reload: async (name) => (name === "songs" ? plugin : Promise.reject(new NodeError("plugin-off", "no key"))),
        change: async (name) => (name === "songs" ? plugin : Promise.reject(new NodeError("plugin-off", "no key"))),
      },
    });
    for (const path of ["/v4/tonearm/sources", "/v4/tonearm/plugins"]) {
      for (const query of ["", "?machines=all"]) await ask("GET", `${path}${query}`, { of });
    }
    for (const name of ["songs", "off"]) await ask("POST", `/v4/tonearm/plugins/${name}/reload`, { of });
    await ask("POST", "/v4/tonearm/plugins/none/reload");
    for (const query of ["", "?deadline=x"]) await ask("POST", `/v4/tonearm/drain${query}`);
    const body = { limit: 5 };
    for (const name of ["songs", "off"]) await ask("PATCH", `/v4/tonearm/plugins/${name}/options`, { of, body });
    await ask("PATCH", "/v4/tonearm/plugins/none/options", { body });
    await ask("PATCH", "/v4/tonearm/plugins/none/options", { body: "[]" });
    for (const own of [body, { spotify: { spDc: "x" } }]) await ask("PATCH", "/v4/lavasrc/config", { of, body: own });
    await ask("PATCH", "/v4/lavasrc/config", { body: "[]" });
    await of.close();
  });

  test("about YouTube", async () => {
    const token = { access_token: "a", expires_in: 3599, scope: "", token_type: "Bearer" };
    const answers: Record<string, Json> = { refreshToken: null, exchange: token };
    let isGood = true;
    const of = await ApiServer.start({
      sources: {
        call: async (_plugin, name) =>
          isGood ? answers[name] : Promise.reject(new NodeError("site-unavailable", "no")),
        change: () => Promise.reject(new NodeError("plugin-off", "no key")),
      },
    });
    const body = { refreshToken: "a" };
    for (const [method, path] of [
      ["GET", "/youtube"],
      ["POST", "/youtube"],
      ["GET", "/youtube/oauth/a"],
    ] as const) {
      const own = method === "POST" ? { body } : {};
      isGood = true;
      await ask(method, path, { of, ...own });
      isGood = false;
      await ask(method, path, { of, ...own });
      await ask(method, path, own);
    }
    await of.close();
  });

  test("about searches and lyrics", async () => {
    const list = { name: "x", pluginInfo: { type: "album" } };
    const found = { albums: [list], artists: [list], playlists: [list], texts: [{ text: "x", pluginInfo: {} }] };
    const lyrics = { sourceName: "x", provider: null, text: "a", lines: [{ timestamp: 1, duration: null, line: "a" }] };
    let isFound = true;
    const of = await ApiServer.start({
      searches: { isAvailable: true, search: async () => (isFound ? { ...found, tracks: [TRACK] } : undefined) },
      lyrics: { isAvailable: true, find: async () => (isFound ? lyrics : undefined) },
    });
    const { sessionId } = await of.connect();
    const player = `/v4/sessions/${sessionId}/players/7`;
    const playing = `${player}/track/lyrics`;
    await ask("GET", playing, { of });
    await ask("PATCH", player, { of, body: { track: { encoded: TRACK.encoded } } });
    const track = `/v4/lyrics?track=${encodeURIComponent(TRACK.encoded)}`;
    for (isFound of [true, false]) {
      const statuses = [];
      for (const path of ["/v4/loadsearch?query=x", track, playing]) {
        statuses.push((await ask("GET", path, { of })).status);
      }
      expect(statuses).toEqual(isFound ? [200, 200, 200] : [204, 204, 204]);
    }
    const subscription = `${player}/lyrics/subscribe`;
    for (const method of ["POST", "DELETE"]) expect((await ask(method, subscription, { of })).status).toBe(204);
    expect((await ask("POST", subscription.replace("/7/", "/8/"), { of })).status).toBe(404);
    for (const path of ["/v4/loadsearch", "/v4/lyrics", "/v4/lyrics?track=x"]) await ask("GET", path, { of });
    for (const path of ["/v4/loadsearch?query=x", track]) expect((await ask("GET", path)).status).toBe(500);
    await of.close();
  });

  test("about tracks", async () => {
    for (const identifier of [...Object.keys(RESULTS), "nothing"]) {
      await ask("GET", `/v4/loadtracks?identifier=${identifier}`);
    }
    await ask("GET", `/v4/decodetrack?encodedTrack=${encodeURIComponent(TRACK.encoded)}`);
    await ask("GET", "/v4/decodetrack?encodedTrack=x&trace=true");
    await ask("POST", "/v4/decodetracks", { body: [TRACK.encoded, TRACK.encoded] });
    await ask("POST", "/v4/decodetracks", { body: "[", headers: { "Content-Type": "text/plain" } });
  });

  test("about sessions and players", async () => {
    await ask("PATCH", players.replace("/players", ""), { body: { resuming: true, timeout: "30" } });
    await ask("PATCH", `${players}/7`, { body: {} });
    await ask("PATCH", `${players}/7?noReplace=true`, { body: { filters: ALL_FILTERS, volume: "5" } });
    const track = { encoded: TRACK.encoded, userData: { a: [1] } };
    expect((await ask("PATCH", `${players}/7`, { body: { track, paused: true } })).json.track.userData).toEqual({
      a: [1],
    });
    await ask("GET", `${players}/7`);
    await ask("GET", players);
    const [diagnosis] = (await ask("GET", "/v4/tonearm/players/7")).json;
    expect(diagnosis).toMatchObject({ guildId: "7", track: { title: TRACK.info.title }, paused: true, incidents: [] });
    expect((await ask("GET", "/v4/tonearm/players/8")).status).toBe(404);
    expect((await ask("GET", "/v4/tonearm/players/7?sessionId=nope")).status).toBe(404);
    await ask("GET", "/v4/tonearm/players/x");
    await ask("PATCH", `${players}/7`, { body: { volume: "loud" } });
    await ask("DELETE", `${players}/7`);
    await ask("GET", `${players}/7`);
    await ask("GET", `${players}/x`);
    await ask("GET", "/v4/sessions/nope/players");
  });

  test("the real answer of every route matches the document", () => {
    const routes = routesOf(document);
    expect([...asked].sort()).toEqual(routes.sort());
    expect(routes.length).toBeGreaterThanOrEqual(13);
  });
});
