import { expect, it } from "vitest";
import { readHlsPlaylist } from "../../../../../src/media/demux/hls/hls-playlist.ts";
import { TimeSlicer } from "../../../../../src/media/quota/time-slicer.ts";
import type { TrackBudget } from "../../../../../src/media/quota/track-budget.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { readMedia, receivedText, segmentsOf } from "../../../../support/hls-playlists.ts";
import { patternBytes } from "../../../../support/input-builders.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

const BASE = new URL("http://cdn.example/a/index.m3u8");

function countedSlices(): { readonly budget: TrackBudget; readonly count: () => number } {
  const slicer = new TimeSlicer();
  let count = 0;
  const next = slicer.next.bind(slicer);
  slicer.next = () => {
    count++;
    return next();
  };
  return { budget: createTrackBudget({ clock: new FakeClock(), slicer }), count: () => count };
}

function randomPlaylist(seed: number, count: number): string {
  const random = patternBytes(count * 8, seed);
  const lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:4", `#EXT-X-MEDIA-SEQUENCE:${seed % 1000}`];
  for (let index = 0; index < count; index++) {
    const [key, map, gap, cut, range, seconds, wrong, note] = random.subarray(index * 8, index * 8 + 8);
    if (key! < 40) lines.push(`#EXT-X-KEY:METHOD=AES-128,URI="k${index}",IV=0x${index.toString(16)}`);
    if (key! > 240) lines.push("#EXT-X-KEY:METHOD=NONE");
    if (map! < 30) lines.push(`#EXT-X-MAP:URI="m${index}",BYTERANGE="${index + 1}@2"`);
    if (gap! < 20) lines.push("#EXT-X-GAP");
    if (cut! < 20) lines.push("#EXT-X-DISCONTINUITY");
    if (note! < 20) lines.push("", "# a note", " ");
    if (range! < 120) lines.push(`#EXT-X-BYTERANGE:${index + 1}${range! < 30 ? "@7" : ""}`);
    lines.push(`#EXTINF:${seconds! % 5},`, wrong! < 20 ? "rtsp://other/x" : `file${index >> 3}.ts`);
  }
  return [...lines, "#EXT-X-ENDLIST"].join("\n");
}

it("a segment read by number is the same as on the way from the start (seeded)", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const text = randomPlaylist(seed, 1_000);
  const segments = await segmentsOf(await readMedia(text, BASE));
  const playlist = await readMedia(text, BASE);
  expect(segments.length).toBeGreaterThan(700);
  for (let round = 0; round < 300; round++) {
    const targetSequence = playlist.firstSequence + ((round * 7_919) % 1_010);
    const expected = segments.find(({ sequence }) => sequence >= targetSequence);
    expect(await playlist.segmentFrom(targetSequence), `seed ${seed}, ${targetSequence}`).toEqual(expected);
    const positionMs = (round * 7_919_000) % (playlist.endMs + 5_000);
    const found = await playlist.segmentFrom(await playlist.sequenceAt(positionMs));
    const byTime = segments.find(({ startMs, durationMs }) => positionMs < startMs + durationMs);
    if (byTime === undefined || found === undefined) expect(found, `seed ${seed}`).toBe(byTime);
    else expect(found.sequence, `seed ${seed}, ${positionMs} ms`).toBeLessThanOrEqual(byTime.sequence);
  }
});

it("a hundred thousand segments take no more memory than their text, and release it", async () => {
  const text = `#EXTM3U\n${Array.from({ length: 99_999 }, (_, index) => `#EXTINF:1,\n${index}\n`).join("")}`;
  const budget = createTrackBudget();
  const playlist = await readMedia(text, BASE, budget);
  expect(playlist.segmentCount).toBe(99_999);
  expect(budget.memory.usedBytes).toBeLessThan(text.length * 1.5);
  expect((await playlist.segmentFrom(77_777))?.url.href).toBe("http://cdn.example/a/77777");
  playlist.close();
  expect(budget.memory.usedBytes).toBe(0);
});

it.each([
  ["newlines", "\n", 1_000],
  ["carriage returns and spaces", " \r\n", 300],
  ["comments", "#\n", 1],
  ["tags", "#EXT-X-KEY:METHOD=NONE\n", 1],
  ["segments of no length", "#EXTINF:0,\na\n", 1],
  ["changes of time", "#EXT-X-DISCONTINUITY\n", 1],
])("%s are read in time slices, twice as many for twice the size", async (_what, line, linesPerStep) => {
  const [once, twice] = await Promise.all(
    [40_000, 80_000].map(async (count) => {
      const { budget, count: sliceCount } = countedSlices();
      await readMedia(`#EXTM3U\n${line.repeat(count)}`, BASE, budget);
      return sliceCount();
    }),
  );
  expect(once!).toBeGreaterThanOrEqual(Math.floor(40_000 / 512 / linesPerStep));
  expect(twice! - 2 * once!).toBeLessThanOrEqual(2);
});

it("a playlist line without end is refused before it is read", async () => {
  const budget = createTrackBudget();
  const data = receivedText(`#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="${"a".repeat(300_000)}"\n`, budget);
  await expect(readHlsPlaylist(data, BASE, budget)).rejects.toThrow(/a line of more than 16384 bytes/);
  expect(budget.memory.usedBytes).toBe(0);
});

it("a playlist that would take more memory than its track has is refused", async () => {
  const text = `#EXTM3U\n${"#EXTINF:1,\na\n".repeat(90_000)}`;
  const budget = createTrackBudget({ memoryBytes: text.length + 100_000 });
  await expect(readMedia(text, BASE, budget)).rejects.toMatchObject({ code: "memory-exhausted" });
});

it.each(["NaN", "-1", "Infinity", "1e99", ""])("a segment of %j seconds gets a valid duration", async (seconds) => {
  const playlist = await readMedia(`#EXTM3U\n#EXTINF:${seconds},\na\n#EXT-X-ENDLIST`, BASE);
  expect(playlist.endMs).toBeGreaterThanOrEqual(0);
  expect(playlist.endMs).toBeLessThanOrEqual(86_400_000);
});

it.each([
  ["as declared", 4, [3.9, 4, 2], 4_000],
  ["omitted", 0, [3, 5, 2], 5_000],
  ["far longer than any segment", 99_999, [2, 2, 2], 2_000],
  ["shorter than the segments", 1, [8, 8, 8], 8_000],
  ["exceeded by one segment", 4, [4, 8, 3], 5_000],
  ["declared, with segments of no duration", 6, [0, 0, 0], 6_000],
  ["nonsense, with segments of no duration", -5, [0, 0, 0], 1_000],
])("the target duration of a playlist is sensible when it is %s", async (_what, target, durations, expectedMs) => {
  const segments = durations.map((seconds) => `#EXTINF:${seconds},\na\n`).join("");
  const playlist = await readMedia(`#EXTM3U\n#EXT-X-TARGETDURATION:${target}\n${segments}`, BASE);
  expect(playlist.targetDurationMs).toBe(expectedMs);
});
