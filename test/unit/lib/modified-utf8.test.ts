import { describe, expect, test } from "vitest";
import { decodeModifiedUtf8, encodeModifiedUtf8, modifiedUtf8Length } from "../../../src/lib/modified-utf8.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("modified UTF-8", () => {
  test.each([
    ["\u0000", "c080"],
    ["A", "41"],
    ["\u007f", "7f"],
    ["\u0080", "c280"],
    ["é", "c3a9"],
    ["\u07ff", "dfbf"],
    ["\u0800", "e0a080"],
    ["\uffff", "efbfbf"],
    ["😀", "eda0bdedb880"],
    ["\ud83d", "eda0bd"],
  ])("writes %j as %s and reads it back", (text, expected) => {
    expect(hex(encodeModifiedUtf8(text))).toBe(expected);
    expect(modifiedUtf8Length(text)).toBe(expected.length / 2);
    expect(decodeModifiedUtf8(Buffer.from(expected, "hex"))).toBe(text);
  });

  test.each(["80", "c3", "c341", "e0a0", "e0a041", "e041a0", "f09f9880", "ff"])("decoding refuses %s", (bytes) => {
    expect(decodeModifiedUtf8(Buffer.from(bytes, "hex"))).toBeUndefined();
  });

  test("a round trip keeps every UTF-16 unit", () => {
    const all = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit)).join("");
    expect(decodeModifiedUtf8(encodeModifiedUtf8(all)) === all).toBe(true);
  });
});
