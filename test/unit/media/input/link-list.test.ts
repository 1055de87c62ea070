import { describe, expect, it } from "vitest";
import type { PlainInput } from "../../../../src/bridge/playable-input.ts";
import { firstLink, type PlaylistFormat, playlistFormatOf } from "../../../../src/media/input/link-list.ts";
import { patternBytes } from "../../../support/input-builders.ts";

const WEB: PlainInput = { kind: "http", url: "http://radio.example/lists/list.m3u?x=1", container: undefined };
const LOCAL: PlainInput = { kind: "local", path: "/music/lists/list.m3u", container: undefined };

function first(text: string | Buffer, from = WEB) {
  const bytes = Buffer.from(text as string); // Buffer.from takes either; its overloads do not say so.
  const format = playlistFormatOf(bytes);
  if (format === undefined || format === "hls") throw new Error(`not a list: ${format}`);
  const { input, title } = firstLink(bytes, format, from);
  return [input.kind === "http" ? input.url : input.path, title];
}

describe("formats", () => {
  it.each<[string, PlaylistFormat | undefined]>([
    ["#EXTM3U\n#EXTINF:30,One\nhttp://x/a.mp3\n", "m3u"],
    ["\uFEFF\r\n#EXTM3U\r\na.mp3", "m3u"],
    ["#EXTINF:30,One\na.mp3", "m3u"],
    ["#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\na.ts", "hls"],
    ["#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8", "hls"],
    ["#EXTINF:1,\na.ts\n#EXT-X-ENDLIST", "hls"],
    ["#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:5\n#EXTINF:5,\na.ts", "hls"],
    ["#EXTM3U\n#EXT-X-SESSION:a\n#EXTINF:-1,One\nhttp://x/a", "m3u"],
    ["#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION-OF-OURS:3\nhttp://x/a", "m3u"],
    ["[playlist]\nFile1=http://x/", "pls"],
    [" [Playlist]\n", "pls"],
    ["some words\nhttp://x/a.mp3", "plain"],
    ["ICY://x:8000/", "plain"],
    ["some words about http://x/a.mp3", undefined],
    [`${"x\n".repeat(600)}http://x/`, undefined],
    ["hello\n", undefined],
    ["", undefined],
    ["<html>", undefined],
    ["ID3\0\0\0\nhttp://x/", undefined],
  ])("a text beginning with %j is %s", (text, format) => expect(playlistFormatOf(Buffer.from(text))).toBe(format));

  it("media files are not playlists (seeded)", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    expect(playlistFormatOf(patternBytes(64_000, seed)), `seed ${seed}`).toBeUndefined();
  });
});

describe("first links", () => {
  it.each([
    ["#EXTM3U\n#EXTINF:30,One - A\n\n# note\nhttp://x/a.mp3\nhttp://x/b.mp3", "http://x/a.mp3", "One - A"],
    ["#EXTM3U\r\nsong one.mp3\r\n", "http://radio.example/lists/song%20one.mp3", undefined],
    ["#EXTM3U\n../up.mp3", "http://radio.example/up.mp3", undefined],
    ["#EXTM3U\n//other.example/a", "http://other.example/a", undefined],
    ["#EXTM3U\nfile:///etc/passwd\nrtsp://x/\nhttp://x/second", "http://x/second", undefined],
    ["[playlist]\nFile2=http://x/2\nTitle2=Two\nFile1=http://x/1\nTitle1=One\nLength1=30", "http://x/1", "One"],
    ["[playlist]\r\nfile1 = icy://x:8000/live\r\n", "http://x:8000/live", undefined],
    ["words\n  https://x/a b  \n", "https://x/a%20b", undefined],
    [Buffer.from("#EXTM3U\n#EXTINF:1,K\xe4se\nhttp://x/", "latin1"), "http://x/", "Käse"],
  ])("the first link of %j is found", (text, address, title) => expect(first(text)).toEqual([address, title]));

  it("local lists may name local files and web addresses", () => {
    expect(first("#EXTM3U\nsong.mp3", LOCAL)[0]).toBe("/music/lists/song.mp3");
    expect(first("#EXTM3U\n/other/song.mp3", LOCAL)[0]).toBe("/other/song.mp3");
    expect(first("#EXTM3U\nfile:///music/a%20b.mp3", LOCAL)[0]).toBe("/music/a b.mp3");
    expect(first("#EXTM3U\nhttp://x/a.mp3", LOCAL)[0]).toBe("http://x/a.mp3");
  });

  it("only the first few addresses and lines are tried", () => {
    const wrong = "http://[\n".repeat(49);
    expect(first(`#EXTM3U\n${wrong}http://x/a`)[0]).toBe("http://x/a");
    expect(() => first(`#EXTM3U\n${wrong}http://[\nhttp://x/a`)).toThrow(/names no address/);
    expect(first(`#EXTM3U\n${"\n".repeat(1_900)}http://x/a`)[0]).toBe("http://x/a");
    expect(() => first(`#EXTM3U\n${"\n".repeat(2_000)}http://x/a`)).toThrow(/names no address/);
  });

  it("the links after the first are alternatives, each once and nine at most", () => {
    const urls = Array.from({ length: 20 }, (_, index) => `http://x/${index >> 1}`);
    const text = Buffer.from(`#EXTM3U\n${urls.join("\n")}\nhttp://x/last`);
    const { alternatives = [] } = firstLink(text, "m3u", WEB);
    expect(alternatives.map(({ input }) => input.kind === "http" && input.url)).toEqual([
      ...Array.from({ length: 9 }, (_, index) => `http://x/${index + 1}`),
    ]);
    expect(firstLink(Buffer.from("[playlist]\nFile1=http://x/1"), "pls", WEB).alternatives).toBeUndefined();
  });

  it("a list without links is an error", () => {
    expect(() => first("#EXTM3U\n#EXTINF:1,x\n")).toThrow(/names no address/);
    expect(() => first("[playlist]\nFile1=file:///etc/passwd")).toThrow(/names no address/);
  });
});
