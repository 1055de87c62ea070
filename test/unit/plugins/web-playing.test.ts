// Links resolved by the plugins of Audius, Bandcamp, JioSaavn, Twitch and getyarn.io are opened with the readers of the audio threads.

import { afterEach, expect, test } from "vitest";
import { AudiusSite } from "../../../lab/sites/audius.ts";
import { BandcampSite } from "../../../lab/sites/bandcamp.ts";
import { GetyarnSite } from "../../../lab/sites/getyarn.ts";
import { JioSaavnSite } from "../../../lab/sites/jiosaavn.ts";
import { TwitchSite } from "../../../lab/sites/twitch.ts";
import audius from "../../../plugins/audius/plugin.ts";
import bandcamp from "../../../plugins/bandcamp/plugin.ts";
import getyarn from "../../../plugins/getyarn/plugin.ts";
import jiosaavn from "../../../plugins/jiosaavn/plugin.ts";
import twitch from "../../../plugins/twitch/plugin.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/log/log.ts";
import { HlsDemuxer } from "../../../src/media/demux/hls/hls-demuxer.ts";
import { HttpClient } from "../../../src/media/input/http-client.ts";
import { openInput } from "../../../src/media/input/open-input.ts";
import { readPlaylist } from "../../../src/media/input/playlist.ts";
import { openDemuxer } from "../../../src/media/probe/open-demuxer.ts";
import { TrackOpener } from "../../../src/media/probe/track-opener.ts";
import { OutboundGuard } from "../../../src/network/outbound-guard.ts";
import { inputSettings as settings } from "../../support/input-builders.ts";
import { PluginBench } from "../../support/plugin-bench.ts";
import { createTrackBudget } from "../../support/track-budgets.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("a track of Bandcamp plays", async () => {
  const stand = keep(await BandcampSite.start());
  const bench = keep(await PluginBench.start(bandcamp, { hosts: stand.hosts }));
  const received = await play(bench, "bandcamp", "https://stand-in.bandcamp.com/track/hall");
  expect(received).toEqual({ codec: "mp3", packets: 50 });
  expect(stand.site.mediaRequests("song.mp3").length).toBeGreaterThan(0);
});

test.each([
  ["a live channel", "https://www.twitch.tv/stand_in", 100],
  ["a past broadcast", "https://www.twitch.tv/videos/123456789", 100],
  ["a clip", "https://clips.twitch.tv/BraveStandIn-aB3_x", 50],
])("%s of Twitch plays, only its audio", async (_name, identifier, count) => {
  const stand = keep(await TwitchSite.start());
  const options = { playlistServer: stand.playlistServer };
  const bench = keep(await PluginBench.start(twitch, { hosts: stand.hosts, options }));
  expect(await play(bench, "twitch", identifier, count)).toEqual({ codec: "mp3", packets: count });
  const pictures = stand.site.requests.filter(({ path }) => path.includes("chunked"));
  expect(pictures).toEqual([]);
});

test("ads before a live channel of Twitch play, and the channel follows without a break", async () => {
  const stand = keep(await TwitchSite.start());
  stand.adSegments = 3;
  const options = { playlistServer: stand.playlistServer };
  const bench = keep(await PluginBench.start(twitch, { hosts: stand.hosts, options }));
  const demuxer = await open(bench, "twitch", "https://www.twitch.tv/stand_in");
  const rates = new Map<number, number>();
  let endMs = 0;
  for (let packet = await demuxer.next(); rates.get(44_100) !== 100; packet = await demuxer.next()) {
    if (packet === undefined) throw new Error("the stream ended");
    const { sampleRateHz } = demuxer.stream;
    rates.set(sampleRateHz, (rates.get(sampleRateHz) ?? 0) + 1);
    expect(packet.timestampMs).toBeCloseTo(endMs, 3);
    endMs = packet.timestampMs + packet.durationMs;
  }
  // It starts at the second segment: two of ads with 77 frames each.
  expect(rates.get(48_000)).toBe(154);
});

test("a track of Audius plays", async () => {
  const stand = keep(await AudiusSite.start());
  const bench = keep(await PluginBench.start(audius, { hosts: stand.hosts }));
  expect(await play(bench, "audius", "https://audius.co/ada/harbour")).toEqual({ codec: "mp3", packets: 50 });
});

test("a song of JioSaavn plays", async () => {
  const stand = keep(await JioSaavnSite.start());
  const bench = keep(await PluginBench.start(jiosaavn, { hosts: stand.hosts }));
  const song = "https://www.jiosaavn.com/song/harbour/S0ngT0ken";
  expect(await play(bench, "jiosaavn", song)).toEqual({ codec: "mp3", packets: 50 });
});

test("a clip of getyarn.io plays", async () => {
  const stand = keep(await GetyarnSite.start());
  const bench = keep(await PluginBench.start(getyarn, { hosts: stand.hosts }));
  const clip = "https://getyarn.io/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666";
  expect(await play(bench, "getyarn.io", clip, 10)).toEqual({ codec: "pcm", packets: 10 });
});

/** Opens what an identifier resolves to, and reads packets. */
async function play(bench: PluginBench, source: string, identifier: string, count = 50) {
  const demuxer = await open(bench, source, identifier);
  let packets = 0;
  while (packets < count && (await demuxer.next()) !== undefined) packets += 1;
  return { codec: demuxer.stream.codec, packets };
}

async function open(bench: PluginBench, source: string, identifier: string) {
  const [track] = await bench.loadTracks(source, identifier);
  const link = await bench.resolve(source, track?.encoded ?? "");
  if (link.kind !== "link") throw new Error("no link");
  const work = { signal: new AbortController().signal, budget: createTrackBudget() };
  const { demuxer } = await createOpener().open({ kind: "http", url: link.url, container: undefined }, work);
  cleanups.push(() => demuxer.close());
  return demuxer;
}

const requestLink = () => Promise.reject(new Error("no link is requested for a link"));

/** Wired as in src/media/probe/create-opener.ts. */
function createOpener(): TrackOpener {
  const deps = { clock: systemClock, logger: silentLogger };
  const client = new HttpClient({ guard: new OutboundGuard(settings.network.allow), settings: settings.http, ...deps });
  cleanups.push(() => client.close());
  return new TrackOpener({
    openInput: (input, work) => openInput(input, { ...deps, ...work, client, settings, requestLink }),
    readPlaylist,
    openHls: (url, work) => HlsDemuxer.open(url, { ...deps, client, ...work, openSegment: openDemuxer }),
    openDemuxer,
    clock: systemClock,
    readAheadMs: 10_000,
  });
}

function keep<Closing extends { close(): unknown }>(closing: Closing): Closing {
  cleanups.push(() => closing.close());
  return closing;
}
