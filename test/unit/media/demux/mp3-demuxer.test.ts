import { describe, expect, it } from "vitest";
import { ascii, be, concat, le } from "../../../../lab/media-files/bytes.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { id3Tag, mp3Frames } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

function open(bytes: Uint8Array) {
  return openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget());
}

/** A frame of 128 kbit/s at 44.1 kHz that carries a summary instead of audio. */
function vbriFrame(table: { frameCount: number; sizes: readonly number[]; framesPerEntry: number }): Uint8Array {
  const frame = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 417 });
  const fields = [
    ...[ascii("VBRI"), be(1, 2), be(0, 2), be(0, 2), be(0, 4), be(table.frameCount, 4)],
    ...[be(table.sizes.length, 2), be(1, 2), be(2, 2), be(table.framesPerEntry, 2)],
    ...table.sizes.map((size) => be(size, 2)),
  ];
  frame.set(concat(...fields), 36);
  return frame;
}

describe("the MP3 reader", () => {
  // Sizes and lengths as recorded from Lavalink 4.2.2 with tone.mp3, notags.mp3, tone-noxing.mp3, tone44.mp3, tronc
  // é.mp3.
  it.each([
    [192, 48_000, 88, 721_240, 30_048],
    [128, 48_000, 45, 480_813, 30_048],
    [128, 48_000, 0, 480_384, 30_024],
    [192, 44_100, 88, 721_693, 30_066],
    [192, 48_000, 88, 40_000, 1_656],
  ] as const)(
    "shows the length that clients know: %i kbit/s, %i Hz, %i bytes of tag, %i in all",
    async (kbps, rateHz, tagBytes, sizeBytes, lengthMs) => {
      const tag = tagBytes === 0 ? new Uint8Array(0) : id3Tag(3, 0, new Uint8Array(tagBytes - 10));
      const bytes = concat(tag, mp3Frames({ kbps, rateHz, sizeBytes: sizeBytes - tagBytes }));
      const demuxer = await open(bytes);
      expect(demuxer.info.lengthMs).toBe(lengthMs);
    },
  );

  it("the MP3 reader seeks a long file of constant rate to the exact frame without reading through it", async () => {
    const bytes = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 20_000_000 });
    const source = new MemoryByteSource(bytes);
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    for (const targetMs of [1_000_000, 3, 777_777]) {
      await demuxer.seek(targetMs);
      const packet = await demuxer.next();
      const frame = Math.round(((packet?.timestampMs ?? 0) * 44_100) / 1_152_000);
      const start = Math.floor((frame * 144_000 * 128) / 44_100);
      expect(packet?.data.byteOffset).toBe(start);
      expect(packet?.timestampMs).toBeLessThanOrEqual(targetMs);
      expect(packet?.timestampMs).toBeGreaterThan(targetMs - 150);
    }
    expect(source.bytesRead).toBeLessThan(400_000);
  });

  it("the MP3 reader counts frames of a file of varying rate only once", async () => {
    const source = new MemoryByteSource(concat(...Array<Uint8Array>(40).fill(readMediaFixture("vbr-noxing.mp3"))));
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    await demuxer.seek(100_000);
    const [first] = await readPackets(demuxer, 1);
    const afterFirst = source.bytesRead;
    await demuxer.seek(99_000);
    await demuxer.seek(100_000);
    const [second] = await readPackets(demuxer, 1);
    expect(second?.timestampMs).toBe(first?.timestampMs);
    expect(source.bytesRead - afterFirst).toBeLessThan(200_000);
  });

  it("the MP3 reader begins enough frames before a target that small ones, too, have all the bytes they depend on", async () => {
    const demuxer = await open(readMediaFixture("vbr.mp3"));
    await demuxer.seek(2000);
    let frameCount = 0;
    let bytes = 0;
    for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
      if (packet.timestampMs + packet.durationMs > 2000) break;
      frameCount += 1;
      bytes += packet.data.length;
    }
    expect(frameCount).toBe(10);
    expect(bytes).toBeGreaterThan(511);
  });

  it("the MP3 reader uses the table of a VBRI frame for seeking", async () => {
    const audio = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 4_000_000 });
    const frameBytes = (144_000 * 128) / 44_100;
    const edges = Array.from({ length: 96 }, (_, index) => Math.floor(index * 100 * frameBytes));
    const sizes = stepsOf(edges);
    const bytes = concat(vbriFrame({ frameCount: 9569, sizes, framesPerEntry: 100 }), audio);
    const source = new MemoryByteSource(bytes);
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect(demuxer.info.lengthMs).toBe(Math.floor((9569 * 1152) / 44.1));
    await demuxer.seek(200_000);
    const packet = await demuxer.next();
    const frame = Math.round(((packet?.timestampMs ?? 0) * 44_100) / 1_152_000);
    expect(packet?.data.byteOffset).toBe(417 + Math.floor(frame * frameBytes));
    expect(source.bytesRead).toBeLessThan(400_000);
  });

  it("the MP3 reader skips junk between frames and tags behind them", async () => {
    const song = readMediaFixture("cbr-noxing.mp3");
    const junk = Uint8Array.from({ length: 5000 }, (_, index) => (index * 37) % 251);
    const ape = concat(
      ascii("APETAGEX"),
      le(2000, 4),
      le(32 + 500, 4),
      le(1, 4),
      le(0xa0000000, 4),
      le(0, 8),
      new Uint8Array(532),
    );
    const id3v1 = concat(ascii("TAG"), new Uint8Array(125));
    const whole = await readPackets(await open(song));
    const half = whole.slice(0, 40).reduce((size, { data }) => size + data.length, 0);
    const bytes = concat(junk.subarray(0, 500), song.subarray(0, half), junk, song.subarray(half), ape, id3v1);
    const packets = await readPackets(await open(bytes));
    expect(packets.map(({ data }) => data)).toEqual(whole.map(({ data }) => data));
  });

  it("the MP3 reader continues with another stream when the file changes its rate", async () => {
    const bytes = concat(readMediaFixture("cbr-noxing.mp3"), readMediaFixture("mpeg2.mp3"));
    const demuxer = await open(bytes);
    const first = demuxer.stream;
    const packets = await readPackets(demuxer);
    expect(first.sampleRateHz).toBe(44_100);
    expect(demuxer.stream).not.toBe(first);
    expect(demuxer.stream.sampleRateHz).toBe(22_050);
    for (const [index, packet] of packets.slice(1).entries()) {
      const before = packets[index];
      expect(packet.timestampMs).toBeCloseTo((before?.timestampMs ?? 0) + (before?.durationMs ?? 0), 3);
    }
  });

  it("a station that begins with a summary frame is a stream that plays on behind the summary's last frame", async () => {
    const whole = await open(readMediaFixture("cbr.mp3"));
    const song = readMediaFixture("cbr.mp3");
    const bytes = concat(song, readMediaFixture("cbr-noxing.mp3"));
    const source = new MemoryByteSource(bytes, { isRandomAccess: false, isSizeKnown: false, isLive: true });
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect([demuxer.info.lengthMs, demuxer.isSeekable]).toEqual([undefined, false]);
    const packets = await readPackets(demuxer);
    expect(packets.length).toBeGreaterThan((await readPackets(whole)).length + 77);
    expect(packets.every(({ trimEndSamples }) => trimEndSamples === 0)).toBe(true);
    const file = new MemoryByteSource(song, { isRandomAccess: false, isSizeKnown: false });
    expect((await openDemuxer(file, {}, createTrackBudget())).info.lengthMs).toBe(2063);
  });

  const ID3V1 = concat(
    ascii("TAG"),
    ascii("Old title".padEnd(30, "\0")),
    ascii("Old artist".padEnd(30)),
    new Uint8Array(65),
  );
  const LYRICS = concat(ascii("LYRICSBEGIN"), ascii("IND0000210"), ascii("000021LYRICS200"));
  const OLD_LYRICS = ascii(`LYRICSBEGIN${"la ".repeat(500)}LYRICSEND`);
  const APPENDED = concat(id3Tag(4, 0x10, new Uint8Array(900)), ascii("3DI"), Uint8Array.of(4, 0, 0x10, 0, 0, 7, 4));

  function apeTag(items: readonly (readonly [string, Uint8Array])[]): Uint8Array {
    const body = concat(
      ...items.map(([name, value]) => concat(le(value.length, 4), le(0, 4), ascii(`${name}\0`), value)),
    );
    const frame = (flags: number) =>
      concat(ascii("APETAGEX"), le(2000, 4), le(body.length + 32, 4), le(items.length, 4), le(flags, 4), le(0, 8));
    return concat(frame(0xa0000000), body, frame(0x80000000));
  }

  const PICTURE = ["Cover Art (Front)", new Uint8Array(300_000).fill(7)] as const;

  it.each([
    ["ID3v1", ID3V1, "Old title"],
    ["ID3v1 behind Lyrics3", concat(LYRICS, ID3V1), "Old title"],
    ["ID3v1 behind old Lyrics3", concat(OLD_LYRICS, ID3V1), "Old title"],
    ["APE with a picture", apeTag([PICTURE, ["Title", Buffer.from("Žižek")]]), "Žižek"],
    ["APE in Latin-1 and ID3v1", concat(apeTag([["TITLE", ascii("Caf\xe9")]]), ID3V1), "Café"],
    ["ID3v2 with a footer", APPENDED, undefined],
  ])("tags behind the audio are read and do not count as audio: %s", async (_what, tag, title) => {
    for (const name of ["cbr-noxing.mp3", "vbr-noxing.mp3", "cbr.mp3", "mpeg2.mp3"]) {
      const song = readMediaFixture(name);
      const plain = await open(song);
      const demuxer = await open(concat(song, tag));
      expect([name, demuxer.info.lengthMs]).toEqual([name, plain.info.lengthMs]);
      expect(demuxer.info.title).toBe(plain.info.title ?? title);
      expect(await readPackets(demuxer)).toHaveLength((await readPackets(plain)).length);
    }
  });

  it("the count of an Info frame is the length where garbage stands behind the audio, and not where audio goes on", async () => {
    const song = readMediaFixture("cbr.mp3");
    const garbage = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 37) % 251);
    expect((await open(concat(song, garbage))).info.lengthMs).toBe(2063);
    const longer = await open(concat(song, ...Array<Uint8Array>(9).fill(readMediaFixture("cbr-noxing.mp3"))));
    expect(longer.info.lengthMs).toBeGreaterThan(20_000);
    expect(longer.info.lengthMs).toBeLessThan(20_500);
  });

  it("the length of a file that is cut off is what is there", async () => {
    for (const name of ["cbr.mp3", "vbr.mp3"]) {
      const song = readMediaFixture(name);
      const whole = await open(song);
      const half = await open(song.subarray(0, song.length / 2));
      expect(half.info.lengthMs! / whole.info.lengthMs!).toBeCloseTo(0.5, 1);
    }
  });

  it("a summary frame with an absurd count is not believed", async () => {
    const audio = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 400_000 });
    for (const frameCount of [3, 500_000]) {
      const bytes = concat(vbriFrame({ frameCount, sizes: [], framesPerEntry: 0 }), audio);
      const lengthMs = (await open(bytes)).info.lengthMs!;
      expect(lengthMs).toBeGreaterThan(24_800);
      expect(lengthMs).toBeLessThan(25_200);
    }
  });

  it("a summary frame whose counts contradict the file is not believed, and the file seeks to its end", async () => {
    for (const name of ["cbr.mp3", "vbr.mp3"]) {
      const song = readMediaFixture(name);
      const { lengthMs } = (await open(song)).info;
      const at = Buffer.from(song.buffer, song.byteOffset, song.length).indexOf(name === "cbr.mp3" ? "Info" : "Xing");
      for (const fieldAt of [at + 8, at + 12]) {
        for (const factor of [0.5, 2]) {
          const bytes = song.slice();
          const view = new DataView(bytes.buffer);
          view.setUint32(fieldAt, view.getUint32(fieldAt) * factor);
          const demuxer = await open(bytes);
          expect(Math.abs(demuxer.info.lengthMs! - lengthMs!), `${name} ${fieldAt - at} x${factor}`).toBeLessThan(60);
          await demuxer.seek(lengthMs! * 0.8);
          expect((await demuxer.next())?.timestampMs).toBeGreaterThan(lengthMs! * 0.6);
        }
      }
    }
  });

  it("a summary frame that is right is believed though quiet ends have few bytes, and not where a large file is cut", async () => {
    const part = (kbps: number, frames: number) => mp3Frames({ kbps, rateHz: 48_000, sizeBytes: kbps * 3 * frames });
    for (const scale of [1, 5]) {
      const audio = concat(part(32, 400 * scale), part(320, 1400 * scale), part(32, 400 * scale));
      const summary = mp3Frames({ kbps: 128, rateHz: 48_000, sizeBytes: 384 });
      const field = concat(ascii("Xing"), be(3, 4), be(2200 * scale, 4), be(384 + audio.length, 4));
      summary.set(field, 36);
      const bytes = concat(summary, audio);
      expect((await open(bytes)).info.lengthMs).toBe(2200 * scale * 24);
      const cut = await open(bytes.subarray(0, bytes.length * 0.7));
      expect(Math.abs(cut.info.lengthMs! / (2200 * scale * 24) - 0.7)).toBeLessThan(0.15);
    }
  });

  it("a VBRI table that is not as long as the audio is not used for seeking", async () => {
    const audio = mp3Frames({ kbps: 128, rateHz: 44_100, sizeBytes: 400_000 });
    const table = { frameCount: 957, sizes: Array<number>(90).fill(0), framesPerEntry: 10 };
    const demuxer = await open(concat(vbriFrame(table), audio));
    await demuxer.seek(20_000);
    const packet = await demuxer.next();
    const frame = Math.round(((packet?.timestampMs ?? 0) * 44.1) / 1152);
    expect(packet?.data.byteOffset).toBe(417 + Math.floor((frame * 144_000 * 128) / 44_100));
  });

  it("the length is not measured when audio is needed soon", async () => {
    const part = (kbps: number) => mp3Frames({ kbps, rateHz: 48_000, sizeBytes: 900_000 });
    const source = new MemoryByteSource(concat(part(64), part(320)));
    const demuxer = await openDemuxer(source, { isLengthNeeded: false }, createTrackBudget());
    expect(demuxer.info.lengthMs).toBeUndefined();
    expect(source.bytesRead).toBeLessThan(200_000);
  });

  it("the length of a file that changes its rate behind its first frames is counted, or sampled in a large one", async () => {
    const part = (kbps: number, sizeBytes: number) => mp3Frames({ kbps, rateHz: 48_000, sizeBytes });
    // 32 kbit/s has frames of 96 bytes, 320 of 960.
    const small = await open(concat(part(32, 96_000), part(320, 960_000)));
    expect(small.info.lengthMs).toBe(2000 * 24);
    const source = new MemoryByteSource(concat(part(32, 960_000), part(320, 9_600_000)));
    const large = await openDemuxer(source, {}, createTrackBudget());
    expect(large.info.lengthMs! / (20_000 * 24)).toBeGreaterThan(0.6);
    expect(large.info.lengthMs! / (20_000 * 24)).toBeLessThan(1.4);
    expect(source.bytesRead).toBeLessThan(500_000);
  });

  it("the frames of a file of varying rate are all counted around junk of any size", async () => {
    const part = (kbps: number) => mp3Frames({ kbps, rateHz: 48_000, sizeBytes: kbps * 600 });
    for (const junkBytes of [3_000, 7_000, 8_000, 9_000, 13_000]) {
      const bytes = concat(part(64), new Uint8Array(junkBytes), part(320), new Uint8Array(junkBytes), part(128));
      expect((await open(bytes)).info.lengthMs, `${junkBytes} bytes`).toBe(3 * 200 * 24);
    }
  });

  it("a file of two frames before a tag plays", async () => {
    for (const tag of [ID3V1, concat(apeTag([PICTURE]), ID3V1), new Uint8Array(9000)]) {
      const frames = mp3Frames({ kbps: 128, rateHz: 48_000, sizeBytes: 768 });
      expect(await readPackets(await open(concat(frames, tag)))).toHaveLength(2);
    }
  });

  it.each([
    // 192 kbit/s at 48 kHz: 576 bytes for 1,152 samples, and 192 for 384 of Layer I.
    ["Layer II", Uint8Array.of(0xff, 0xfd, 0xa4, 0), 576, 24],
    ["Layer I", Uint8Array.of(0xff, 0xff, 0x64, 0), 192, 8],
    // 160 kbit/s at 8 kHz: the longest frame.
    ["Layer II of MPEG 2.5", Uint8Array.of(0xff, 0xe5, 0xe8, 0), 2880, 144],
  ])("%s plays, with length and seek", async (_layer, head, frameBytes, frameMs) => {
    const bytes = new Uint8Array(frameBytes * 100);
    for (let at = 0; at < bytes.length; at += frameBytes) bytes.set(head, at);
    const demuxer = await open(bytes);
    expect(demuxer.info.lengthMs).toBe(100 * frameMs);
    expect(await readPackets(demuxer)).toHaveLength(100);
    await demuxer.seek(50 * frameMs);
    const packet = await demuxer.next();
    expect(packet?.data.byteOffset).toBe(((packet?.timestampMs ?? 0) / frameMs) * frameBytes);
    const decoder = await createDecoder(demuxer.stream);
    const block = await decoder.decode(bytes.subarray(0, frameBytes));
    expect(block.lengthSamples).toBe((frameMs * demuxer.stream.sampleRateHz) / 1000);
    decoder.close();
  });
});
