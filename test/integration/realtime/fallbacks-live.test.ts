// Fallbacks on a whole node: a track of YouTube that cannot be started plays from SoundCloud, as the listener hears it.

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { createLogger } from "../../../src/log/log.ts";
import { firstFound } from "../../support/first-found.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const ARGS = [
  "--plugins.youtube.fallback=bcsearhc,scsearch",
  "--metrics.prometheus.enabled=true",
  "--metrics.prometheus.endpoint=/inner/metrics",
];

const ARTIST = { kind: "user", id: 2, username: "Artist", permalink_url: "https://soundcloud.com/artist" };

let soundcloud: SoundCloudSite;
let youtube: YoutubeSite;
let env: TestEnvironment;
const lines: string[] = [];
const cleanups: (() => void)[] = [];

beforeAll(async () => {
  [soundcloud, youtube] = [await SoundCloudSite.start(), await YoutubeSite.start()];
  // Searched for as "artist first song": the live version is found first.
  const live = { title: "Artist First Song (Live)", full_duration: 213_000, user: ARTIST };
  soundcloud.addTrack(31, "first-song-live", live);
  soundcloud.addTrack(32, "first-song", { ...live, title: "Artist First song" });
  env = await startSiteTestEnvironment([soundcloud, youtube], ARGS, {
    logger: createLogger((level, message) => void lines.push(`${level} ${message}`)),
  });
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  for (const site of [soundcloud, youtube]) await site.close();
});
afterEach(() => {
  for (const repair of cleanups.splice(0)) repair();
});

async function playVideo(id: string): Promise<MusicCall> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const track = await firstFound(call.bot, id);
  await call.update({ track: { encoded: track.encoded } });
  return call;
}

it("a prefix that no source has is named at the start", () => {
  expect(lines).toContain(
    "warn plugins.youtube.fallback: bcsearhc has no effect: no source has this search prefix, or the source that has it is off",
  );
});

it("a video whose page is refused plays from SoundCloud, also when the link from there expires", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const track = await firstFound(call.bot, "song0000001");
  cleanups.push(youtube.fail({ at: /\/player$/, outcome: { status: 403 } }));
  await call.update({ track: { encoded: track.encoded } });
  await call.receiveMore(50);
  const { track: played } = await call.player();
  expect(played).toMatchObject({
    info: { sourceName: "youtube", identifier: "song0000001", title: "First song" },
    pluginInfo: {
      fallback: {
        sourceName: "soundcloud",
        title: "Artist First song",
        uri: "https://soundcloud.com/stand-ins/first-song",
        reason: expect.stringContaining("All clients failed to load the item"),
      },
    },
  });
  const before = soundcloud.server.requests.length;
  soundcloud.server.expireLinks();
  await call.update({ position: 20_000 });
  await call.receiveMore(100);
  expect(packetNumbers(call.audio).slice(0, 50)).toEqual(numbersFrom(0, 50));
  expect(soundcloud.server.requests.slice(before).map(({ path }) => path)).toContainEqual(
    expect.stringContaining("soundcloud:tracks:32"),
  );
  expect(call.eventTypes).toEqual(["TrackStartEvent"]);
  expect(lines).toContain("info track could not be started: played from its fallback instead");
  const { body } = await call.bot.request<string>("GET", "/inner/metrics");
  expect(body).toContain('tonearm_fallbacks_total{source="youtube",fallback="soundcloud"} 1\n');
  await call.leave();
});

it("a video whose media server refuses every link plays from SoundCloud", async () => {
  cleanups.push(youtube.fail({ at: /googlevideo/, outcome: { status: 403 } }));
  const call = await playVideo("song0000001");
  await call.receiveMore(50);
  expect((await call.player()).track).toMatchObject({
    pluginInfo: {
      fallback: { sourceName: "soundcloud", reason: expect.stringContaining("the renewed one too (HTTP 403)") },
    },
  });
  expect(call.eventTypes).toEqual(["TrackStartEvent"]);
  await call.leave();
});

it("a video that is not found elsewhere ends with its own error, and says where it was looked for", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const track = await firstFound(call.bot, "dQw4w9WgXcQ");
  cleanups.push(youtube.fail({ at: /\/player$/, outcome: { status: 403 } }));
  await call.update({ track: { encoded: track.encoded } });
  expect(await call.bot.untilEvent("TrackExceptionEvent")).toMatchObject({
    exception: {
      message: expect.stringMatching(
        /All clients failed.*The same recording was looked for elsewhere \(scsearch\) and not found; bcsearhc could not be searched \(no source has this prefix.*\)\.$/s,
      ),
    },
  });
  expect(await call.ended()).toMatchObject({ reason: "loadFailed" });
  await call.leave();
});
