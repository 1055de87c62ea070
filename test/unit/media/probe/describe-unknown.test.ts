import { describe, expect, test } from "vitest";
import { describeUnknown } from "../../../../src/media/probe/describe-unknown.ts";

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
