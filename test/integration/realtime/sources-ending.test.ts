// The end of tracks of sites that cannot continue: a broadcast is over, a country is not served, a link is refused in
// the middle and the site gives no other, a decoder is missing. All available audio plays, the client receives the
// reason, and the next track plays.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { TONES_SECONDS } from "../../../lab/media-files/counted-tones.ts";
import type { SiteRequest } from "../../../lab/sites/site-server.ts";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import { TwitchSite } from "../../../lab/sites/twitch.ts";
import { webmTones } from "../../../lab/sites/youtube/songs.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { BOT_CHECK_REMEDY } from "../../../plugins/youtube/bot-check.ts";
import { FOLLOWED_VERSION } from "../../../plugins/youtube/manifest.ts";
import { firstFound } from "../../support/first-found.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const PAGE = "https://soundcloud.com/stand-ins";
/** The segments of Twitch's stand-in: 77 frames of 1152 samples at 44.1 kHz. */
const SEGMENT_MS = (77 * 1152) / 44.1;
const FRAME_MS = 20;
/** Size of a range request to YouTube's stand-in. */
const STEP_BYTES = 65_536;
const VIDEO = "song0000001";
const ALL_FAILED = `(yts.version: ${FOLLOWED_VERSION}) All clients failed to load the item.`;
const BOT_CHECK = { playabilityStatus: { status: "LOGIN_REQUIRED", reason: "Sign in to confirm you’re not a bot" } };

let soundcloud: SoundCloudSite;
let youtube: YoutubeSite;
let twitch: TwitchSite;
let env: TestEnvironment;

beforeAll(async () => {
  [soundcloud, youtube, twitch] = [await SoundCloudSite.start(), await YoutubeSite.start(), await TwitchSite.start()];
  env = await start();
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  for (const site of [soundcloud, youtube, twitch]) await site.close();
});

function start(entries: { readonly mediaEntry?: URL; readonly codecEntry?: URL } = {}): Promise<TestEnvironment> {
  const args = [
    `--plugins.youtube.rangeBytes=${STEP_BYTES}`,
    `--plugins.twitch.playlistServer=${twitch.playlistServer}`,
  ];
  return startSiteTestEnvironment([soundcloud, youtube, twitch], args, entries);
}

async function play(identifier: string, options: { readonly on?: TestEnvironment; readonly position?: number } = {}) {
  const call = await MusicCall.join(options.on ?? env, { daveVersion: 0 });
  const { encoded } = await firstFound(call.bot, identifier);
  await call.update({ track: { encoded }, position: options.position ?? 0 });
  return call;
}

/** A list of cleanups that undo a test's faults, at its end at the latest. */
function faultsUntil(onTestFinished: (repair: () => void) => void): { cleanups: (() => void)[]; repair: () => void } {
  const cleanups: (() => void)[] = [];
  const repair = (): void => {
    for (const undo of cleanups) undo();
  };
  onTestFinished(repair);
  return { cleanups, repair };
}

/** The track ends with an exception; then another plays on the same player. */
async function expectReported(call: MusicCall, reason: "finished" | "loadFailed", exception: object): Promise<void> {
  expect(await call.ended()).toMatchObject({ reason });
  expect(call.eventTypes).toEqual(["TrackStartEvent", "TrackExceptionEvent", "TrackEndEvent"]);
  const [received] = call.bot.events("TrackExceptionEvent");
  expect(received).toMatchObject({ guildId: call.guildId, exception });
}

/** The paragraphs of the exception's message, sorted: clients are asked as the player script is ready or not. */
function partsOf({ bot }: MusicCall): string[] {
  const [event] = bot.events("TrackExceptionEvent");
  const exception = event?.exception as { readonly message: string } | undefined;
  return (exception?.message ?? "").split("\n\n").sort();
}

async function expectNextPlays(call: MusicCall, identifier: string): Promise<void> {
  await call.untilSilent();
  await call.update({ track: { encoded: (await firstFound(call.bot, identifier)).encoded } });
  await call.receiveMore(25);
  await call.leave();
}

