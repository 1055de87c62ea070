// Figures of the node since the page was opened, for the charts: when there are too many, every second one goes. In the
// browser.

import type { StateMessage } from "../../src/control/dashboard/live-messages.ts";

/** 10 to 20 minutes at one a second; then every second one, and so on: an even number. */
const POINTS_MAX = 1200;

/** One sample of the node's figures. */
export interface HistoryPoint {
  /** Epoch milliseconds of the node. */
  readonly atMs: number;
  readonly memoryBytes: number;
  /** Share of all cores. */
  readonly cpu: number;
  readonly playing: number;
  /** The lateness of the worker that was latest. */
  readonly latenessMs: number;
  /** Shares of a core, by index. */
  readonly workerLoads: readonly number[];
}

/** The remembered samples. `spacingMs` grows as samples are thinned out. */
export interface History {
  readonly points: readonly HistoryPoint[];
  readonly spacingMs: number;
}

/** Nothing yet. */
export const NO_HISTORY: History = { points: [], spacingMs: 0 };

/** The history with one more look, when enough time has passed since the last. */
export function remember(history: History, message: StateMessage): History {
  const { points, spacingMs } = history;
  const last = points.at(-1);
  // A clock that goes back begins a new history.
  if (last !== undefined && message.atMs < last.atMs) return { points: [pointOf(message)], spacingMs: 0 };
  // A tenth earlier is in time: messages come unevenly.
  if (last !== undefined && message.atMs - last.atMs < spacingMs * 0.9) return history;
  const all = [...points, pointOf(message)];
  if (all.length <= POINTS_MAX) return { points: all, spacingMs };
  const retained = all.filter((_, index) => index % 2 === 0);
  const spanMs = message.atMs - (points[0]?.atMs ?? message.atMs);
  return { points: retained, spacingMs: spanMs / (retained.length - 1) };
}

function pointOf({ atMs, stats, load }: StateMessage): HistoryPoint {
  return {
    atMs,
    memoryBytes: stats.memory.used,
    cpu: stats.cpu.lavalinkLoad,
    playing: stats.playingPlayers,
    latenessMs: Math.max(0, ...load.workers.map(({ latenessMax }) => latenessMax)),
    workerLoads: load.workers.map((worker) => worker.load),
  };
}

/** Lines of a chart, each as `x,y x,y …` in a field of `width` by `height`; a gap of messages is a gap in the line. */
export function chartLines(
  points: readonly HistoryPoint[],
  figureOf: (point: HistoryPoint) => number | undefined,
  { width, height, top }: { readonly width: number; readonly height: number; readonly top: number },
): string[] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || last.atMs === first.atMs) return [];
  const usualMs = (last.atMs - first.atMs) / (points.length - 1);
  const lines: string[][] = [[]];
  let before = first.atMs;
  for (const point of points) {
    const value = figureOf(point);
    if (value === undefined || point.atMs - before > usualMs * 5 + 5000) lines.push([]);
    before = point.atMs;
    if (value === undefined) continue;
    const x = ((point.atMs - first.atMs) / (last.atMs - first.atMs)) * width;
    const y = height - (Math.min(Math.max(value, 0), top) / (top || 1)) * height;
    lines.at(-1)?.push(`${x.toFixed(1)},${y.toFixed(1)}`);
  }
  return lines.filter((line) => line.length > 1).map((line) => line.join(" "));
}
