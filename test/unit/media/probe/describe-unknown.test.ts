import { describe, expect, test } from "vitest";
import { describeUnknown } from "../../../../src/media/probe/describe-unknown.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const XML = '<?xml version="1.0" encoding="UTF-8"?>';

function codeOf(text: string, mimeType?: string): string {
  return describeUnknown(Buffer.from(text), mimeType).code;
}

describe("a feed", () => {
  test.each([
    ["RSS", `${XML}\n<rss version="2.0"><channel>`, undefined],
    ["RSS behind a byte order mark and a style sheet", `\ufeff${XML}<?xml-stylesheet href="a.xsl"?>\n<RSS>`, undefined],
    ["RSS without a declaration", '  <rss version="2.0">', "text/html"],
    ["Atom", `${XML}<feed xmlns="http://www.w3.org/2005/Atom">`, "text/plain"],
    [
      "one behind a long comment, by its type",
      `${XML}<!-- ${"x".repeat(600)} --><rss>`,
      "application/rss+xml; charset=utf-8",
    ],
    ["Atom with a prefix", `${XML}<a:feed xmlns:a="http://www.w3.org/2005/Atom">`, "text/xml"],
    ["Atom by its type", `${XML}<a:feed xmlns:a="http://www.w3.org/2005/Atom">`, "application/atom+xml"],
  ])("a feed is recognised: %s", (_what, text, mimeType) => {
    expect(codeOf(text, mimeType)).toBe("media-feed");
  });

  test.each([
    ["a page that calls itself one", "<!DOCTYPE html><html>", "application/rss+xml"],
    ["other XML", `${XML}<svg xmlns="http://www.w3.org/2000/svg">`, "text/xml"],
    ["a text about one", "see <rss> for more", undefined],
    ["JSON of that type", '{"feed":1}', "application/atom+xml"],
    ["nothing", "", "application/rss+xml"],
    ["a word that begins like it", `${XML}<rssx>`, undefined],
  ])("%s is not described as a feed", (_what, text, mimeType) => {
    expect(codeOf(text, mimeType)).toBe("media-unknown-format");
  });
});

/** A frame's first bytes, and the same again behind the whole frame. */
function twoFrames(start: readonly number[], sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(2 * sizeBytes).fill(0x99);
  bytes.set(start);
  bytes.set(start, sizeBytes);
  return bytes;
}

function at(position: number, text: string): Uint8Array {
  const bytes = new Uint8Array(position + text.length + 100).fill(0x99);
  bytes.set(Buffer.from(text, "latin1"), position);
  return bytes;
}

describe("an unknown format", () => {
  const id3 = Uint8Array.from([0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 0, 20, ...new Uint8Array(20)]);

  test.each([
    ["AC-3", twoFrames([0x0b, 0x77, 0, 0, 0x14, 0x40], 768)],
    ["AC-3", twoFrames([0x77, 0x0b, 0, 0, 0x40, 0x14], 768)],
    ["E-AC-3", twoFrames([0x0b, 0x77, 0x01, 0x7f, 0x34, 0x80], 768)],
    ["DTS", at(0, "\x7f\xfe\x80\x01")],
    ["DTS", at(0, "\xff\x1f\x00\xe8")],
    ["Musepack file (SV7)", at(0, "MP+\x07")],
    ["Musepack file (SV8)", at(0, "MPCK")],
    ["DSF", at(0, "DSD \x1c\0")],
    ["DFF", at(0, "FRM8\0\0\0\0")],
    ["TAK", at(0, "tBaK")],
    ["TTA", at(0, "TTA1")],
    ["OptimFROG", at(0, "OFR ")],
    ["APE", at(0, "MAC \x96")],
    ["WavPack", at(0, "wvpk")],
    ["CAF", at(0, "caff\0\x02")],
    ["LOAS", twoFrames([0x56, 0xe0, 97], 100)],
    ["ADIF", at(0, "ADIF")],
    ["XM", at(0, "Extended Module: x")],
    ["Impulse Tracker", at(0, "IMPM")],
    ["Scream Tracker", at(44, "SCRM")],
    ["MOD", at(1080, "M.K.")],
    ["RIFX", at(0, "RIFX\0\0\0\0WAVE")],
    ["FLV", at(0, "FLV\x01")],
    ["WMA", at(0, "\x30\x26\xb2\x75")],
    ["AMR", at(0, "#!AMR\n")],
    ["AVI", at(0, "RIFF\0\0\0\0AVI ")],
    ["RealMedia", at(0, ".RMF")],
    ["AU", at(0, ".snd")],
  ])("the error for an unknown format names it, also behind an ID3 tag: %s", async (name, bytes) => {
    expect(describeUnknown(bytes).message).toContain(name);
    for (const whole of [bytes, Buffer.concat([id3, bytes])]) {
      const opened = openDemuxer(new MemoryByteSource(new Uint8Array(whole)), {}, createTrackBudget());
      await expect(opened).rejects.toThrow(name);
    }
  });
});
