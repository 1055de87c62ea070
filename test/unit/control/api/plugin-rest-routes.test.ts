import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hashOf } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import type { PluginRestControl } from "../../../../src/control/api/api-context.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { RESERVED_SEGMENTS } from "../../../../src/plugin-options/reserved-segments.ts";
import { ApiServer, PASSWORD, type RequestOptions } from "../../../support/api-server.ts";
import { extendedPlugin } from "../../../support/extended-plugin.ts";
import { PluginBench } from "../../../support/plugin-bench.ts";

const ROOMS = "/v4/extended/rooms";

let bench: PluginBench;
let server: ApiServer;
let keys: KeyRing;
let allowedNames: readonly string[] | undefined;
let isOn = true;
/** Beside those of the plugin. */
let more: ReturnType<PluginRestControl["list"]> = [];
let lines = "";

beforeEach(async () => {
  isOn = true;
  more = [];
  lines = "";
  bench = await PluginBench.start(extendedPlugin);
  keys = new KeyRing(systemClock);
  server = await ApiServer.start({
    keys,
    pluginRest: { list: () => (isOn ? [...offered(), ...more] : []) },
    logger: createLogger((_level, message, fields) => {
      lines += `${message} ${JSON.stringify(fields)}\n`;
    }),
    requestLogging: {
      isLoggedBefore: false,
      isQueryShown: true,
      isClientShown: false,
      areHeadersShown: false,
      isPayloadShown: true,
      payloadLengthMax: 1000,
    },
  });
});
afterEach(async () => {
  await server.close();
  bench.close();
});

function offered(): ReturnType<PluginRestControl["list"]> {
  return (bench.manifest.routes ?? []).map((manifest) => ({
    manifest,
    serve: ({ segments, query, body, allowed }) => {
      allowedNames = allowed?.names;
      return bench.serve(manifest.path, { method: manifest.method, segments, query, body });
    },
  }));
}

function ask(method: string, path: string, options?: RequestOptions) {
  return server.request(method, `${ROOMS}${path}`, options);
}

