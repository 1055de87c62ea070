import { describe, expect, it } from "vitest";
import { ascii, concat, le } from "../../../../lab/media-files/bytes.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { AudioCodec } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** Expected facts about a file. `packets` as counted by ffprobe; times in milliseconds, trims in samples. */
interface Facts {
  readonly probe: string;
  readonly codec: AudioCodec;
  readonly rate: number;
  readonly channels: number;
  readonly packets: number;
  /** Encoder delay: the first packet starts this long before 0. */
  readonly delayMs?: number;
  /** End of the audio: end of the last packet less its padding. */
  readonly endMs: number;
  readonly lengthMs: number | undefined;
  readonly isSeekable?: boolean;
  readonly tags?: readonly [title: string, author: string, isrc?: string];
}

const TAGS = ["TestTitle", "TestArtist"] as const;
const ISRC_TAGS = ["TestTitle", "TestArtist", "USTEST2600001"] as const;
const WAV = { probe: "wav", codec: "pcm", rate: 8000, channels: 1, packets: 13, endMs: 250, lengthMs: 250 } as const;
const OPUS = { codec: "opus", rate: 48_000, channels: 2, packets: 101, delayMs: 6.5, endMs: 2000 } as const;
const AAC = { codec: "aac", rate: 44_100, channels: 2, packets: 88 } as const;
const MP3 = { codec: "mp3", rate: 44_100, channels: 2, packets: 78 } as const;
const FLAC = { codec: "flac", rate: 44_100, channels: 2, packets: 20, endMs: 2000, lengthMs: 2000 } as const;
const VORBIS = { codec: "vorbis", rate: 48_000, channels: 2, packets: 96 } as const;
const MKV = { probe: "matroska/webm" } as const;

const FILES: Readonly<Record<string, Facts>> = {
  "opus.webm": { ...MKV, ...OPUS, lengthMs: 2008, tags: TAGS },
  "video.webm": { ...MKV, ...OPUS, lengthMs: 2008 },
  "live.webm": { ...MKV, ...OPUS, channels: 1, lengthMs: 2001 },
  "vorbis.webm": { ...MKV, ...VORBIS, endMs: 2017.333, lengthMs: 2003, tags: TAGS },
  "aac.mka": { ...MKV, ...AAC, endMs: 2043.356, lengthMs: 2023, tags: TAGS },
  "mp3.mka": { ...MKV, ...MP3, endMs: 2025.057, lengthMs: 2025 },
  "flac.mka": { ...MKV, ...FLAC },
  "pcm.mka": { ...MKV, codec: "pcm", rate: 48_000, channels: 1, packets: 24, endMs: 500, lengthMs: 500 },
  "opus.ogg": { probe: "ogg", ...OPUS, lengthMs: 2006, tags: ISRC_TAGS },
  "vorbis.ogg": { probe: "ogg", ...VORBIS, endMs: 2000, lengthMs: 2000, tags: TAGS },
  "theora.ogg": { probe: "ogg", ...VORBIS, packets: 49, endMs: 1000, lengthMs: 1000 },
  "flac.oga": { probe: "ogg", ...FLAC, rate: 48_000, packets: 21, tags: TAGS },
  "cbr.mp3": { probe: "mp3", ...MP3, delayMs: 25.057, endMs: 2000, lengthMs: 2063, tags: ISRC_TAGS },
  "cbr-noxing.mp3": { probe: "mp3", ...MP3, endMs: 2037.551, lengthMs: 2037 },
  "vbr.mp3": { probe: "mp3", ...MP3, channels: 1, packets: 116, delayMs: 25.057, endMs: 3000, lengthMs: 3030 },
  "vbr-noxing.mp3": { probe: "mp3", ...MP3, channels: 1, packets: 116, endMs: 3030.204, lengthMs: 3030 },
  "mpeg2.mp3": {
    probe: "mp3",
    codec: "mp3",
    rate: 22_050,
    channels: 1,
    packets: 79,
    delayMs: 50.113,
    endMs: 2000,
    lengthMs: 2089,
  },
  "aac.m4a": { probe: "mp4", ...AAC, delayMs: 23.22, endMs: 2000, lengthMs: 2023, tags: TAGS },
  "aac-faststart.m4a": { probe: "mp4", ...AAC, delayMs: 23.22, endMs: 2000, lengthMs: 2023, tags: TAGS },
  "aac-frag.mp4": { probe: "mp4", ...AAC, endMs: 2023.22, lengthMs: 2023, tags: TAGS },
  "aac-sidx.mp4": { probe: "mp4", ...AAC, endMs: 2023.22, lengthMs: 2023, tags: TAGS },
  "video.mp4": {
    probe: "mp4",
    codec: "aac",
    rate: 48_000,
    channels: 1,
    packets: 95,
    delayMs: 21.333,
    endMs: 2000,
    lengthMs: 2021,
  },
  "alac.m4a": { probe: "mp4", codec: "alac", rate: 44_100, channels: 2, packets: 22, endMs: 2000, lengthMs: 2000 },
  "opus.mp4": { probe: "mp4", ...OPUS, lengthMs: 2006 },
  "flac.mp4": { probe: "mp4", ...FLAC },
  "mp3.mp4": { probe: "mp4", ...MP3, delayMs: 25.057, endMs: 2000, lengthMs: 2025 },
  "plain.flac": { probe: "flac", ...FLAC, packets: 10, endMs: 1000, lengthMs: 1000, tags: TAGS },
  "small.flac": { probe: "flac", ...FLAC, packets: 39, endMs: 1000, lengthMs: 1000, tags: TAGS },
  "aac.aac": { probe: "adts", ...AAC, endMs: 2043.356, lengthMs: 2043 },
  "aac.mpegts": { probe: "adts", ...AAC, endMs: 2043.356, lengthMs: 2043 },
  "mp3.mpegts": { probe: "mpegts-adts", ...MP3, endMs: 2037.551, lengthMs: 2037 },
  "pcm_u8.wav": WAV,
  "pcm_s16le.wav": WAV,
  "pcm_s24le.wav": WAV,
  "pcm_s32le.wav": WAV,
  "pcm_f32le.wav": WAV,
  "pcm_f64le.wav": WAV,
  "pcm_alaw.wav": WAV,
  "pcm_mulaw.wav": WAV,
  "rf64.wav": WAV,
  "surround.wav": { ...WAV, rate: 96_000, channels: 6, packets: 3, endMs: 60, lengthMs: 60 },
};

