import { expect, test } from "vitest";
import type { Tried } from "../../../../lab/canary/canary.ts";
import { lastLine, TABLE_HEAD, tableLines } from "../../../../lab/canary/table.ts";

const TRIED: Tried = {
  source: "songs",
  what: "link",
  identifier: "https://songs.example/1",
  outcome: "ok",
  found: "One",
  tookMs: 12.4,
  backends: ["WEB", "TV (failed 1 of 2)"],
};

test("a line has its cells below those of the head, and the result on a separate line", () => {
  const [line = "", found] = tableLines(TRIED).split("\n");
  expect(found).toBe("    One");
  for (const [title, cell] of [
    ["SOURCE", "songs"],
    ["TRIED", "link"],
    ["RESULT", "ok"],
    ["TIME", "12 ms"],
    ["BACKENDS", "WEB, TV (failed 1 of 2)"],
  ] as const) {
    expect(line.slice(TABLE_HEAD.indexOf(title)).startsWith(cell)).toBe(true);
  }
});

test("text from a site is printed as one short line of plain text", () => {
  const found = `\u001b[2J\u0007one\r\ntwo\n${"x".repeat(1000)}`;
  const text = tableLines({ ...TRIED, identifier: `a\nb${"c".repeat(200)}`, found, backends: ["\u001b[31mW"] });
  expect(text.split("\n")).toHaveLength(3);
  expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  expect(text.length).toBeLessThan(600);
});

test("the last line of the canary's table names the failures", () => {
  const failed: Tried = { ...TRIED, outcome: "failed", what: "audio" };
  expect(lastLine([TRIED, failed, { ...failed, source: "tunes" }])).toBe("FAILED: songs (audio), tunes (audio)\n");
  expect(lastLine([TRIED, { ...TRIED, outcome: "skipped" }])).toBe("Nothing failed.\n");
  expect(lastLine([{ ...TRIED, outcome: "skipped" }])).toBe("Nothing was tried.\n");
});
