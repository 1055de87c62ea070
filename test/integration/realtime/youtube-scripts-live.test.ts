// Videos that play only with YouTube's player script, on a whole node: a regular script, the next day's, and hostile
// ones, each of which fails the track that needed it. A song of another source plays at the same time.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RadioBrowserSite } from "../../../lab/sites/radio-browser.ts";
import {
  CURIOUS_SCRIPT,
  HOSTILE_SCRIPTS,
  REVERSE_SCRIPT,
  ROTATE_SCRIPT,
} from "../../../lab/sites/youtube/player-scripts.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { ControlSong } from "../../support/control-song.ts";
import { firstFound } from "../../support/first-found.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

/** Only WEBEMBEDDED plays it, and its links are locked. */
const AGE_GATE = "agegate0001";

let youtube: YoutubeSite;
let radio: RadioBrowserSite;
let env: TestEnvironment;
let control: ControlSong;

beforeAll(async () => {
  [youtube, radio] = [await YoutubeSite.start(), await RadioBrowserSite.start()];
  env = await startSiteTestEnvironment([youtube, radio]);
  control = await ControlSong.start(env, radio);
});
afterAll(async () => {
  await control.stop();
  env.discord.assertClean();
  await env.close();
  await youtube.close();
  await radio.close();
});

// The script of an earlier story is not for the next.
beforeEach(async () => {
  const bot = await env.connectBot();
  expect((await bot.request("POST", "/v4/tonearm/plugins/youtube/reload")).status).toBe(200);
});
afterEach(() => control.expectUnharmed());

async function play(videoId: string): Promise<MusicCall> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.update({ track: { encoded: (await firstFound(call.bot, videoId)).encoded } });
  return call;
}

/** The exception that the client receives for a video that cannot be played. */
async function exceptionOf(call: MusicCall): Promise<object> {
  expect(await call.ended()).toMatchObject({ reason: "loadFailed" });
  const [event] = call.bot.events("TrackExceptionEvent");
  return event?.exception as object; // the event has one
}

describe("a video", () => {
  it.each([
    ["the script of the day", REVERSE_SCRIPT],
    ["a script of another layout, the day after", ROTATE_SCRIPT],
  ])("a video with an age gate plays with %s", async (_, script) => {
    youtube.script = script;
    const call = await play(AGE_GATE);
    await call.receiveMore(25);
    expect(call.eventTypes).toEqual(["TrackStartEvent"]);
    await call.leave();
  });

  it("a video that requires a login fails with an error that says so", async () => {
    const call = await play("login000001");
    const exception = await exceptionOf(call);
    expect(exception).toMatchObject({ severity: "common", cause: "SourceError: This video requires login." });
    // Their order depends on whether the script is ready.
    for (const name of ["TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"]) {
      expect(exception).toMatchObject({
        message: expect.stringContaining(`Client [${name}] failed: This video requires login.`),
      });
    }
    await call.leave();
  });
});

const HOSTILE: [keyof typeof HOSTILE_SCRIPTS, reason: RegExp][] = [
  ["loops endlessly when it solves", /took too long/],
  ["takes all memory when it solves", /the player script failed/],
  ["takes all memory when it is read", /the player script failed/],
  ["answers a megabyte", /the player script answered too much/],
  ["is no script", /the player script cannot be read/],
];

describe("player scripts", () => {
  it.each(HOSTILE)("a player script that %s fails only the video that needs it; others play", async (name, reason) => {
    youtube.script = HOSTILE_SCRIPTS[name];
    const call = await play(AGE_GATE);
    const { message } = (await exceptionOf(call)) as { message: string };
    expect(message).toContain("Client [VISIONOS] failed: This video requires age verification.");
    expect(message.split("Client [WEBEMBEDDED] failed: ")[1]).toMatch(reason);
    await call.update({ track: { encoded: (await firstFound(call.bot, "song0000001")).encoded } });
    await call.receiveMore(25);
    await call.leave();
  });

  it("a player script that reaches for the node's globals finds none of them", async () => {
    youtube.script = CURIOUS_SCRIPT;
    const { length: earlier } = youtube.site.requests;
    const call = await play(AGE_GATE);
    await exceptionOf(call);
    // Its result becomes the n of its links, which are refused with that value.
    const asked = youtube.site.requests.slice(earlier).filter(({ path }) => path === "/videoplayback");
    expect(new Set(asked.map(({ query }) => query.get("n")))).toEqual(new Set(["nothing-found"]));
    await call.leave();
  });
});
