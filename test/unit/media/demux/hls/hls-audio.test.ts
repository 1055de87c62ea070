import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { ascii, be, concat } from "../../../../../lab/media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame, oggPage, opusHead, opusTags } from "../../../../../lab/media-files/containers.ts";
import { numbersFrom, opusPacket, opusPacketNumber } from "../../../../../lab/media-files/counted-song.ts";
import { plainPlan } from "../../../../../lab/media-server/answer-plan.ts";
import { finishedHls, type HlsSegmentFile, LiveHls } from "../../../../../lab/media-server/hls.ts";
import { MediaServer, type MediaServerOptions } from "../../../../../lab/media-server/media-server.ts";
import type { Demuxer } from "../../../../../src/media/demux/demuxer.ts";
import { HlsDemuxer } from "../../../../../src/media/demux/hls/hls-demuxer.ts";
import type { Packet } from "../../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { createInputDeps, hurry } from "../../../../support/input-builders.ts";
import { id3Tag, mp3Frames } from "../../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

const SEGMENTS = 8;
const PACKETS = 50;
const PRE_SKIP_SAMPLES = 312;
/** Length of an Opus packet; packets carry their numbers. */
const PACKET_MS = 20;

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

async function start(options: MediaServerOptions) {
  const server = await MediaServer.start(options);
  const clock = new FakeClock();
  const deps = createInputDeps({ clock });
  const open = async (path = "/index.m3u8"): Promise<HlsDemuxer> => {
    const opening = HlsDemuxer.open(new URL(path, server.url), { ...deps, openSegment: openDemuxer });
    const demuxer = await hurry(clock, opening);
    cleanups.push(() => demuxer.close());
    return demuxer;
  };
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const read = async (demuxer: Demuxer, count = Number.POSITIVE_INFINITY): Promise<Packet[]> => {
    const packets: Packet[] = [];
    while (packets.length < count) {
      const packet = await hurry(clock, demuxer.next());
      if (packet === undefined) break;
      packets.push(packet);
    }
    return packets;
  };
  return { server, open, read, memory: deps.budget.memory };
}

/** The largest gap or overlap between consecutive packets, milliseconds. */
function unevenness(packets: readonly Packet[], packetMs: number): number {
  const first = packets[0]?.timestampMs ?? 0;
  return Math.max(...packets.map(({ timestampMs }, index) => Math.abs(timestampMs - first - index * packetMs)));
}

const OGG_HEADERS = concat(
  oggPage({ serial: 7, sequence: 0, granule: 0, flags: 2, packets: [opusHead()] }),
  oggPage({ serial: 7, sequence: 1, granule: 0, flags: 0, packets: [opusTags()] }),
);

/** A second of counted packets in two pages. `fromSamples`: where its granules begin. */
function oggPages(nth: number, fromSamples: number): Uint8Array {
  const pages = [0, 1].map((half) => {
    const first = nth * PACKETS + half * 25;
    const packets = numbersFrom(first, first + 25).map((number) => opusPacket(number));
    const granule = PRE_SKIP_SAMPLES + fromSamples + (half + 1) * 25 * 960;
    return oggPage({ serial: 7, sequence: 2 + nth * 2 + half, granule, flags: 0, packets });
  });
  return concat(...pages);
}

function segmentsOf(bytesOf: (nth: number) => Uint8Array, seconds = 1, count = SEGMENTS): HlsSegmentFile[] {
  return numbersFrom(0, count).map((nth) => ({ name: `s${nth}`, bytes: bytesOf(nth), seconds }));
}

/** Behind the head of a playlist. */
function withMap(playlist: string): string {
  return playlist.replace("#EXTINF", '#EXT-X-MAP:URI="init"\n#EXTINF');
}

const OGG: Readonly<Record<string, { readonly segments: HlsSegmentFile[]; readonly hasMap?: boolean }>> = {
  "separate streams, whose times restart": {
    segments: segmentsOf((nth) => concat(OGG_HEADERS, oggPages(nth, 0))),
  },
  "separate streams, whose times continue": {
    segments: segmentsOf((nth) => concat(OGG_HEADERS, oggPages(nth, nth * 48_000))),
  },
  "pieces of one stream, whose headers are in the first one": {
    segments: segmentsOf((nth) => concat(nth === 0 ? OGG_HEADERS : new Uint8Array(0), oggPages(nth, nth * 48_000))),
  },
  "pieces of one stream, whose headers are named separately": {
    segments: segmentsOf((nth) => oggPages(nth, nth * 48_000)),
    hasMap: true,
  },
};

