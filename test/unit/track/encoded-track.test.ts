import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { NodeError } from "../../../src/errors.ts";
import { stringifyJson } from "../../../src/lib/json.ts";
import { readEncodedTrack, writeEncodedTrack } from "../../../src/track/encoded-track.ts";
import { createTrack, decodeTrack, trackAtPosition, trackToJson } from "../../../src/track/track.ts";
import { type TrackDetails, UNKNOWN_LENGTH_MS } from "../../../src/track/track-details.ts";
import type { TrackInfo } from "../../../src/track/track-info.ts";
import { readLines } from "../../support/golden.ts";
import { buildTrack } from "../../support/track-builder.ts";

// The vectors of protocol-v4.md section 5.5.
const SONG_V3 =
  "QAAApgMABFNvbmcABkFydGlzdAAAAAAAAzwgAAtkUXc0dzlXZ1hjUQABACtodHRwczovL3d3dy55b3V0dWJlLmNvbS93YXRjaD92PWRRdzR3OVdnWGNRAQAwaHR0cHM6Ly9pLnl0aW1nLmNvbS92aS9kUXc0dzlXZ1hjUS9tcWRlZmF1bHQuanBnAQAMR0JBUkw5MzAwMTM1AAd5b3V0dWJlAAAAAAAABdw=";
const SONG_V2 =
  "QAAAZAIABFNvbmcABkFydGlzdAAAAAAAAzwgAAtkUXc0dzlXZ1hjUQABACtodHRwczovL3d3dy55b3V0dWJlLmNvbS93YXRjaD92PWRRdzR3OVdnWGNRAAd5b3V0dWJlAAAAAAAAAAA=";
const SONG_V1 = "AAAANQAEU29uZwAGQXJ0aXN0AAAAAAADPCAAC2RRdzR3OVdnWGNRAAAHeW91dHViZQAAAAAAAAAA";
const ODD_TITLE = "QAAAMwMAC0HAgMOp7aC97biAAAAAAAAAAAAAAQABeAAAAAAACnNvdW5kY2xvdWQAAAAAAAAAAA==";
const RADIO =
  "QAAAYwMABVJhZGlvAA5Vbmtub3duIGFydGlzdH//////////AA9odHRwOi8vaC9zLm0zdTgBAQAPaHR0cDovL2gvcy5tM3U4AAAABGh0dHAADW0zdXxobHMtb3V0ZXIAAAAAAAAAAA==";
const LOCAL =
  "QAAASAMAAUYADlVua25vd24gYXJ0aXN0AAAAAAAAA+gACC9tL2EubXAzAAEACC9tL2EubXAzAAAABWxvY2FsAANtcDMAAAAAAAAAAA==";
const FOUR_BYTE_TITLE = "QAAALAMABPCfmIAAAAAAAAAAAAABAAF4AAAAAAAKc291bmRjbG91ZAAAAAAAAAAA";

const ALBUM: TrackDetails = {
  kind: "album",
  albumName: "Album",
  albumUrl: null,
  artistUrl: "https://artist.example/",
  artistArtworkUrl: null,
  previewUrl: "https://preview.example/a.mp3",
  isPreview: true,
};

function rewritten(encoded: string): string {
  const { info, details } = readEncodedTrack(encoded);
  return writeEncodedTrack(info, details);
}

