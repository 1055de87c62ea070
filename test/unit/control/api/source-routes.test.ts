import { afterEach, expect, test } from "vitest";
import type { SourceControl } from "../../../../src/control/api/api-context.ts";
import type { PluginJson, SourceJson } from "../../../../src/control/protocol/sources-json.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ApiServer } from "../../../support/api-server.ts";

const PLUGIN: PluginJson = {
  ...{ name: "songs", version: "1.0.0", isBuiltIn: false, state: "running", trouble: null, losses: 0 },
  ...{ sources: ["songs"], counts: { pages: 3 } },
};
const SOURCE: SourceJson = {
  ...{ name: "songs", plugin: "songs", state: "running", trouble: null, links: null },
  loads: { succeeded: 1, refused: 0, failed: 1, lastError: { code: "site-busy", message: "429", atMs: 1 } },
  ways: [{ name: "api", state: "closed", succeeded: 1, failed: 5, lastError: "429", closedUntilMs: 2 }],
};

let server: ApiServer;
afterEach(() => server.close());

async function start(sources: Partial<SourceControl>): Promise<void> {
  server = await ApiServer.start({ sources });
}

test("how sources and plugins do is told as it is", async () => {
  await start({ sourcesJson: () => [SOURCE], pluginsJson: () => [PLUGIN] });
  expect(await server.request("GET", "/v4/tonearm/sources")).toMatchObject({ status: 200, json: [SOURCE] });
  expect(await server.request("GET", "/v4/tonearm/plugins")).toMatchObject({ status: 200, json: [PLUGIN] });
});

test("a plugin is loaded anew by its name, which is decoded", async () => {
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
  const message = "loading the plugin songs anew: no key; the one before goes on";
  await start({ reload: () => Promise.reject(new NodeError("plugin-off", message)) });
  const answer = await server.request("POST", "/v4/tonearm/plugins/songs/reload");
  expect(answer).toMatchObject({ status: 503, json: { message } });
});

test("nobody is told without the password", async () => {
  await start({});
  for (const [method, path] of [
    ["GET", "sources"],
    ["GET", "plugins"],
    ["POST", "plugins/songs/reload"],
  ] as const) {
    expect(await server.request(method, `/v4/tonearm/${path}`, { password: null })).toMatchObject({ status: 401 });
  }
});