describe.each(Object.entries(OGG))("Ogg segments that are %s", (_, { segments, hasMap = false }) => {
  it("Ogg segments play as one run of packets, seek, and release all memory", async () => {
    const files = finishedHls(segments);
    const playlist = String(files["index.m3u8"]);
    const maps = hasMap ? { init: OGG_HEADERS, "index.m3u8": withMap(playlist) } : {};
    const { open, read, memory } = await start({ files: { ...files, ...maps } });
    const demuxer = await open();
    const { stream } = demuxer;
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([SEGMENTS * 1000, true]);
    const packets = await read(demuxer);
    expect(packets.map(({ data }) => opusPacketNumber(data))).toEqual(numbersFrom(0, SEGMENTS * PACKETS));
    expect(packets[0]?.timestampMs).toBeCloseTo(-6.5);
    expect(unevenness(packets, PACKET_MS)).toBeLessThan(0.01);
    expect(packets.every(({ trimEndSamples }) => trimEndSamples === 0)).toBe(true);
    expect(demuxer.stream).toBe(stream);
    for (const targetMs of [1_500, 6_250, 600, 7_000, 0]) {
      await demuxer.seek(targetMs);
      const [packet] = await read(demuxer, 1);
      const number = packet === undefined ? -1 : opusPacketNumber(packet.data);
      // The position of a packet must be right to half a packet, in whatever segment it is.
      expect(Math.abs((packet?.timestampMs ?? 0) - number * PACKET_MS), `to ${targetMs}`).toBeLessThan(10);
      expect(packet?.timestampMs).toBeLessThanOrEqual(Math.max(0, targetMs - 80));
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 140);
    }
    demuxer.close();
    expect(memory.usedBytes).toBe(0);
  });

  // A live stream is joined in its middle: the headers have to be somewhere.
  it.runIf(hasMap || segments.every(({ bytes }) => bytes[5] === 2))("Ogg segments play live", async () => {
    const live = new LiveHls(segments, 5);
    const { open, read } = await start({
      script: ({ path, ...request }) => {
        if (path === "/live/init") return plainPlan(OGG_HEADERS, undefined);
        const answer = live.answer({ path, ...request });
        if (!hasMap || !path.endsWith("m3u8") || typeof answer !== "object") return answer;
        return { ...answer, body: Buffer.from(withMap(String(answer.body))) };
      },
    });
    const demuxer = await open("/live/index.m3u8");
    live.advance(1);
    const packets = await read(demuxer, 4 * PACKETS);
    const first = opusPacketNumber(packets[0]?.data ?? new Uint8Array(5));
    expect(packets.map(({ data }) => opusPacketNumber(data))).toEqual(numbersFrom(first, first + 4 * PACKETS));
    expect(unevenness(packets, PACKET_MS)).toBeLessThan(0.01);
  });
});

/** RFC 8216 section 3.4. */
function timestampTag(ms: number): Uint8Array {
  const owner = ascii("com.apple.streaming.transportStreamTimestamp\0");
  const body = concat(owner, be(BigInt(Math.round(ms * 90)), 8));
  return id3Tag(4, 0, concat(ascii("PRIV"), be(body.length, 4), be(0, 2), body));
}

const MP3_MS = 24;
const ADTS_MS = (1024 / 48_000) * 1000;
const FRAMES = 42;