describe("reading", () => {
  test("version 3 has every field", () => {
    expect(decodeTrack(SONG_V3).info).toEqual({
      identifier: "dQw4w9WgXcQ",
      isSeekable: true,
      author: "Artist",
      length: 212000,
      isStream: false,
      position: 1500,
      title: "Song",
      uri: "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
      sourceName: "youtube",
      artworkUrl: "https://i.ytimg.com/vi/dQw4w9WgXcQ/mqdefault.jpg",
      isrc: "GBARL9300135",
    });
  });

  test("version 2 has no artwork, version 1 no uri either", () => {
    expect(decodeTrack(SONG_V2).info).toMatchObject({ title: "Song", artworkUrl: null, isrc: null });
    expect(decodeTrack(SONG_V2).info.uri).toBe("https://www.youtube.com/watch?v=dQw4w9WgXcQ");
    expect(decodeTrack(SONG_V1).info).toMatchObject({ identifier: "dQw4w9WgXcQ", uri: null, artworkUrl: null });
  });

  test("titles may hold U+0000 and characters beyond the basic plane", () => {
    expect(decodeTrack(ODD_TITLE).info).toMatchObject({ title: "A\u0000é😀", author: "", isStream: false });
  });

  test("an endless stream keeps its length to the digit", () => {
    const track = decodeTrack(RADIO);
    expect(track.info).toMatchObject({ length: UNKNOWN_LENGTH_MS, isSeekable: false });
    expect(track.pluginInfo).toEqual({ probeInfo: "m3u|hls-outer" });
    expect(stringifyJson(trackToJson(track))).toContain('"length":9223372036854775807,');
  });

  test("an encoded track without its padding is read, and kept as it was sent", () => {
    const unpadded = SONG_V3.replace(/=+$/, "");
    expect(decodeTrack(unpadded)).toMatchObject({ encoded: unpadded, info: { title: "Song" } });
  });

  test("bytes after the message do not matter", () => {
    const longer = Buffer.concat([Buffer.from(SONG_V3, "base64"), Buffer.from("more")]).toString("base64");
    expect(decodeTrack(longer).info).toEqual(decodeTrack(SONG_V3).info);
  });

  test("versions above 3 are read as 3, versions 0 and 1 as 1", () => {
    const withVersion = (encoded: string, version: number): string => {
      const bytes = Buffer.from(encoded, "base64");
      bytes[4] = version;
      return bytes.toString("base64");
    };
    expect(decodeTrack(withVersion(SONG_V3, 9)).info).toEqual(decodeTrack(SONG_V3).info);
    const body = Buffer.from(SONG_V1, "base64").subarray(4);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(0x40000000 + body.length + 1);
    for (const version of [0, 1]) {
      head[4] = version;
      expect(decodeTrack(Buffer.concat([head, body]).toString("base64")).info).toEqual(decodeTrack(SONG_V1).info);
    }
  });

  test("album fields that an old track does not have are absent", () => {
    const bytes = Buffer.from(SONG_V2, "base64").toString("latin1").replace("\u0007youtube", "\u0007spotify");
    expect(decodeTrack(Buffer.from(bytes, "latin1").toString("base64")).pluginInfo).toMatchObject({
      albumName: null,
      isPreview: false,
      isLocal: false,
    });
  });
});

describe("refusing", () => {
  const refusals: readonly (readonly [string, string, string])[] = [
    ["four-byte UTF-8", FOUR_BYTE_TITLE, "field title is not modified UTF-8"],
    ["nothing", "", "it is empty"],
    ["a message of length 0", "AAAA", "it is empty"],
    ["a message without its end", SONG_V3.slice(0, 100), "it is cut short"],
    ["a character outside the alphabet", `${SONG_V1.slice(0, 8)}-${SONG_V1.slice(9)}`, "illegal base64 character 0x2d"],
    ["a line break", `${SONG_V1}\n`, "illegal base64 character 0xa"],
    ["a space", "QAAA AAA", "illegal base64 character 0x20"],
    ["wrong padding", `${SONG_V1}=`, "wrongly padded"],
    ["padding in the middle", "QA==AAAA", "wrongly padded"],
    ["a single digit at the end", `${SONG_V1}A`, "wrongly padded"],
    ["an unknown container", unknownContainer(), 'its container "nosuch" is not known'],
  ];

  test.each(refusals)("%s", (_name, encoded, reason) => {
    expect(() => decodeTrack(encoded)).toThrow(reason);
    expect(() => decodeTrack(encoded)).toThrow(NodeError);
  });

  test("any bytes end in a track or in the one error, never in another", () => {
    const seed = Date.now() % 2 ** 32;
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const samples = [SONG_V3, SONG_V2, SONG_V1, ODD_TITLE, RADIO, LOCAL].map((text) => Buffer.from(text, "base64"));
    for (let round = 0; round < 5000; round++) {
      const bytes = Buffer.from(samples[round % samples.length]!); // the index is within
      for (let change = 0; change < 3; change++)
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      const encoded = bytes.subarray(0, Math.ceil(random() * bytes.length)).toString("base64");
      try {
        const track = decodeTrack(encoded);
        expect(decodeTrack(writeEncodedTrack(track.info, track.details)).info).toEqual(track.info);
      } catch (error) {
        expect(error).toMatchObject({ code: "track-undecodable" });
      }
    }
  });
});

