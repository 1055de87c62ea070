import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { NodeError } from "../../../src/errors.ts";
import type { TrackField } from "../../../src/plugin-api/plugin.ts";
import { readEncodedTrack, type TrackLayouts, writeEncodedTrack } from "../../../src/track/encoded-track.ts";
import { createTrack, decodeTrack, trackAtPosition } from "../../../src/track/track.ts";
import { fieldsOfTrack, type TrackDetails } from "../../../src/track/track-details.ts";
import type { TrackInfo } from "../../../src/track/track-info.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { readLines } from "../../support/golden.ts";
import { buildTrack } from "../../support/track-builder.ts";

const SOURCE = "some-plugin";
const LAYOUT: readonly TrackField[] = [
  { name: "album", type: "text" },
  { name: "label", type: "optionalText" },
  { name: "isExplicit", type: "flag" },
];
const FIELDS: TrackDetails = {
  kind: "fields",
  fields: fieldsOfTrack(LAYOUT, { album: "Ä\u0000😀", label: "L", isExplicit: true }),
};

function infoOf(info: Partial<TrackInfo> = {}): TrackInfo {
  return buildTrack({ sourceName: SOURCE, position: 1234, ...info }).info;
}

function layouts(layout: readonly TrackField[], sourceName = SOURCE): TrackLayouts {
  return new Map([[sourceName, layout]]);
}

/**
 * A written track is read unchanged, and written to the same bytes; a reader with fewer layouts writes the same bytes,
 * too.
 */
function expectRoundTrip(info: TrackInfo, details: TrackDetails, extraLayouts?: TrackLayouts): void {
  const encoded = writeEncodedTrack(info, details);
  const read = readEncodedTrack(encoded, extraLayouts);
  expect(read).toEqual({ info, details });
  expect(writeEncodedTrack(read.info, read.details)).toBe(encoded);
  const ignorant = readEncodedTrack(encoded);
  expect(ignorant.info).toEqual(info);
  expect(writeEncodedTrack(ignorant.info, ignorant.details)).toBe(encoded);
}

describe("fields of plugins", () => {
  test("fields of plugins survive a round trip with any values", () => {
    const random = seededRandom(fuzzSeed());
    for (let round = 0; round < 500; round++) {
      const layout = Array.from({ length: Math.floor(random() * 6) }, (_, index) => randomField(`f${index}`, random));
      const values = Object.fromEntries(layout.map(({ name, type }) => [name, randomValue(type, random)]));
      const details: TrackDetails = { kind: "fields", fields: fieldsOfTrack(layout, values) };
      expect(Object.fromEntries(details.fields.map(({ name, value }) => [name, value]))).toEqual(values);
      expectRoundTrip(infoOf({ position: Math.floor(random() * 1e9) - 1000 }), details, layouts(layout));
    }
  });

  test("fields that are missing or of another type are empty", () => {
    const values = { album: 3, label: false, toString: "x" };
    expect(fieldsOfTrack(LAYOUT, values).map(({ value }) => value)).toEqual(["", null, false]);
    expect(fieldsOfTrack(LAYOUT).map(({ value }) => value)).toEqual(["", null, false]);
    const inherited = fieldsOfTrack([{ name: "toString", type: "text" }], {});
    expect(inherited.map(({ value }) => value)).toEqual([""]);
  });

  test.each([0, 1, 2])(
    "an older track that has only %i of the fields gets empty others, which are written from then on",
    (count) => {
      const older: TrackDetails = { kind: "fields", fields: FIELDS.fields.slice(0, count) };
      const { info, details } = readEncodedTrack(writeEncodedTrack(infoOf(), older), layouts(LAYOUT));
      const absent = fieldsOfTrack(LAYOUT);
      expect({ info, details }).toEqual({
        info: infoOf(),
        details: { kind: "fields", fields: [...older.fields, ...absent.slice(count)] },
      });
      expectRoundTrip(info, details, layouts(LAYOUT));
    },
  );

  test.each([0, 1, 2])("a newer track is read by a reader that knows %i of its fields, and loses none", (count) => {
    const encoded = writeEncodedTrack(infoOf(), FIELDS);
    const read = readEncodedTrack(encoded, layouts(LAYOUT.slice(0, count)));
    expect(read).toMatchObject({ info: infoOf(), details: { kind: "fields", fields: FIELDS.fields.slice(0, count) } });
    expect(writeEncodedTrack(read.info, read.details)).toBe(encoded);
  });

  test("the fields may belong to a source that has none in the format, and change no other", () => {
    expect(
      readEncodedTrack(writeEncodedTrack(infoOf({ sourceName: "soundcloud" }), FIELDS), layouts(LAYOUT, "soundcloud"))
        .details,
    ).toEqual(FIELDS);
    const { info, details, encoded } = buildTrack();
    expect(readEncodedTrack(encoded, layouts(LAYOUT, "http"))).toEqual({ info, details });
  });

  test("a damaged field makes the track undecodable, and the error names the field", () => {
    const encoded = encodedWith(Buffer.from([0, 1, 0xff]));
    expect(() => readEncodedTrack(encoded, layouts(LAYOUT))).toThrow("its field album is not modified UTF-8");
    expect(() => readEncodedTrack(encodedWith(Buffer.from([0, 9])), layouts(LAYOUT))).toThrow(NodeError);
  });

  test("fields of plugins are shown in pluginInfo unless the source has its own", () => {
    const derived = { album: "Ä\u0000😀", label: "L", isExplicit: true };
    expect(createTrack(infoOf(), FIELDS).pluginInfo).toEqual(derived);
    expect(decodeTrack(createTrack(infoOf(), FIELDS).encoded, layouts(LAYOUT)).pluginInfo).toEqual(derived);
    const own = createTrack(infoOf(), FIELDS, { from: "the source" });
    expect(own.pluginInfo).toEqual({ from: "the source" });
    expect(trackAtPosition(own, 5)).toMatchObject({ pluginInfo: { from: "the source" }, details: FIELDS });
  });
});