describe.each([
  ["MP3", MP3_MS, mp3Frames({ kbps: 64, rateHz: 48_000, sizeBytes: FRAMES * 192 })],
  ["ADTS", ADTS_MS, concat(...Array.from({ length: FRAMES }, () => adtsFrame(AAC_SILENCE, 3)))],
])("segments of %s", (_, frameMs, frames) => {
  const segmentMs = FRAMES * frameMs;
  const stamped = (nth: number) => concat(timestampTag(10_000 + nth * segmentMs), frames);

  it.each([
    ["with their time in front", stamped],
    ["without it", () => frames],
  ])("segments of %s play as one run of frames and seek", async (_name, bytesOf) => {
    const { open, read } = await start({ files: finishedHls(segmentsOf(bytesOf, segmentMs / 1000)) });
    const demuxer = await open();
    const { stream } = demuxer;
    const packets = await read(demuxer);
    expect(packets.length).toBe(SEGMENTS * FRAMES);
    expect(unevenness(packets, frameMs)).toBeLessThan(1);
    expect(demuxer.info.lengthMs).toBeCloseTo(SEGMENTS * segmentMs, -1);
    expect(demuxer.stream).toBe(stream);
    for (const targetMs of [3_000, 700, 1_200]) {
      await demuxer.seek(targetMs);
      const [packet] = await read(demuxer, 1);
      const at = ((packet?.timestampMs ?? 0) - (packets[0]?.timestampMs ?? 0)) / frameMs;
      expect(Math.abs(at - Math.round(at)), `to ${targetMs}`).toBeLessThan(0.1);
      expect(packet?.timestampMs).toBeLessThanOrEqual(targetMs - 75);
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 150);
    }
  });

  it("segments of packed audio play live", async () => {
    const live = new LiveHls(segmentsOf(stamped, segmentMs / 1000), 5);
    const { open, read } = await start({ script: live.answer });
    const demuxer = await open("/live/index.m3u8");
    live.advance(2);
    const packets = await read(demuxer, 4 * FRAMES);
    expect([packets.length, demuxer.isSeekable]).toEqual([4 * FRAMES, false]);
    expect(unevenness(packets, frameMs)).toBeLessThan(1);
  });
});

const FOLDER = new URL("../../../../fixtures/hls/", import.meta.url);

describe("fragmented MP4", () => {
  it("fragmented MP4 of Opus plays as one run of packets and seeks", async () => {
    const { open, read } = await start({ root: FOLDER.pathname });
    const demuxer = await open("/opus.m3u8");
    const { stream } = demuxer;
    expect(stream).toMatchObject({ codec: "opus", channelCount: 2 });
    const packets = await read(demuxer);
    const data = await packetsOfWhole();
    expect(packets.map((packet) => Buffer.from(packet.data).toString("hex"))).toEqual(data);
    expect(unevenness(packets, PACKET_MS)).toBeLessThan(1);
    expect(demuxer.stream).toBe(stream);
    await demuxer.seek(1_400);
    const [packet] = await read(demuxer, 1);
    const index = data.indexOf(Buffer.from(packet?.data ?? []).toString("hex"));
    expect(Math.abs((packet?.timestampMs ?? 0) - (packets[index]?.timestampMs ?? -1))).toBeLessThan(1);
    expect(packet?.timestampMs).toBeGreaterThan(1_400 - 140);
    expect(packet?.timestampMs).toBeLessThanOrEqual(1_400 - 80);
  });

  it.each(["opus", "fmp4"])("fragmented MP4 of %s plays live, joined in its middle", async (name) => {
    const fileOf = (file: string) => readFileSync(new URL(file, FOLDER));
    const segments = [0, 1, 2, 3].map((nth) => ({
      name: `s${nth}`,
      bytes: fileOf(`${name}-${nth}.m4s`),
      seconds: name === "opus" ? 0.5 : 1.003,
    }));
    const live = new LiveHls(segments, 4);
    const { open, read } = await start({
      script: ({ path, ...request }) => {
        if (path === "/live/init") return plainPlan(fileOf(`${name}-init.mp4`), undefined);
        const answer = live.answer({ path, ...request });
        if (!path.endsWith("m3u8") || typeof answer !== "object") return answer;
        return { ...answer, body: Buffer.from(withMap(String(answer.body))) };
      },
    });
    const demuxer = await open("/live/index.m3u8");
    live.advance(1);
    const packets = await read(demuxer, name === "opus" ? 75 : 130);
    const packetMs = name === "opus" ? PACKET_MS : ADTS_MS;
    expect(unevenness(packets, packetMs)).toBeLessThan(1);
  });
});

/** The packets of the file that the fragments were made of. */
async function packetsOfWhole(): Promise<string[]> {
  const source = new MemoryByteSource(readMediaFixture("opus.ogg"));
  const packets = await readPackets(await openDemuxer(source, {}, createTrackBudget()));
  return packets.map(({ data }) => Buffer.from(data).toString("hex"));
}
