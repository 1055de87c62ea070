import { describe, expect, test } from "vitest";
import { bundleText } from "../../../../src/observability/support-bundle/bundle-text.ts";

function part(text: string, more: { lengthMax?: number; keeps?: "beginning" | "end" } = {}) {
  return { title: "Part", text, lengthMax: 100, ...more };
}

describe("a bundle's text", () => {
  test("is headings and blocks", () => {
    expect(bundleText("Whole", "Some words.", [part("a\nb\n"), part("")])).toBe(
      "# Whole\n\nSome words.\n\n## Part\n\n```text\na\nb\n```\n\n## Part\n\n```text\nnone\n```\n",
    );
  });

  test("a part cannot end its block, and no control character in it changes the direction of text", () => {
    const text = bundleText("Whole", "x", [part("```\n# @everyone \u202e\u0007\u001b[31m\u200b")]);
    expect(text.match(/^```/gm)).toHaveLength(2);
    expect(text).toContain("'''\n# @everyone ???[31m?\n");
  });

  test("the beginning or the end of a part that is too long is included, in whole lines", () => {
    const lines = Array.from({ length: 50 }, (_, index) => `line ${index}`).join("\n");
    expect(bundleText("W", "x", [part(lines, { lengthMax: 20 })])).toContain("line 0\nline 1\n… 48 lines are left out");
    expect(bundleText("W", "x", [part(lines, { lengthMax: 20, keeps: "end" })])).toContain(
      "… 48 lines are left out\nline 48\nline 49",
    );
  });

  test("is bounded when a single line is endless", () => {
    const text = bundleText("W", "x", [part("y".repeat(1e6))]);
    expect(text).toContain(`${"y".repeat(98)}…\n`);
    expect(text.length).toBeLessThan(200);
  });
});
