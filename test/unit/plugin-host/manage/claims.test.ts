import { describe, expect, test } from "vitest";
import type { Claims } from "../../../../src/plugin-api/plugin.ts";
import { isClaimed } from "../../../../src/plugin-host/manage/claims.ts";

const CLAIMS: Claims = {
  prefixes: ["scsearch:", "SC!"],
  hosts: ["soundcloud.com", "*.bandcamp.com"],
  endings: [".rss", ".feed.xml"],
  words: [{ startsWith: "PL" }, { length: 11 }, { startsWith: "RD", length: 5 }],
};

describe("a source may be meant by", () => {
  test.each([
    ...["scsearch:", "scsearch:some words", "SC!x"],
    ...[
      "https://soundcloud.com/a",
      "http://soundcloud.com",
      "soundcloud.com/a",
      "soundcloud.com",
      "HTTPS://SoundCloud.COM/a",
    ],
    ...["https://a.example/show.rss", "HTTP://a.example/x/Show.RSS?a=b#c", "https://a.example:1/.rss"],
    ...["https://user@a.example/a.feed.xml", "https://a.example/%20.rss"],
    ...[
      "https://soundcloud.com:8443/a",
      "https://soundcloud.com?a=b",
      "https://soundcloud.com#a",
      "soundcloud.com:80/a",
    ],
    ...["https://user:password@soundcloud.com/a", "user@soundcloud.com"],
    ...["https://artist.bandcamp.com/album/x", "a.b.bandcamp.com"],
    ...["PLx", "PL_-1", "dQw4w9WgXcQ", "-_-_-_-_-_-", "RD123"],
  ])("a source's claims match %s", (identifier) => {
    expect(isClaimed(identifier, CLAIMS)).toBe(true);
  });
});

describe("a source is not meant by", () => {
  test.each([
    ...["", " ", "search:scsearch:", "SCSEARCH:x", "sc!x"],
    ...["https://evilsoundcloud.com/", "https://soundcloud.com.evil.example/", "https://m.soundcloud.com/"],
    ...[
      "https://evil.example/soundcloud.com",
      "https://evil.example/?u=https://soundcloud.com/",
      "https://evil.example/@soundcloud.com/",
    ],
    ...["ftp://soundcloud.com/", "https:/soundcloud.com", "//soundcloud.com/a", "https://soundcloud.com:port/"],
    ...["https://bandcamp.com/", "https://evilbandcamp.com/", ".bandcamp.example"],
    ...["https://a.example/show.rss/", "https://a.example/?show.rss", "https://a.example/#.rss", "https://a.rss"],
    ...["a.example/show.rss", "show.rss", "ftp://a.example/show.rss", "https:///show.rss", "https://a.example/a.xml"],
    ...["PL with words", "PL/x", "plx", "dQw4w9WgXc", "dQw4w9WgXcQQ", "RD1234"],
  ])("a source's claims do not match %s", (identifier) => {
    expect(isClaimed(identifier, CLAIMS)).toBe(false);
  });

  test("a source without claims matches nothing", () => {
    expect(isClaimed("https://soundcloud.com/", {})).toBe(false);
  });
});

describe("long identifiers", () => {
  test("identifiers beyond 4,096 characters match no source", () => {
    expect(isClaimed(`scsearch:${"x".repeat(4087)}`, CLAIMS)).toBe(true);
    for (const text of [
      `scsearch:${"x".repeat(4088)}`,
      `PL${"x".repeat(5000)}`,
      `https://soundcloud.com/${"x".repeat(5000)}`,
    ]) {
      expect(isClaimed(text, CLAIMS)).toBe(false);
    }
  });

  test.each([
    ["of an at sign that is missing", "a".repeat(4096)],
    ["of at signs", "@".repeat(4096)],
    ["of dots", ".".repeat(4096)],
    ["of a port without end", `https://a:${"1".repeat(4086)}`],
    ["of user info", `https://${"a:".repeat(2000)}@`],
    ["of endings", `https://a/${".rss".repeat(1000)}x`],
    ["of slashes", `https://a${"/".repeat(4000)}`],
    ["of spaces", " ".repeat(4096)],
  ])("matching takes time linear in the identifier's length, %s", (_what, identifier) => {
    const startMs = performance.now();
    for (let index = 0; index < 200; index++) isClaimed(identifier, CLAIMS);
    // By the square of it, it would be 3 s and more.
    expect(performance.now() - startMs).toBeLessThan(1000);
  });
});
