// Every site hangs at once, one plugin loops and another fills memory: listeners receive everything, the healthy source
// answers, and loads of the others fail with an error. `npm run bench -- sources` is the same at a larger scale.

import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { AllSites, siteQuestions } from "../../../lab/sites/all-sites.ts";
import { EXAMPLE_HOST, startExampleSite } from "../../../lab/sites/example.ts";
import type { SiteServer } from "../../../lab/sites/site-server.ts";
import type { Bot } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { BUILTIN_PLUGINS } from "../../../plugins/builtin.ts";
import { createLogger, type LogFields } from "../../../src/log/log.ts";
import { MusicCall } from "../../support/music-call.ts";
import { BUILTIN_FOLDER, startTestEnvironment } from "../../support/start-test-environment.ts";

const EXAMPLE = fileURLToPath(new URL("../../../plugins/example/plugin.mjs", import.meta.url));
const LOOPING = fileURLToPath(new URL("../../../dist/lab/misbehaving-plugins/looping.js", import.meta.url));
const HUNGRY = fileURLToPath(new URL("../../../dist/lab/misbehaving-plugins/hungry.js", import.meta.url));

const CALLS = 4;
const HEALTHY_LOADS = 20;
const LOST = "plugin thread lost: it restarts when needed";

let sites: AllSites;
let example: SiteServer;
let env: TestEnvironment;
let bot: Bot;
const calls: MusicCall[] = [];
/** How long each plugin rests after it was lost, by its name, in order. */
const pausesMs: Record<string, number[]> = { looping: [], hungry: [] };

beforeAll(async () => {
  sites = await AllSites.start();
  example = await startExampleSite();
  const logger = createLogger((_level, message, fields) => {
    if (message === LOST) pausesMs[pluginOf(fields)]?.push(Number(fields?.pauseMs));
  });
  env = await startTestEnvironment({
    logger,
    plugins: { builtinFolder: BUILTIN_FOLDER, builtins: BUILTIN_PLUGINS },
    args: [
      ...sites.args,
      `--tonearm.hosts.${EXAMPLE_HOST}=${example.url}/${EXAMPLE_HOST}`,
      ...[EXAMPLE, LOOPING, HUNGRY].flatMap((path, index) => [
        `--tonearm.plugins.${index}.path=${path}`,
        `--tonearm.plugins.${index}.required=true`,
      ]),
      // With the default timeouts, some hanging requests are aborted only after twenty seconds.
      "--lavalink.server.timeouts.socketTimeoutMs=3000",
      "--plugins.ytdlp.timeoutMs=3000",
    ],
  });
  bot = await env.connectBot();
  for (let index = 0; index < CALLS; index++) {
    const call = await MusicCall.join(env);
    await call.update({ track: { encoded: await call.bot.loadEncoded("example:one") } });
    calls.push(call);
  }
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  await sites.close();
  await example.close();
});

interface PluginView {
  readonly name: string;
  readonly trouble: string | null;
  readonly losses: number;
}

async function viewOf(name: string): Promise<PluginView> {
  const { body } = await bot.request<PluginView[]>("GET", "/v4/tonearm/plugins");
  return body.find((plugin) => plugin.name === name)!; // it is configured
}

/** Loads the identifier; `message` is that of an error. */
async function askFor(identifier: string): Promise<{ readonly loadType: string; readonly message: string }> {
  const { loadType, data } = (await bot.load(identifier)).body;
  return { loadType, message: loadType === "error" ? (data as { message: string }).message : "" };
}

it("all sources answer before the faults", async () => {
  for (const { identifier } of siteQuestions(1)) {
    expect({ identifier, ...(await askFor(identifier)) }).toMatchObject({ identifier, message: "" });
  }
  for (const call of calls) await call.receiveMore(50);
});

describe("while all sites hang, one plugin loops and another fills memory,", () => {
  it("a source that is well answers, the others say which they are, and two threads are lost", async () => {
    // From here on the threads are young: a thread that is lost soon after its start is restarted after a pause.
    for (const name of ["looping", "hungry"]) await bot.request("POST", `/v4/tonearm/plugins/${name}/reload`);
    const restore = sites.hang();
    let hangingCount = 0;
    const hanging = siteQuestions(2).map(async ({ source, identifier }) => {
      hangingCount++;
      const answer = await askFor(identifier);
      hangingCount--;
      return { source, answer };
    });
    const lost = ["looping:loop", "hungry:heap"].map(askFor);
    for (let number = 0; number < HEALTHY_LOADS; number++) {
      expect(await askFor(`exsearch:first song ${number}`)).toEqual({ loadType: "empty", message: "" });
      expect((await bot.request("GET", "/v4/stats")).status).toBe(200);
    }
    expect((await bot.load("exsearch:first song")).body.loadType).toBe("search");
    expect(hangingCount).toBeGreaterThan(0);
    for (const { source, answer } of await Promise.all(hanging)) {
      expect(answer).toEqual({ loadType: "error", message: expect.stringContaining(source) });
    }
    for (const answer of await Promise.all(lost)) {
      expect(answer).toEqual({ loadType: "error", message: expect.stringMatching(/stopped during the request/) });
    }
    restore();
  });

  it("misbehaving plugin threads are ended, and restarted after increasing pauses", async () => {
    expect((await viewOf("looping")).trouble).toMatch(/shows no sign of life/);
    // On an overloaded machine, it is ended for missing heartbeats instead.
    expect((await viewOf("hungry")).trouble).toMatch(/stopped by an error|shows no sign of life/);
    for (const [name, deed] of [
      ["looping", "loop"],
      ["hungry", "buffers"],
    ] as const) {
      await expect.poll(async () => (await askFor(`${name}:well`)).loadType).toBe("track");
      await askFor(`${name}:${deed}`);
      expect((await viewOf(name)).losses).toBe(2);
      expect(await askFor(`${name}:well`)).toMatchObject({
        loadType: "error",
        message: expect.stringContaining(`the plugin ${name}.js stopped 2 times; it restarts in`),
      });
      expect(pausesMs[name]).toEqual([1000, 2000]);
      await expect.poll(async () => (await askFor(`${name}:well`)).loadType).toBe("track");
    }
  });

  it("all listeners receive every packet once, in order", async () => {
    for (const call of calls) {
      await call.receiveMore(50);
      const numbers = packetNumbers(call.audio);
      expect(numbers).toEqual(numbersFrom(0, numbers.length));
      // Where the machine has no time at all, a frame may be silence.
      const [first = 0, ...rest] = call.channel.listener.received.map(({ sequence }) => sequence);
      expect(rest).toEqual(rest.map((_sequence, index) => (first + index + 1) & 0xffff));
      expect(call.eventTypes).not.toContain("TrackExceptionEvent");
      expect(call.eventTypes).not.toContain("TrackEndEvent");
    }
  });

  it.runIf(process.platform === "linux")("plugins stand back behind all other threads", async () => {
    const { body } = await bot.request<{ state: string }[]>("GET", "/v4/tonearm/plugins");
    const running = body.filter(({ state }) => state === "running").length;
    const priorities = readdirSync("/proc/self/task").map((number) => getPriority(Number(number)));
    const own = getPriority(process.pid);
    expect(priorities.filter((priority) => priority > own).length).toBeGreaterThanOrEqual(running);
    expect(running).toBeGreaterThan(1);
  });
});

function pluginOf(fields: LogFields | undefined): string {
  return String(fields?.plugin).replace(/\.js$/, "");
}
