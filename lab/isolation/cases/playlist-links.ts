// Links to playlists: HLS with too many, too large, too fast or endless parts, and lists that contain themselves.

import { repeat } from "../../media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame } from "../../media-files/containers.ts";
import { type Answer, HANG, plainPlan } from "../../media-server/answer-plan.ts";
import { type HostileCase, type HostileLayer, playsFile, playsSite } from "../harness/hostile-case.ts";

const SEGMENT = repeat(adtsFrame(AAC_SILENCE), 43);
const M3U8 = { path: "index.m3u8" };
const LISTED = { fileName: "index.m3u8" };

function playlist(lines: readonly string[], { isEnded = true, target = 2 } = {}): string {
  const head = ["#EXTM3U", "#EXT-X-VERSION:3", `#EXT-X-TARGETDURATION:${target}`, "#EXT-X-MEDIA-SEQUENCE:0"];
  return [...head, ...lines, ...(isEnded ? ["#EXT-X-ENDLIST"] : []), ""].join("\n");
}

function segments(count: number, uri: (index: number) => string, seconds = 1): string[] {
  return Array.from({ length: count }, (_, index) => `#EXTINF:${seconds},\n${uri(index)}`);
}

function text(body: string): Answer {
  return plainPlan(Buffer.from(body), "application/vnd.apple.mpegurl");
}

/** The playlist for `index.m3u8`, and something else for everything it names. */
function site(list: string, other: Answer) {
  return ({ path }: { readonly path: string }) => (path.endsWith("index.m3u8") ? text(list) : other);
}

const hangingSegments: HostileCase = {
  name: "hls-hanging-segments",
  what: "99,999 segments that hang, 32 loads and 8 players",
  isQuick: true,
  seconds: 6,
  arm: (attack) => {
    const list = playlist(segments(99_999, (index) => `s${index}.aac`));
    const url = attack.serve("index.m3u8", site(list, HANG));
    return async () => {
      const loads = Array.from({ length: 32 }, (_, index) => attack.load(`${url}?${index}`));
      const played = await attack.play(url, { players: 8 });
      return `${(await Promise.all(loads))[0]}; ${played}`;
    };
  },
};

