import { describe, expect, test } from "vitest";
import {
  ago,
  ahead,
  bytes,
  clockTime,
  counted,
  dateAndTime,
  duration,
  percent,
  shortened,
  timeOfDay,
  webAddress,
  wholeNumber,
} from "../../../../dashboard/state/format.ts";

test.each([
  [0, "0:00"],
  [59_999, "0:59"],
  [60_000, "1:00"],
  [3_599_999, "59:59"],
  [3_600_000, "1:00:00"],
  [-5, "0:00"],
  [Number.NaN, "0:00"],
  [Number.POSITIVE_INFINITY, "0:00"],
])("%d ms is %s on the clock", (milliseconds, text) => expect(clockTime(milliseconds)).toBe(text));

test.each([
  [40, "40 ms"],
  [1000, "1.0 s"],
  [9949, "9.9 s"],
  [10_000, "10 s"],
  [60_000, "1 min"],
  [3_600_000, "1 h"],
  [7_500_000, "2 h 5 min"],
  [90_000_000, "1 d 1 h"],
])("%d ms takes %s", (milliseconds, text) => expect(duration(milliseconds)).toBe(text));

test("a past time is shown in steps", () => {
  expect([0, 9999, 10_000, 29_999, 60_000].map(ago)).toEqual([
    ...["just now", "just now", "10 s ago", "20 s ago", "1 min ago"],
  ]);
});

test("a future time is shown as a wait, and a past one as now", () => {
  expect([240_000, 0, -1].map(ahead)).toEqual(["in 4 min", "now", "now"]);
});

test("a share has a decimal where it is small", () => {
  expect([0, 0.004, 0.0995, 0.17, 1, -1].map(percent)).toEqual(["0 %", "0.4 %", "10 %", "17 %", "100 %", "0 %"]);
});

test("bytes are shown in a fitting unit", () => {
  const texts = ["0 B", "999 B", "1.0 kB", "182 MB", "1.0 GB", "5000 TB"];
  expect([0, 999, 1000, 182_000_000, 999_600_000, 5e15].map(bytes)).toEqual(texts);
});

test("numbers have gaps, nouns their number", () => {
  expect(wholeNumber(1_204_332)).toBe("1\u202f204\u202f332");
  expect([0, 1, 2].map((count) => counted(count, "address", "addresses"))).toEqual([
    ...["0 addresses", "1 address", "2 addresses"],
  ]);
});

test("an invalid time is shown as such", () => {
  expect(timeOfDay(new Date(2026, 0, 1, 3, 4, 5).getTime())).toBe("03:04:05");
  expect(timeOfDay(Number.NaN)).toBe("?");
  expect(dateAndTime(new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe("2026-01-02 03:04:05");
  expect(dateAndTime(Number.NaN)).toBe("?");
});

test("long text is cut", () => {
  expect(shortened("x".repeat(300))).toHaveLength(300);
  expect(shortened("x".repeat(301))).toBe(`${"x".repeat(300)}…`);
});

describe("an untrusted link", () => {
  test("an untrusted link to the web is accepted", () =>
    expect(webAddress("https://music.example/a b")).toBe("https://music.example/a%20b"));
  test.each([
    null,
    "",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "//x",
    "http://",
    " https://x",
  ])("or nowhere: %s", (uri) => expect(webAddress(uri)).toBeNull());
});
