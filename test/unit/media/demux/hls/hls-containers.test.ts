import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { finishedHls } from "../../../../../lab/media-server/hls.ts";
import { MediaServer } from "../../../../../lab/media-server/media-server.ts";
import { HlsDemuxer } from "../../../../../src/media/demux/hls/hls-demuxer.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { createInputDeps } from "../../../../support/input-builders.ts";

const FOLDER = new URL("../../../../fixtures/hls/", import.meta.url);
/** One AAC frame of 1024 samples. */
const FRAME_MS = (1024 / 48_000) * 1000;

let server: MediaServer;

beforeAll(async () => {
  const segments = [0, 1, 2, 3, 4].map((index) => {
    const name = `locked${index}.ts`;
    return { name, bytes: readFileSync(new URL(`ts${index}.ts`, FOLDER)), seconds: index === 4 ? 0.021 : 1.003 };
  });
  const { "index.m3u8": locked = "", ...files } = finishedHls(segments, { key: Buffer.alloc(16, 3) });
  const inexact = readFileSync(new URL("ts.m3u8", FOLDER), "utf8").replaceAll("1.002667", "1.2");
  const playlists = { "locked.m3u8": locked, "inexact.m3u8": inexact };
  server = await MediaServer.start({ root: FOLDER.pathname, files: { ...files, ...playlists } });
});

afterAll(() => server.close());

it("a seek in MPEG-TS is exact although the playlist's durations are not", async () => {
  const deps = createInputDeps({ clock: new FakeClock() });
  const options = { ...deps, openSegment: openDemuxer };
  const demuxer = await HlsDemuxer.open(new URL("/inexact.m3u8", server.url), options);
  await demuxer.next();
  await demuxer.seek(2_500);
  const found = (await demuxer.next())?.timestampMs ?? Number.NaN;
  // The second segment begins at 1002.7 ms, whatever the playlist says, and frames lie on the grid from there.
  expect(Math.abs(found / FRAME_MS - Math.round(found / FRAME_MS))).toBeLessThan(0.02);
  demuxer.close();
  deps.client.close();
});

it.each(["fmp4", "packed", "ts", "locked"])("%s segments play as one run of frames and seek", async (name) => {
  const deps = createInputDeps({ clock: new FakeClock() });
  const url = new URL(`/${name}.m3u8`, server.url);
  const demuxer = await HlsDemuxer.open(url, { ...deps, openSegment: openDemuxer });
  const { stream } = demuxer;
  expect(stream).toMatchObject({ codec: "aac", sampleRateHz: 48_000, channelCount: 1 });
  const times: number[] = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    times.push(packet.timestampMs);
  }
  expect(times.length).toBe(189);
  const first = times[0] ?? Number.NaN;
  for (const [index, time] of times.entries()) {
    expect(Math.abs(time - first - index * FRAME_MS), `frame ${index}`).toBeLessThan(1);
  }
  expect(demuxer.stream).toBe(stream);
  await demuxer.seek(2_500);
  const found = (await demuxer.next())?.timestampMs ?? Number.NaN;
  expect(found).toBeGreaterThan(2_500 - 100 - FRAME_MS);
  expect(found).toBeLessThanOrEqual(2_500 - 80);
  // On the same grid as before.
  expect(Math.abs(((found - first) / FRAME_MS) % 1)).toSatisfy((rest: number) => rest < 0.05 || rest > 0.95);
  demuxer.close();
  deps.client.close();
});
