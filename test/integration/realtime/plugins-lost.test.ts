// A plugin that does what a plugin must never do, on a whole node: it costs its own loads, which are told so within a
// bound; other sources answer, and what plays goes on.

import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packetNumbers } from "../../../lab/media-files/counted-song.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { type ExampleTestEnvironment, startExampleTestEnvironment } from "../../support/example-test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const MISBEHAVING = fileURLToPath(new URL("../../../dist/lab/misbehaving-plugins/misbehaving.js", import.meta.url));

let example: ExampleTestEnvironment;
let env: TestEnvironment;

beforeAll(async () => {
  example = await startExampleTestEnvironment({
    config: { TONEARM_PLUGINS_1_PATH: MISBEHAVING, TONEARM_PLUGINS_1_REQUIRED: "true" },
  });
  ({ env } = example);
});
afterAll(async () => {
  env.discord.assertClean();
  await example.close();
});

interface PluginView {
  readonly name: string;
  readonly state: string;
  readonly trouble: string | null;
  readonly losses: number;
}

async function misbehaving(): Promise<PluginView> {
  const bot = await env.connectBot();
  const { body } = await bot.request<PluginView[]>("GET", "/v4/tonearm/plugins");
  return body.find(({ name }) => name === "misbehaving")!; // it is configured
}

describe("a plugin that", () => {
  it.each([
    ["throws", "throw"],
    ["answers nonsense", "nonsense"],
  ])("%s costs that load", async (_, deed) => {
    const bot = await env.connectBot();
    const { losses } = await misbehaving();
    expect((await bot.load(`misbehaving:${deed}`)).body).toMatchObject({
      loadType: "error",
      data: { severity: "fault", message: "misbehaving: its plugin failed unexpectedly; the log has more" },
    });
    expect((await bot.load("misbehaving:well")).body.loadType).toBe("track");
    expect((await misbehaving()).losses).toBe(losses);
  });

  it.each([
    ["never comes back", "loop", "shows no sign of life"],
    ["never lets anything else have its turn", "promises", "shows no sign of life"],
    // On a machine that is busy, it is ended for what it does not do meanwhile.
    ["fills its heap", "heap", "stopped by an error|shows no sign of life"],
    ["fills memory outside of its heap", "buffers", "stopped by an error|shows no sign of life"],
    ["throws where nobody catches it", "stray", "stopped by an error"],
    ["ends its thread", "exit", "exited with code 3"],
  ])("%s loses its thread: its loads are told, others notice nothing", async (_, deed, trouble) => {
    const call = await MusicCall.join(env);
    await call.update({ track: { encoded: await call.bot.loadEncoded("example:one") } });
    await call.receiveMore(10);
    // Without its pause: an operator who has mended it need not wait.
    expect((await call.bot.request("POST", "/v4/tonearm/plugins/misbehaving/reload")).status).toBe(200);
    expect((await call.bot.load("misbehaving:well")).body.loadType).toBe("track");
    const before = (await misbehaving()).losses;
    const [lost, other] = await Promise.all([
      call.bot.load(`misbehaving:${deed}`),
      call.bot.load(`exsearch:song ${deed}`),
    ]);
    expect(lost.body).toMatchObject({
      loadType: "error",
      data: {
        severity: "fault",
        message: expect.stringMatching(/^the plugin misbehaving.js stopped during the request/),
      },
    });
    expect(other.body.loadType).toBe("empty");
    const after = await misbehaving();
    expect(after.losses).toBe(before + 1);
    expect(after.trouble).toMatch(new RegExp(trouble));
    await call.receiveMore(10);
    const numbers = packetNumbers(call.audio);
    expect(numbers).toEqual(numbers.map((_number, index) => index));
    await call.leave();
  });

  it("runs a program takes it along when its thread is lost, and what that has started", async () => {
    const sockets: Socket[] = [];
    const lobby = createServer((socket) => sockets.push(socket.on("error", () => undefined).resume()));
    await new Promise<void>((resolve) => lobby.listen(0, "127.0.0.1", resolve));
    const { port } = lobby.address() as AddressInfo; // listens on TCP
    const there = `require("node:net").connect(${port}, "127.0.0.1").resume();`;
    const child = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(there)}])`;
    const bot = await env.connectBot();
    expect((await bot.request("POST", "/v4/tonearm/plugins/misbehaving/reload")).status).toBe(200);
    const asked = bot.load(`misbehaving:program ${there}${child}`);
    await expect.poll(() => sockets.length).toBe(2);
    expect((await bot.load("misbehaving:loop")).body.loadType).toBe("error");
    expect((await asked).body.loadType).toBe("error");
    await expect.poll(() => sockets.map(({ closed }) => closed)).toEqual([true, true]);
    lobby.close();
  });

  it("receives 32 answers of 8 MiB at once is told that it is too much, and lives", async () => {
    // Packed, as it is unpacked that they take room.
    const body = gzipSync(Buffer.alloc(8 * 1024 * 1024, "a"));
    const headers = { "content-encoding": "gzip" };
    const site = createHttpServer((_request, response) => response.writeHead(200, headers).end(body));
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const { port } = site.address() as AddressInfo; // listens on TCP
    const bot = await env.connectBot();
    expect((await bot.request("POST", "/v4/tonearm/plugins/misbehaving/reload")).status).toBe(200);
    const { losses } = await misbehaving();
    for (let round = 0; round < 2; round++) {
      const { body: found } = await bot.load(`misbehaving:many http://127.0.0.1:${port}/${round}`);
      const titles = (found.data as { readonly info: { readonly title: string } }[]).map(({ info }) => info.title);
      expect(titles).toHaveLength(32);
      expect(new Set(titles)).toEqual(new Set(["fulfilled", "busy"]));
    }
    expect((await misbehaving()).losses).toBe(losses);
    site.close();
  });

  it("works again after its pause", async () => {
    const bot = await env.connectBot();
    expect((await bot.request("POST", "/v4/tonearm/plugins/misbehaving/reload")).status).toBe(200);
    expect((await bot.load("misbehaving:exit")).body.loadType).toBe("error");
    await expect.poll(async () => (await bot.load("misbehaving:well")).body.loadType).toBe("track");
  });
});

it("a plugin that cannot be set up is off, and the node is there", async () => {
  const other = await startTestEnvironment({
    config: { TONEARM_PLUGINS_0_PATH: MISBEHAVING, PLUGINS_MISBEHAVING_REFUSE: "true" },
  });
  const bot = await other.connectBot();
  await expect
    .poll(async () => (await bot.request("GET", "/v4/tonearm/plugins")).body)
    .toMatchObject([{ state: "off", trouble: "it was told to refuse" }]);
  expect((await bot.load("misbehaving:well")).body.loadType).toBe("empty");
  await other.close();
});

it("without a required one the node does not start, and says why", async () => {
  const starting = startTestEnvironment({
    config: {
      TONEARM_PLUGINS_0_PATH: MISBEHAVING,
      TONEARM_PLUGINS_0_REQUIRED: "true",
      PLUGINS_MISBEHAVING_REFUSE: "true",
    },
  });
  await expect(starting).rejects.toThrow("it was told to refuse");
});
