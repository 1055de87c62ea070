import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { loadConfig } from "../../src/config/load-config.ts";
import { createLogger } from "../../src/log/log.ts";
import { createNode, type Node } from "../../src/node.ts";
import { TestClient } from "../support/api-server.ts";
import { buildTrack } from "../support/track-builder.ts";

const PASSWORD = "a password for tests";
const OBEDIENT = new URL("../support/worker-scripts/obedient.mjs", import.meta.url);

const warnings: string[] = [];
const infos: string[] = [];
const logger = createLogger((level, message) => {
  if (level === "info") infos.push(message);
  if (level === "warn" || level === "error") warnings.push(message);
});
let node: Node | undefined;

afterEach(async () => {
  await node?.close();
  node = undefined;
  warnings.length = 0;
  infos.length = 0;
});

async function start(port = 0, variables: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = { LAVALINK_SERVER_PASSWORD: PASSWORD, TONEARM_STATE_ENABLED: "false", ...variables };
  const { config } = loadConfig({ args: [`--server.port=${port}`], env, cwd: import.meta.dirname, coreCount: 3 });
  node = await createNode(config, { logger, mediaEntry: OBEDIENT, probeEntry: OBEDIENT });
  return `127.0.0.1:${node.address.port}`;
}

async function call(address: string, path: string, { method = "GET", body }: { method?: string; body?: object } = {}) {
  const headers = { authorization: PASSWORD, "content-type": "application/json" };
  const response = await fetch(`http://${address}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
}

async function connect(address: string): Promise<TestClient> {
  const headers = { authorization: PASSWORD, "user-id": "1", "client-name": "test/1" };
  const client = new TestClient(new WebSocket(`ws://${address}/v4/websocket`, { headers }));
  await client.until(({ op }) => op === "ready");
  return client;
}

describe("a node", () => {
  test("serves clients, asks a worker about tracks, and plays one", async () => {
    const address = await start();
    expect((await call(address, "/v4/info")).json).toMatchObject({
      sourceManagers: expect.arrayContaining(["soundcloud", "http"]),
      version: { major: 4 },
    });
    const loaded = await call(address, "/v4/loadtracks?identifier=http://media.example/a");
    expect(loaded).toEqual({ status: 200, json: { loadType: "empty", data: null } });
    const client = await connect(address);
    const body = { track: { encoded: buildTrack().encoded } };
    const path = `/v4/sessions/${client.sessionId}/players/1`;
    expect((await call(address, path, { method: "PATCH", body })).json.track.info.title).toBe("Test Title");
    await client.until(({ type }) => type === "TrackStartEvent");
    expect((await call(address, "/v4/stats")).json).toMatchObject({ players: 1, playingPlayers: 1 });
    expect((await call(address, path, { method: "DELETE" })).status).toBe(204);
    await client.until(({ type, reason }) => type === "TrackEndEvent" && reason === "stopped");
  });

  test("says which sources it has, and answers by the switch where one is off; its own are in the list", async () => {
    const address = await start(0, { PLUGINS_LAVASRC_SOURCES_QOBUZ: "true", TONEARM_LOCAL_ROOTS: "/tmp" });
    const line = /^sources: soundcloud, .*, http; off: youtube \(set plugins\.youtube\.enabled: true\), .*local \(set/;
    expect(infos.filter((message) => line.test(message))).toHaveLength(1);
    expect(warnings).toEqual([expect.stringMatching(/^plugins\.lavasrc\.sources\.qobuz is true, but Tonearm has no/)]);
    const load = async (identifier: string) =>
      (await call(address, `/v4/loadtracks?identifier=${encodeURIComponent(identifier)}`)).json;
    const message = "youtube is off on this node: set plugins.youtube.enabled: true";
    for (const identifier of ["ytsearch:a", "https://youtu.be/a"]) {
      expect(await load(identifier)).toMatchObject({ loadType: "error", data: { message, severity: "common" } });
    }
    expect(warnings).toEqual([expect.anything(), message]);
    expect(await load("http://media.example/a")).toEqual({ loadType: "empty", data: null });
    expect(await load("spsearch:a")).toEqual({ loadType: "empty", data: null });
    const sources = (await call(address, "/v4/tonearm/sources")).json;
    expect(sources.at(-1)).toEqual({
      name: "http",
      plugin: null,
      state: "running",
      trouble: null,
      loads: { succeeded: 1, refused: 0, failed: 0, lastError: null },
      links: null,
      backends: [],
    });
  });

  test("plays YouTube when Lavalink's switch says so, and has local files where they are asked", async () => {
    const variables = { LAVALINK_SERVER_SOURCES_YOUTUBE: "true", LAVALINK_SERVER_SOURCES_LOCAL: "true" };
    const address = await start(0, { ...variables, TONEARM_LOCAL_ROOTS: "/nowhere-at-all" });
    expect(infos.join("\n")).toMatch(
      /^sources: youtube, soundcloud, .*; off: .*, local \(no tonearm\.local\.roots\)$/m,
    );
    expect(infos.join("\n")).toContain("Google's terms of service");
    expect(await call(address, "/v4/loadtracks?identifier=/etc/passwd")).toMatchObject({ json: { loadType: "error" } });
    const sources: { name: string }[] = (await call(address, "/v4/tonearm/sources")).json;
    expect(sources.map(({ name }) => name).slice(0, 5)).toEqual([
      "youtube",
      "soundcloud",
      "bandcamp",
      "twitch",
      "local",
    ]);
    expect(sources[4]).toMatchObject({ loads: { refused: 1, lastError: { code: "local-file-refused" } } });
  });

  test("a node logs once at its start which blocks it cannot send from, and serves anyway", async () => {
    // On loopback only ::1 is ours.
    const address = await start(0, { LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: "::1,::2" });
    expect(warnings).toEqual([expect.stringMatching(/^lavalink\.server\.ratelimit\.ipBlocks: .*cannot be sent from/)]);
    expect((await call(address, "/v4/routeplanner/status")).json).toMatchObject({ class: "RotatingIpRoutePlanner" });
  });

  test("a node warns about a name in the rotation list that is not a source, and about no other", async () => {
    const blocks = { LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: "127.16.0.0/30" };
    await start(0, { ...blocks, TONEARM_ROUTE_PLANNER_SOURCES: "http,youtube,Flowery-TTS,getyarn.io" });
    await node?.close();
    expect(warnings).toEqual([]);
    await start(0, { ...blocks, TONEARM_ROUTE_PLANNER_SOURCES: "http,youtbue" });
    await expect.poll(() => warnings).toEqual(["tonearm.routePlanner.sources: unknown sources"]);
  });

  test("a node whose blocks are all its own logs no such warning", async () => {
    const address = await start(0, { LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: "127.0.0.1" });
    expect(warnings).toEqual([]);
    expect((await call(address, "/v4/routeplanner/free/all", { method: "POST" })).status).toBe(204);
  });

  test("closes its clients' sockets with 1001 and can be closed twice", async () => {
    const client = await connect(await start());
    await Promise.all([node?.close(), node?.close()]);
    expect((await client.closed).code).toBe(1001);
    expect(warnings).toEqual([]);
  });

  test("logs a last interruption although it ends at once", async () => {
    const address = await start();
    const client = await connect(address);
    const voice = { token: "t", endpoint: "late.example", sessionId: "s", channelId: "9" };
    const path = `/v4/sessions/${client.sessionId}/players/1`;
    expect((await call(address, path, { method: "PATCH", body: { voice } })).status).toBe(200);
    expect((await call(address, "/v4/tonearm/players/1")).json).toMatchObject([
      { incidents: [{ cause: "workerLate" }] },
    ]);
    await node?.close();
    expect(warnings).toEqual(["audio interrupted"]);
  });

  test("that cannot listen says where and what to do, and leaves nothing running", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    await expect(start(port)).rejects.toMatchObject({
      code: "listen-failed",
      message: expect.stringMatching(
        new RegExp(`^could not listen on 127\\.0\\.0\\.1, port ${port}: another program .* set server\\.port$`),
      ),
      cause: { code: "EADDRINUSE" },
    });
    await new Promise((resolve) => other.close(resolve));
  });
});
