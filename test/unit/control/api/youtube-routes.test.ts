import { afterEach, describe, expect, test } from "vitest";
import type { SourceControl } from "../../../../src/control/api/api-context.ts";
import type { PluginJson } from "../../../../src/control/protocol/sources-json.ts";
import { NodeError } from "../../../../src/errors.ts";
import { createLogger } from "../../../../src/log/log.ts";
import type { Json } from "../../../../src/plugin-api/plugin.ts";
import { ApiServer } from "../../../support/api-server.ts";

const PLUGIN: PluginJson = {
  name: "youtube",
  version: "1.0.0",
  isBuiltIn: true,
  state: "running",
  trouble: null,
  losses: 0,
  sources: ["youtube"],
  counts: {},
  changedOptions: [],
};
const TOKEN = { access_token: "fresh", expires_in: 3599, scope: "tv", token_type: "Bearer" };
const OFF = { status: 400, json: { message: "The YouTube source manager is not registered." } };

let server: ApiServer;
/** The calls and option changes that the plugin got, in order. */
let asked: unknown[];
let lines: string;
afterEach(() => server.close());

async function start(sources: Partial<SourceControl> = {}): Promise<void> {
  asked = [];
  lines = "";
  const answers: Readonly<Record<string, Json>> = { refreshToken: "1//0kept", exchange: TOKEN, forgetLogin: null };
  server = await ApiServer.start({
    sources: {
      call: async (...call) => {
        asked.push(call);
        return answers[call[1]];
      },
      change: async (...change) => {
        asked.push(change);
        return PLUGIN;
      },
      ...sources,
    },
    logger: createLogger((_level, message, fields) => {
      lines += `${message} ${JSON.stringify(fields)}\n`;
    }),
    requestLogging: {
      isClientShown: false,
      areHeadersShown: false,
      isQueryShown: true,
      isPayloadShown: true,
      payloadLengthMax: 10_000,
      isLoggedBefore: true,
    },
  });
}

const post = (body: object) => server.request("POST", "/youtube", { body });

describe("GET /youtube", () => {
  test("GET /youtube answers with the refresh token, or null", async () => {
    await start();
    expect(await server.request("GET", "/youtube")).toMatchObject({ status: 200, json: { refreshToken: "1//0kept" } });
    expect(asked).toEqual([["youtube", "refreshToken", null]]);
    await server.close();
    await start({ call: async () => null });
    expect(await server.request("GET", "/youtube")).toMatchObject({ status: 200, json: { refreshToken: null } });
  });

  test("GET /youtube needs the password", async () => {
    await start();
    expect(await server.request("GET", "/youtube", { password: null })).toMatchObject({ status: 401 });
    expect(asked).toEqual([]);
  });
});

describe("POST /youtube", () => {
  const cleared = { pot: { token: "", visitorData: "" } };
  const both = { poToken: "p", visitorData: "v" };
  const untouched = { poToken: "", visitorData: "" };
  const login = (refreshToken: string, skipInitialization = true) => {
    return { oauth: { enabled: true, refreshToken, skipInitialization } };
  };

  test.each([
    ["nothing", {}, [cleared]],
    ["both tokens", both, [{ pot: { token: "p", visitorData: "v" } }]],
    ["one of the tokens", { poToken: "p" }, [cleared]],
    ["one of the tokens, the other null", { poToken: null, visitorData: "v" }, [cleared]],
    ["empty tokens", untouched, [{}]],
    ["one empty token", { poToken: "p", visitorData: "" }, [{}]],
    ["a refresh token", { refreshToken: "r", ...untouched }, ["exchange", login("r")]],
    ["only a refresh token", { refreshToken: "r" }, ["exchange", { ...login("r"), ...cleared }]],
    ["no refresh token any more", { refreshToken: null, ...untouched }, ["forgetLogin", login("")]],
    [
      "no refresh token, but a login",
      { refreshToken: null, skipInitialization: "false", ...untouched },
      ["forgetLogin", login("", false)],
    ],
  ])("POST /youtube with %s does as published", async (_what, body, done) => {
    await start();
    expect(await post(body)).toMatchObject({ status: 204, body: "" });
    expect(asked.map((entry) => (entry as unknown[])[1])).toEqual(done);
  });

  test("POST /youtube with a refused refresh token is answered with 500, and nothing is changed", async () => {
    const message = "YouTube did not accept the refresh token of oauth (invalid_grant); log in again";
    await start({ call: () => Promise.reject(new NodeError("site-unavailable", message)) });
    expect(await post({ refreshToken: "r", poToken: "p", visitorData: "v" })).toMatchObject({
      status: 500,
      json: { message },
    });
    expect(asked).toEqual([]);
  });

  test("a request with an invalid token is answered with 400", async () => {
    await start();
    expect(await post({ refreshToken: 1 })).toMatchObject({ status: 400, json: { message: "Bad Request" } });
    expect(asked).toEqual([]);
  });
});

test("GET /youtube/oauth is what YouTube gives for the token, or 500", async () => {
  await start();
  expect(await server.request("GET", "/youtube/oauth/1%2F%2F0token")).toMatchObject({ status: 200, json: TOKEN });
  expect(asked).toEqual([["youtube", "exchange", "1//0token"]]);
  await server.close();
  await start({ call: () => Promise.reject(new NodeError("site-unavailable", "not accepted")) });
  const answer = await server.request("GET", "/youtube/oauth/x");
  expect(answer).toMatchObject({ status: 500, json: { message: "not accepted" } });
});

test("every youtube route reports that the plugin is missing", async () => {
  await start({ call: async () => undefined, change: async () => undefined });
  expect(await server.request("GET", "/youtube")).toMatchObject(OFF);
  expect(await server.request("GET", "/youtube/oauth/x")).toMatchObject(OFF);
  expect(await post({})).toMatchObject(OFF);
  expect(await post({ refreshToken: "x" })).toMatchObject(OFF);
});

test("bodies with options and tokens are not logged", async () => {
  await start();
  await post({ refreshToken: "hunter2", poToken: "hunter2", visitorData: "hunter2" });
  await server.request("PATCH", "/v4/tonearm/plugins/songs/options", { body: { arl: "hunter2" } });
  await server.request("POST", "/v4/decodetracks", { body: ["shown"] });
  expect(lines).toContain("shown");
  expect(lines).toContain("PATCH /v4/tonearm/plugins/songs/options");
  expect(lines).not.toContain("hunter2");
});
