import { describe, expect, it } from "vitest";
import { ascii, concat } from "../../../../lab/media-files/bytes.ts";
import { oggPage } from "../../../../lab/media-files/containers.ts";
import { ByteCursor } from "../../../../src/media/demux/byte-cursor.ts";
import { DemuxWork } from "../../../../src/media/demux/demux-work.ts";
import { PageReader } from "../../../../src/media/demux/ogg/ogg-page.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** A header without a page that claims 56 kB, 282 bytes long. */
const FALSE_PAGE = concat(ascii("OggS"), new Uint8Array(22), Uint8Array.of(255), new Uint8Array(255).fill(221));
const PAGE = oggPage({ serial: 7, sequence: 0, granule: 0, flags: 2, packets: [new Uint8Array(900)] });

/** Counts the bytes of whole pages that are read. */
class CountingCursor extends ByteCursor {
  viewedBytes = 0;

  override view(count: number): Uint8Array {
    const bytes = super.view(count);
    this.viewedBytes += bytes.length;
    return bytes;
  }
}

function search(bytes: Uint8Array) {
  const cursor = new CountingCursor(new MemoryByteSource(bytes));
  const work = new DemuxWork(createTrackBudget());
  return { cursor, found: new PageReader(cursor).find({ junkBytesMax: bytes.length, work }) };
}

function falsePages(sizeBytes: number): Uint8Array[] {
  return Array<Uint8Array>(Math.ceil(sizeBytes / FALSE_PAGE.length)).fill(FALSE_PAGE);
}

describe("a search for a page", () => {
  it("a page search checksums no more bytes than it passes, plus four pages", async () => {
    const sizeBytes = 4_000_000;
    const { cursor, found } = search(concat(...falsePages(sizeBytes)));
    expect(await found).toBeUndefined();
    expect(cursor.viewedBytes).toBeGreaterThan(100_000);
    expect(cursor.viewedBytes).toBeLessThan(sizeBytes + 6 * 65_307);
  });

  it("a page search finds the page behind a few false ones, and behind many when enough bytes lie between", async () => {
    const near = concat(...falsePages(900), PAGE, new Uint8Array(70_000));
    expect((await search(near).found)?.positionBytes).toBe(4 * FALSE_PAGE.length);
    const far = concat(...falsePages(3_000_000), new Uint8Array(300_000), PAGE);
    expect((await search(far).found)?.body).toHaveLength(900);
  });
});