/** Grows with every request, so that nothing can be cached. */
function liveOfMegabytes(): (request: { readonly path: string }) => Answer {
  const filler = `#EXT-X-NOTE:${"x".repeat(1000)}\n`.repeat(8000);
  let count = 0;
  return ({ path }) => {
    if (!path.endsWith("index.m3u8")) return plainPlan(SEGMENT, "audio/aac");
    count += 1;
    const head = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:${count}\n`;
    return text(`${head}${filler}${segments(3, (index) => `s${count + index}.aac`, 0.5).join("\n")}\n`);
  };
}

export const playlistLinks: HostileLayer = {
  layer: "playlist",
  cases: [
    hangingSegments,
    playsSite(
      "hls-live-8-mib",
      "a live list of 8 MiB, reloaded twice a second",
      (() => {
        const answer = liveOfMegabytes();
        return (request: { readonly path: string }) => answer(request);
      })(),
      { ...M3U8, seconds: 8 },
    ),
    playsFile(
      "hls-newlines",
      "8 MiB of newlines behind #EXTM3U",
      () => `#EXTM3U\n#EXT-X-VERSION:3\n${"\n".repeat(8 * 2 ** 20)}`,
      { ...LISTED, isQuick: true },
    ),
    playsFile(
      "hls-carriage-returns",
      "8 MiB of carriage returns",
      () => `#EXTM3U\n#EXT-X-VERSION:3\n${"\r".repeat(8 * 2 ** 20)}`,
      LISTED,
    ),
    playsFile(
      "hls-one-line",
      "an 8 MiB attribute list in one line",
      () => `#EXTM3U\n#EXT-X-STREAM-INF:${'A="b",'.repeat(1_300_000)}\nx.m3u8\n`,
      LISTED,
    ),
    playsFile(
      "hls-open-quotes",
      "8 MiB of quotation marks in an attribute list",
      () => `#EXTM3U\n#EXT-X-STREAM-INF:A=${'"'.repeat(8 * 2 ** 20)}\nx.m3u8\n`,
      LISTED,
    ),
    playsFile(
      "hls-spaces",
      "8 MiB of blanks in one line",
      () => `#EXTM3U\n#EXT-X-VERSION:3\n${" ".repeat(8 * 2 ** 20)}x\n`,
      LISTED,
    ),
    playsSite(
      "hls-master-loop",
      "a master playlist that names itself",
      ({ path }) => text(`#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${path.split("/").at(-1)}\n`),
      M3U8,
    ),
    playsSite(
      "hls-master-chain",
      "a master playlist that names another, without end",
      ({ path }) => text(`#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nx${path.length}${path.split("/").at(-1)}\n`),
      M3U8,
    ),
    playsSite(
      "hls-tiny-segments",
      "99,999 segments of a frame each, a microsecond long",
      site(
        playlist(segments(99_999, (index) => `${index}.aac`, 0.000_001)),
        plainPlan(adtsFrame(AAC_SILENCE), "audio/aac"),
      ),
      M3U8,
    ),
    playsSite(
      "hls-empty-segments",
      "99,999 segments without a byte",
      site(playlist(segments(99_999, (index) => `${index}.aac`)), plainPlan(new Uint8Array(0), "audio/aac")),
      M3U8,
    ),
    playsSite(
      "hls-huge-segments",
      "segments that never end",
      site(playlist(segments(10, (index) => `${index}.aac`)), {
        ...plainPlan(new Uint8Array(0), "audio/aac"),
        body: endless(SEGMENT),
        framing: "close",
        acceptsRanges: false,
      }),
      M3U8,
    ),
    playsSite(
      "hls-discontinuities",
      "a discontinuity before each of 20,000 segments",
      site(
        playlist(segments(20_000, (index) => `${index}.aac`).map((line) => `#EXT-X-DISCONTINUITY\n${line}`)),
        plainPlan(SEGMENT, "audio/aac"),
      ),
      M3U8,
    ),
    playsSite(
      "hls-keys",
      "another key for each of 20,000 segments",
      site(
        playlist(
          segments(20_000, (index) => `${index}.aac`).map(
            (line, index) => `#EXT-X-KEY:METHOD=AES-128,URI="k${index}"\n${line}`,
          ),
        ),
        plainPlan(new Uint8Array(16), undefined),
      ),
      M3U8,
    ),
    playsSite(
      "hls-target-0",
      "a live list with a target duration of 0 that never changes",
      () =>
        text(
          playlist(
            segments(1, () => "x.aac", 0),
            { isEnded: false, target: 0 },
          ),
        ),
      M3U8,
    ),
    playsSite(
      "hls-target-minus",
      "a live list with negative durations",
      () =>
        text(
          playlist(
            segments(3, (index) => `${index}.aac`, -5),
            { isEnded: false, target: -5 },
          ),
        ),
      M3U8,
    ),
    playsFile(
      "hls-ranges",
      "byte ranges of 2^53 and more",
      () =>
        playlist(
          segments(100, () => "x.aac").map((line) => `#EXT-X-BYTERANGE:9007199254740993@9007199254740993\n${line}`),
        ),
      LISTED,
    ),
    playsFile(
      "pls-entries",
      "a PLS of a million entries",
      () => `[playlist]\n${Array.from({ length: 200_000 }, (_, index) => `File${index}=ftp://x/${index}`).join("\n")}`,
      { fileName: "a.pls" },
    ),
    playsSite(
      "pls-loop",
      "a PLS that names itself, again and again",
      (request) =>
        plainPlan(Buffer.from(`[playlist]\nFile1=http://${request.headers.host}${request.path}\n`), "audio/x-scpls"),
      { path: "a.pls" },
    ),
    playsFile("m3u-lines", "an M3U of a million empty titles", () => `#EXTM3U\n${"#EXTINF:-1,\n".repeat(700_000)}`, {
      fileName: "a.m3u",
    }),
    playsFile(
      "xspf",
      "an XSPF of 200,000 tracks, nested entities and all",
      () => {
        const names = "abcdefghij";
        const nested = Array.from(
          names.slice(1),
          (name, index) => `<!ENTITY ${name} "${`&${names[index]};`.repeat(10)}">`,
        );
        const tracks = "<track><location>&j;</location></track>".repeat(200_000);
        const head = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${nested.join("")}]>`;
        return `${head}<playlist><trackList>${tracks}</trackList></playlist>`;
      },
      { fileName: "a.xspf" },
    ),
  ],
};

async function* endless(block: Uint8Array): AsyncGenerator<Uint8Array> {
  for (;;) yield block;
}
