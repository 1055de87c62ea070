// Figures of the node for the charts: one a minute of the node's last hour, one a second since the page was opened.
// When there are too many, every second one goes. In the browser.

import type { StateMessage } from "../../src/control/dashboard/live-messages.ts";
import type { NodeSample } from "../../src/observability/status/node-history.ts";

/** 10 to 20 minutes at one a second; then every second one, and so on: an even number. */
const POINTS_MAX = 1200;

const MINUTE_MS = 60_000;
/** Shorter times without a sample are no gap in a line. */
const GAP_MS_MIN = 2.5 * MINUTE_MS;

/** The remembered samples. `spacingMs` grows as samples are thinned out. */
export interface History {
  readonly points: readonly NodeSample[];
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
  const middle = all[POINTS_MAX / 2] ?? message;
  const wantedMs = (2 * (message.atMs - middle.atMs)) / (all.length - 1 - POINTS_MAX / 2);
  return { points: thinned(all, wantedMs), spacingMs: wantedMs };
}

/** The history with the node's own samples where this page has none: before it was opened, and while it was away. */
export function withSamples({ points, spacingMs }: History, samples: readonly NodeSample[]): History {
  const missing = samples.filter(({ atMs }) => !points.some((point) => Math.abs(point.atMs - atMs) < MINUTE_MS));
  return { points: [...missing, ...points].toSorted((one, other) => one.atMs - other.atMs), spacingMs };
}

/** Without samples that follow another one too closely; the node's own are further apart. */
function thinned(points: readonly NodeSample[], spacingMs: number): NodeSample[] {
  const retained: NodeSample[] = [];
  for (const point of points) {
    const before = retained.at(-1);
    if (before === undefined || point.atMs - before.atMs >= spacingMs * 0.9) retained.push(point);
  }
  return retained;
}

function pointOf({ atMs, stats, load }: StateMessage): NodeSample {
  return {
    atMs,
    memoryBytes: stats.memory.used,
    players: stats.players,
    framesLost: load.framesLost,
    cpu: stats.cpu.lavalinkLoad,
    playing: stats.playingPlayers,
    latenessMs: Math.max(0, ...load.workers.map(({ latenessMax }) => latenessMax)),
    workerLoads: load.workers.map((worker) => worker.load),
  };
}

/** A figure of a chart, from a sample and the one before; undefined: not known then. */
export type FigureOf = (sample: NodeSample, before: NodeSample | undefined) => number | undefined;

/** Lost frames a second; undefined for the first sample, and where the node has started again. */
export function lossRateOf({ atMs, framesLost }: NodeSample, before: NodeSample | undefined): number | undefined {
  if (before === undefined || framesLost < before.framesLost) return undefined;
  return ((framesLost - before.framesLost) * 1000) / Math.max(1, atMs - before.atMs);
}

/** Lines of a chart, each as `x,y x,y …` in a field of `width` by `height`; a gap of messages is a gap in the line. */
export function chartLines(
  points: readonly NodeSample[],
  figureOf: FigureOf,
  { width, height, top }: { readonly width: number; readonly height: number; readonly top: number },
): string[] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || last.atMs === first.atMs) return [];
  const usualMs = (last.atMs - first.atMs) / (points.length - 1);
  const lines: string[][] = [[]];
  // The node's own samples are a minute apart.
  const gapMs = Math.max(GAP_MS_MIN, usualMs * 5 + 5000);
  for (const [index, point] of points.entries()) {
    const before = points[index - 1];
    const value = figureOf(point, before);
    if (value === undefined || point.atMs - (before ?? point).atMs > gapMs) lines.push([]);
    if (value === undefined) continue;
    const x = ((point.atMs - first.atMs) / (last.atMs - first.atMs)) * width;
    const y = height - (Math.min(Math.max(value, 0), top) / (top || 1)) * height;
    lines.at(-1)?.push(`${x.toFixed(1)},${y.toFixed(1)}`);
  }
  return lines.filter((line) => line.length > 1).map((line) => line.join(" "));
}
