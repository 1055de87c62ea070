import { describe, expect, it } from "vitest";
import { decodeHeaderText, decodeText } from "../../../../src/media/input/legacy-text.ts";

/** In Windows-1251. */
function cyrillic(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => {
    if (letter === "ё") return 0xb8;
    const code = letter.charCodeAt(0);
    return code >= 0x410 && code < 0x450 ? code - 0x410 + 0xc0 : code;
  });
}

describe("text of unknown encoding", () => {
  it.each(["Радио Рекорд", "Кино", "Би-2 - Мой рок-н-ролл", "Radio Максимум FM", "Счётчик"])(
    "text of unknown encoding is read as Windows-1251 where it is Russian: %s",
    (text) => expect(decodeText(cyrillic(text))).toBe(text),
  );

  it.each(["Radio été", "Käse", "ÄÖÜ", "Café", "Señor Ñandú", "Sigur Rós - Ágætis byrjun", "Þú", "Øyå", "«été»", "éé"])(
    "text of unknown encoding is read as Latin-1 where it is not Russian: %s",
    (text) => expect(decodeText(Buffer.from(text, "latin1"))).toBe(text),
  );

  it("text of unknown encoding is UTF-8 if that is possible, also where its last letter is cut off", () => {
    const bytes = Buffer.from("Радио été");
    expect(decodeText(bytes)).toBe("Радио été");
    expect(decodeText(bytes.subarray(0, -1))).toBe("Радио ét");
  });

  it("text of unknown encoding with a byte order mark is UTF-16", () => {
    const bytes = Buffer.from("\ufeffKäse", "utf16le");
    expect(decodeText(bytes)).toBe("Käse");
    expect(decodeText(bytes.swap16())).toBe("Käse");
  });
});

it("a header's text is decoded once", () => {
  expect(decodeHeaderText(Buffer.from("Радио").toString("latin1"))).toBe("Радио");
  expect(decodeHeaderText("Радио")).toBe("Радио");
  expect(decodeHeaderText("Radio \u00e9t\u00e9")).toBe("Radio été");
});
