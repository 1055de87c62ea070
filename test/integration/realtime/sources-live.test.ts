// Sources of sites on a whole node, each with its stand-in: found by a search or a link, and played; and a link that is
// refused in the middle of HLS.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import type { AllSites } from "../../../lab/sites/all-sites.ts";
import { stationUuid } from "../../../lab/sites/radio-browser.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { firstFound } from "../../support/first-found.ts";
import { readMediaFixture } from "../../support/media-fixture.ts";
import { MusicCall } from "../../support/music-call.ts";
import { type AllSitesTestEnvironment, startAllSitesTestEnvironment } from "../../support/site-test-environment.ts";

const CLIP = "https://getyarn.io/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666";
const VIMEO = "https://vimeo.com/76979871";
const NICO = "https://www.nicovideo.jp/watch/sm9";

/**
 * Grouped by the tracks that play at the same time: one after the other would take long, all at once would overload the
 * machine.
 */
const STORIES: Readonly<Record<string, [sourceName: string, identifier: string][]>> = {
  music: [
    ["soundcloud", "scsearch:song"],
    ["soundcloud", "https://soundcloud.com/stand-ins/only-mp3"],
    ["youtube", "ytsearch:song"],
    ["youtube", "ytmsearch:song"],
    ["bandcamp", "bcsearch:song"],
  ],
  "live streams and clips": [
    ["twitch", "https://www.twitch.tv/stand_in"],
    ["twitch", "https://www.twitch.tv/videos/123456789"],
    ["twitch", "https://clips.twitch.tv/BraveStandIn-aB3_x"],
    ["getyarn.io", CLIP],
    ["radiobrowser", `radio:${stationUuid(1)}`],
  ],
  speech: [
    ["podcast", "podcast:made-up"],
    ["podcast", "rss:https://feeds.example/show.rss"],
    ["speak", "speak:Hello there"],
    ["flowery-tts", "ftts://Hello%20there?audio_format=ogg_opus"],
  ],
  "what the yt-dlp bridge finds": [
    ["vimeo", VIMEO],
    ["niconico", NICO],
    ["niconico", "https://nico.ms/sm9"],
    ["ytdlp", "ytdl:https://site.example/watch"],
  ],
};

let all: AllSitesTestEnvironment;
let sites: AllSites;
let env: TestEnvironment;

beforeAll(async () => {
  all = await startAllSitesTestEnvironment([VIMEO, NICO, "https://nico.ms/sm9", "https://site.example/watch"]);
  ({ sites, env } = all);
});
afterAll(() => all.close());

/** Plays the first track found; its audio arrives, and no other event occurs. */
async function expectReceived(sourceName: string, identifier: string): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const track = await firstFound(call.bot, identifier);
  expect(track.info.sourceName).toBe(sourceName);
  await call.update({ track: { encoded: track.encoded } });
  await call.receiveMore(50);
  expect(call.eventTypes.filter((type) => type !== "TrackEndEvent")).toEqual(["TrackStartEvent"]);
  await call.leave();
}

describe.each(Object.entries(STORIES))("a track is found and played: %s,", (_kind, stories) => {
  it.concurrent.each(stories)("%s by %s", expectReceived);
});

describe("a track plays in AAC, the codec of the site itself:", () => {
  beforeAll(() => {
    const { twitch, getyarn } = sites.each;
    twitch.site.addMedia("segment.mp3", { bytes: readMediaFixture("aac.mpegts"), mimeType: "video/mp2t" });
    getyarn.site.addMedia("film.mp4", { bytes: readMediaFixture("aac-faststart.m4a"), mimeType: "video/mp4" });
  });

  it.concurrent.each([
    ["twitch", "https://www.twitch.tv/stand_in"],
    ["getyarn.io", CLIP],
  ])("%s", expectReceived);
});

function linksAsked(): number {
  return sites.each.soundcloud.server.requests.filter(({ path }) => path.startsWith("/media/soundcloud:tracks:11/"))
    .length;
}

it("HLS whose links are refused in the middle continues without a lost frame", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const track = await firstFound(call.bot, "https://soundcloud.com/stand-ins/song");
  await call.update({ track: { encoded: track.encoded }, position: 12_000 });
  await call.receiveMore(50);
  const askedBefore = linksAsked();
  sites.each.soundcloud.server.expireLinks();
  expect(await call.bot.untilEvent("TrackEndEvent", 60_000)).toMatchObject({ reason: "finished" });
  const numbers = packetNumbers(call.audio);
  expect(numbers).toEqual(numbersFrom(12 * 50, 30 * 50));
  expect(linksAsked()).toBe(askedBefore + 1);
  await call.leave();
});
