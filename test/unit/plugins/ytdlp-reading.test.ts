// Parses yt-dlp's output without running anything: links and errors.

import { expect, test } from "vitest";
import { errorOf } from "../../../plugins/ytdlp/program-errors.ts";
import { readLink } from "../../../plugins/ytdlp/read-link.ts";
import { SourceError } from "../../../src/plugin-api/plugin.ts";

const PAGE = "https://vimeo.com/1001";
const NOW_MS = Date.UTC(2026, 10, 1);
const SOON_SECONDS = NOW_MS / 1000 + 3600;
const VIDEO = { _type: "video", id: "1001", title: "Song", duration: 60, webpage_url: PAGE };
const FORMAT = { format_id: "http-opus", url: "https://media.example.org/song.ogg", protocol: "https", acodec: "opus" };

function linkFor(format: object) {
  return readLink({ ...VIDEO, ...FORMAT, ...format }, NOW_MS);
}

test.each([
  ["?expire=S&x=1", SOON_SECONDS * 1000],
  ["?a=1&Expires=S", SOON_SECONDS * 1000],
  ["/expire/S/id/5", SOON_SECONDS * 1000],
  ["/exp=S~acl=*~hmac=aa", SOON_SECONDS * 1000],
  ["?token=x%3Bexp%3D1&expires=S000", SOON_SECONDS * 1000],
  [`?expires=S&expire=${SOON_SECONDS + 9}`, SOON_SECONDS * 1000],
  ["?expires=3600", NOW_MS + 600_000],
  ["?expires=1600000000", NOW_MS + 600_000],
  ["", NOW_MS + 600_000],
])("a link that ends with %j is valid until then, at the least known ten minutes", (end, expiresAtMs) => {
  const url = `https://media.example.org/song.ogg${end.replace("S", String(SOON_SECONDS))}`;
  expect(linkFor({ url })).toMatchObject({ url, expiresAtMs });
});

test("headers and cookies are part of the link, except connection headers", () => {
  const http_headers = {
    "User-Agent": "Mozilla",
    Referer: PAGE,
    Range: "bytes=0-",
    Host: "x",
    "Accept-Encoding": "br",
    "X-A": "a\nb",
    Y: 5,
  };
  const cookies = 'nicosid=1.2; Domain=.nicovideo.jp; Path=/; Secure; Expires=1800000000; b="x y"; Domain=x; Path=/';
  expect(linkFor({ http_headers, cookies })).toMatchObject({
    headers: { "user-agent": "Mozilla", referer: PAGE, cookie: 'nicosid=1.2; b="x y"' },
  });
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`X-${index}`, "x".repeat(4000)]));
  const link = linkFor({ http_headers: many });
  expect(JSON.stringify(link.headers).length).toBeLessThan(13_000);
});

test("HLS is taken as it is, and long files in the steps that the site requires", () => {
  const url = "https://media.example.org/song.m3u8";
  expect(linkFor({ url, protocol: "m3u8_native" })).toMatchObject({ url, rangeStep: undefined });
  const step = { downloader_options: { http_chunk_size: 5_242_880 } };
  expect(linkFor(step)).toMatchObject({ rangeStep: { bytes: 5_242_880, by: "header" } });
  expect(linkFor({ downloader_options: { http_chunk_size: 5 } })).toMatchObject({ rangeStep: undefined });
});

test.each(["http_dash_segments", "rtmp", "f4m", "websocket_frag", "mhtml"])(
  "the protocol %s is refused, and named",
  (protocol) => {
    expect(() => linkFor({ protocol, formats: [] })).toThrow(`only as ${protocol}, which this node does not play`);
  },
);

test.each([{ url: "rtmp://x.example.org/" }, { url: undefined }, { url: 5 }, { acodec: "none" }, { has_drm: true }])(
  "a format with %j is not audio",
  (format) => {
    expect(() => linkFor(format)).toThrow(SourceError);
  },
);

