// Loudness from the tags of a file: real files by FFmpeg, and built tags for forms that it cannot write.

import { describe, expect, it } from "vitest";
import { ascii, be, concat, le } from "../../../../lab/media-files/bytes.ts";
import { box, oggPage } from "../../../../lab/media-files/containers.ts";
import { opusPacket } from "../../../../lab/media-files/counted-song.ts";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { readId3 } from "../../../../src/media/demux/id3.ts";
import { withTaggedLoudness } from "../../../../src/media/demux/loudness-tags.ts";
import type { Tags } from "../../../../src/media/demux/tags.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { id3Tag, opusHeaders } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const WORK = new DemuxWork(createTrackBudget());

const STREAM: AudioStream = {
  codec: "pcm",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};
/** "-7.03 dB" of ReplayGain. */
const TAGGED_LUFS = -10.97;

async function loudnessIn(bytes: Uint8Array) {
  return (await openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget())).stream.loudnessLufs;
}

function loudnessOf(tags: Tags, channelCount = 2) {
  return withTaggedLoudness({ ...STREAM, channelCount }, tags).loudnessLufs;
}

describe("loudness in a file's tags", () => {
  it.each([
    ["loudness.mp3", TAGGED_LUFS],
    ["loudness.ogg", TAGGED_LUFS],
    ["loudness.flac", TAGGED_LUFS],
    ["loudness.mka", TAGGED_LUFS + 3.01],
    ["loudness.opus", -18],
    ["opus.ogg", undefined],
  ])("the loudness tag is read from %s", async (name, lufs) => {
    const loudness = await loudnessIn(readMediaFixture(name));
    if (lufs === undefined) expect(loudness).toBeUndefined();
    else expect(loudness).toBeCloseTo(lufs, 6);
  });

  it("the loudness tag is read as iTunes writes it into MP4", async () => {
    const text = concat(be(1, 4), be(0, 4), ascii("-7.03 dB"));
    const mean = concat(be(0, 4), ascii("com.apple.iTunes"));
    const name = concat(be(0, 4), ascii("replaygain_track_gain"));
    const item = box("----", box("mean", mean), box("name", name), box("data", text));
    const bytes = appendToItemList(readMediaFixture("aac.m4a"), item);
    expect(await loudnessIn(bytes)).toBeCloseTo(TAGGED_LUFS, 6);
  });

  it("the loudness tag is read from an ID3 tag before ADTS frames", async () => {
    const frame = concat(ascii("\0replaygain_track_gain\0-7.03 dB"));
    const tag = id3Tag(3, 0, concat(ascii("TXXX"), be(frame.length, 4), be(0, 2), frame));
    expect(await loudnessIn(concat(tag, readMediaFixture("aac.aac")))).toBeCloseTo(TAGGED_LUFS, 6);
  });

  it("the loudness tag is read again for each song of a chained stream", async () => {
    const [head] = opusHeaders();
    const songs = ["-1280", undefined, "512"].map((gain, serial) => {
      const comment = ascii(`R128_TRACK_GAIN=${gain}`);
      const comments = gain === undefined ? le(0, 4) : concat(le(1, 4), le(comment.length, 4), comment);
      const headers = [head, concat(ascii("OpusTags"), le(0, 4), comments)].map((packet, sequence) =>
        oggPage({ serial, sequence, granule: 0, flags: sequence === 0 ? 2 : 0, packets: [packet] }),
      );
      return concat(
        ...headers,
        oggPage({ serial, sequence: 2, granule: 1920, flags: 4, packets: [opusPacket(0), opusPacket(1)] }),
      );
    });
    const demuxer = await openDemuxer(new MemoryByteSource(concat(...songs)), {}, createTrackBudget());
    const received = [];
    while ((await demuxer.next()) !== undefined) received.push(demuxer.stream.loudnessLufs);
    expect(received).toEqual([-18, -18, undefined, undefined, -25, -25]);
  });

  it("the loudness tag also applies behind a change of rate in the file", async () => {
    const tagged = readMediaFixture("loudness.mp3");
    const demuxer = await openDemuxer(
      new MemoryByteSource(concat(tagged, readMediaFixture("mpeg2.mp3"))),
      {},
      createTrackBudget(),
    );
    await readPackets(demuxer);
    expect(demuxer.stream.sampleRateHz).toBe(22_050);
    // One channel instead of two.
    expect(demuxer.stream.loudnessLufs).toBeCloseTo(TAGGED_LUFS + 3.01, 6);
  });
});

