import { describe, expect, it } from "vitest";
import { ascii, be, concat } from "../../../../lab/media-files/bytes.ts";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { readId3 } from "../../../../src/media/demux/id3.ts";
import type { Tags } from "../../../../src/media/demux/tags.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { id3Tag } from "../../../support/media-builders.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const AUDIO = Uint8Array.of(0xff, 0xfb, 0x90, 0x44);

function frame3(id: string, body: Uint8Array): Uint8Array {
  return concat(ascii(id), be(body.length, 4), be(0, 2), body);
}

function utf16(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(`\ufeff${text}`, "utf16le"));
}

async function read(
  bytes: Uint8Array,
  isRandomAccess = true,
): Promise<{ tags: Tags; end: number; source: MemoryByteSource }> {
  const source = new MemoryByteSource(bytes, { isRandomAccess, readAheadBytes: 0 });
  const cursor = new ByteCursor(source);
  const tags: Tags = {};
  await readId3(cursor, tags, new DemuxWork(createTrackBudget()));
  return { tags, end: cursor.position, source };
}

describe("readId3", () => {
  it("readId3 reads ID3v2.2", async () => {
    const frames = concat(ascii("TT2"), be(6, 3), ascii("\0Title"), ascii("TP1"), be(7, 3), ascii("\0Artist"));
    const tag = id3Tag(2, 0, frames);
    const { tags, end } = await read(concat(tag, AUDIO));
    expect(tags).toEqual({ title: "Title", author: "Artist" });
    expect(end).toBe(tag.length);
  });

  it("readId3 reads all four text encodings of ID3v2.3 and v2.4", async () => {
    const latin = id3Tag(3, 0, frame3("TIT2", ascii("\0Stra\xdfe")));
    const utf16le = id3Tag(3, 0, frame3("TIT2", concat(Uint8Array.of(1), utf16("Straße"))));
    const utf16be = id3Tag(
      4,
      0,
      frame3("TIT2", concat(Uint8Array.of(2), Buffer.from(utf16("Straße")).subarray(2).swap16())),
    );
    const utf8 = id3Tag(4, 0, frame3("TIT2", concat(Uint8Array.of(3), new TextEncoder().encode("Straße"))));
    for (const tag of [latin, utf16le, utf16be, utf8]) expect((await read(tag)).tags.title).toBe("Straße");
  });

  it("readId3 takes the first of several values", async () => {
    const tag = id3Tag(4, 0, frame3("TPE1", concat(Uint8Array.of(3), ascii("One\0Two"))));
    expect((await read(tag)).tags.author).toBe("One");
  });

  it("readId3 undoes the unsynchronisation of a whole tag", async () => {
    const picture = frame3(
      "APIC",
      concat(ascii("\0image/jpeg\0\0\0"), Uint8Array.of(0xff, 0xe0, 0xff, 0x00, 0xff, 0xff)),
    );
    const frames = concat(picture, frame3("TIT2", ascii("\0Behind")));
    const escaped = Uint8Array.from([...frames].flatMap((byte) => (byte === 0xff ? [0xff, 0] : [byte])));
    const tag = id3Tag(3, 0x80, escaped);
    const { tags, end } = await read(concat(tag, AUDIO));
    expect(tags).toEqual({ title: "Behind" });
    expect(end).toBe(tag.length);
  });

  it("readId3 jumps over a big picture without loading it", async () => {
    const frames = concat(frame3("APIC", new Uint8Array(5_000_000)), frame3("TSRC", ascii("\0USTEST2600001")));
    const size = [21, 14, 7, 0].map((shift) => (frames.length >> shift) & 0x7f);
    const tag = concat(ascii("ID3"), Uint8Array.of(3, 0, 0, ...size), frames);
    const { tags, source } = await read(tag);
    expect(tags).toEqual({ isrc: "USTEST2600001" });
    expect(source.bytesRead).toBeLessThan(100_000);
  });

  it("readId3 skips an extended header and reads one tag after another", async () => {
    const extended = concat(be(6, 4), new Uint8Array(6));
    const first = id3Tag(3, 0x40, concat(extended, frame3("TIT2", ascii("\0One"))));
    const second = id3Tag(
      3,
      0,
      concat(frame3("TIT2", ascii("\0Two")), frame3("TPE1", ascii("\0Who")), new Uint8Array(50)),
    );
    const { tags, end } = await read(concat(first, second, AUDIO), false);
    expect(tags).toEqual({ title: "One", author: "Who" });
    expect(end).toBe(first.length + second.length);
  });

  it("an ID3 tag is read once from a source that only runs forward", async () => {
    const picture = frame3("APIC", new Uint8Array(200_000));
    const tag = id3Tag(3, 0, concat(picture, picture, frame3("TIT2", ascii("\0Behind"))));
    const bytes = concat(tag, readMediaFixture("cbr-noxing.mp3"));
    const source = new MemoryByteSource(bytes, { isRandomAccess: false, isSizeKnown: false });
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    expect(demuxer.info.title).toBe("Behind");
    expect(await readPackets(demuxer)).toHaveLength(78);
  });

  it("readId3 leaves the cursor in place when there is no tag", async () => {
    expect(await read(AUDIO)).toMatchObject({ tags: {}, end: 0 });
  });
});
