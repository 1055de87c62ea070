import { describe, expect, it } from "vitest";
import type { HlsSegment } from "../../../../../src/media/demux/hls/hls-segment.ts";
import type { MediaPlaylist } from "../../../../../src/media/demux/hls/media-playlist.ts";
import { readMaster, readMedia, segmentsOf } from "../../../../support/hls-playlists.ts";
import { patternBytes } from "../../../../support/input-builders.ts";

const BASE = new URL("http://cdn.example/a/b/index.m3u8?token=1");

async function parseMedia(text: string): Promise<{ playlist: MediaPlaylist; segments: HlsSegment[] }> {
  const playlist = await readMedia(text, BASE);
  return { playlist, segments: await segmentsOf(playlist) };
}

describe("media playlists", async () => {
  it("a media playlist gives numbers, times, addresses and the end", async () => {
    const { playlist, segments } = await parseMedia(`#EXTM3U
#EXT-X-TARGETDURATION:6
#EXT-X-MEDIA-SEQUENCE:41
#EXTINF:5.5,Title, with comma
one.ts

# a comment
#EXTINF:6
/two.ts?x=1
#EXT-X-DISCONTINUITY
#EXT-X-GAP
#EXTINF:0.25,
https://other.example/three.ts
#EXTINF:2.25,
https://other.example/four.ts
#EXT-X-ENDLIST`);
    expect(playlist).toMatchObject({ targetDurationMs: 6_000, isEnded: true, lastSequence: 44, endMs: 14_000 });
    const shown = segments.map(({ sequence, startMs, durationMs, discontinuity, url }) => [
      ...[sequence, startMs, durationMs, discontinuity, url.href],
    ]);
    expect(shown).toEqual([
      [41, 0, 5_500, 0, "http://cdn.example/a/b/one.ts"],
      [42, 5_500, 6_000, 0, "http://cdn.example/two.ts?x=1"],
      [44, 11_750, 2_250, 1, "https://other.example/four.ts"],
    ]);
  });

  it("byte ranges continue where the last one of the same file ended", async () => {
    const text = ["10@5", "20", "7@100", "3"].map((range, index) => {
      return `#EXTINF:1,\n#EXT-X-BYTERANGE:${range}\n${index === 3 ? "other" : "file"}\n`;
    });
    const { segments } = await parseMedia(`#EXTM3U\n#EXT-X-TARGETDURATION:1\n${text.join("")}`);
    expect(segments.map(({ range }) => [range?.offsetBytes, range?.lengthBytes])).toEqual([
      [5, 10],
      [15, 20],
      [100, 7],
      [0, 3],
    ]);
  });

  it("HLS keys apply until the next one, also for initialisation sections", async () => {
    const { segments } = await parseMedia(`#EXTM3U
#EXT-X-TARGETDURATION:1
#EXTINF:1,
plain
#EXT-X-KEY:METHOD=AES-128,URI="k1",IV=0x0102
#EXT-X-MAP:URI="init.mp4"
#EXTINF:1,
locked
#EXT-X-KEY:METHOD=NONE
#EXTINF:1,
open`);
    expect(segments.map(({ key }) => key?.url.pathname)).toEqual([undefined, "/a/b/k1", undefined]);
    expect(Buffer.from(segments[1]?.key?.iv ?? []).toString("hex")).toBe(`${"00".repeat(14)}0102`);
    expect(segments[1]?.map?.key?.url.pathname).toBe("/a/b/k1");
    expect(segments[0]?.map).toBeUndefined();
  });

  it("of several HLS keys the known one is used, in any order", async () => {
    const known = '#EXT-X-KEY:METHOD=AES-128,URI="k"';
    const drm = '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://x",KEYFORMAT="com.apple.streamingkeydelivery"';
    for (const keys of [`${known}\n${drm}`, `${drm}\n${known}`]) {
      const { segments } = await parseMedia(`#EXTM3U\n${keys}\n#EXTINF:1,\na`);
      expect(segments[0]?.key?.url.pathname).toBe("/a/b/k");
    }
    await expect(parseMedia(`#EXTM3U\n${drm}\n#EXTINF:1,\na`)).rejects.toThrow(/SAMPLE-AES/);
    const second = `#EXTM3U\n${known}\n#EXTINF:1,\na\n${drm}\n#EXTINF:1,\nb`;
    await expect(parseMedia(second)).rejects.toThrow(/SAMPLE-AES/);
  });

  it("hostile HLS numbers are limited to sensible values", async () => {
    const { segments, playlist } = await parseMedia(
      "#EXTM3U\n#EXT-X-TARGETDURATION:99999999\n#EXT-X-MEDIA-SEQUENCE:99999999999999999999\n#EXTINF:1e300,\na\n#EXTINF:-5,\nb",
    );
    expect(playlist.targetDurationMs).toBe(60_000);
    expect(segments[0]).toMatchObject({ sequence: 0, durationMs: 86_400_000 });
    expect(segments[1]?.durationMs).toBe(0);
  });

  it("HLS addresses of other schemes are ignored", async () => {
    const { segments } = await parseMedia("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXTINF:1,\nok.ts");
    expect(segments.map(({ url }) => url.href)).toEqual(["http://cdn.example/a/b/ok.ts"]);
  });

  it("a media playlist with too many segments is refused", async () => {
    const text = `#EXTM3U\n${"#EXTINF:1,\na\n".repeat(100_001)}`;
    await expect(parseMedia(text)).rejects.toThrow(/more than/);
  });
});

