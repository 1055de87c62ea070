import { describe, expect, test } from "vitest";
import { parseJson, plainJson, stringifyJson } from "../../../src/lib/json.ts";
import { type StoredTrack, storedTrackOf, trackOfStored } from "../../../src/track/stored-track.ts";
import { createTrack, decodeTrack, type Track } from "../../../src/track/track.ts";
import type { TrackDetails } from "../../../src/track/track-details.ts";
import { UNKNOWN_LENGTH_MS } from "../../../src/track/track-details.ts";
import type { TrackInfo } from "../../../src/track/track-info.ts";
import { buildTrack } from "../../support/track-builder.ts";

const INFO: TrackInfo = {
  identifier: "id",
  isSeekable: false,
  author: "A \u{1f3b5} \ud800",
  length: UNKNOWN_LENGTH_MS,
  isStream: true,
  position: 9007199254740993n,
  title: 'T "quoted" \\ \u0000',
  uri: null,
  sourceName: "example",
  artworkUrl: "https://art.example/1",
  isrc: "ISRC",
};

const ALBUM = { albumName: "a", albumUrl: null, artistUrl: "b", artistArtworkUrl: null, previewUrl: "c" };

const DETAILS: Readonly<Record<TrackDetails["kind"], readonly TrackDetails[]>> = {
  none: [{ kind: "none" }],
  probe: [{ kind: "probe", probeInfo: "m3u|hls-outer" }],
  album: [
    { kind: "album", ...ALBUM, isPreview: true },
    { kind: "album", ...ALBUM, albumName: null, isPreview: false },
  ],
  mediaUrl: [{ kind: "mediaUrl", mediaUrl: "https://media.example/1" }],
  fields: [
    { kind: "fields", fields: [] },
    {
      kind: "fields",
      fields: [
        { name: "a", type: "text", value: "" },
        { name: "b", type: "optionalText", value: null },
        { name: "c", type: "optionalText", value: "x" },
        { name: "d", type: "flag", value: true },
      ],
      further: Uint8Array.of(0, 255, 1),
    },
  ],
  unknown: [
    { kind: "unknown", bytes: new Uint8Array() },
    { kind: "unknown", bytes: Uint8Array.from({ length: 256 }, (_, index) => index) },
  ],
};

/** As a store keeps it: a text. */
function throughText(stored: unknown): unknown {
  return plainJson(parseJson(stringifyJson(stored)));
}

function roundTrip(track: Track): Track | undefined {
  return trackOfStored(throughText(storedTrackOf(track)));
}

describe("a track that is stored and read again", () => {
  test.each(Object.values(DETAILS).flat())("it is the same with the details %o", (details) => {
    const track = createTrack(INFO, details, { plugin: { nested: [1, 2n ** 63n, null] } });
    expect(roundTrip(track)).toStrictEqual(track);
  });

  test("its encoded form is that of the client, where the node would write another", () => {
    const bytes = Buffer.from(buildTrack().encoded, "base64");
    for (const more of [0, 1, 2, 3]) {
      const encoded = Buffer.concat([bytes, Buffer.alloc(more, 7)])
        .toString("base64")
        .replace(/=+$/, "");
      const track = decodeTrack(encoded);
      expect(track.encoded).toBe(encoded);
      expect(roundTrip(track)).toStrictEqual(track);
    }
  });

  test("its user data are the same, however deep, long and odd", () => {
    let deep: Track["userData"] = { end: 1.5, big: 12345678901234567890n, text: "\ud83d\u0000\u2028" };
    for (let depth = 0; depth < 195; depth++) deep = { deep };
    const many = { many: Array.from({ length: 16_000 }, (_, index) => index) };
    const proto = plainJson(parseJson('{"__proto__": {"a": 1}}')) as Track["userData"];
    for (const userData of [deep, many, proto, {}, { a: null, b: [{}] }]) {
      const track = { ...buildTrack(), userData };
      // Within a record, which is nested itself.
      const { player } = throughText({ player: { track: storedTrackOf(track) } }) as { player: { track: unknown } };
      const read = trackOfStored(player.track);
      expect(read).toStrictEqual(track);
      expect(Object.keys(read?.userData ?? {})).toEqual(Object.keys(userData));
    }
  });
});

describe("a track that is read from elsewhere", () => {
  const stored = throughText(storedTrackOf({ ...buildTrack(), userData: { a: 1 } })) as object;
  const wrongInfo = (change: object) => ({ info: { ...(stored as StoredTrack).info, ...change } });
  const wrongField = (field: unknown) => ({ details: { kind: "fields", fields: [field] } });

  const cases: readonly object[] = [
    { encoded: 7 },
    { encoded: undefined },
    { encoded: "A".repeat(2_000_000) },
    { info: null },
    { info: [] },
    ...["identifier", "author", "title", "sourceName"].flatMap((name) => [
      wrongInfo({ [name]: null }),
      wrongInfo({ [name]: undefined }),
    ]),
    ...["uri", "artworkUrl", "isrc"].flatMap((name) => [wrongInfo({ [name]: 1 }), wrongInfo({ [name]: undefined })]),
    ...["isSeekable", "isStream"].map((name) => wrongInfo({ [name]: "true" })),
    ...["length", "position"].flatMap((name) => [
      wrongInfo({ [name]: "1" }),
      wrongInfo({ [name]: Number.NaN }),
      wrongInfo({ [name]: 2n ** 63n }),
    ]),
    { pluginInfo: {} },
    { pluginInfo: "[1]" },
    { userData: "{" },
    { userData: "null" },
    { userData: null },
    { userData: `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}` },
    { details: undefined },
    { details: { kind: "other" } },
    { details: { kind: "probe" } },
    { details: { kind: "mediaUrl", mediaUrl: null } },
    { details: { kind: "album", ...ALBUM } },
    { details: { kind: "album", ...ALBUM, isPreview: true, artistUrl: 1 } },
    { details: { kind: "album", ...ALBUM, isPreview: true, previewUrl: 1 } },
    { details: { kind: "unknown", bytes: "A" } },
    { details: { kind: "unknown", bytes: [1] } },
    { details: { kind: "fields" } },
    { details: { kind: "fields", fields: [], further: "?" } },
    wrongField(null),
    wrongField({ name: 1, type: "text", value: "" }),
    wrongField({ name: "a", type: "text", value: null }),
    wrongField({ name: "a", type: "optionalText", value: 1 }),
    wrongField({ name: "a", type: "flag", value: 1 }),
    wrongField({ name: "a", type: "other", value: "" }),
  ];

  test("it is none when any member is wrong", () => {
    expect(trackOfStored(stored)).toBeDefined();
    for (const change of cases)
      expect(trackOfStored({ ...stored, ...change }), JSON.stringify(Object.keys(change))).toBeUndefined();
    for (const wrong of [undefined, null, 1, "x", []]) expect(trackOfStored(wrong)).toBeUndefined();
  });
});
