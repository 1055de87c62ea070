import { expect, test } from "vitest";
import { stringifyJson } from "../../../src/lib/json.ts";
import { trackToJson } from "../../../src/track/track.ts";
import { UNKNOWN_LENGTH_MS } from "../../../src/track/track-details.ts";
import { firstTrack, isWritten, writeTracks } from "../../../src/track/written-tracks.ts";
import { buildTrack } from "../../support/track-builder.ts";

const MANY = Array.from({ length: 250 }, (_, index) =>
  buildTrack({ title: `Ä ${index}`, length: index % 2 === 0 ? 1000 : UNKNOWN_LENGTH_MS }),
);

test("the parts together are the JSON of the list, 100 tracks in each", () => {
  const { count, parts } = writeTracks(MANY);
  const texts = parts.map((part) => new TextDecoder().decode(part));
  expect(`[${texts.join(",")}]`).toBe(stringifyJson(MANY.map(trackToJson)));
  expect(texts.map((text) => JSON.parse(`[${text}]`).length)).toEqual([100, 100, 50]);
  expect(count).toBe(250);
});

test("a part of very long tracks ends early", () => {
  const { parts } = writeTracks(Array.from({ length: 20 }, () => buildTrack({ title: "x".repeat(60_000) })));
  expect(parts.length).toBeGreaterThan(4);
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(512 * 1024);
});

test("each part can be transferred: its memory is its own", () => {
  const parts = [...writeTracks(MANY).parts, ...writeTracks([buildTrack()]).parts];
  for (const part of parts) expect(part.buffer.byteLength).toBe(part.length);
});

test("the first track of a written list is returned in playable form; undefined for an empty list", () => {
  const [track] = MANY;
  expect(firstTrack(MANY)).toBe(track);
  expect(firstTrack(writeTracks(MANY))).toEqual(track);
  expect([firstTrack([]), firstTrack(writeTracks([]))]).toEqual([undefined, undefined]);
});

test("no tracks are no parts, and yet a written list", () => {
  expect(writeTracks([])).toEqual({ count: 0, parts: [] });
  expect([isWritten(writeTracks([])), isWritten([])]).toEqual([true, false]);
});
