import { expect, test } from "vitest";
import { readLrc } from "../../../plugins/reading/lrc.ts";

test("lines have times, texts and lengths up to the next line", () => {
  expect(readLrc("[ar: Mira Vale]\r\n[00:01.20] one\r\n[00:03.5]two\n[01:00] three")).toEqual([
    { timestampMs: 1200, durationMs: 2300, line: "one" },
    { timestampMs: 3500, durationMs: 56_500, line: "two" },
    { timestampMs: 60_000, line: "three" },
  ]);
});

test("a line with several times appears at each of them, in the order of time", () => {
  expect(readLrc("[00:30.00][00:10.00] chorus\n[00:20.00] verse")).toMatchObject([
    { timestampMs: 10_000, line: "chorus" },
    { timestampMs: 20_000, line: "verse" },
    { timestampMs: 30_000, line: "chorus" },
  ]);
});

test("a line without text is a pause that ends the line before", () => {
  expect(readLrc("[00:01.00] one\n[00:02.00]\n[00:09.00] two")).toMatchObject([
    { line: "one", durationMs: 1000 },
    { line: "", durationMs: 7000 },
    { line: "two" },
  ]);
});

test("a positive offset shows all lines earlier, none before the start", () => {
  expect(readLrc("[offset:+500]\n[00:00.20] one\n[00:02.00] two")).toMatchObject([
    { timestampMs: 0 },
    { timestampMs: 1500 },
  ]);
  expect(readLrc("[00:01.00] one\n[offset: -250]")).toMatchObject([{ timestampMs: 1250 }]);
});

test("times of single words are removed", () => {
  expect(readLrc("[00:01.00] <00:01.00> one <00:01.50> two")).toEqual([{ timestampMs: 1000, line: "one  two" }]);
});

test.each(["", "no times at all", "[xx:yy] a", "[00:01.00", "[] [] []", "[99999:00] a"])(
  "the text %j has no lines",
  (text) => expect(readLrc(text)).toEqual([]),
);

test("hostile lyrics are cut: 5,000 lines, whatever their number and their repeated times are", () => {
  expect(readLrc("[00:01.00]a\n".repeat(100_000))).toHaveLength(5000);
  expect(readLrc(`${"[00:01.00]".repeat(100_000)}a`)).toHaveLength(100);
  expect(readLrc("[".repeat(1_000_000))).toEqual([]);
});
