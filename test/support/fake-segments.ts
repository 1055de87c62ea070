// Segments of a made-up container for tests of HLS: a line of JSON with a start time and the packets' texts. The played
// packets are then readable as text.

import type { HlsSegmentFile } from "../../lab/media-server/hls.ts";
import { NodeError } from "../../src/errors.ts";
import type { Demuxer } from "../../src/media/demux/demuxer.ts";
import type { OpenSegment } from "../../src/media/demux/hls/hls-demuxer.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";

const PACKET_MS = 100;

interface SegmentText {
  readonly startMs: number;
  readonly packets: readonly string[];
  readonly channelCount: number;
}

/** A segment of ten packets of 100 ms: `name` followed by a digit. Its own clock begins at `startMs`. */
export function fakeSegment(name: string, { startMs = 0, channelCount = 2 } = {}): HlsSegmentFile {
  const packets = Array.from({ length: 10 }, (_, index) => `${name}${index}`);
  return { name, bytes: Buffer.from(JSON.stringify({ startMs, packets, channelCount })), seconds: 1 };
}

/** Opens such segments; `init:` may stand in front, as an initialisation section. */
export const openFakeSegment: OpenSegment = async (source): Promise<Demuxer> => {
  const text = Buffer.from(await source.read(0, source.sizeBytes ?? 0)).toString();
  let content: SegmentText;
  try {
    content = JSON.parse(text.replace(/^init:/, ""));
  } catch {
    throw new NodeError("media-damaged", "no fake segment");
  }
  const { startMs, packets, channelCount } = content;
  const stream: AudioStream = {
    codec: "aac",
    sampleRateHz: 48_000,
    channelCount,
    description: text.startsWith("init:") ? Buffer.from("init") : undefined,
    pcm: undefined,
  };
  let index = 0;
  const next = async (): Promise<Packet | undefined> => {
    const data = packets[index];
    if (data === undefined) return undefined;
    const timestampMs = startMs + index++ * PACKET_MS;
    return { data: Buffer.from(data), timestampMs, durationMs: PACKET_MS, trimEndSamples: 0 };
  };
  const info = { title: undefined, author: undefined, isrc: undefined, artworkUrl: undefined, lengthMs: undefined };
  const seek = async (): Promise<void> => undefined;
  return { info: { probeName: "fake", ...info }, stream, isSeekable: false, next, seek, close: () => source.close() };
};