test("the best audio is used if yt-dlp was set to choose video and audio", () => {
  const formats = [
    {
      format_id: "dash",
      url: "https://m.example.org/0",
      protocol: "http_dash_segments",
      acodec: "opus",
      vcodec: "none",
    },
    { format_id: "muxed", url: "https://m.example.org/1", protocol: "https", acodec: "mp4a.40.2", vcodec: "avc1" },
    { format_id: "aac", url: "https://m.example.org/2", protocol: "https", acodec: "mp4a.40.2", vcodec: "none" },
    { format_id: "opus", url: "https://m.example.org/3", protocol: "https", acodec: "opus", vcodec: "none" },
  ];
  const video = { url: undefined, format_id: "v+a", protocol: "https+https", formats };
  expect(linkFor(video)).toMatchObject({ variant: "opus" });
  expect(linkFor({ ...video, formats: formats.slice(0, 3) })).toMatchObject({ variant: "aac" });
});

test.each([
  [
    "ERROR: [youtube] abc: Video unavailable. This video is private",
    "unavailable",
    "Video unavailable. This video is private",
  ],
  [
    "ERROR: [vimeo] 1: Sign in to confirm your age. Use --cookies-from-browser or --cookies for it",
    "unavailable",
    "confirm your age",
  ],
  ["ERROR: [x] 1: This video is DRM protected", "unavailable", "DRM"],
  [
    "ERROR: [x] 1: Unable to download webpage: HTTP Error 403: Forbidden (caused by <HTTPError 403>)",
    "unavailable",
    "403",
  ],
  ["ERROR: [x] 1: Unable to download JSON metadata: HTTP Error 429: Too Many Requests", "busy", "429"],
  ["ERROR: [x] 1: Unable to download webpage: HTTP Error 503: Service Unavailable", "busy", "503"],
  [
    "ERROR: [x] 1: Unable to extract title; please report this issue on https://github.com/x . Confirm",
    "changed",
    "update it",
  ],
  ["Traceback (most recent call last):\n  File \"/home/op/secret/x.py\"\nKeyError: 'url'", "changed", "KeyError"],
  [
    "ERROR: [x] 1: Unable to download webpage: [Errno -2] Name or service not known (caused by X)",
    "unreachable",
    "Name or",
  ],
  ["ERROR: [x] 1: The read operation timed out", "unreachable", "timed out"],
  ["ERROR: [x] 1: The creator wants you to dance first", "unavailable", "dance first"],
  ["", "unavailable", "it gave no reason"],
])("the error line %j becomes %s", (stderr, kind, words) => {
  const error = errorOf({ exitCode: 1, stdout: "", stderr: `WARNING: something\n${stderr}\n` }, []);
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(words);
  expect(error.message).not.toMatch(/--cookies|caused by|github|\/home/);
});

test("errors contain no path, no query, no token and none of the operator's settings", () => {
  const customArgs = ["--flat-playlist", "--password", "open sesame", "--proxy=http://me:pw@proxy.example"];
  const stderr =
    "ERROR: [x] 1: cannot read '/home/op/my cookies.txt' and /var/lib/node/cookies with open sesame over " +
    "http://me:pw@proxy.example for https://cdn.example.org/a/b?sig=abcdef, token=12345\n";
  const { message } = errorOf({ exitCode: 1, stdout: "", stderr }, customArgs);
  expect(message).not.toMatch(/home|cookies\.txt|\/var|sesame|pw|abcdef|12345/);
  expect(message).toContain("https://cdn.example.org/…");
});

test("a kill by the system and a busy site without a pause are reported as such", () => {
  expect(errorOf({ exitCode: null, stdout: "", stderr: "" }, [])).toMatchObject({ kind: "unreachable" });
  const busy = (stderr: string) => errorOf({ exitCode: 1, stdout: "", stderr }, []).retryAfterMs;
  expect(busy("ERROR: HTTP Error 429: Too Many Requests")).toBe(30_000);
  expect(busy("ERROR: HTTP Error 503")).toBeUndefined();
});