describe.concurrent("a track", () => {
  it("a track of a broadcast that is over ends as finished after all of it was played", async () => {
    const call = await play("https://www.twitch.tv/stand_in");
    await call.receiveMore(50);
    twitch.endLive();
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    await call.untilSilent();
    expect(call.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
    const segments = new Set(twitch.site.mediaRequests("segment.mp3").map(({ query }) => query.get("sequence")));
    expect(Math.abs(call.audio.length - (segments.size * SEGMENT_MS) / FRAME_MS)).toBeLessThan(2);
    await call.leave();
  });

  it("a track that is not for this region fails when one site loads it, and when another plays it", async () => {
    const bot = await env.connectBot();
    const message = "This track is not available: SoundCloud does not play it in the region of the node";
    expect((await bot.load(`${PAGE}/blocked`)).body).toMatchObject({
      loadType: "error",
      data: { message, severity: "common", cause: `SourceError: ${message}` },
    });
    const call = await play("https://www.youtube.com/watch?v=region00001");
    const reason = "The uploader has not made this video available in your country";
    const clients = ["TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"];
    await expectReported(call, "loadFailed", { severity: "common", cause: `SourceError: ${reason}` });
    expect(partsOf(call)).toEqual([ALL_FAILED, ...clients.map((name) => `Client [${name}] failed: ${reason}`)].sort());
    await expectNextPlays(call, "https://clips.twitch.tv/BraveStandIn-aB3_x");
  });

  it("an HLS track whose link is refused and not replaced ends after the received audio", async ({
    onTestFinished,
  }) => {
    const { cleanups, repair } = faultsUntil(onTestFinished);
    const { server } = soundcloud;
    const refuse = () => {
      if (cleanups.length === 1) cleanups.push(server.fail({ at: /^api-v2\./, outcome: { status: 403 } }));
      return { status: 403 };
    };
    // Its segments are two seconds long.
    cleanups.push(server.fail({ at: /opus\/data10$/, outcome: refuse }));
    const call = await play(`${PAGE}/song`, { position: 18_000 });
    await expectReported(call, "finished", {
      message: expect.stringMatching(/^This track is not available: SoundCloud answered HTTP 403: /),
      severity: "common",
    });
    await call.untilSilent();
    expect(packetNumbers(call.audio)).toEqual(numbersFrom(18 * 50, 20 * 50));
    repair();
    await expectNextPlays(call, `${PAGE}/song`);
  });

  it("a file whose link is refused, and which no client replaces, ends after the received audio", async ({
    onTestFinished,
  }) => {
    const { cleanups, repair } = faultsUntil(onTestFinished);
    // Others' videos are given out all the while.
    const doubt = (request: SiteRequest) => {
      const isAboutIt = request.body.includes(VIDEO);
      return isAboutIt ? { json: BOT_CHECK } : (youtube.answer(request) ?? { status: 404 });
    };
    const refuseLater = (request: SiteRequest) => {
      if (request.query.get("range")?.startsWith("0-")) return youtube.media.answer(request) ?? { status: 404 };
      if (cleanups.length === 1) cleanups.push(youtube.fail({ at: /\/player$/, outcome: doubt }));
      return { status: 403 };
    };
    cleanups.push(youtube.fail({ at: /videoplayback$/, outcome: refuseLater }));
    const call = await play(VIDEO);
    const received = ["VISIONOS", "WEB", "WEBEMBEDDED", "TV_SAMSUNG"].map(
      (name) => `Client [${name}] failed: This video requires login.`,
    );
    await expectReported(call, "finished", { severity: "suspicious" });
    expect(partsOf(call)).toEqual([`youtube: ${ALL_FAILED}`, ...received, BOT_CHECK_REMEDY].sort());
    await call.untilSilent();
    const numbers = packetNumbers(call.audio);
    expect(numbers).toEqual(numbersFrom(0, numbers.length));
    const frameBytes = ((await webmTones()).length / TONES_SECONDS / 1000) * FRAME_MS;
    expect(Math.abs(numbers.length - STEP_BYTES / frameBytes)).toBeLessThan(5);
    repair();
    await expectNextPlays(call, VIDEO);
  });
});
