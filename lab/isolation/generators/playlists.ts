// Playlists as trees of lines and words: HLS of all kinds, PLS, M3U, XSPF and plain lists.

import { type Field, type GroupField, group, raw, text } from "./field-tree.ts";
import { pick } from "./mutate.ts";

type Random = () => number;

/** A line of parts, some of which are words that may change. */
function line(...parts: readonly string[]): GroupField {
  return group(parts[0] ?? "line", [
    ...parts.map((part, index) => (index === 0 ? raw("tag", part) : text(part.slice(0, 20), part))),
    raw("end", "\n"),
  ]);
}

function segment(index: number, random: Random): Field[] {
  return [
    ...(random() < 0.1 ? [line("#EXT-X-DISCONTINUITY")] : []),
    ...(random() < 0.1 ? [line("#EXT-X-GAP")] : []),
    ...(random() < 0.2
      ? [line("#EXT-X-KEY:METHOD=", "AES-128", ",URI=", '"hls.key"', ",IV=", `0x${"0".repeat(32)}`)]
      : []),
    ...(random() < 0.2 ? [line("#EXT-X-BYTERANGE:", "1000", "@", String(index * 1000))] : []),
    ...(random() < 0.1 ? [line("#EXT-X-MAP:URI=", '"init.mp4"', ",BYTERANGE=", '"100@0"')] : []),
    line("#EXTINF:", "2.000", ",", "title"),
    line("", `segment${index}.ts`),
  ];
}

function media(random: Random): Field[] {
  const head = [
    line("#EXT-X-VERSION:", "3"),
    line("#EXT-X-TARGETDURATION:", "2"),
    line("#EXT-X-MEDIA-SEQUENCE:", "7"),
    line("#EXT-X-DISCONTINUITY-SEQUENCE:", "1"),
  ];
  const segments = Array.from({ length: Math.floor(random() * 20) }, (_, index) => segment(index, random)).flat();
  return [...head, ...segments, ...(random() < 0.7 ? [line("#EXT-X-ENDLIST")] : [])];
}

function master(): Field[] {
  return [
    line(
      "#EXT-X-MEDIA:TYPE=",
      "AUDIO",
      ",GROUP-ID=",
      '"a"',
      ",NAME=",
      '"b"',
      ",DEFAULT=",
      "YES",
      ",URI=",
      '"audio.m3u8"',
    ),
    line("#EXT-X-STREAM-INF:BANDWIDTH=", "128000", ",CODECS=", '"mp4a.40.2"', ",AUDIO=", '"a"'),
    line("", "low.m3u8"),
    line("#EXT-X-STREAM-INF:BANDWIDTH=", "256000", ",RESOLUTION=", "1x1"),
    line("", "http://127.0.0.1:1/high.m3u8"),
  ];
}

export function buildHls(random: Random): GroupField {
  return group("file", [line("#EXTM3U"), ...(random() < 0.3 ? master() : media(random))]);
}

export function buildPlaylist(random: Random): GroupField {
  const links = ["http://127.0.0.1:1/a.mp3", "relative.mp3", "icy://127.0.0.1:1/", "file:///a.mp3", "ftp://x/"];
  const link = () => pick(links, random) ?? "";
  const kinds: (() => Field[])[] = [
    () => [
      line("[playlist]"),
      ...[1, 2, 3].flatMap((index) => [
        line("File", String(index), "=", link()),
        line("Title", String(index), "=", "a"),
      ]),
      line("NumberOfEntries=", "3"),
    ],
    () => [line("#EXTM3U"), ...[1, 2, 3].flatMap(() => [line("#EXTINF:", "-1", ",", "a"), line("", link())])],
    () => [
      line('<?xml version="1.0"?>'),
      line("<playlist><trackList>"),
      ...[1, 2].map(() => line("<track><location>", link(), "</location></track>")),
      line("</trackList></playlist>"),
    ],
    () => [1, 2, 3].map(() => line("", link())),
  ];
  return group("file", (pick(kinds, random) ?? kinds[0]!)());
}
