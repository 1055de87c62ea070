// A small chart of one figure over time. In the browser.

import type { NodeSample } from "../../src/observability/status/node-history.ts";
import { duration } from "../state/format.ts";
import { chartLines, type FigureOf } from "../state/history.ts";

/** Above the highest value: a line along the top would look like all there is. */
const HEADROOM = 1.2;
const [WIDTH, HEIGHT] = [300, 60];

interface ChartProps {
  readonly name: string;
  readonly points: readonly NodeSample[];
  readonly figureOf: FigureOf;
  readonly written: (value: number) => string;
  /** The line's top is at least this. */
  readonly topMin: number;
}

/** With what it is now and what it was at most, in words. */
export function HistoryChart({ name, points, figureOf, written, topMin }: ChartProps) {
  const values = points
    .map((point, index) => figureOf(point, points[index - 1]))
    .filter((value) => value !== undefined);
  const most = values.reduce((one, other) => Math.max(one, other), 0);
  const [first, last] = [points[0], points.at(-1)];
  const spanMs = first === undefined || last === undefined ? 0 : last.atMs - first.atMs;
  const top = Math.max(topMin, most * HEADROOM);
  const now = values.at(-1) ?? 0;
  return (
    <figure class="chart">
      <figcaption>
        <span>{name}</span>
        <strong>{written(now)}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {chartLines(points, figureOf, { width: WIDTH, height: HEIGHT, top }).map((line) => (
          <polyline key={line} points={line} />
        ))}
      </svg>
      <p class="quiet">
        at most {written(most)} in {duration(spanMs)}
      </p>
    </figure>
  );
}