describe("the texts of free ID3 frames", () => {
  const utf16 = (text: string) => Uint8Array.from(Buffer.from(`\ufeff${text}`, "utf16le"));
  it.each([
    ["Latin-1", 3, ascii("\0REPLAYGAIN_TRACK_GAIN\0+1.5 dB")],
    ["UTF-8", 4, ascii("\u0003Replaygain_Track_Gain\0+1.5 dB\0more")],
    ["UTF-16", 3, concat(ascii("\u0001"), utf16("replaygain_track_gain\0"), utf16("+1.5 dB"))],
    ["ID3v2.2", 2, ascii("\0REPLAYGAIN_TRACK_GAIN\0+1.5 dB")],
  ])("the free ID3 frame %s is read", async (_, version, body) => {
    const head = version === 2 ? [ascii("TXX"), be(body.length, 3)] : [ascii("TXXX"), be(body.length, 4), be(0, 2)];
    const tags: Tags = {};
    await readId3(new ByteCursor(new MemoryByteSource(id3Tag(version, 0, concat(...head, body)))), tags, WORK);
    expect(tags).toEqual({ replayGain: "+1.5 dB" });
  });

  it("free ID3 frames with other names set nothing, not even a title", async () => {
    const frames = ["TITLE\0Other", "\0", "constructor\0x", "no end"].map((text) =>
      concat(ascii("TXXX"), be(text.length + 1, 4), be(0, 2), ascii(`\0${text}`)),
    );
    const tags: Tags = {};
    await readId3(new ByteCursor(new MemoryByteSource(id3Tag(3, 0, concat(...frames)))), tags, WORK);
    expect(tags).toEqual({});
  });
});

describe("the value of a loudness tag", () => {
  it.each([
    ["-7.03 dB", TAGGED_LUFS],
    ["+2,5", -20.5],
    ["0 db", -18],
    ["42 dB", -60],
    ["42.1 dB", undefined],
    ["-18.5 dB", undefined],
    ["loud", undefined],
    ["NaN", undefined],
    ["1e3 dB", undefined],
    ["", undefined],
  ])("the ReplayGain value %j is parsed", (replayGain, lufs) => {
    expect(loudnessOf({ replayGain })).toEqual(lufs === undefined ? undefined : expect.closeTo(lufs, 6));
  });

  it.each([
    ["-1280", -18],
    ["+256", -24],
    ["32767", undefined],
    ["1.5", undefined],
    ["-7 dB", undefined],
  ])("the R128 value %j is parsed", (r128Gain, lufs) => {
    expect(loudnessOf({ r128Gain })).toBe(lufs);
  });

  it("an R128 tag is preferred to ReplayGain, unless it is invalid", () => {
    expect(loudnessOf({ r128Gain: "0", replayGain: "0 dB" })).toBe(-23);
    expect(loudnessOf({ r128Gain: "99999", replayGain: "0 dB" })).toBe(-18);
  });

  it("one channel plays on both sides, and the loudness of more than two is unknown once they are mixed", () => {
    expect(loudnessOf({ r128Gain: "0" }, 1)).toBeCloseTo(-19.99, 6);
    expect(loudnessOf({ r128Gain: "0" }, 6)).toBeUndefined();
  });
});

/** Puts an item at the end of `moov/udta/meta/ilst` of a file that ends with its `moov`. */
function appendToItemList(file: Uint8Array, item: Uint8Array): Uint8Array {
  const bytes = concat(file);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const type of ["moov", "udta", "meta", "ilst"]) {
    while (Buffer.from(bytes.subarray(at + 4, at + 8)).toString() !== type) at += view.getUint32(at);
    if (type === "moov") expect(at + view.getUint32(at)).toBe(bytes.length);
    const sizeBytes = view.getUint32(at);
    view.setUint32(at, sizeBytes + item.length);
    if (type === "ilst") return concat(bytes.subarray(0, at + sizeBytes), item, bytes.subarray(at + sizeBytes));
    at += type === "meta" ? 12 : 8;
  }
  throw new Error("no item list");
}
