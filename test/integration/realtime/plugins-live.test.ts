// A plugin on a whole node: found, played, sought in, its links expire in the middle of the song, and it is replaced
// while it plays. The plugin is the one of the docs.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { EXAMPLE_HOST } from "../../../lab/sites/example.ts";
import type { SiteServer } from "../../../lab/sites/site-server.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { type ExampleTestEnvironment, startExampleTestEnvironment } from "../../support/example-test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";

let example: ExampleTestEnvironment;
let site: SiteServer;
let env: TestEnvironment;

beforeAll(async () => {
  example = await startExampleTestEnvironment();
  ({ site, env } = example);
});
afterAll(async () => {
  env.discord.assertClean();
  await example.close();
});

/** The encoded form of a song. */
async function encodedOf(call: MusicCall, id: string): Promise<string> {
  return call.bot.loadEncoded(`example:${id}`);
}

/** True when each number is one more than the one before. */
function isWhole(numbers: readonly number[]): boolean {
  const first = numbers[0] ?? 0;
  return numbers.length > 0 && numbers.every((number, index) => number === first + index);
}

describe("a plugin's source", () => {
  it("a plugin's source is in info, with its plugin", async () => {
    const bot = await env.connectBot();
    const { body } = await bot.request<{ sourceManagers: string[]; plugins: object[] }>("GET", "/v4/info");
    expect(body.sourceManagers).toContain("example");
    expect(body.sourceManagers.at(-1)).toBe("http");
    expect(body.plugins).toContainEqual({ name: "example", version: "1.0.0" });
  });

  it("a plugin's source finds a track, and plays it to the end", async () => {
    const call = await MusicCall.join(env);
    const { body } = await call.bot.load("exsearch:second");
    expect(body).toMatchObject({
      loadType: "search",
      data: [{ info: { title: "Second song", sourceName: "example" } }],
    });
    const [track] = body.data as { encoded: string }[];
    await call.update({ track: { encoded: track?.encoded } });
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    await call.untilSilent();
    expect(packetNumbers(call.audio)).toEqual(numbersFrom(1000, 1300));
    await call.leave();
  });

  it("a track of a plugin's source can be sought", async () => {
    const call = await MusicCall.join(env);
    await call.update({ track: { encoded: await encodedOf(call, "one") } });
    await call.receiveMore(10);
    await call.update({ position: 100_000 });
    await call.discord.until(() => (packetNumbers(call.audio).at(-1) ?? 0) > 5000, "the sought position");
    await call.receiveMore(20);
    expect(isWhole(packetNumbers(call.audio).filter((number) => number >= 4990))).toBe(true);
    await call.leave();
  });

  it("a track whose links are refused in the middle of the song continues without a lost frame", async () => {
    const call = await MusicCall.join(env);
    await call.update({ track: { encoded: await encodedOf(call, "one") } });
    await call.receiveMore(50);
    const linksBefore = site.requestsTo(EXAMPLE_HOST, "/api/tracks/one/link").length;
    site.expireLinks();
    // More than what was read ahead when they expired.
    await call.discord.until(() => call.audio.length > 50 + 650, "far more than was read ahead", 60_000);
    const numbers = packetNumbers(call.audio);
    expect(numbers).toEqual(numbersFrom(0, numbers.length));
    expect(site.requestsTo(EXAMPLE_HOST, "/api/tracks/one/link").length).toBe(linksBefore + 1);
    expect(call.eventTypes).toEqual(["TrackStartEvent"]);
    await call.leave();
  });

  it("a plugin's source is reloaded during playback", async () => {
    const call = await MusicCall.join(env);
    await call.update({ track: { encoded: await encodedOf(call, "one") } });
    await call.receiveMore(10);
    const { status, body } = await call.bot.request("POST", "/v4/tonearm/plugins/example/reload");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: "example",
      version: "1.0.0",
      state: "running",
      losses: 0,
      sources: ["example"],
    });
    site.expireLinks();
    expect((await call.bot.load("exsearch:first")).body.loadType).toBe("search");
    await call.receiveMore(50);
    const numbers = packetNumbers(call.audio);
    expect(numbers).toEqual(numbersFrom(0, numbers.length));
    await call.leave();
  });

  it("a plugin's source reports its state and errors", async () => {
    const bot = await env.connectBot();
    site.fail({ at: /api\/search/, outcome: { status: 503 }, times: 1 });
    const { body } = await bot.load("exsearch:not loaded before");
    expect(body).toMatchObject({
      loadType: "error",
      data: { severity: "suspicious", message: `example: https://${EXAMPLE_HOST}/api/search answered HTTP 503` },
    });
    const sources = (await bot.request<{ name: string }[]>("GET", "/v4/tonearm/sources")).body;
    expect(sources.find(({ name }) => name === "example")).toMatchObject({
      plugin: "example",
      state: "running",
      loads: { failed: 1, lastError: { code: "site-busy" } },
    });
  });

  it("a plugin that does not exist cannot be reloaded", async () => {
    const bot = await env.connectBot();
    expect(await bot.request("POST", "/v4/tonearm/plugins/nobody/reload")).toMatchObject({
      status: 404,
      body: { message: "Plugin not found" },
    });
  });
});