const FORWARD: MemoryByteSourceOptions = { isRandomAccess: false, isSizeKnown: false };

async function open(name: string, options: MemoryByteSourceOptions = {}) {
  return openDemuxer(new MemoryByteSource(readMediaFixture(name), options), {}, createTrackBudget());
}

async function failure(bytes: Uint8Array, hints = {}): Promise<NodeError> {
  const error: unknown = await openDemuxer(new MemoryByteSource(bytes), hints, createTrackBudget()).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof NodeError)) throw new Error(`not refused with a NodeError: ${String(error)}`);
  return error;
}

describe.each(Object.entries(FILES))("%s", (name, facts) => {
  it(`${name} is recognised, with its tags, length and stream`, async () => {
    const demuxer = await open(name);
    const { probeName, title, author, isrc, artworkUrl, lengthMs } = demuxer.info;
    expect([probeName, lengthMs, demuxer.isSeekable]).toEqual([facts.probe, facts.lengthMs, facts.isSeekable ?? true]);
    expect([title, author, isrc, artworkUrl]).toEqual([...(facts.tags ?? []), ...Array(4)].slice(0, 4));
    const { codec, sampleRateHz, channelCount } = demuxer.stream;
    expect([codec, sampleRateHz, channelCount]).toEqual([facts.codec, facts.rate, facts.channels]);
  });

  it.each([
    ["random access", {}],
    ["forwards only", FORWARD],
    ["forwards only, byte by byte", { ...FORWARD, readAheadBytes: 0 }],
  ])(`${name} yields every packet at its time, %s`, async (_, options) => {
    const demuxer = await open(name, options);
    const packets = await readPackets(demuxer);
    expect(packets.length).toBe(facts.packets);
    expect(packets[0]?.timestampMs).toBeCloseTo(-(facts.delayMs ?? 0), 2);
    const last = packets.at(-1);
    const trimMs = (1000 * packets.reduce((sum, packet) => sum + packet.trimEndSamples, 0)) / facts.rate;
    expect((last?.timestampMs ?? 0) + (last?.durationMs ?? 0) - trimMs).toBeCloseTo(facts.endMs, 2);
    for (const [index, packet] of packets.entries()) {
      const next = packets[index + 1];
      if (next !== undefined) expect(next.timestampMs).toBeCloseTo(packet.timestampMs + packet.durationMs, 3);
    }
    expect(await demuxer.next()).toBeUndefined();
  });

  it("a reader on a source without ranges reports that it cannot seek", async () => {
    const demuxer = await open(name, FORWARD);
    const isSpooled = facts.probe === "mp4" && demuxer.isSeekable;
    expect(demuxer.isSeekable).toBe(isSpooled);
  });
});

