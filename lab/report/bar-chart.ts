// The bench's chart: one small panel for each workload and figure, in it one bar a node with its spread as a whisker.
// Each panel has its own scale, as workloads differ by orders of magnitude. Plain SVG, without a library. Pure.

import type { Spread } from "./statistics.ts";

/** The value of one node; undefined: not measured. */
export interface Bar {
  readonly node: string;
  readonly value: Spread | undefined;
}

export interface Panel {
  readonly bars: readonly Bar[];
  readonly digits: number;
}

interface Chart {
  readonly title: string;
  readonly nodes: readonly string[];
  /** The title of each column of panels, with its unit. */
  readonly columns: readonly string[];
  /** A panel for each column; undefined: nothing of the kind was measured. */
  readonly rows: readonly {
    readonly name: string;
    readonly detail: string;
    readonly panels: readonly (Panel | undefined)[];
  }[];
  readonly notes: readonly string[];
}

const COLOURS = ["#1f6f8b", "#e08e3c"];
const MARGIN = 24;
const NAME_WIDTH = 170;
const PANEL_WIDTH = 250;
const BAR_WIDTH_MAX = 150;
const BAR_HEIGHT = 14;
const BAR_PITCH = 20;
const ROW_GAP = 22;
const HEAD_HEIGHT = 104;
const LINE_HEIGHT = 18;

/** A whole SVG document. */
export function barChart({ title, nodes, columns, rows, notes }: Chart): string {
  const rowHeight = nodes.length * BAR_PITCH + ROW_GAP;
  const width = MARGIN * 2 + NAME_WIDTH + columns.length * PANEL_WIDTH;
  const rowsEnd = HEAD_HEIGHT + rows.length * rowHeight;
  const height = rowsEnd + notes.length * LINE_HEIGHT + MARGIN;
  const columnX = (index: number) => MARGIN + NAME_WIDTH + index * PANEL_WIDTH;
  const parts = [
    text(MARGIN, 36, title, "title"),
    ...nodes.map((node, index) => legend(MARGIN + index * 170, 54, node, index)),
    ...columns.map((column, index) => text(columnX(index), HEAD_HEIGHT - 12, column, "column")),
    ...rows.flatMap(({ name, detail, panels }, row) => {
      const y = HEAD_HEIGHT + row * rowHeight;
      return [
        `<line x1="${MARGIN}" y1="${y}" x2="${width - MARGIN}" y2="${y}" class="rule"/>`,
        text(MARGIN, y + 24, name, "name"),
        text(MARGIN, y + 41, detail, "small"),
        ...panels.flatMap((panel, index) => (panel === undefined ? [] : panelParts(panel, columnX(index), y + 11))),
      ];
    }),
    ...notes.map((note, index) => text(MARGIN, rowsEnd + (index + 1) * LINE_HEIGHT, note, "small")),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escaped(title)}</title>`,
    "<style>",
    "text { font-family: 'DejaVu Sans', Arial, sans-serif; font-size: 12px; fill: #222 }",
    ".title { font-size: 18px; font-weight: bold } .column, .name { font-weight: bold } .small { fill: #666 }",
    ".rule { stroke: #ddd } .whisker { stroke: #222; stroke-width: 1.2 }",
    "</style>",
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function panelParts({ bars, digits }: Panel, x: number, top: number): string[] {
  const most = Math.max(...bars.map(({ value }) => value?.high ?? 0));
  const scale = most > 0 ? BAR_WIDTH_MAX / most : 0;
  return bars.flatMap(({ value }, index) => {
    const y = top + index * BAR_PITCH;
    if (value === undefined) return [text(x, y + 11, "not measured", "small")];
    const [length, low, high] = [value.median, value.low, value.high].map((of) => Math.max(0, of * scale));
    const middle = y + BAR_HEIGHT / 2;
    return [
      `<rect x="${x}" y="${y}" width="${round(length)}" height="${BAR_HEIGHT}" fill="${colourOf(index)}"/>`,
      ...(value.low === value.high ? [] : whisker(x + (low ?? 0), x + (high ?? 0), middle)),
      text(x + (high ?? 0) + 8, y + 11, value.median.toFixed(digits)),
    ];
  });
}

function whisker(fromX: number, toX: number, y: number): string[] {
  const line = (x1: number, y1: number, x2: number, y2: number) =>
    `<line x1="${round(x1)}" y1="${y1}" x2="${round(x2)}" y2="${y2}" class="whisker"/>`;
  return [line(fromX, y, toX, y), line(fromX, y - 3, fromX, y + 3), line(toX, y - 3, toX, y + 3)];
}

function legend(x: number, y: number, node: string, index: number): string {
  return `<rect x="${x}" y="${y}" width="12" height="12" fill="${colourOf(index)}"/>${text(x + 18, y + 11, node)}`;
}

function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? "";
}

function text(x: number, y: number, words: string, kind?: string): string {
  const style = kind === undefined ? "" : ` class="${kind}"`;
  return `<text x="${round(x)}" y="${y}"${style}>${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function round(length = 0): string {
  return String(Math.round(length * 10) / 10);
}
