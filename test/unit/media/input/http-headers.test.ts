import { describe, expect, it } from "vitest";
import {
  contentLengthOf,
  contentRangeOf,
  ifRangeOf,
  isSameVersion,
  mimeTypeOf,
} from "../../../../src/media/input/http-headers.ts";

const none = { etag: undefined, lastModified: undefined };

describe("Content-Range", () => {
  it.each([
    ["bytes 0-99/100", { firstBytes: 0, lastBytes: 99, sizeBytes: 100 }],
    ["bytes 5-9/*", { firstBytes: 5, lastBytes: 9, sizeBytes: undefined }],
    ["bytes */100", { firstBytes: undefined, lastBytes: undefined, sizeBytes: 100 }],
    ["BYTES 0-0/1", { firstBytes: 0, lastBytes: 0, sizeBytes: 1 }],
    ["bytes 9-5/100", undefined],
    ["bytes 0-100/100", undefined],
    ["bytes 0-99", undefined],
    ["items 0-9/10", undefined],
    ["bytes 0-9/99999999999999999999", { firstBytes: 0, lastBytes: 9, sizeBytes: undefined }],
    ["", undefined],
  ])("Content-Range %j is parsed", (text, expected) =>
    expect(contentRangeOf({ "content-range": text })).toEqual(expected),
  );
});

describe("sizes and types", () => {
  it.each([
    ["10", 10],
    ["-1", undefined],
    ["1e3", undefined],
    ["99999999999999999999", undefined],
  ])("Content-Length %j is %j", (text, size) => expect(contentLengthOf({ "content-length": text })).toBe(size));

  it.each([
    ["Audio/MPEG; charset=x", "audio/mpeg"],
    [";", undefined],
    ["", undefined],
  ])("Content-Type %j is %j", (text, type) => expect(mimeTypeOf({ "content-type": text })).toBe(type));
});

describe("versions", () => {
  it("If-Range takes a strong tag, else the date", () => {
    expect(ifRangeOf({ etag: '"a"', lastModified: "date" })).toBe('"a"');
    expect(ifRangeOf({ etag: 'W/"a"', lastModified: "date" })).toBe("date");
    expect(ifRangeOf({ etag: 'W/"a"', lastModified: undefined })).toBeUndefined();
  });

  it("versions differ only when tags, or without them dates, differ", () => {
    expect(isSameVersion({ ...none, etag: '"a"' }, { ...none, etag: '"b"' })).toBe(false);
    expect(isSameVersion({ etag: '"a"', lastModified: "x" }, { etag: 'W/"a"', lastModified: "y" })).toBe(true);
    expect(isSameVersion({ ...none, lastModified: "x" }, { ...none, lastModified: "y" })).toBe(false);
    expect(isSameVersion({ ...none, etag: '"a"' }, none)).toBe(true);
    expect(isSameVersion(none, none)).toBe(true);
  });
});