describe("writing", () => {
  test.each([
    ["song", SONG_V3],
    ["odd title", ODD_TITLE],
    ["radio", RADIO],
    ["local file", LOCAL],
  ])("gives the same bytes for the %s", (_name, encoded) => {
    expect(rewritten(encoded)).toBe(encoded);
  });

  test("writing an older version produces version 3", () => {
    for (const old of [SONG_V1, SONG_V2]) {
      expect(Buffer.from(rewritten(old), "base64")[4]).toBe(3);
      expect(decodeTrack(rewritten(old)).info).toEqual(decodeTrack(old).info);
    }
  });

  test.each<[string, TrackDetails]>([
    ["http", { kind: "probe", probeInfo: "matroska/webm" }],
    ["local", { kind: "probe", probeInfo: "m3u|hls-inner" }],
    ["spotify", ALBUM],
    ["youtube", ALBUM],
    ["youtube", { kind: "none" }],
    ["twitch", { kind: "none" }],
    ["flowery-tts", { kind: "none" }],
    ["tumblr", { kind: "mediaUrl", mediaUrl: "https://media.example/x" }],
  ])("keeps the fields of %s: %o", (sourceName, details) => {
    const { info } = buildTrack({ sourceName, position: -5 });
    expect(readEncodedTrack(writeEncodedTrack(info, details))).toEqual({ info, details });
  });

  test("cuts a text that is too long between characters", () => {
    const { title } = decodeTrack(encodedWith({ title: "😀".repeat(20_000) })).info;
    expect(title).toBe("😀".repeat(Math.floor(65_535 / 6)));
  });

  test("writing at another position changes only the position", () => {
    const moved = trackAtPosition({ ...decodeTrack(SONG_V3), userData: { a: 1 } }, 3000);
    expect(decodeTrack(moved.encoded).info).toEqual({ ...decodeTrack(SONG_V3).info, position: 3000 });
    expect(trackToJson(moved)).toMatchObject({ userData: { a: 1 }, info: { position: 3000 } });
  });
});

describe("recorded tracks", () => {
  const recorded = readLines("encoded-tracks.jsonl").map((line) => JSON.parse(line));

  test.each(recorded.map((track) => [track.case, track]))(
    "the recorded track %s decodes to the recorded fields",
    (_name, track) => {
      const decoded = trackToJson(decodeTrack(track.encoded));
      expect(JSON.parse(stringifyJson(decoded))).toEqual({
        encoded: track.encoded,
        info: track.info,
        pluginInfo: track.pluginInfo,
        userData: {},
      });
    },
  );

  test.each(recorded.map((track) => [track.case, track]))("%s is encoded to the same bytes", (_name, track) => {
    const info: TrackInfo = { ...track.info, length: track.info.isStream ? UNKNOWN_LENGTH_MS : track.info.length };
    expect(createTrack(info, { kind: "probe", probeInfo: track.pluginInfo.probeInfo }).encoded).toBe(track.encoded);
  });
});

function unknownContainer(): string {
  return writeEncodedTrack(buildTrack().info, { kind: "probe", probeInfo: "nosuch" });
}

function encodedWith(info: Partial<TrackInfo>): string {
  return buildTrack(info).encoded;
}