describe("openDemuxer", () => {
  it("openDemuxer reads an MP4 file whose index is at the end from a server without ranges, and can then seek", async () => {
    const demuxer = await open("aac.m4a", FORWARD);
    expect(demuxer.isSeekable).toBe(true);
  });

  it.each([
    ["an empty file", "", "the file is empty"],
    ["a text file", "hello\n", "text file"],
    ["German text", "Straße über Äpfel und Öl\n".repeat(40), "text file"],
    ["a web page", "<!DOCTYPE html><html><head><title>x</title>", "web page"],
    ["a web page with a byte order mark and spaces first", "\ufeff \n<html lang=en>", "web page"],
    ["JSON", '{"error": "not found"}', "JSON"],
    ["a playlist", "[playlist]\nFile1=http://127.0.0.1/a.mp3\n", "text file"],
    ["an HLS playlist", "#EXTM3U\n#EXTINF:6,\nhls0.ts\n", "text file"],
    ["XML", '<?xml version="1.0"?><smil/>', "XML"],
    ["a PDF", "%PDF-1.4\n\u0001\u0002\u0003\u0004", "a PDF document"],
  ])("openDemuxer names %s", async (_, text, words) => {
    const error = await failure(new TextEncoder().encode(text));
    expect(error.code).toBe("media-unknown-format");
    expect(error.message).toContain("unknown file format: ");
    expect(error.message).toContain(words);
  });

  it("openDemuxer does not take random bytes for audio", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seededRandom(seed);
      const bytes = Uint8Array.from({ length: 20_000 }, () => Math.floor(random() * 256));
      expect((await failure(bytes)).code, `seed ${seed}`).toBe("media-unknown-format");
    }
  });

  it.each([
    ["speex.ogg", "media-unsupported-codec", "Speex"],
    ["ac3.mpegts", "media-unsupported-codec", "AC-3"],
    ["video-only.webm", "media-no-audio", "no audio track"],
  ])("openDemuxer refuses %s and says why", async (name, code, words) => {
    const error = await failure(readMediaFixture(name));
    expect(error.code).toBe(code);
    expect(error.message).toContain(words);
  });

  it("openDemuxer is not misled by hints", async () => {
    for (const [name, facts] of Object.entries(FILES)) {
      const hints = { mimeType: "audio/aac", fileName: "song.mp3", container: "wav" };
      const demuxer = await openDemuxer(new MemoryByteSource(readMediaFixture(name)), hints, createTrackBudget());
      expect(demuxer.info.probeName).toBe(facts.probe);
    }
  });

  it("openDemuxer finds MP3 frames far behind junk only when something promises them", async () => {
    const song = readMediaFixture("cbr-noxing.mp3");
    const bytes = Buffer.concat([new Uint8Array(300_000), song]);
    expect((await failure(bytes)).code).toBe("media-unknown-format");
    const demuxer = await openDemuxer(new MemoryByteSource(bytes), { mimeType: "audio/mpeg" }, createTrackBudget());
    expect(await readPackets(demuxer)).toHaveLength(78);
    const forward = new MemoryByteSource(bytes, { isRandomAccess: false, isSizeKnown: false });
    const live = await openDemuxer(forward, { mimeType: "audio/mpeg" }, createTrackBudget());
    expect(await readPackets(live)).toHaveLength(78);
  });

  it("openDemuxer reads an APE tag in front of MP3, also from a source that only runs forward", async () => {
    const item = (name: string, value: Uint8Array) => concat(le(value.length, 4), le(0, 4), ascii(`${name}\0`), value);
    const body = concat(item("Cover Art (Front)", new Uint8Array(200_000).fill(7)), item("Title", ascii("In front")));
    const edge = (flags: number) =>
      concat(ascii("APETAGEX"), le(2000, 4), le(body.length + 32, 4), le(2, 4), le(flags, 4), le(0, 8));
    const bytes = concat(edge(0xa0000000), body, edge(0x80000000), readMediaFixture("cbr-noxing.mp3"));
    for (const isRandomAccess of [true, false]) {
      const source = new MemoryByteSource(bytes, { isRandomAccess, isSizeKnown: isRandomAccess });
      const demuxer = await openDemuxer(source, {}, createTrackBudget());
      expect(demuxer.info.title).toBe("In front");
      expect(await readPackets(demuxer)).toHaveLength(78);
    }
  });

  it("openDemuxer closes the source with the reader", async () => {
    const source = new MemoryByteSource(readMediaFixture("opus.webm"));
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    demuxer.close();
    demuxer.close();
    expect(source.isClosed).toBe(true);
  });
});

it("openDemuxer does not open a reader for a signal that is already aborted", async () => {
  const source = new MemoryByteSource(await readMediaFixture("opus.webm"));
  const opening = openDemuxer(source, { signal: AbortSignal.abort() }, createTrackBudget());
  await expect(opening).rejects.toMatchObject({ code: "input-closed" });
});
