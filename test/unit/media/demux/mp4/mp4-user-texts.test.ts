// Titles of MOV and 3GP, which have their own forms of them in `udta`.

import { expect, test } from "vitest";
import { ascii, be, concat } from "../../../../../lab/media-files/bytes.ts";
import { box } from "../../../../../lab/media-files/containers.ts";
import { openDemuxer } from "../../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture } from "../../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../../support/track-budgets.ts";

/** A file whose `moov` is at the end, with other user data in it. */
function withUserData(...boxes: readonly Uint8Array[]): Uint8Array {
  const file = Buffer.from(readMediaFixture("aac.m4a"));
  const start = file.lastIndexOf("moov", undefined, "latin1") - 4;
  expect(start + file.readUInt32BE(start)).toBe(file.length);
  const old = file.indexOf("udta", start, "latin1");
  if (old > 0) file.write("free", old, "latin1");
  return concat(file.subarray(0, start), box("moov", file.subarray(start + 8), box("udta", ...boxes)));
}

const utf8 = (text: string) => Uint8Array.from(Buffer.from(text));
const quickTime = (type: string, text: Uint8Array) => box(type, be(text.length, 2), be(0x55c4, 2), text);
const item = (text: string) => box("data", be(1, 4), be(0, 4), utf8(text));

test.each([
  ["QuickTime", [quickTime("\u00a9nam", utf8("Öl")), quickTime("\u00a9ART", utf8("Jürgen"))]],
  [
    "QuickTime with something behind the text",
    [
      box("\u00a9nam", be(3, 2), be(0, 2), utf8("Öl"), ascii("rest")),
      quickTime("\u00a9ART", Uint8Array.from(Buffer.from("Jürgen", "latin1"))),
    ],
  ],
  [
    "3GP",
    [
      box("titl", be(0, 4), be(0x15c7, 2), utf8("Öl\0")),
      box("perf", be(0, 4), be(0x15c7, 2), Uint8Array.of(0xfe, 0xff), Buffer.from("Jürgen\0", "utf16le").swap16()),
    ],
  ],
  ["items of iTunes outside of their list", [box("\u00a9nam", item("Öl")), box("\u00a9ART", item("Jürgen"))]],
  [
    "both, of which the list of items counts",
    [
      quickTime("\u00a9nam", utf8("Another")),
      box("meta", be(0, 4), box("ilst", box("\u00a9nam", item("Öl")), box("\u00a9ART", item("Jürgen")))),
    ],
  ],
] as const)("the title of MP4 is found in texts of %s", async (_, boxes) => {
  const { info } = await openDemuxer(new MemoryByteSource(withUserData(...boxes)), {}, createTrackBudget());
  expect([info.title, info.author]).toEqual(["Öl", "Jürgen"]);
});
