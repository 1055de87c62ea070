import { describe, expect, test } from "vitest";
import { chooseFormat } from "../../../plugins/youtube/formats.ts";
import { findMembers, label, list, member, number, string, wholeLabel } from "../../../plugins/youtube/read-json.ts";
import { readMix, readPlaylistPage, readSearch } from "../../../plugins/youtube/read-lists.ts";
import { readVideo } from "../../../plugins/youtube/read-player.ts";
import { readEntries } from "../../../plugins/youtube/read-tracks.ts";

const RENDERER = { videoId: "song0000001", title: { simpleText: "Song" }, lengthText: { simpleText: "3:33" } };

function nested(depth: number, innermost: unknown): unknown {
  let tree = innermost;
  for (let count = 0; count < depth; count++) tree = { contents: [tree] };
  return tree;
}

describe("a walk", () => {
  const names = new Set(["wanted"]);

  test("a walk finds members as deep as in real pages, in the order of the text", () => {
    const tree = { a: nested(15, { wanted: 1 }), b: [{ wanted: 2 }, { c: { wanted: 3 } }], wanted: 4 };
    expect(findMembers(tree, names, { countMax: 10 }).map(({ value }) => value)).toEqual([1, 2, 3, 4]);
  });

  test("a walk goes no deeper than 64, and finds no more than requested", () => {
    expect(findMembers(nested(31, { wanted: 1 }), names, { countMax: 10 })).toHaveLength(1);
    expect(findMembers(nested(40, { wanted: 1 }), names, { countMax: 10 })).toEqual([]);
    expect(findMembers(nested(100_000, { wanted: 1 }), names, { countMax: 10 })).toEqual([]);
    const many = Array.from({ length: 5000 }, () => ({ wanted: 1 }));
    expect(findMembers(many, names, { countMax: 100 })).toHaveLength(100);
  });

  test("a walk ends in a page that is all members", () => {
    const wide = Array.from({ length: 500_000 }, () => ({ a: {} }));
    expect(findMembers([{ wanted: 1 }, wide], names, { countMax: 2 })).toHaveLength(1);
  });

  test("a walk leaves out the given members", () => {
    const except = new Set(["aside"]);
    expect(findMembers({ aside: { wanted: 1 }, b: { wanted: 2 } }, names, { countMax: 9, except })).toHaveLength(1);
  });
});

test("inherited members of an object are ignored", () => {
  expect(member({}, "constructor")).toBeUndefined();
  expect(member("text", "length")).toBeUndefined();
  expect(list({ a: { length: 3 } }, "a")).toEqual([]);
  expect(string({ a: "" }, "a")).toBeUndefined();
  expect([number({ a: "12" }, "a"), number({ a: "1e9" }, "a"), number({ a: Number.NaN }, "a")]).toEqual([
    12,
    undefined,
    undefined,
  ]);
});

test("texts are read in each of their forms", () => {
  const texts = ["x", { simpleText: "x" }, { content: "x" }, { runs: [{ text: "x" }, { text: "y" }] }];
  expect(texts.map((text) => label(text))).toEqual(["x", "x", "x", "x"]);
  expect(wholeLabel("+", texts[3])).toBe("x+y");
  expect([label({ runs: "x" }), label(5), label(null)]).toEqual([undefined, undefined, undefined]);
});

test.each([
  ["3:33", 213_000],
  ["1:02:03", 3_723_000],
  ["0.59", 59_000],
  ["LIVE", undefined],
  ["", undefined],
])("a length written as %j is %s ms", (text, lengthMs) => {
  const entry = { playlistPanelVideoRenderer: { ...RENDERER, lengthText: { simpleText: text } } };
  expect(readEntries(entry, "mix", 5).tracks[0]?.lengthMs).toBe(lengthMs);
});

test.each([
  ["no id", { videoId: undefined }],
  ["an invalid id", { videoId: "../../x" }],
  ["no title", { title: {} }],
  ["a text why it cannot be played", { unplayableText: { simpleText: "no" } }],
])("an entry with %s is left out", (_, change) => {
  const tree = [{ videoRenderer: { ...RENDERER, ...change } }, { videoRenderer: RENDERER }];
  expect(readEntries(tree, "search", 5)).toMatchObject({ count: 2, tracks: [{ identifier: "song0000001" }] });
});

test.each([null, 5, "text", [], {}, { contents: null }, { contents: [] }, { contents: { a: [null, 5, {}] } }])(
  "%j is not a list, and no reader throws anything unexpected",
  (answer) => {
    const kinds = [readSearch, readMix, readPlaylistPage, (tree: unknown) => readVideo(tree, "song0000001")].map(
      (read) => {
        try {
          read(answer);
          return "nothing in it";
        } catch (error) {
          return error instanceof Error && "kind" in error ? error.kind : String(error);
        }
      },
    );
    expect(["changed", "nothing in it"]).toEqual(expect.arrayContaining(kinds));
  },
);

describe("the chosen format", () => {
  const opus = {
    itag: 251,
    mimeType: 'audio/webm; codecs="opus"',
    bitrate: 100,
    contentLength: "5",
    url: "https://x/",
  };
  const choose = (...adaptiveFormats: object[]) => {
    return chooseFormat({ streamingData: { adaptiveFormats } }, { opensLocks: false, variant: undefined }).itag;
  };

  test.each([
    ["is not locked where nothing opens locks", { signatureCipher: "s=1&url=https://x/", url: undefined }],
    ["is not one of another language", { audioTrack: { audioIsDefault: false } }],
    ["is not encrypted", { drmFamilies: ["WIDEVINE"] }],
    ["is not sent in pieces of unknown size", { type: "FORMAT_STREAM_TYPE_OTF" }],
    ["has a length", { contentLength: undefined }],
    ["is not quietened", { isDrc: true }],
    ["has two channels", { audioChannels: 6 }],
    ["has audio", { mimeType: 'video/webm; codecs="vp9"' }],
  ])("the chosen format %s", (_, change) => {
    const worse = { ...opus, bitrate: 999, ...change };
    expect(choose(worse, { ...opus, itag: 250 })).toBe(250);
    expect(choose({ ...opus, itag: 250 }, worse)).toBe(250);
  });

  test("the chosen format is Opus before Vorbis before AAC, and then the one with more bits", () => {
    const aac = { ...opus, itag: 140, mimeType: 'audio/mp4; codecs="mp4a.40.2"', bitrate: 999 };
    const vorbis = { ...opus, itag: 171, mimeType: 'audio/webm; codecs="vorbis"', bitrate: 500 };
    expect(choose(aac, vorbis, { ...opus, itag: 249, bitrate: 50 }, opus)).toBe(251);
    expect(choose(aac, vorbis)).toBe(171);
  });

  test("a missing format is reported with those that there are", () => {
    const video = { ...opus, mimeType: 'video/mp4; codecs="avc1.4d401e"' };
    expect(() => choose(video)).toThrow(
      'No supported audio streams available, available types: video/mp4; codecs="avc1.4d401e"',
    );
  });
});
