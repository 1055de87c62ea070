import { deflateSync } from "node:zlib";
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

function safeSize(size: number): Uint8Array {
  return Uint8Array.from([21, 14, 7, 0].map((shift) => (size >> shift) & 0x7f));
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

  it("readId3 steps over ids of 2.2 and ids with wrong letters in a 2.3 header", async () => {
    const odd = [frame3("TP1\0", ascii("\0Artist")), frame3("TAL ", ascii("\0Album")), frame3("ab*c", ascii("odd"))];
    const tag = id3Tag(3, 0, concat(...odd, frame3("TIT2", ascii("\0Title")), new Uint8Array(40)));
    expect((await read(tag)).tags).toEqual({ title: "Title", author: "Artist" });
  });

  it("a text under an id of 2.2 in a 2.3 tag counts only where the tag's own id is missing", async () => {
    const odd = [frame3("TP1\0", ascii("\0Other")), frame3("TT2\0", ascii("\0Title"))];
    const tag = id3Tag(3, 0, concat(...odd, frame3("TPE1", ascii("\0Artist")), new Uint8Array(40)));
    expect((await read(tag)).tags).toEqual({ title: "Title", author: "Artist" });
  });

  it("readId3 reads frames of 2.2 behind a 2.3 header and the other way round", async () => {
    const short = concat(ascii("TT2"), be(6, 3), ascii("\0Title"), ascii("TP1"), be(7, 3), ascii("\0Artist"));
    expect((await read(id3Tag(3, 0, short))).tags).toEqual({ title: "Title", author: "Artist" });
    const long = concat(frame3("TIT2", ascii("\0Title")), frame3("TPE1", ascii("\0Artist")));
    expect((await read(id3Tag(2, 0, long))).tags).toEqual({ title: "Title", author: "Artist" });
  });

  describe.each([true, false])("with a source that jumps: %s", (isRandomAccess) => {
    it.each([
      ["plain sizes in a 2.4 tag", 4, 30_000, (size: number) => be(size, 4)],
      ["sizes of 2.4 in a 2.3 tag", 3, 30_000, safeSize],
      ["plain sizes of 200 bytes in a 2.4 tag", 4, 200, (size: number) => be(size, 4)],
    ] as const)("readId3 reads the title behind a picture: %s", async (_what, version, sizeBytes, toSize) => {
      const picture = Uint8Array.from({ length: sizeBytes }, (_, index) => (index % 7 === 0 ? 0 : index % 251));
      const frames = concat(
        ...[ascii("APIC"), toSize(picture.length), be(0, 2), picture],
        ...[ascii("TIT2"), toSize(6), be(0, 2), ascii("\0Title"), new Uint8Array(300)],
      );
      const tag = id3Tag(version, 0, frames);
      const { tags, end } = await read(concat(tag, AUDIO), isRandomAccess);
      expect(tags).toEqual({ title: "Title" });
      expect(end).toBe(tag.length);
    });

    it("readId3 finds the title behind a picture whose size is wrong", async () => {
      for (const wrong of [29_999, 30_001, 500, 0x7f7f7f]) {
        const picture = concat(ascii("APIC"), be(wrong, 4), be(0, 2), new Uint8Array(30_000).fill(9));
        const tag = id3Tag(4, 0, concat(picture, frame3("TIT2", ascii("\0Title")), frame3("TPE1", ascii("\0Artist"))));
        const { tags } = await read(concat(tag, AUDIO), isRandomAccess);
        expect([wrong, tags]).toEqual([wrong, { title: "Title", author: "Artist" }]);
      }
    });

    it("readId3 gives up the search in a tag full of what looks like frames", async () => {
      const broken = concat(ascii("XXXX"), Uint8Array.of(0x7f, 0x7f, 0x7f, 0x7f, 0, 0));
      const title = frame3("TIT2", ascii("\0Title"));
      const found = await read(id3Tag(3, 0, concat(broken, ascii("TIT9".repeat(100)), title)));
      expect(found.tags.title).toBe("Title");
      const lost = await read(id3Tag(3, 0, concat(broken, ascii("TIT9".repeat(1000)), title)));
      expect(lost.tags.title).toBeUndefined();
    });

    it("readId3 keeps the text of a frame that claims to be longer than its tag", async () => {
      const tag = id3Tag(3, 0, concat(ascii("TIT2"), be(0x7f7f7f, 4), be(0, 2), ascii("\0Title")));
      expect((await read(concat(tag, new Uint8Array(200_000)), isRandomAccess)).tags).toEqual({ title: "Title" });
    });
  });

  it("readId3 finds the end of the tag with plain size, with footer, and without the footer's flag", async () => {
    const frames = concat(frame3("TIT2", ascii("\0Title")), new Uint8Array(300));
    const footer = concat(ascii("3DI"), new Uint8Array(7));
    const plain = concat(
      ascii("ID3"),
      Uint8Array.of(4, 0, 0),
      be(0x1ff, 4),
      frames,
      new Uint8Array(0x1ff - frames.length),
    );
    for (const bytes of [concat(id3Tag(4, 0x10, frames), footer), concat(id3Tag(4, 0, frames), footer), plain]) {
      expect(await read(concat(bytes, AUDIO))).toMatchObject({ tags: { title: "Title" }, end: bytes.length });
    }
    const lost = id3Tag(4, 0x10, frames);
    expect(await read(concat(lost, AUDIO))).toMatchObject({ end: lost.length });
  });

  it("readId3 reads an extended header of 2.4, one sized as in the other version, and a flag without one", async () => {
    const title = concat(frame3("TIT2", ascii("\0Title")), new Uint8Array(20));
    const v4 = concat(be(6, 4), Uint8Array.of(1, 0), title);
    const v3 = concat(be(10, 4), new Uint8Array(6), title);
    for (const tag of [id3Tag(4, 0x40, v4), id3Tag(3, 0x40, v3), id3Tag(3, 0x40, title), id3Tag(4, 0x40, title)]) {
      expect((await read(tag)).tags).toEqual({ title: "Title" });
    }
  });

  it("readId3 reads a tag that is marked as unsynchronised and is not", async () => {
    const body = concat(Uint8Array.of(1), utf16("Ti\u00fftle"));
    for (const version of [3, 4]) {
      expect((await read(id3Tag(version, 0x80, frame3("TIT2", body)))).tags).toEqual({ title: "Ti\u00fftle" });
    }
  });

  it("readId3 reads an unsynchronised title of 2.4, by its flag and by the flag of the tag", async () => {
    const escaped = concat(Uint8Array.of(1, 0xff, 0, 0xfe), utf16("Title").subarray(2));
    const head = (flags: number) => concat(ascii("TIT2"), be(escaped.length, 4), be(flags, 2), escaped);
    expect((await read(id3Tag(4, 0, head(2)))).tags).toEqual({ title: "Title" });
    expect((await read(id3Tag(4, 0x80, head(0)))).tags).toEqual({ title: "Title" });
  });

  it("readId3 reads compressed and grouped frames", async () => {
    const text = ascii("\0Title");
    const packed = concat(be(text.length, 4), new Uint8Array(deflateSync(text)));
    const v3 = concat(ascii("TIT2"), be(packed.length, 4), be(0x80, 2), packed);
    const v4 = concat(ascii("TIT2"), be(packed.length, 4), be(0x09, 2), packed);
    const grouped = concat(ascii("TPE1"), be(8, 4), be(0x20, 2), ascii("g\0Artist"));
    expect((await read(id3Tag(3, 0, concat(v3, grouped)))).tags).toEqual({ title: "Title", author: "Artist" });
    expect((await read(id3Tag(4, 0, v4))).tags).toEqual({ title: "Title" });
  });

  it.each([
    ["UTF-8 that calls itself Latin-1", concat(Uint8Array.of(0), Buffer.from("Žižek", "utf8")), "Žižek"],
    ["Latin-1 that calls itself UTF-8", concat(Uint8Array.of(3), ascii("Caf\xe9 noir")), "Café noir"],
    ["Windows-1251 that calls itself Latin-1", Uint8Array.of(0, 0xca, 0xe8, 0xed, 0xee), "Кино"],
    ["UTF-16 without a mark", concat(Uint8Array.of(1), Buffer.from("Käse", "utf16le")), "Käse"],
    ["UTF-16, big-endian, without a mark", concat(Uint8Array.of(1), Buffer.from("Käse", "utf16le").swap16()), "Käse"],
    ["UTF-16BE with the mark of the other", concat(Uint8Array.of(2), utf16("Käse")), "Käse"],
    ["Latin-1 that calls itself UTF-16", concat(Uint8Array.of(1), ascii("Plain text")), "Plain text"],
    ["text without its encoding", ascii("Plain text"), "Plain text"],
    ["an empty first value", concat(Uint8Array.of(3), ascii("\0Second")), "Second"],
  ] as const)("readId3 reads %s", async (_what, body, title) => {
    expect((await read(id3Tag(3, 0, frame3("TIT2", body)))).tags).toEqual({ title });
  });

  it.each([
    ["without a byte order mark, high bytes first", Buffer.from("Кино", "utf16le").swap16(), "Кино"],
    ["without a byte order mark, low bytes first", Buffer.from("Кино", "utf16le"), "Кино"],
    ["low bytes first, of Chinese", Buffer.from("一人", "utf16le"), "一人"],
    ["with half a character at its end", concat(utf16("Кино"), Uint8Array.of(0)), "Кино"],
    ["without a mark, with half a character at its end", concat(Buffer.from("Кино", "utf16le"), ascii("\0")), "Кино"],
  ])("readId3 reads UTF-16 %s", async (_what, text, title) => {
    expect((await read(id3Tag(3, 0, frame3("TIT2", concat(Uint8Array.of(1), text))))).tags.title).toBe(title);
  });

  it.each(["桜", "夢", "一人", "湖水", "世界に一つだけの花", "Кино", "Käse", "A"])(
    "readId3 reads UTF-16BE as version 2.4 has it: %s",
    async (title) => {
      const body = concat(Uint8Array.of(2), Buffer.from(title, "utf16le").swap16());
      expect((await read(id3Tag(4, 0, frame3("TIT2", body)))).tags.title).toBe(title);
    },
  );

  it("readId3 stops behind the last frame of a tag that claims to be longer than the file", async () => {
    const tag = concat(ascii("ID3"), Uint8Array.of(3, 0, 0, 0, 0x7f, 0, 0), frame3("TIT2", ascii("\0Title")));
    expect(await read(concat(tag, AUDIO))).toMatchObject({ tags: { title: "Title" }, end: tag.length });
  });

  it("readId3 leaves the cursor in place when there is no tag", async () => {
    expect(await read(AUDIO)).toMatchObject({ tags: {}, end: 0 });
  });
});
