// Sources of sites on a whole node, each before its stand-in: found by a search or a link, played, heard; and a link
// that is refused in the middle of HLS.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../lab/media-files/counted-song.ts";
import { BandcampSite } from "../../lab/sites/bandcamp.ts";
import { RadioBrowserSite, stationUuid } from "../../lab/sites/radio-browser.ts";
import { SoundCloudSite } from "../../lab/sites/soundcloud.ts";
import { YoutubeSite } from "../../lab/sites/youtube.ts";
import type { Stage } from "../../lab/stage/stage.ts";
import { MusicCall } from "../support/music-call.ts";
import { startSiteStage } from "../support/site-stage.ts";

let soundcloud: SoundCloudSite;
let youtube: YoutubeSite;
let bandcamp: BandcampSite;
let radio: RadioBrowserSite;
let stage: Stage;

beforeAll(async () => {
  soundcloud = await SoundCloudSite.start();
  youtube = await YoutubeSite.start();
  bandcamp = await BandcampSite.start();
  radio = await RadioBrowserSite.start();
  stage = await startSiteStage([soundcloud, youtube, bandcamp, radio]);
});
afterAll(async () => {
  stage.discord.assertClean();
  await stage.close();
  for (const site of [soundcloud, youtube, bandcamp, radio]) await site.close();
});

interface Found {
  readonly encoded: string;
  readonly info: { readonly sourceName: string; readonly identifier: string };
}

/** What is found first. */
async function first(call: MusicCall, identifier: string): Promise<Found> {
  const { body } = await call.bot.load(identifier);
  const data = body.data as Found | readonly Found[] | { readonly tracks: readonly Found[] };
  const found = Array.isArray(data) ? data[0] : "tracks" in data ? data.tracks[0] : data;
  if (found?.encoded === undefined) throw new Error(`${identifier}: ${JSON.stringify(body)}`);
  return found;
}

describe("is found, played and heard:", () => {
  it.each([
    ["soundcloud", "scsearch:song"],
    ["soundcloud", "https://soundcloud.com/stand-ins/only-mp3"],
    ["youtube", "ytsearch:song"],
    ["youtube", "ytmsearch:song"],
    ["bandcamp", "bcsearch:song"],
    ["radiobrowser", `radio:${stationUuid(1)}`],
  ])("%s by %s", async (sourceName, identifier) => {
    const call = await MusicCall.join(stage, { daveVersion: 0 });
    const track = await first(call, identifier);
    expect(track.info.sourceName).toBe(sourceName);
    await call.update({ track: { encoded: track.encoded } });
    await call.hearMore(50);
    expect(call.eventTypes.filter((type) => type !== "TrackEndEvent")).toEqual(["TrackStartEvent"]);
    await call.leave();
  });
});

function linksAsked(): number {
  return soundcloud.server.requests.filter(({ path }) => path.startsWith("/media/soundcloud:tracks:11/")).length;
}

it("HLS whose links are refused in the middle goes on without a lost frame", async () => {
  const call = await MusicCall.join(stage, { daveVersion: 0 });
  const track = await first(call, "https://soundcloud.com/stand-ins/song");
  await call.update({ track: { encoded: track.encoded }, position: 12_000 });
  await call.hearMore(50);
  const askedBefore = linksAsked();
  soundcloud.server.expireLinks();
  expect(await call.bot.untilEvent("TrackEndEvent", 60_000)).toMatchObject({ reason: "finished" });
  const numbers = packetNumbers(call.sound);
  expect(numbers).toEqual(numbersFrom(12 * 50, 30 * 50));
  expect(linksAsked()).toBe(askedBefore + 1);
  await call.leave();
});
