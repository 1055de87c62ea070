import { describe, expect, test } from "vitest";
import { type Bar, barChart } from "../../../lab/report/bar-chart.ts";
import { markdownTable, spreadText } from "../../../lab/report/markdown-table.ts";
import { quantile, ratioOf, spreadOf } from "../../../lab/report/statistics.ts";

describe("statistics", () => {
  test("the median of an even number of values lies between the two in the middle", () => {
    expect(spreadOf([4, 1, 3, 100])).toEqual({ median: 3.5, low: 1, high: 100 });
    expect(spreadOf([5, undefined, 2, 9])).toEqual({ median: 5, low: 2, high: 9 });
    expect(spreadOf([undefined])).toBeUndefined();
  });

  test("a ratio is computed from pairs: a machine that was twice as slow in one pair does not change it", () => {
    expect(ratioOf([10, 20, 30], [20, 40, 60])).toEqual({ median: 0.5, low: 0.5, high: 0.5 });
    expect(ratioOf([10, 20, 90], [20, 20, 30])).toEqual({ median: 1, low: 0.5, high: 3 });
  });

  test("a pair with a missing or zero value is left out of the ratio", () => {
    expect(ratioOf([10, undefined, 30, 40], [undefined, 5, 0, 20])).toEqual({ median: 2, low: 2, high: 2 });
    expect(ratioOf([10], [])).toBeUndefined();
  });

  test("a quantile is one of the values", () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([1, 3, 5, 5]);
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe("a table", () => {
  test("a table has a line for its head and for each row, whatever a cell contains", () => {
    const table = markdownTable(
      ["", "a"],
      [
        ["|x|", "1"],
        ["y", "2"],
      ],
    );
    expect(table.split("\n")).toEqual(["|  | a |", "| --- | --- |", "| \\|x\\| | 1 |", "| y | 2 |"]);
  });

  test("a table shows the spread of a figure where there is one, and marks figures that were not measured", () => {
    expect(spreadText({ median: 1.234, low: 1, high: 2 }, 1)).toBe("1.2 (1.0 to 2.0)");
    expect(spreadText({ median: 1.234, low: 1.23, high: 1.231 }, 2)).toBe("1.23");
    expect(spreadText(undefined, 2)).toBe("not measured");
  });
});

describe("the chart", () => {
  const bar = (node: string, median: number, low = median, high = median): Bar => ({
    node,
    value: { median, low, high },
  });

  function chartOf(bars: readonly Bar[]): string {
    const panels = [{ bars, digits: 1 }, undefined];
    return barChart({
      title: "<A> & B",
      nodes: ["ours", "other"],
      columns: ["CPU", "memory"],
      notes: ["a note"],
      rows: [{ name: "mp3", detail: "20 players", panels }],
    });
  }

  /** Widths of the bars, without the background and the squares of the legend. */
  function widthsOf(chart: string): number[] {
    return Array.from(chart.matchAll(/<rect x="[\d.]+" y="\d+" width="([\d.]+)" height="14"/g), ([, width]) =>
      Number(width),
    );
  }

  test("the chart has a bar for each node, as long as its figure, on one scale for both", () => {
    const [ours = 0, other = 0] = widthsOf(chartOf([bar("ours", 2), bar("other", 8)]));
    expect(other / ours).toBeCloseTo(4);
  });

  test("the chart's whiskers stay within the panel: the longest of them is the scale", () => {
    const wide = widthsOf(chartOf([bar("ours", 2, 1, 40), bar("other", 8)]));
    const plain = widthsOf(chartOf([bar("ours", 2, 1, 8), bar("other", 8)]));
    expect((plain[1] ?? 0) / (wide[1] ?? 0)).toBeCloseTo(5);
  });

  test("the chart has a whisker of three lines where figures differ, and none where they do not", () => {
    const whiskers = (chart: string) => chart.split('class="whisker"/>').length - 1;
    expect(whiskers(chartOf([bar("ours", 2, 1, 3), bar("other", 8)]))).toBe(3);
  });

  test("the chart marks figures that were not measured, in text that is safe in XML", () => {
    const chart = chartOf([bar("ours", 0), { node: "other", value: undefined }]);
    expect(chart).toContain(">not measured</text>");
    expect(chart).toContain("&lt;A&gt; &amp; B");
    for (const words of ["ours", "other", "CPU", "memory", "mp3", "20 players", "a note"]) {
      expect(chart).toContain(`>${words}</text>`);
    }
    expect(chart.match(/<(\w+)[^>]*[^/]>/g)?.filter((tag) => !/^<(svg|style|text|title)/.test(tag))).toEqual([]);
    expect(chart).not.toMatch(/NaN|undefined|Infinity/);
  });
});
