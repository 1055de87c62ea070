import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { chooseVariants } from "../../../../../src/media/demux/hls/variant-choice.ts";
import { readMaster } from "../../../../support/hls-playlists.ts";

async function choose(lines: string[]): Promise<string[]> {
  const playlist = await readMaster(["#EXTM3U", ...lines].join("\n"), new URL("http://x.example/"));
  return chooseVariants(playlist).map(({ pathname }) => pathname.slice(1));
}

function variant(name: string, attributes: string): string {
  return `#EXT-X-STREAM-INF:${attributes}\n${name}`;
}

const VIDEO = 'CODECS="avc1.4d401e,mp4a.40.2",RESOLUTION=640x360';

it("a separate audio track is preferred to everything, the default one of the richest group", async () => {
  const names = await choose([
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="low",DEFAULT=YES,URI="low-en"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="high",AUTOSELECT=YES,URI="high-de"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="high",DEFAULT=YES,URI="high-en"',
    variant("v1", `BANDWIDTH=500000,${VIDEO},AUDIO="low"`),
    variant("v2", `BANDWIDTH=3000000,${VIDEO},AUDIO="high"`),
  ]);
  expect(names.slice(0, 2)).toEqual(["high-en", "low-en"]);
});

it("an audio track within its variant leads to that variant", async () => {
  const media = '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="in",DEFAULT=YES,NAME="x"';
  expect(await choose([media, variant("v1", `BANDWIDTH=900000,${VIDEO},AUDIO="in"`)])).toEqual(["v1"]);
});

it("audio only is preferred to video: the richest that is not wasted", async () => {
  const names = await choose([
    variant("a64", 'BANDWIDTH=64000,CODECS="mp4a.40.5"'),
    variant("a192", 'BANDWIDTH=192000,CODECS="mp4a.40.2"'),
    variant("lossless", 'BANDWIDTH=1500000,CODECS="flac"'),
    variant("v", `BANDWIDTH=800000,${VIDEO}`),
  ]);
  expect(names).toEqual(["a192", "a64", "lossless", "v"]);
});

it("a video group called audio only does not count as video, as Twitch has it", async () => {
  const names = await choose([
    variant("source", `BANDWIDTH=6000000,${VIDEO},VIDEO="chunked"`),
    variant("sound", 'BANDWIDTH=160000,CODECS="mp4a.40.2",VIDEO="audio_only"'),
    variant("odd", 'BANDWIDTH=150000,CODECS="avc1.4d401e,mp4a.40.2",VIDEO="audio_only"'),
  ]);
  expect(names).toEqual(["sound", "odd", "source"]);
});

it.each(["live-v2", "vod-v1"])("the variant audio only is chosen from Twitch's recorded master %s", async (name) => {
  const recorded = await readFile(new URL(`../../../../fixtures/twitch/master-${name}.m3u8`, import.meta.url), "utf8");
  const names = await choose(recorded.trim().split("\n").slice(1));
  expect(names[0]).toBe("audio_only.m3u8");
  // The cheapest with good audio, if that one is not served.
  expect(names[1]).toBe(name === "vod-v1" ? "360p30.m3u8" : "360p.m3u8");
});

it.each(["STABLE-VARIANT-ID", "IVS-NAME"])("a variant called audio only by %s does not count as video", async (key) => {
  const names = await choose([
    variant("source", `BANDWIDTH=600000,${VIDEO},${key}="chunked"`),
    variant("sound", `BANDWIDTH=160000,${VIDEO},${key}="audio_only"`),
  ]);
  expect(names).toEqual(["sound", "source"]);
});

it("of video variants the cheapest with good audio is chosen", async () => {
  const names = await choose(
    [240, 400, 900, 5_000].map((kbit) => variant(`v${kbit}`, `BANDWIDTH=${kbit}000,${VIDEO}`)),
  );
  expect(names).toEqual(["v900", "v5000", "v400", "v240"]);
});

it("audio with unsupported codecs is left out while there is other audio", async () => {
  const dolby = variant("dolby", 'BANDWIDTH=384000,CODECS="ec-3"');
  expect(await choose([dolby, variant("aac", 'BANDWIDTH=64000,CODECS="mp4a.40.2"')])).toEqual(["aac"]);
  expect(await choose([dolby])).toEqual(["dolby"]);
});

it("variants without attributes are tried", async () => {
  expect(await choose([variant("b", "BANDWIDTH=100000"), variant("a", "BANDWIDTH=130000")])).toEqual(["a", "b"]);
});
