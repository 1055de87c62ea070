import { describe, expect, test } from "vitest";
import type { PluginAnswer } from "../../../../src/bridge/plugin-messages.ts";
import type { PluginInfoModifier, Source, SourceAnswer, SourceTrack } from "../../../../src/plugin-api/plugin.ts";
import { readAnswer, writeAnswer } from "../../../../src/plugin-host/runtime/written-answer.ts";
import { decodeTrack } from "../../../../src/track/track.ts";

const SOURCE: Source = {
  name: "songs",
  fields: [
    { name: "album", type: "optionalText" },
    { name: "isPreview", type: "flag" },
  ],
  load: async () => undefined,
  resolve: async () => ({ kind: "reference", identifier: "x" }),
};
const ONE: SourceTrack = { identifier: "1", title: "One", lengthMs: 1000 };

function write(answer: unknown, modifiers: readonly PluginInfoModifier[] = []): PluginAnswer {
  return writeAnswer(answer as SourceAnswer, { source: SOURCE, modifiers }); // as a plugin without types may answer
}

/** One track as it is written. */
function track(found: object) {
  const answer = write({ kind: "track", track: { ...ONE, ...found } });
  return answer.kind === "track" ? answer.track : expect.fail("no track");
}

function count(answer: PluginAnswer): number {
  return "tracks" in answer ? answer.tracks.count : expect.fail("no list");
}

describe("a track", () => {
  test("a track has the protocol's defaults for missing members", () => {
    expect(track({ lengthMs: undefined, title: undefined }).info).toEqual({
      identifier: "1",
      title: "Unknown title",
      author: "Unknown artist",
      length: 2n ** 63n - 1n,
      position: 0,
      isStream: true,
      isSeekable: false,
      uri: null,
      artworkUrl: null,
      isrc: null,
      sourceName: "songs",
    });
  });

  test("a track survives the round trip, including its fields", () => {
    const whole: SourceTrack = {
      ...ONE,
      author: "A",
      isStream: false,
      uri: "https://a.example/",
      artworkUrl: "https://a.example/1",
      isrc: "X",
      pluginInfo: { a: [1, { b: null }] },
      fields: { album: "B", isPreview: true },
    };
    expect(readAnswer(write({ kind: "track", track: whole }))).toEqual({ kind: "track", track: whole });
    const { encoded, pluginInfo } = track(whole);
    expect(pluginInfo).toEqual({ a: [1, { b: null }] });
    const decoded = decodeTrack(encoded, new Map([["songs", SOURCE.fields ?? []]]));
    expect(decoded.details).toMatchObject({ fields: [{ value: "B" }, { value: true }] });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1e300, "1000"])(
    "a track with a length of %s is of unknown length",
    (lengthMs) => {
      expect(track({ lengthMs }).info).toMatchObject({ length: 2n ** 63n - 1n, isStream: false });
    },
  );

  test("a track has texts of 65,535 bytes at most, and none of another type", () => {
    const long = "ö".repeat(200_000);
    const { info } = track({ identifier: long, title: long, author: long, uri: long, artworkUrl: 7, isrc: { a: 1 } });
    for (const text of [info.identifier, info.title, info.author, info.uri])
      expect(Buffer.byteLength(text ?? "")).toBe(65_534);
    expect(info).toMatchObject({ artworkUrl: null, isrc: null });
  });
});

describe("a list", () => {
  const many = (length: number, more: object = {}) => Array.from({ length }, () => ({ ...ONE, ...more }));

  test("a list has 10,000 tracks at most", () => {
    expect(count(write({ kind: "search", tracks: many(20_000) }))).toBe(10_000);
  });

  test("a list ends early if its texts are huge", () => {
    const written = write({
      kind: "playlist",
      name: "x",
      tracks: many(2000, { title: "x".repeat(60_000) }),
      selectedTrack: 1999,
    });
    expect(count(written)).toBeLessThan(210);
    expect(written).toMatchObject({ selectedTrack: -1 });
  });

  test.each([
    [undefined, -1],
    [0, 0],
    [1, 1],
    [2, -1],
    [-1, -1],
    [-5, -1],
    [0.5, -1],
    [Number.NaN, -1],
    ["1", -1],
  ])("a list with the selected track %s has %s", (selectedTrack, expected) => {
    const written = write({ kind: "playlist", name: "x", tracks: many(2), selectedTrack });
    expect(written).toMatchObject({ selectedTrack: expected });
  });

  test("a list survives the round trip", () => {
    const tracks = [ONE, { ...ONE, identifier: "2" }];
    const read = readAnswer(write({ kind: "playlist", name: "P", tracks, pluginInfo: { a: 1 } }));
    expect(read).toMatchObject({ kind: "playlist", name: "P", selectedTrack: -1, pluginInfo: { a: 1 }, tracks });
    expect(readAnswer(write({ kind: "search", tracks }))).toMatchObject({ kind: "search", tracks });
  });

  test.each(["search", "playlist"])("a list of unknown lengths survives the round trip without them: %s", (kind) => {
    const tracks = [
      { identifier: "1", title: "Live" },
      { ...ONE, lengthMs: Number.MAX_SAFE_INTEGER },
    ];
    const read = readAnswer(write({ kind, name: "P", tracks }));
    const lengths = "tracks" in read ? read.tracks.map(({ lengthMs }) => lengthMs) : expect.fail("no list");
    expect(lengths).toEqual([undefined, Number.MAX_SAFE_INTEGER]);
  });

  test("an empty list is an empty search result, or an empty playlist", () => {
    expect(write({ kind: "search", tracks: [] })).toEqual({ kind: "empty" });
    expect(write({ kind: "playlist", name: "P", tracks: [] })).toMatchObject({
      kind: "playlist",
      tracks: { count: 0 },
    });
  });
});

describe("additional members", () => {
  test("later members override earlier ones, and invalid ones are ignored", () => {
    const modifiers: PluginInfoModifier[] = [
      { track: () => ({ a: 1, b: 1 }), playlist: () => ({ p: 1 }) },
      {},
      { track: ({ title }) => ({ b: title }), playlist: ({ tracks }) => ({ q: tracks.length }) },
    ];
    const answer = write({ kind: "track", track: { ...ONE, pluginInfo: { a: 0, c: 0 } } }, modifiers);
    expect(answer).toMatchObject({ track: { pluginInfo: { a: 1, b: "One", c: 0 } } });
    expect(write({ kind: "playlist", name: "P", tracks: [ONE] }, modifiers)).toMatchObject({
      pluginInfo: { p: 1, q: 1 },
    });
    expect(track({ pluginInfo: "text" }).pluginInfo).toEqual({});
  });

  test("additional members are plain JSON when they are sent", () => {
    const pluginInfo = { at: new Date(0), call: () => 1, map: new Map([[1, 2]]) };
    expect(track({ pluginInfo }).pluginInfo).toEqual({ at: "1970-01-01T00:00:00.000Z", map: {} });
  });

  test.each([{ a: 1n }, cycle(), { a: "x".repeat(70_000) }])(
    "additional members that cannot be JSON are refused",
    (pluginInfo) => {
      expect(() => track({ pluginInfo })).toThrow();
    },
  );
});

test("undefined is no answer, and a reference is one", () => {
  expect(write(undefined)).toEqual({ kind: "none" });
  expect(write(null)).toEqual({ kind: "none" });
  expect(readAnswer({ kind: "none" })).toEqual({ kind: "empty" });
  expect(write({ kind: "reference", identifier: "x" })).toEqual({ kind: "reference", identifier: "x" });
});

function cycle(): object {
  const members: Record<string, unknown> = {};
  members.self = members;
  return members;
}