describe("master playlists", async () => {
  it("a master playlist gives variants and renditions with their attributes", async () => {
    const playlist = await readMaster(
      `\uFEFF#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aud",NAME="A, B",DEFAULT=YES,AUTOSELECT=YES,URI="audio.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",URI="subs.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=1280000,CODECS="avc1.4d401e, mp4a.40.2",RESOLUTION=640x360,AUDIO="aud"
video.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="iframes.m3u8"`,
      BASE,
    );
    expect(playlist).toMatchObject({
      kind: "master",
      variants: [
        { bandwidthBps: 1_280_000, codecs: ["avc1.4d401e", "mp4a.40.2"], hasResolution: true, audioGroup: "aud" },
      ],
      renditions: [{ groupId: "aud", isDefault: true, isAutoselect: true }],
    });
  });

  it.each(["", "hello", "<html>", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"])(
    "the master playlist %j is refused",
    async (text) => {
      await expect(readMaster(text, BASE)).rejects.toThrow(/reading an HLS playlist/);
    },
  );
});

it("garbage never breaks or hangs the playlist parser (seeded)", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = patternBytes(40_000, seed);
  const pieces = [
    ...["#EXTM3U\n", "#EXT-X-STREAM-INF:", "#EXTINF:", "#EXT-X-KEY:METHOD=AES-128,", "#EXT-X-MAP:", 'URI="', '"', ","],
    ...["\n", "=", "0x", "http://", "..", "1", "-9e99", "#EXT-X-BYTERANGE:", "@", " ".repeat(50), "A".repeat(50)],
  ];
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from(random.subarray(round * 20, round * 20 + 20), (byte) => pieces[byte % pieces.length]);
    try {
      await parseMedia(`#EXTM3U\n${text.join("")}`);
    } catch (error) {
      if (error instanceof Error && error.message === "not a media playlist") continue;
      expect(error, `seed ${seed}, round ${round}`).toMatchObject({ name: "NodeError" });
    }
  }
});

it("a hostile playlist line takes time linear in its length", async () => {
  // Quadratic work would take minutes, longer than the test's time.
  for (const line of [`A=${" ".repeat(200_000)}"`, `${" ".repeat(200_000)}`, `A=${'"x",'.repeat(50_000)}`]) {
    await expect(readMaster(`#EXTM3U\n#EXT-X-STREAM-INF:${line}\n`, BASE)).rejects.toThrow(/HLS/);
  }
});
