import { afterEach, expect, test } from "vitest";
import type { SourceControl } from "../../../../src/control/api/api-context.ts";
import type { PluginJson, SourceJson } from "../../../../src/control/protocol/sources-json.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ApiServer } from "../../../support/api-server.ts";

const PLUGIN: PluginJson = {
  name: "songs",
  version: "1.0.0",
  isBuiltIn: false,
  state: "running",
  trouble: null,
  losses: 0,
  sources: ["songs"],
  counts: { pages: 3 },
  changedOptions: ["pot.token"],
};
const SOURCE: SourceJson = {
  name: "songs",
  plugin: "songs",
  state: "running",
  trouble: null,
  links: null,
  loads: { succeeded: 1, refused: 0, failed: 1, lastError: { code: "site-busy", message: "429", atMs: 1 } },
  backends: [{ name: "api", state: "open", succeeded: 1, failed: 5, lastError: "429", openUntilMs: 2 }],
};

let server: ApiServer;
afterEach(() => server.close());

async function start(sources: Partial<SourceControl>): Promise<void> {
  server = await ApiServer.start({ sources });
}

test("the state of sources and plugins is sent unchanged", async () => {
  await start({ sourcesJson: () => [SOURCE], pluginsJson: () => [PLUGIN] });
  expect(await server.request("GET", "/v4/tonearm/sources")).toMatchObject({ status: 200, json: [SOURCE] });
  expect(await server.request("GET", "/v4/tonearm/plugins")).toMatchObject({ status: 200, json: [PLUGIN] });
});

test("a plugin is reloaded by its name, which is decoded", async () => {
  const names: string[] = [];
  await start({
    reload: async (name) => {
      names.push(name);
      return PLUGIN;
    },
  });
  expect(await server.request("POST", "/v4/tonearm/plugins/a%20b/reload")).toMatchObject({ status: 200, json: PLUGIN });
  expect(names).toEqual(["a b"]);
});

test("a plugin that is not there is 404", async () => {
  await start({});
  const answer = await server.request("POST", "/v4/tonearm/plugins/songs/reload");
  expect(answer).toMatchObject({ status: 404, json: { message: "Plugin not found" } });
});

test("a plugin that cannot be set up is 503, with the reason", async () => {
  const message = "reloading the plugin songs failed: no key; the old one stays in use";
  await start({ reload: () => Promise.reject(new NodeError("plugin-off", message)) });
  const answer = await server.request("POST", "/v4/tonearm/plugins/songs/reload");
  expect(answer).toMatchObject({ status: 503, json: { message } });
});

test("options of a plugin are changed by its name, and the answer says which", async () => {
  const changes: unknown[] = [];
  await start({
    change: async (...change) => {
      changes.push(change);
      return PLUGIN;
    },
  });
  const body = { limit: 5, ratio: 0.5, on: true, pot: { token: "hunter2", visitorData: null }, names: ["a"] };
  const answer = await server.request("PATCH", "/v4/tonearm/plugins/songs/options", { body });
  expect(answer).toMatchObject({ status: 200, json: { changedOptions: ["pot.token"] } });
  expect(answer.body).not.toContain("hunter2");
  expect(changes).toEqual([["songs", body]]);
});

test("options of a plugin that is not there are 404", async () => {
  await start({});
  const answer = await server.request("PATCH", "/v4/tonearm/plugins/songs/options", { body: {} });
  expect(answer).toMatchObject({ status: 404, json: { message: "Plugin not found" } });
});

test.each([
  [400, "plugin-options-wrong", "plugins.songs.lmit: there is no such option; did you mean limit?"],
  [503, "plugin-off", "reloading the plugin songs failed: no key; the old one stays in use"],
  [503, "requests-busy", "songs: too many changes of its options at once"],
] as const)("options that cannot be changed are %i for %s, with the reason", async (status, code, message) => {
  await start({ change: () => Promise.reject(new NodeError(code, message)) });
  const answer = await server.request("PATCH", "/v4/tonearm/plugins/songs/options", { body: { lmit: 1 } });
  expect(answer).toMatchObject({ status, json: { message } });
});

test.each(["[]", "1", "{", ""])("options that are %j and no object are 400", async (body) => {
  await start({ change: async () => PLUGIN });
  const headers = { "Content-Type": "application/json" };
  const answer = await server.request("PATCH", "/v4/tonearm/plugins/songs/options", { body, headers });
  expect(answer).toMatchObject({ status: 400, json: { message: "Bad Request" } });
});

test("the state of sources is not sent without the password", async () => {
  await start({});
  for (const [method, path] of [
    ["GET", "sources"],
    ["GET", "plugins"],
    ["POST", "plugins/songs/reload"],
    ["PATCH", "plugins/songs/options"],
  ] as const) {
    expect(await server.request(method, `/v4/tonearm/${path}`, { password: null })).toMatchObject({ status: 401 });
  }
});