describe("serving", () => {
  test("a plugin's route gets the parameters of its path and its checked query", async () => {
    const answer = await ask("GET", "/blue%20room?limit=7&order=up&trace=true&plugin=x");
    expect(answer).toMatchObject({ status: 200, json: { room: "blue room", limit: 7, order: "up" } });
    expect((await ask("GET", "/a")).json).toEqual({ room: "a", limit: 10, order: null });
  });

  test("a wrong parameter is refused before the plugin is asked", async () => {
    for (const [query, message] of [
      ["limit=51", "query.limit: expected a whole number from 1 to 50"],
      ["order=left", "query.order: expected one of up, down"],
    ]) {
      expect(await ask("GET", `/a?${query}`)).toMatchObject({ status: 400, json: { message } });
    }
  });

  test("a body is checked, completed, and never logged", async () => {
    const body = { name: "Blue", tags: ["a", "b"], owner: { id: "hunter2" } };
    const withUnknown = { ...body, more: { of: 1 }, owner: { ...body.owner, more: 1 } };
    expect(await ask("PUT", "/7", { body: withUnknown })).toMatchObject({
      status: 201,
      json: { room: "7", isOpen: true, ...body },
    });
    for (const [wrong, status] of [
      [{ tags: [] }, 400],
      ["[]", 400],
      [{ name: "x".repeat(70_000) }, 413],
    ] as const) {
      const headers = { "content-type": "application/json" };
      expect((await ask("PUT", "/7", { body: wrong, headers })).status).toBe(status);
    }
    expect((await ask("PUT", "/7", { body: "{}", headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect(lines).toContain(`PUT ${ROOMS}/7`);
    expect(lines).not.toContain("hunter2");
  });

  test("errors are the error object, and an answer without JSON is 204", async () => {
    expect(await ask("GET", "/gone")).toMatchObject({
      status: 404,
      json: { status: 404, error: "Not Found", message: "no such room", path: `${ROOMS}/gone` },
    });
    expect(await ask("GET", "/full")).toMatchObject({ status: 409, json: { message: "the room is full" } });
    expect(await ask("GET", "/broken")).toMatchObject({ status: 500, json: { message: /failed unexpectedly/ } });
    expect(await ask("DELETE", "/7")).toMatchObject({ status: 204, body: "" });
  });

  test("a route needs the password, or a key with its role", async () => {
    const limits = { ...UNLIMITED, sources: new Set(["songs"]) };
    keys.replace([{ name: "bot", role: "client", hashes: [hashOf("bot's key")], limits }]);
    const statusFor = async (method: string, path: string, password: string | null) => {
      return (await ask(method, path, { password, ...(method === "PUT" && { body: { name: "a" } }) })).status;
    };
    expect(await statusFor("GET", "/a", null)).toBe(401);
    expect(await statusFor("GET", "/a", "wrong")).toBe(403);
    expect(await statusFor("GET", "/a", "bot's key")).toBe(200);
    expect(allowedNames).toEqual(["songs"]);
    expect(await statusFor("PUT", "/a", "bot's key")).toBe(403);
    expect(await statusFor("PUT", "/a", PASSWORD)).toBe(201);
    expect(allowedNames).toBeUndefined();
  });
});

describe("a route below players", () => {
  const PLAYERS = "/v4/sessions/:sessionId/players/:guildId/extended/tags";

  function askPlayer(method: string, sessionId: string, guildId: string, options?: RequestOptions) {
    const path = PLAYERS.replace(":sessionId", sessionId).replace(":guildId", guildId);
    return server.request(method, path, options);
  }

  test("gets both ids, and a list as the only member of its body", async () => {
    const { sessionId } = await server.connect();
    await server.request("PATCH", `/v4/sessions/${sessionId}/players/7`, { body: { paused: true } });
    expect(await askPlayer("PUT", sessionId, "0x7", { body: ["a", "b"] })).toMatchObject({
      status: 200,
      json: { sessionId, guildId: "7", tags: ["a", "b"] },
    });
    expect((await askPlayer("PUT", sessionId, "7", { body: [] })).json).toMatchObject({ tags: [] });
    expect(await askPlayer("DELETE", sessionId, "7")).toMatchObject({ status: 200, body: "" });
    for (const wrong of [{ tags: ["a"] }, [["a"]], [{ a: 1 }]]) {
      expect((await askPlayer("PUT", sessionId, "7", { body: wrong })).status).toBe(400);
    }
  });

  test("says what is not there, unless it answers that there is nothing to do", async () => {
    const { sessionId } = await server.connect();
    const missing = async (...asked: Parameters<typeof askPlayer>) => {
      const { status, json } = await askPlayer(...asked);
      return [status, json?.message];
    };
    const body = { body: ["a"] };
    expect(await missing("PUT", "gone", "7", body)).toEqual([404, "Session not found"]);
    expect(await missing("PUT", sessionId, "7", body)).toEqual([404, "Player not found"]);
    expect((await missing("PUT", sessionId, "seven", body))[0]).toBe(400);
    expect((await missing("PUT", "gone", "7", { body: "[", headers: { "content-type": "application/json" } }))[0]).toBe(
      400,
    );
    expect((await missing("PUT", "gone", "7", { body: { tags: [] } }))[0]).toBe(400);
    expect(await missing("DELETE", "gone", "7")).toEqual([200, undefined]);
  });

  test("is not for the sessions of other keys", async () => {
    const keyed = (name: string) => ({ name, role: "client" as const, hashes: [hashOf(name)], limits: UNLIMITED });
    keys.replace([keyed("first"), keyed("second")]);
    const { sessionId } = await server.connect({ Authorization: "first" });
    await server.request("PATCH", `/v4/sessions/${sessionId}/players/7`, { body: {}, password: "first" });
    const statusFor = async (password: string) => {
      return (await askPlayer("PUT", sessionId, "7", { body: ["a"], password })).status;
    };
    expect([await statusFor("first"), await statusFor("second")]).toEqual([200, 404]);
  });

  test("is in the OpenAPI document with its list", async () => {
    const { paths } = (await server.request("GET", "/v4/openapi.json")).json;
    const { put } = paths[PLAYERS.replaceAll(/:(\w+)/g, "{$1}")];
    expect(put.requestBody.content["application/json"].schema).toMatchObject({
      type: "array",
      items: { type: "string" },
    });
    expect(put.parameters).toMatchObject([{ name: "sessionId" }, { name: "guildId" }, { name: "trace" }]);
  });
});

describe("paths", () => {
  test("other paths and methods are answered as without plugins", async () => {
    expect(await ask("POST", "/a")).toMatchObject({ status: 405, headers: { allow: "DELETE, GET, PUT" } });
    expect(await ask("OPTIONS", "/a")).toMatchObject({
      status: 200,
      headers: { allow: "DELETE,GET,HEAD,PUT,OPTIONS" },
    });
    expect((await ask("HEAD", "/a")).status).toBe(200);
    for (const path of ["", "/", "/a/b"]) {
      expect(await ask("GET", path)).toMatchObject({
        status: 404,
        json: { message: `No endpoint GET ${ROOMS}${path}.` },
      });
    }
    expect((await server.request("GET", "/v4/sessions/x")).status).toBe(405);
    expect((await server.request("PUT", "/v4/sessions/x/players/7", { body: "{}" })).status).toBe(405);
    expect((await server.request("GET", "/v4/other/x", { password: null })).status).toBe(404);
  });

  test("a method that several routes of a path take is named once", async () => {
    const rooms = offered().filter(({ manifest }) => manifest.path.endsWith("/rooms/:room"));
    more = rooms.map((route) => ({ ...route, manifest: { ...route.manifest, path: `${ROOMS}/:other` } }));
    expect((await ask("OPTIONS", "/a")).headers.allow).toBe("DELETE,GET,HEAD,PUT,OPTIONS");
  });

  test("a plugin that is off has no routes", async () => {
    isOn = false;
    expect((await ask("GET", "/a")).status).toBe(404);
    expect((await server.request("GET", "/v4/openapi.json")).json.paths[`${ROOMS}/{room}`]).toBeUndefined();
  });

  test("one whose description cannot be made is no trouble to others", async () => {
    const [first] = offered();
    if (first === undefined) throw new Error("the plugin has no routes");
    const query = { a: { type: "choice" } } as never; // which no plugin could add
    more = [{ ...first, manifest: { ...first.manifest, path: "/v4/other/x", query } }];
    expect((await ask("GET", "/a")).status).toBe(200);
    expect((await server.request("GET", "/nothing")).status).toBe(404);
  });

  test("the first segments of the node's paths are reserved", async () => {
    const { paths } = (await server.request("GET", "/v4/openapi.json")).json;
    const segments = Object.keys(paths).flatMap((path) => /^\/v4\/([a-z]+)/.exec(path)?.[1] ?? []);
    expect(segments.filter((segment) => segment !== "extended" && segment !== "openapi")).not.toEqual([]);
    for (const segment of segments) {
      if (segment !== "extended" && segment !== "openapi") expect([...RESERVED_SEGMENTS]).toContain(segment);
    }
  });
});

test("the OpenAPI document describes a plugin's routes", async () => {
  const { paths } = (await server.request("GET", "/v4/openapi.json")).json;
  const { get, put } = paths[`${ROOMS}/{room}`];
  expect(get).toMatchObject({
    summary: "What is asked of a room.",
    parameters: [
      { name: "room", in: "path" },
      { name: "limit", in: "query", required: false, description: "how many.", schema: { type: "integer" } },
      { name: "order", description: "in which order; one of up, down." },
      { name: "trace" },
    ],
  });
  expect(put.requestBody.content["application/json"].schema).toEqual({
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", description: "its name" },
      isOpen: { type: "boolean", description: "whether it is open" },
      tags: { type: "array", items: { type: "string" }, description: "what it is about" },
      owner: {
        type: "object",
        description: "whose it is",
        properties: { id: { type: "string", description: "their id" } },
      },
    },
  });
});
