// Tracks that clients stored from a Lavalink decode and play here, each with a stand-in for its site: the texts of
// protocol-v4.md section 5.5, and where that has none, bytes written by section 5.4.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ENDLESS_MS,
  encodeTrack,
  httpTrack,
  type TrackText,
} from "../../../lab/conformance/workbench/encoded-track.ts";
import { packetNumbers } from "../../../lab/media-files/counted-song.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { type AllSitesTestEnvironment, startAllSitesTestEnvironment } from "../../support/site-test-environment.ts";

const VIMEO_PAGE = "https://vimeo.com/1001";
const NICONICO_PAGE = "https://www.nicovideo.jp/watch/sm9";
const TRANSCODING_URL = "https://api-v2.soundcloud.com/media/soundcloud:tracks:11/0b0b";
/** The same song in all versions; the newest starts at 1.5 s. */
const YOUTUBE_TEXTS = {
  v3:
    "QAAApgMABFNvbmcABkFydGlzdAAAAAAAAzwgAAtkUXc0dzlXZ1hjUQABACtodHRwczovL3d3dy55b3V0dWJlLmNvbS93YXRjaD92PWRRdzR3OVdn" +
    "WGNRAQAwaHR0cHM6Ly9pLnl0aW1nLmNvbS92aS9kUXc0dzlXZ1hjUS9tcWRlZmF1bHQuanBnAQAMR0JBUkw5MzAwMTM1AAd5b3V0dWJlAAAAAAAA" +
    "Bdw=",
  v2:
    "QAAAZAIABFNvbmcABkFydGlzdAAAAAAAAzwgAAtkUXc0dzlXZ1hjUQABACtodHRwczovL3d3dy55b3V0dWJlLmNvbS93YXRjaD92PWRRdzR3OVdn" +
    "WGNRAAd5b3V0dWJlAAAAAAAAAAA=",
  v1: "AAAANQAEU29uZwAGQXJ0aXN0AAAAAAADPCAAC2RRdzR3OVdnWGNRAAAHeW91dHViZQAAAAAAAAAA",
} as const;
/** The additional fields of LavaSrc's tracks: five absent texts, and a flag. */
const NO_ALBUM = new Uint8Array(6);

let all: AllSitesTestEnvironment;
let env: TestEnvironment;

beforeAll(async () => {
  all = await startAllSitesTestEnvironment([VIMEO_PAGE, NICONICO_PAGE]);
  ({ env } = all);
});
afterAll(() => all.close());

/** A track of a source as Lavalink would write it. */
function trackOf(sourceName: string, identifier: string, more: Partial<TrackText> = {}): string {
  return encodeTrack(httpTrack(identifier, { sourceName, details: [], ...more }));
}

describe("an encoded track is decoded and played:", () => {
  it.each<[string, string, () => string]>([
    ["soundcloud", "Opus", () => trackOf("soundcloud", `O:${TRANSCODING_URL}/stream/hls`, { uri: null })],
    ["soundcloud", "MP3 in segments", () => trackOf("soundcloud", `U:${TRANSCODING_URL}/stream/hls`, { uri: null })],
    ["soundcloud", "MP3", () => trackOf("soundcloud", `M:${TRANSCODING_URL}/stream/progressive`, { uri: null })],
    ["youtube", "version 3", () => YOUTUBE_TEXTS.v3],
    ["youtube", "version 2", () => YOUTUBE_TEXTS.v2],
    ["youtube", "version 1", () => YOUTUBE_TEXTS.v1],
    ["youtube", "of LavaSrc's yt-dlp", () => trackOf("youtube", "dQw4w9WgXcQ", { details: [NO_ALBUM] })],
    ["bandcamp", "a track", () => trackOf("bandcamp", "https://stand-in.bandcamp.com/track/hall")],
    [
      ...(["twitch", "a channel"] as const),
      () => trackOf("twitch", "https://www.twitch.tv/stand_in", { isStream: true, lengthMs: ENDLESS_MS }),
    ],
    ["getyarn.io", "a clip", () => trackOf("getyarn.io", all.sites.each.getyarn.filmUrl)],
    ["vimeo", "a video", () => trackOf("vimeo", "1001", { uri: VIMEO_PAGE })],
    ["niconico", "a video", () => trackOf("niconico", "sm9", { uri: NICONICO_PAGE })],
    ["speak", "a text", () => trackOf("speak", "speak:hello")],
    ["flowery-tts", "a text", () => trackOf("flowery-tts", "ftts://hello?audio_format=ogg_opus")],
  ])("%s, %s", async (sourceName, _what, encodedOf) => {
    const encoded = encodedOf();
    const call = await MusicCall.join(env, { daveVersion: 0 });
    const decoded = await call.bot.request("GET", `/v4/decodetrack?encodedTrack=${encodeURIComponent(encoded)}`);
    expect(decoded).toMatchObject({ status: 200, body: { encoded, info: { sourceName } } });
    await call.update({ track: { encoded } });
    await call.receiveMore(50);
    expect(call.eventTypes).not.toContain("TrackExceptionEvent");
    expect(call.bot.events("TrackStartEvent")).toMatchObject([{ track: { info: { sourceName } } }]);
    await call.leave();
  });

  it("from the position that is in it", async () => {
    const call = await MusicCall.join(env, { daveVersion: 0 });
    await call.update({ track: { encoded: YOUTUBE_TEXTS.v3 } });
    await call.receiveMore(10);
    expect(packetNumbers(call.audio)[0]).toBe(1500 / 20);
    await call.leave();
  });
});