describe("unknown sources", () => {
  test("tracks of unknown sources are read, and their additional bytes are preserved", () => {
    const random = seededRandom(fuzzSeed());
    for (let round = 0; round < 500; round++) {
      const bytes = Uint8Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 256));
      expectRoundTrip(infoOf({ sourceName: `unknown ${round}` }), { kind: "unknown", bytes });
    }
  });

  test("tracks of unknown sources keep their additional bytes at another position", () => {
    const added = Buffer.from("anything at all");
    const moved = trackAtPosition(decodeTrack(encodedWith(added)), 77);
    expect(moved).toMatchObject({ info: infoOf({ position: 77 }), pluginInfo: {} });
    expect(decodeTrack(moved.encoded).details).toEqual({ kind: "unknown", bytes: new Uint8Array(added) });
  });

  test("tracks of unknown sources retain no other memory", () => {
    const { details } = decodeTrack(encodedWith(Buffer.from("some bytes")));
    expect(details.kind === "unknown" && details.bytes.buffer.byteLength).toBe(10);
  });

  test("tracks of unknown sources are refused without a whole position", () => {
    const bytes = Buffer.from(encodedWith(Buffer.alloc(0)), "base64").subarray(0, -1);
    bytes.writeUInt32BE(0x40000000 + bytes.length - 4);
    expect(() => decodeTrack(bytes.toString("base64"))).toThrow("it ends within the field position");
  });
});

const recorded = readLines("encoded-tracks.jsonl").map((line) => JSON.parse(line));
test.each(recorded.map((track) => [track.case, track]))(
  "the recorded track %s is written back unchanged by a reader that knows its source, and by one that does not",
  (_name, { encoded, info: { sourceName } }) => {
    for (const text of [encoded, renamed(encoded, sourceName)]) {
      const { info, details } = readEncodedTrack(text);
      expect(details.kind).toBe(text === encoded ? "probe" : "unknown");
      expect(writeEncodedTrack(info, details)).toBe(text);
    }
  },
);

/** A track of an unknown source with `bytes` before its position. */
function encodedWith(bytes: Uint8Array): string {
  return writeEncodedTrack(infoOf(), { kind: "unknown", bytes });
}

/** The same track with an unknown source, whose name has the same length. */
function renamed(encoded: string, sourceName: string): string {
  const bytes = Buffer.from(encoded, "base64").toString("latin1");
  const size = String.fromCharCode(0, sourceName.length);
  const at = bytes.lastIndexOf(size + sourceName);
  const unknown = size + "?".repeat(sourceName.length);
  return Buffer.from(bytes.slice(0, at) + unknown + bytes.slice(at + unknown.length), "latin1").toString("base64");
}

function randomField(name: string, random: () => number): TrackField {
  const types = ["text", "optionalText", "flag"] as const;
  return { name, type: types[Math.floor(random() * types.length)]! }; // within bounds
}

function randomValue(type: TrackField["type"], random: () => number): string | boolean | null {
  if (type === "flag") return random() < 0.5;
  if (type === "optionalText" && random() < 0.5) return null;
  return Array.from(
    { length: Math.floor(random() * 20) },
    () => String.fromCodePoint([0, 65, 233, 0x97f3, 0x1f600][Math.floor(random() * 5)]!), // within bounds
  ).join("");
}
